# MariaDB for tests/support/services: a private server from the installed binaries, durable, without passwords on
# 127.0.0.1 and on a socket in its folder. It never touches a server that is already on the machine.
# TEST_MARIADB_OPTIONS="a = 1; b = 2" adds lines to its configuration.

mariadb_settings() {
    cat <<END
[mariadbd]
datadir = $TEST_DIR/mariadb/data
socket = $TEST_DIR/mariadb/socket
pid-file = $TEST_DIR/mariadb/pid
port = $1
bind-address = 127.0.0.1
plugin-load-add = metadata_lock_info
skip-name-resolve
max_connections = 200
innodb_buffer_pool_size = 256M
$([[ $EUID -ne 0 ]] || echo 'user = root')
END
    tr ';' '\n' <<<"${TEST_MARIADB_OPTIONS:-}"
}

mariadb_create() {
    local dir=$TEST_DIR/mariadb port
    command -v mariadbd || { echo "mariadb-server is not installed"; return 1; }
    port=$(free_port) || return 1
    echo "$port" >"$dir/port"
    mariadb_settings "$port" >"$dir/my.cnf"
    mariadb-install-db --defaults-file="$dir/my.cnf" --auth-root-authentication-method=normal \
        --skip-test-db >/dev/null || return 1
    mariadbd --defaults-file="$dir/my.cnf" --bootstrap <<<'CREATE DATABASE test CHARACTER SET utf8mb4;'
}

mariadb_launch() {
    local dir=$TEST_DIR/mariadb
    rm -f "$dir/socket"
    setsid mariadbd --defaults-file="$dir/my.cnf" </dev/null >>"$dir/log" 2>&1 &
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
