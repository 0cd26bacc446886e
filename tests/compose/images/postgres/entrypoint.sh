#!/bin/sh
# Makes the cluster at the first start, with POSTGRES_USER, POSTGRES_PASSWORD_FILE and a database of the user's name.
set -eu
if [ "$(id -u)" -eq 0 ]; then
    mkdir -p "$PGDATA"
    chown postgres "$PGDATA" /var/run/postgresql
    chmod 700 "$PGDATA"
    exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    initdb -U "$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" -A trust --auth-host=scram-sha-256
    echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
    echo "CREATE DATABASE $POSTGRES_USER" | postgres --single -D "$PGDATA" postgres
fi
exec "$@" -c listen_addresses='*'
