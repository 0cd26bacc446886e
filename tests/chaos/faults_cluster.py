"""PostgreSQL itself goes away, comes back, comes back as another, forgets, or wants another
password (#7-#12, #22): each test has clusters of its own."""
import time

from faults_case import Cluster, check, fault
from lab import wait_until

BATCH = 50


def relaying(case, cluster, **options):
    case.prepare(cluster=cluster, lanes=2, batch=BATCH, **options)
    relay = case.new_relay()
    case.fill(BATCH)
    case.wait_done()
    return relay


def under_load(case, rows=3000):
    before = case.ear.total
    case.fill(rows)
    wait_until(lambda: case.ear.total > before + 100, 20, "it is under way")


def error_lines(relay, since):
    return [line for line in relay.log[since:].splitlines() if "database:" in line]


# ---- #7 ----

def restarted(case, mode):
    cluster = Cluster(case, "pg").start()
    relay = relaying(case, cluster)
    under_load(case)
    mark = len(relay.log)
    cluster.stop(mode)
    begin = time.monotonic()
    wait_until(lambda: time.monotonic() - begin > 3, 10, "three seconds without PostgreSQL")
    cluster.start()
    case.recovery(lambda: case.sessions() >= 2, 5, "the lanes are back")
    case.recovery(case.done, 5, "all is sent")
    lines = [line[25:] for line in error_lines(relay, mark)]
    most = max(lines.count(line) for line in lines)
    case.note(f"{len(lines)} error lines of 2 lanes in 3 s and more of absence, one {most} times")
    check(most <= 3, "each attempt is logged")
    case.judge(2 * BATCH)


@fault("7")
def a_fast_restart_of_postgres_is_waited_for(case):
    restarted(case, "fast")


@fault("7")
def a_crash_of_postgres_is_waited_for(case):
    restarted(case, "immediate")


# ---- #8, #9, #10 ----

def pair(case):
    """A primary, and an asynchronous standby that gets its WAL through a proxy."""
    primary = Cluster(case, "primary").start()
    wire = case.proxy(primary.address)
    standby = Cluster(case, "standby", own_identity=None).copy_of(primary, wire.address).start()
    both = f"postgresql://postgres@{primary.address},{standby.address}/test"
    return primary, standby, wire, both


def caught_up(case):
    wait_until(lambda: case.sql("SELECT count(*) FROM pg_stat_replication"
                                " WHERE replay_lsn >= pg_current_wal_flush_lsn()") == "1", 20,
               "the standby has all")


@fault("8")
def a_promoted_standby_is_followed_and_what_it_does_not_know_is_sent_again(case):
    """The standby gets the rows and not their marks; then the primary dies."""
    primary, standby, wire, both = pair(case)
    case.prepare(cluster=primary, lanes=2, batch=BATCH)
    case.fill(300)
    caught_up(case)
    wire.black_hole("to_client")
    case.new_relay(pg_url=both)
    case.wait_done()
    primary.stop("immediate")
    standby.promote()
    case.pg_url = standby.url
    case.fill(200)  # their ids are new to the table and their event_ids to the world
    case.recovery(case.done, 5, "the new primary's rows are sent")
    case.judge(300)


@fault("8")
def with_target_session_attrs_a_standby_that_comes_first_is_passed_over(case):
    primary, standby, _, _ = pair(case)
    case.prepare(cluster=primary, lanes=1, batch=BATCH)
    case.new_relay(pg_url=f"postgresql://postgres@{standby.address},{primary.address}/test")
    case.fill(BATCH)
    case.recovery(case.done, 5, "the primary is found")
    case.judge(0)


@fault("9")
def an_old_primary_that_comes_back_is_refused_and_the_new_one_is_served(case):
    """It has an older timeline than the relay has seen: what it has is what the new one forgot."""
    primary, standby, wire, both = pair(case)
    case.prepare(cluster=primary, lanes=1, batch=BATCH)
    relay = case.new_relay(pg_url=both)
    case.fill(BATCH)
    case.wait_done()
    caught_up(case)
    wire.black_hole("to_client")
    primary.stop("immediate")
    standby.promote()
    case.pg_url = standby.url
    case.fill(BATCH)
    case.recovery(case.done, 5, "the new primary is followed")
    primary.start()
    mark = len(relay.log)
    case.sql(f"INSERT INTO outbox (topic) VALUES ('{case.subject}.old')", url=primary.url)
    case.terminate_relays()  # it reconnects, and the old primary stands first in its list
    case.fill(BATCH)
    relay.wait_log("timeline|system identifier", 20, mark)
    check(case.sql("SELECT count(*) FROM outbox WHERE topic LIKE '%.old' AND sent_at IS NULL",
                   url=primary.url) == "1", "a row of the old primary was published")
    case.recovery(case.done, 5, "the new primary is served")
    case.judge(BATCH)


@fault("9")
def another_database_server_behind_the_same_name_is_refused(case):
    one = Cluster(case, "one").start()
    other = Cluster(case, "other", own_identity=True).start()
    case.prepare(cluster=one, lanes=1, batch=BATCH)
    case.init(case.config("other", pg_url=other.url, stream=case.stream_name))
    case.sql(f"INSERT INTO outbox (topic) VALUES ('{case.subject}.other')", url=other.url)
    wire = case.proxy(one.address)
    relay = case.new_relay(pg_url=case.through(wire))
    case.fill(BATCH)
    case.wait_done()
    mark = len(relay.log)
    wire.target = ("127.0.0.1", other.port)
    wire.reset()
    relay.wait_log("timeline|system identifier", 20, mark)
    check(case.sql("SELECT count(*) FROM outbox WHERE sent_at IS NULL", url=other.url) == "1",
          "a row of another server was published")
    wire.target = ("127.0.0.1", one.port)
    case.fill(BATCH)
    case.recovery(case.done, 30, "its own server is served again")
    case.judge(0)


@fault("10")
def a_standby_alone_is_named_read_only_and_waited_for(case):
    primary, standby, _, _ = pair(case)
    case.prepare(cluster=primary, lanes=1, batch=BATCH)
    case.fill(BATCH)
    caught_up(case)
    relay = case.new_relay(pg_url=standby.url)
    relay.wait_log("read-only|read only|recovery|standby", 20)
    check(case.ear.total == 0, "nothing is published from a standby")
    primary.stop("immediate")
    standby.promote()
    case.pg_url = standby.url
    case.recovery(case.done, 5, "once promoted it is served")
    check(relay.running(), "it has not ended")
    case.judge(0)


# ---- #11, #12 ----

def published_and_forgotten(case, durable):
    """Events committed with synchronous_commit = off, published, never settled; then a crash. How
    many of them the broker has and PostgreSQL does not."""
    cluster = Cluster(case, "pg", "wal_writer_delay=10000", "checkpoint_timeout=1h",
                      "wal_writer_flush_after=100MB").start()
    case.prepare(cluster=cluster, lanes=1, batch=BATCH, durable=durable)
    nats = case.proxy(case.nats_address)
    case.new_relay(nats_url=f"nats://{nats.address}")
    case.fill(BATCH)
    case.wait_done()
    nats.black_hole("to_client")
    before = case.ear.total
    case.fill(BATCH, before="SET synchronous_commit = off")
    wait_until(lambda: case.ear.total >= before + BATCH, 20, "the batch is published")
    cluster.stop("immediate")
    heard = set(case.ear.heard)
    nats.pass_through()
    cluster.start()
    return len(heard - set(case.sql("SELECT event_id FROM outbox").split()))


@fault("11")
def an_event_that_a_crash_takes_back_was_never_published(case):
    forgotten = published_and_forgotten(case, True)
    check(forgotten == 0, f"{forgotten} published events are forgotten")
    case.recovery(case.done, 5, "all is sent")
    case.judge(BATCH)


@fault("11")
def without_durable_before_publish_a_crash_takes_published_events_back(case):
    """The control: the recipe does lose what the barrier saves."""
    forgotten = published_and_forgotten(case, False)
    case.note(f"{forgotten} published events are forgotten")
    check(forgotten == BATCH, "the recipe forgets nothing, and so proves nothing")


@fault("12")
def nothing_is_published_while_the_synchronous_standby_is_away(case):
    """The application's own wait is cancelled: its rows are committed here alone."""
    cluster = Cluster(case, "pg").start()
    relay = relaying(case, cluster)
    before = case.ear.total
    case.sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    case.sql("SELECT pg_reload_conf()")
    wait_until(lambda: case.sql("SHOW synchronous_standby_names") == "nobody", 10, "it holds")
    case.fill(BATCH, before="SET synchronous_commit = local")
    waits = "wait_event = 'SyncRep'"
    wait_until(lambda: case.sessions(waits) > 0, 20, "the barrier waits for the standby")
    relay.wait_log("no answer within the time limit|flush", 30)
    check(case.ear.total == before, "an event of one copy is published")
    stuck = case.sessions(waits)
    case.note(f"sessions left waiting for the standby: {stuck}")
    check(stuck <= 2, "each attempt leaves a backend behind")
    case.sql("ALTER SYSTEM RESET synchronous_standby_names", url=cluster.url)
    case.sql("SELECT pg_reload_conf()")
    case.recovery(case.done, 20, "published once there is no standby to wait for")
    case.judge(2 * BATCH)


# ---- #22 ----

@fault("22")
def a_password_that_is_rotated_is_read_anew_at_each_connect(case):
    cluster = Cluster(case, "pg").start()
    case.prepare(cluster=cluster, lanes=2, batch=BATCH)
    case.sql("ALTER ROLE postgres PASSWORD 'first'")
    with open(cluster.dir / "data/pg_hba.conf", "w", encoding="ascii") as rules:
        rules.write("local all all trust\nhost test postgres 127.0.0.1/32 scram-sha-256\n")
    case.sql("SELECT pg_reload_conf()")
    secret = case.folder / "password"
    secret.write_text("first\n")
    secret.chmod(0o600)
    relay = case.new_relay(password_file=secret)
    case.pg_url = f"postgresql://postgres@/test?host={cluster.dir}&port={cluster.port}"
    case.fill(BATCH)
    case.wait_done()
    mark = len(relay.log)
    case.sql("ALTER ROLE postgres PASSWORD 'second'")
    case.terminate_relays()
    case.fill(BATCH)
    relay.wait_log("password authentication failed", 20, mark)
    begin = time.monotonic()
    wait_until(lambda: time.monotonic() - begin > 2, 10, "two seconds of refusals")
    lines = len(error_lines(relay, mark))
    check(lines <= 6, f"{lines} lines: each attempt is logged")
    check("first" not in relay.log and "second" not in relay.log, "a password is logged")
    fresh = case.folder / "password.new"
    fresh.write_text("second\n")
    fresh.chmod(0o600)
    fresh.rename(secret)
    case.recovery(case.done, 5, "the new password is taken")
    case.judge(2 * BATCH)
