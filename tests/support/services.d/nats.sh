# nats-server for tests/support/services: one server with JetStream, its streams in files.
# max_payload stays at the server's default, 1 MiB: what users have.

nats_create() {
    local dir=$TEST_DIR/nats port
    command -v nats-server || { echo "nats-server is not installed"; return 1; }
    port=$(free_port) || return 1
    echo "$port" >"$dir/port"
    cat >"$dir/nats.conf" <<END
listen: 127.0.0.1:$port
jetstream {
  store_dir: "$dir/store"
  max_memory_store: 256MB
  max_file_store: 16GB
}
END
}

nats_wipe() { rm -rf "$TEST_DIR/nats/store"; }

nats_launch() {
    setsid nats-server -c "$TEST_DIR/nats/nats.conf" </dev/null >>"$TEST_DIR/nats/log" 2>&1 &
    echo $! >"$TEST_DIR/nats/pid"
}

# The server accepts clients only after it has recovered its streams.
nats_ready() { port_accepts "$(port_of nats)"; }

nats_env() {
    TEST_NATS_URL=nats://127.0.0.1:$(port_of nats)
    export TEST_NATS_URL
}
