"""A PostgreSQL that works, and a table, a role or a disk that does not: locks, DDL, permissions,
limits, a full disk, an old snapshot, a large backlog (#13-#21)."""
import contextlib
import pathlib
import re
import shutil
import subprocess
import threading
import time

from faults_case import SHARED, Cluster, as_postgres, check, fault, must
from lab import Failure, wait_until

BATCH = 50


def errors(relay, pattern):
    return len([line for line in relay.lines() if re.search(pattern, line)])


def relaying(case, **options):
    """A relay that has sent its first rows."""
    case.prepare(**{"lanes": 1, "batch": BATCH, **options})
    relay = case.new_relay()
    case.fill(BATCH)
    case.wait_done()
    return relay


@contextlib.contextmanager
def held(case, statements):
    """A transaction that stays open around the block, with these statements done."""
    session = case.psql_background(f"BEGIN; {statements}; SELECT 'held'")
    heard = ""
    while "held" not in heard:
        line = session.stdout.readline()
        check(line, f"the session ended: {heard}")
        heard += line
    try:
        yield session
    finally:
        session.stdin.write("ROLLBACK;\n")
        session.stdin.close()
        session.wait(20)


# ---- locks and serialization ----

@fault("13")
def a_locked_table_is_waited_for_without_a_hot_loop(case):
    relay = relaying(case)
    mark = len(relay.log)
    with held(case, "LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE"):
        relay.wait_log("55P03", 20, mark)
        begin, used = time.monotonic(), case.cpu_seconds(relay)
        wait_until(lambda: time.monotonic() - begin > 3, 10, "three seconds of lock timeouts")
        share = (case.cpu_seconds(relay) - used) / (time.monotonic() - begin)
    case.note(f"CPU while locked out: {share:.1%}, lines logged: {errors(relay, '55P03')}")
    check(share < 0.1, f"a hot loop: {share:.0%} of a CPU")
    check(errors(relay, "55P03") <= 2, "each attempt is logged")
    case.fill(BATCH)
    case.recovery(case.done, 5, "relaying goes on")
    case.judge(0)


@fault("13")
def a_deadlock_rolls_the_claim_back_and_is_tried_again(case):
    """The relay locks the outbox, then the parked rows; the other session the other way round."""
    case.prepare(lanes=1, batch=BATCH)
    case.sql(f"ALTER DATABASE {case.database} SET deadlock_timeout = '700ms'")
    relay = case.new_relay()
    case.fill(BATCH)
    case.wait_done()
    with held(case, "SET deadlock_timeout = '20s';"
              "LOCK TABLE outbox_parked IN EXCLUSIVE MODE") as rival:
        wait_until(lambda: case.sessions("wait_event_type = 'Lock'"), 20, "the relay waits")
        rival.stdin.write("LOCK TABLE outbox IN EXCLUSIVE MODE;\n")
        rival.stdin.flush()
        relay.wait_log("40P01", 20)
    case.fill(BATCH)
    case.recovery(case.done, 5, "relaying goes on")
    case.judge(0)


@fault("13")
def a_serialization_failure_in_the_settle_repeats_its_batch(case):
    relay = relaying(case)
    case.sql("CREATE SEQUENCE tries;"
             "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$"
             "BEGIN IF nextval('public.tries') <= 3 THEN RAISE SQLSTATE '40001'; END IF;"
             " RETURN NULL; END $$;"
             "CREATE TRIGGER refuse AFTER UPDATE ON outbox EXECUTE FUNCTION refuse()")
    case.fill(BATCH)
    case.recovery(case.done, 5, "the fourth try succeeds")
    check("40001" in relay.log, "the reason is logged")
    case.judge(3 * BATCH)


# ---- DDL ----

def survives(case, break_it, mend_it, pattern, repeats=0):
    relay = relaying(case)
    mark = len(relay.log)
    case.sql(break_it)
    relay.wait_log(pattern, 20, mark)
    count = errors(relay, pattern)
    case.sql(mend_it)
    case.fill(BATCH)
    case.recovery(case.done, 5, "relaying goes on")
    check(count <= 2, f"{count} lines of one error")
    check(relay.running(), "it has not ended")
    case.judge(repeats)


@fault("17")
def a_renamed_table_is_named_and_waited_for(case):
    survives(case, "ALTER TABLE outbox RENAME TO hidden", "ALTER TABLE hidden RENAME TO outbox",
             "outbox.*does not exist")


@fault("17")
def a_missing_column_is_named_and_waited_for(case):
    survives(case, "ALTER TABLE outbox RENAME topic TO hidden; SELECT pg_terminate_backend(pid)"
             " FROM pg_stat_activity WHERE application_name LIKE 'outbox-relay/%'"
             " AND datname = current_database()",
             "ALTER TABLE outbox RENAME hidden TO topic", "topic|hidden")


@fault("17")
def nothing_is_published_without_a_column_that_was_there(case):
    """An optional one: a table may lack it from the start, and no claim fails for want of it."""
    relay = relaying(case)
    mark, heard = len(relay.log), case.ear.total
    case.sql("ALTER TABLE outbox RENAME headers TO hidden")
    case.terminate_relays()
    case.fill(BATCH)
    relay.wait_log("headers", 20, mark)
    check(case.ear.total == heard, "published without its headers")
    case.sql("ALTER TABLE outbox RENAME hidden TO headers")
    case.recovery(case.done, 5, "relaying goes on")
    case.judge(0)


@fault("17")
def a_column_renamed_under_a_running_claim_is_never_skipped(case):
    survives(case, "ALTER TABLE outbox RENAME payload TO hidden",
             "ALTER TABLE outbox RENAME hidden TO payload", "payload|hidden|cached plan")


@fault("17")
def a_column_of_another_type_is_relayed_as_such(case):
    relay = relaying(case)
    case.sql("ALTER TABLE outbox ALTER payload TYPE text, ADD COLUMN more int;"
             " ALTER TABLE outbox_parked ALTER payload TYPE text")
    case.sql(f"WITH new AS (INSERT INTO outbox (topic, payload) VALUES ('{case.subject}.event',"
             " 'no json') RETURNING event_id) INSERT INTO committed SELECT event_id FROM new")
    case.recovery(case.done, 5, "relaying goes on")
    check("no json" in [message.payload for message in case.read_nats(case.stream_name)],
          "the text arrived as it is")
    check(relay.running(), "it has not ended")
    case.judge(0)


@fault("17")
def a_dropped_table_that_comes_back_empty_is_relayed_again(case):
    relay = relaying(case)
    mark = len(relay.log)
    case.sql("ALTER TABLE outbox RENAME TO kept; ALTER TABLE kept RENAME CONSTRAINT outbox_pkey"
             " TO kept_pkey; CREATE TABLE was AS TABLE kept; DROP TABLE kept CASCADE;"
             " DROP TABLE outbox_parked, outbox_control")
    relay.wait_log("outbox.*does not exist", 20, mark)
    case.init(case.folder / "init.toml")
    case.fill(BATCH)
    case.recovery(case.done, 5, "relaying goes on")
    case.judge(0)


@fault("18")
def an_alter_table_behind_an_open_claim_delays_the_application_by_one_publish(case):
    case.prepare(lanes=1, batch=BATCH)
    nats = case.proxy(case.nats_address)
    case.new_relay(nats_url=f"nats://{nats.address}")
    case.fill(BATCH)
    case.wait_done()
    nats.black_hole("to_client")
    case.fill(BATCH)
    wait_until(lambda: case.sessions("state = 'idle in transaction'"), 20, "a claim is open")
    ddl = threading.Thread(target=case.sql, args=("ALTER TABLE outbox ADD COLUMN more int",))
    begin = time.monotonic()
    ddl.start()
    wait_until(lambda: case.sql("SELECT count(*) FROM pg_locks WHERE NOT granted AND mode ="
                                " 'AccessExclusiveLock' AND database = (SELECT oid FROM pg_database"
                                " WHERE datname = current_database())") != "0"
               or not ddl.is_alive(), 20, "the ALTER waits")
    case.fill(BATCH)
    delay = time.monotonic() - begin
    ddl.join(30)
    case.note(f"an INSERT waited {delay:.2f} s behind the ALTER (publish_timeout 1 s)")
    check(delay < 1 + 5, f"the application waited {delay:.1f} s")
    nats.pass_through()
    case.recovery(case.done, 5, "relaying goes on")
    case.judge(4 * BATCH)


# ---- permissions and limits ----

def restricted(case, **options):
    """The relay's role is not the owner's."""
    role = case.database
    case.prepare(lanes=1, batch=BATCH, **options)
    case.sql(f"CREATE ROLE {role} LOGIN; GRANT CONNECT ON DATABASE {case.database} TO {role};"
             f"GRANT USAGE ON SCHEMA public TO {role};"
             f"GRANT SELECT, INSERT, UPDATE, DELETE ON outbox, outbox_parked, outbox_control TO {role}")
    case.at_exit.callback(case.try_sql, f"DROP OWNED BY {role}; DROP ROLE {role}")
    url = case.pg_url.replace("postgres@", f"{role}@")
    relay = case.new_relay(pg_url=url)
    case.fill(BATCH)
    case.wait_done()
    return relay, role


@fault("19")
def a_revoked_permission_is_told_once_and_waited_for(case):
    relay, role = restricted(case)
    mark = len(relay.log)
    case.sql(f"REVOKE UPDATE ON outbox FROM {role}")
    relay.wait_log("permission denied.*42501|42501|privilege", 20, mark)
    case.fill(BATCH)
    check(errors(relay, "42501") <= 2, "each attempt is logged")
    check(case.unsent() == BATCH, "nothing is marked meanwhile")
    case.sql(f"GRANT UPDATE ON outbox TO {role}")
    case.recovery(case.done, 5, "relaying goes on")
    case.judge(BATCH)


@fault("19")
def row_level_security_is_an_error_and_never_an_empty_table(case):
    relay, role = restricted(case)
    mark = len(relay.log)
    case.sql("ALTER TABLE outbox ENABLE ROW LEVEL SECURITY")
    case.fill(BATCH)
    relay.wait_log("row-level security", 20, mark)
    case.sql("ALTER TABLE outbox DISABLE ROW LEVEL SECURITY")
    case.recovery(case.done, 5, "relaying goes on")
    case.judge(0)


@fault("21")
def too_many_connections_are_waited_for(case):
    relay, role = restricted(case)
    mark = len(relay.log)
    case.sql(f"ALTER ROLE {role} CONNECTION LIMIT 0")
    case.terminate_relays()
    case.fill(BATCH)
    relay.wait_log("too many connections", 20, mark)
    begin, used = time.monotonic(), case.cpu_seconds(relay)
    wait_until(lambda: time.monotonic() - begin > 2, 10, "two seconds of refusals")
    share = (case.cpu_seconds(relay) - used) / (time.monotonic() - begin)
    check(share < 0.1, f"a hot loop: {share:.0%} of a CPU")
    check(errors(relay, "too many connections") <= 2, "each attempt is logged")
    case.sql(f"ALTER ROLE {role} CONNECTION LIMIT -1")
    case.recovery(case.done, 5, "relaying goes on")
    case.judge(BATCH)


# ---- a full disk ----

def small_disk(case, folder, mib):
    """A file system of its own, which PostgreSQL owns."""
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(folder)]
    must(subprocess.run(words, capture_output=True, text=True, check=False),
         "mount (it needs root)")
    case.at_exit.callback(subprocess.run, ["umount", "-l", str(folder)], check=False)
    shutil.chown(folder, "postgres", "postgres")
    return folder


@fault("20")
def a_full_disk_repeats_one_batch_at_each_back_off(case):
    """The table lies in a tablespace of 24 MiB; a filler takes the rest, and no mark fits."""
    cluster = Cluster(case, "pg").start()
    relay = relaying(case, cluster=cluster)
    small_disk(case, cluster.dir / "disk", 24)
    case.sql(f"CREATE TABLESPACE small LOCATION '{cluster.dir}/disk'")
    case.sql("ALTER TABLE outbox SET TABLESPACE small")
    case.sql("CREATE TABLE filler (pad text) TABLESPACE small;"
             "ALTER TABLE filler ALTER pad SET STORAGE plain")
    # The rows come first, in full pages, so that each mark needs a new one.
    relay.stop_signal()
    case.fill(600, payload="x" * 3000)
    for rows in (1000, 100, 10, 1):
        while case.try_sql("INSERT INTO filler SELECT repeat('x', 7000)"
                           f" FROM generate_series(1, {rows})") is not None:
            pass
    relay.cont()
    relay.wait_log("53100", 20)
    heard, begin = case.ear.total, time.monotonic()
    wait_until(lambda: time.monotonic() - begin > 4, 10, "four seconds of a full disk")
    batches = (case.ear.total - heard) / BATCH
    case.note(f"batches sent in 4 s of a full disk: {batches:.0f}")
    check(batches <= 14, "the back-off does not bound the repeats")
    case.sql("DROP TABLE filler")
    case.recovery(case.done, 5, "relaying goes on")
    case.judge(30 * BATCH)


@fault("20")
def a_full_disk_of_the_wal_ends_postgres_and_is_waited_for(case):
    """PostgreSQL stops itself, because it cannot promise anything; then there is room again."""
    cluster = Cluster(case, "pg", "max_wal_size=1GB", "checkpoint_timeout=1h")
    disk = small_disk(case, cluster.dir / "wal", 64)
    data = cluster.dir / "data"
    must(as_postgres("cp", "-a", f"{data}/pg_wal/.", disk), "cp")
    must(as_postgres("rm", "-r", data / "pg_wal"), "rm")
    must(as_postgres("ln", "-s", disk, data / "pg_wal"), "ln")
    cluster.start()
    relay = relaying(case, cluster=cluster)
    case.sql("CREATE TABLE junk (pad text)")
    mark = len(relay.log)
    for _ in range(60):
        if case.try_sql("INSERT INTO junk SELECT md5(i::text)"
                        " FROM generate_series(1, 50000) i") is None:
            break
    relay.wait_log("error", 20, mark)
    check("PANIC" in (cluster.dir / "log").read_text(), "the disk was not full: no test")
    must(subprocess.run(["mount", "-o", "remount,size=400m", str(disk)], capture_output=True,
                        text=True, check=False), "mount")
    if case.try_sql("SELECT 1") is None:
        with contextlib.suppress(Failure):
            cluster.stop()  # it may be dead, or about to be
        cluster.start()
    case.fill(BATCH)
    case.recovery(case.done, 5, "relaying goes on")
    case.judge(2 * BATCH)


# ---- old snapshots, bloat, backlog ----

def drain_rate(case, rows):
    """Rows a second from their commit to the last mark."""
    case.fill(rows)
    begin = time.monotonic()
    case.wait_done()
    return rows / (time.monotonic() - begin)


@fault("14", alone=True)
def an_old_snapshot_slows_the_claims_and_its_end_mends_them(case):
    relaying(case, lanes=2, batch=500, publish_timeout="5s")
    first = drain_rate(case, 20000)
    with held(case, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT 1"):
        rates = [drain_rate(case, 20000) for _ in range(4)]
    case.sql("VACUUM outbox")
    last = drain_rate(case, 20000)
    case.note(f"rows/s without: {first:.0f}; behind an old snapshot, 20,000 more dead rows each:"
              f" {', '.join(f'{rate:.0f}' for rate in rates)}; after its end: {last:.0f}")
    check(last > first / 3, "the rate comes back")
    check(rates[-1] > first / 4, "the rate behind an old snapshot")
    case.judge(0)


@fault("16", alone=True)
def without_autovacuum_each_cycle_is_as_fast_as_the_first(case):
    relaying(case, lanes=2, batch=500, publish_timeout="5s", on_sent="mark")
    case.sql("ALTER TABLE outbox SET (autovacuum_enabled = off)")
    rates = [drain_rate(case, 20000) for _ in range(5)]
    case.note("rows/s of each 20,000: " + ", ".join(f"{rate:.0f}" for rate in rates))
    check(rates[-1] > max(rates[:2]) / 3, "the rate decays without a vacuum")
    case.judge(0)


def resident_mib(relay):
    status = pathlib.Path(f"/proc/{relay.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


@fault("15", alone=True)
def a_backlog_of_a_million_rows_costs_neither_memory_nor_the_first_second(case):
    case.prepare(lanes=2, batch=500, publish_timeout="5s")
    case.sql(f"INSERT INTO outbox (topic, key, payload) SELECT '{case.subject}.event', i::text,"
             " '{}' FROM generate_series(1, 1000000) i")
    case.sql("ANALYZE outbox")
    begin = time.monotonic()
    relay = case.new_relay()
    wait_until(lambda: case.ear.total > 0, SHARED * 1, "the first publish")
    case.note(f"first publish after {time.monotonic() - begin:.2f} s (promised 1 s)")
    begin = time.monotonic()
    done = subprocess.run([relay.binary, "status", "-c", str(relay.config)], capture_output=True,
                          text=True, timeout=60, check=False)
    case.note(f"status took {time.monotonic() - begin:.2f} s")
    check(done.returncode == 0, done.stderr)
    early, sizes = None, []
    while case.ear.total < 150000:
        sizes.append(resident_mib(relay))
        early = early or (sizes[-1] if case.ear.total > 20000 else None)
        wait_until(lambda mark=case.ear.total: case.ear.total > mark, 10, "progress")
    case.note(f"resident after 20,000 rows {early:.1f} MiB, at most {max(sizes):.1f} MiB")
    check(max(sizes) < early + 8, "memory grows with what is sent")
    case.stop_relays()
    marked = int(case.sql("SELECT count(*) FROM outbox WHERE sent_at IS NOT NULL"))
    wait_until(lambda: case.ear.total >= marked, 20, "the ear has heard all")
    check(case.ear.repeats == 0 and case.ear.total == marked,
          f"{case.ear.total} transmissions of {marked} marked rows, {case.ear.repeats} repeats")
