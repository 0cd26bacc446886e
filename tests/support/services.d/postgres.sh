# PostgreSQL for tests/support/services: a private cluster from the installed binaries, durable,
# with trust authentication on 127.0.0.1 and on a socket in its folder. It never touches a cluster
# that is already on the machine. TEST_PG_BIN: a folder with initdb, pg_ctl and postgres of another
# version.

postgres_bin() {
    local newest
    if [[ -n ${TEST_PG_BIN:-} ]]; then echo "$TEST_PG_BIN"; return; fi
    newest=$(printf '%s\n' /usr/lib/postgresql/*/bin/postgres | sort -V | tail -n 1)
    if [[ -x $newest ]]; then dirname "$newest"; else dirname "$(command -v postgres)"; fi
}

# PostgreSQL refuses to run as root.
as_postgres() {
    if [[ $EUID -eq 0 ]]; then runuser -u postgres -- "$@"; else "$@"; fi
}

postgres_settings() {
    cat <<END
listen_addresses = '127.0.0.1'
port = $1
unix_socket_directories = '$TEST_DIR/postgres'
max_connections = 200
shared_buffers = 256MB
max_wal_size = 4GB
autovacuum_naptime = 5s
max_prepared_transactions = 20
log_line_prefix = '%m [%p] %q%a '
dynamic_shared_memory_type = mmap  # in the data folder: a SIGKILL leaves nothing behind
END
    tr ';' '\n' <<<"${TEST_PG_OPTIONS:-}"
}

# The database is made in single-user mode: a started server is then the same the first time and
# after a restart.
postgres_create() {
    local dir=$TEST_DIR/postgres bin port
    bin=$(postgres_bin) && port=$(free_port) || return 1
    echo "$port" >"$dir/port"
    if [[ $EUID -eq 0 ]]; then chown postgres: "$dir" "$dir/log" || return 1; fi
    cd "$dir" || return 1
    as_postgres "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 -N ||
        return 1
    postgres_settings "$port" >>"$dir/data/postgresql.conf"
    as_postgres "$bin/postgres" --single -D "$dir/data" postgres <<<'CREATE DATABASE test'
}

# pg_ctl cannot tell why a start failed, and so its status is not asked: the poll and the log are.
# After a SIGKILL the lock files may name a zombie, where process 1 does not reap: PostgreSQL would
# take it for a running server.
postgres_launch() {
    local dir=$TEST_DIR/postgres
    cd "$dir" || return 1
    postgres_free_memory
    rm -f "$dir/data/postmaster.pid" "$dir"/.s.PGSQL.*
    # shellcheck disable=SC2094  # both only write, at the log's end
    as_postgres "$(postgres_bin)/pg_ctl" -s -w -t 60 -D "$dir/data" -l "$dir/log" start \
        >>"$dir/log" 2>&1 || true
    head -n 1 "$dir/data/postmaster.pid" >"$dir/pid" 2>/dev/null || rm -f "$dir/pid"
}

postgres_ready() {
    PATH=$(postgres_bin):$PATH pg_isready -q -h 127.0.0.1 -p "$(port_of postgres)" -U postgres -d test
}

postgres_env() {
    TEST_PG_PORT=$(port_of postgres)
    TEST_PG_URL=postgresql://postgres@127.0.0.1:$TEST_PG_PORT/test
    export TEST_PG_PORT TEST_PG_URL
    # Debian's own psql is a script in Perl, which takes five times as long as the program that it finds.
    if [[ -z ${TEST_PG_BIN:-} ]]; then PATH=$(postgres_bin):$PATH; fi
}

# A postmaster killed by SIGKILL leaves a shared memory segment; its number is in the seventh line.
postgres_free_memory() {
    local lock=$TEST_DIR/postgres/data/postmaster.pid segment
    segment=$(awk 'NR == 7 { print $2 }' "$lock" 2>/dev/null) || true
    if [[ -n $segment ]]; then ipcrm -m "$segment" 2>/dev/null || true; fi
}
