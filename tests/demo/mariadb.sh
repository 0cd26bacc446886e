# What the demo does otherwise with MariaDB: sourced by tests/demo/demo.

RELAY=$ROOT/build/outbox-relay-mysql
SERVER=MariaDB

client() { mariadb --no-defaults --default-character-set=utf8mb4 --local-infile=1 -S "$TEST_MARIADB_SOCKET" -u root -NB test "$@"; }

query() { client -e "$1"; }

make_bank() {
    write_config "$TEST_MARIADB_URL"
    "$RELAY" init -c "$CONFIG" >"$FILES/init.log" 2>&1 || fail "outbox-relay-mysql init failed: $(tail -n 3 "$FILES/init.log")"
    client <"$HERE/mariadb.sql" || fail "the bank could not be made"
    query "CREATE USER relay; $(printf 'GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO relay; ' outbox{,_slice,_control,_parked})" ||
        fail "the role of the relays could not be made"
    write_config "${TEST_MARIADB_URL/root@/relay@}"
}

run_clients() {
    local number pid pids=()
    for ((number = 1; number <= CLIENTS; number++)); do
        query "CALL transfers($number, $LOAD_SECONDS, '$BROKERS')" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || return 1; done
}

start_load() {
    run_clients >"$FILES/load.log" 2>&1 &
    LOAD_PID=$!
}

audit() {
    local file findings name found allowed meaning broken=
    for file in "$FILES"/*.tsv; do
        query "LOAD DATA LOCAL INFILE '$file' INTO TABLE delivered CHARACTER SET utf8mb4" || fail "$file cannot be read"
    done
    findings=$(client --init-command="SET @repeats = $((LANES * BATCH))" <"$HERE/mariadb_audit.sql") || fail "the audit failed"
    while IFS=$'\t' read -r name found allowed meaning; do
        printf '  %-22s %9d   %s\n' "$name" "$found" "$meaning"
        ((found <= allowed)) || broken+="${broken:+, }$name"
    done <<<"$findings"
    [[ -z $broken ]] || fail "AUDIT FAILED: $broken"
    echo 'Every event arrived, unchanged and in the order of its key.'
}
