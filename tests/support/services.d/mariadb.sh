# MariaDB for tests/support/services: a private server from the installed binaries, durable, without passwords on
# 127.0.0.1 and on a socket in its folder. It never touches a server that is already on the machine.
# TEST_MARIADB_OPTIONS="a = 1; b = 2" adds lines to its configuration. TEST_MARIADB_ROOT=FOLDER: where another version,
# or MySQL, was unpacked, and a script starts it (tests/matrix/matrix).

mariadb_program() {
    if [[ -z ${TEST_MARIADB_ROOT:-} ]]; then echo mariadbd; else ls "$TEST_MARIADB_ROOT"/start/*; fi
}

mariadb_is_mysql() { [[ $(mariadb_program) == */mysqld ]]; }

# A server that starts removes the temporary tables of all that have its tmpdir.
mariadb_settings() {
    cat <<END
[mysqld]
datadir = $TEST_DIR/mariadb/data
tmpdir = $TEST_DIR/mariadb
socket = $TEST_DIR/mariadb/socket
pid-file = $TEST_DIR/mariadb/pid
port = $1
bind-address = 127.0.0.1
$(if mariadb_is_mysql; then printf 'mysqlx = OFF\nsecure-file-priv =\ngtid_mode = OFF\nenforce_gtid_consistency = OFF\n'; else echo plugin-load-add = metadata_lock_info; fi)
skip-name-resolve
max_connections = 200
innodb_buffer_pool_size = 256M
$([[ $EUID -ne 0 ]] || echo 'user = root')
END
    tr ';' '\n' <<<"${TEST_MARIADB_OPTIONS:-}"
}

# The tables of the system, a database, and who comes by the port.
mariadb_install() { # FILE: its configuration
    local data=${TEST_MARIADB_ROOT:-}/usr/share/mariadb/mariadb_system_tables
    if mariadb_is_mysql; then
        echo "CREATE DATABASE test; CREATE USER root@'127.0.0.1'; GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;" >"$1.sql"
        "$(mariadb_program)" --defaults-file="$1" --initialize-insecure --init-file="$1.sql"
        return
    fi
    if [[ -z ${TEST_MARIADB_ROOT:-} ]]; then
        mariadb-install-db --defaults-file="$1" --auth-root-authentication-method=normal --skip-test-db >/dev/null || return 1
    else
        mkdir -p "$TEST_DIR/mariadb/data" && { printf '%s;\n' 'CREATE DATABASE mysql' 'USE mysql' 'SET @skip_auth_anonymous = 1'; cat "$data.sql" "${data}_data.sql"; } |
            "$(mariadb_program)" --defaults-file="$1" --bootstrap || return 1
    fi
    "$(mariadb_program)" --defaults-file="$1" --bootstrap <<<'CREATE DATABASE test CHARACTER SET utf8mb4;'
}

mariadb_create() {
    local dir=$TEST_DIR/mariadb port
    command -v "$(mariadb_program)" || { echo "mariadb-server is not installed"; return 1; }
    port=$(free_port) || return 1
    echo "$port" >"$dir/port"
    mariadb_settings "$port" >"$dir/my.cnf"
    mariadb_install "$dir/my.cnf"
}

mariadb_launch() {
    local dir=$TEST_DIR/mariadb
    rm -f "$dir/socket" "$dir/socket.lock" # MySQL takes a zombie for a server that is up
    setsid "$(mariadb_program)" --defaults-file="$dir/my.cnf" </dev/null >>"$dir/log" 2>&1 &
    echo $! >"$dir/pid"
}

mariadb_ready() {
    mariadb-admin --no-defaults -S "$TEST_DIR/mariadb/socket" -u root ping >/dev/null 2>&1
}

mariadb_env() {
    TEST_MARIADB_SOCKET=$TEST_DIR/mariadb/socket
    TEST_MARIADB_URL=mysql://root@127.0.0.1:$(port_of mariadb)/test
    export TEST_MARIADB_URL TEST_MARIADB_SOCKET
}
