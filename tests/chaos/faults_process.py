"""The relay's surroundings: its broker's line, names, clocks, signals, memory, descriptors, its
log, and many relays at once (#23, #24, #33-#37, #39, +)."""
import pathlib
import re
import resource
import signal
import subprocess
import time

from faults_case import NatsServer, Shim, check, fault
from lab import wait_until

BATCH = 50
SHUTDOWN_S = 15  # shutdown_timeout, when it is not set


def relaying(case, *, env=None, rows=BATCH, **options):
    case.prepare(**{"lanes": 1, "batch": BATCH, **options})
    relay = case.new_relay(env=env)
    case.fill(rows)
    case.wait_done()
    return relay


def for_seconds(seconds, look):
    """Looks again and again for so long; the largest value."""
    end, largest = time.monotonic() + seconds, 0

    def once():
        nonlocal largest
        largest = max(largest, look())
        return time.monotonic() > end
    wait_until(once, seconds + 20, "the time is over")
    return largest


# ---- the broker's line ----

@fault("23")
def a_broker_that_is_away_at_the_start_and_later_keeps_no_transaction_open(case):
    server = NatsServer(case).start()
    case.prepare(nats=server, lanes=2, batch=BATCH)
    server.kill()
    case.fill(200)
    relay = case.new_relay()
    relay.wait_log("nats", 20)
    check(for_seconds(3, lambda: case.sessions("xact_start < clock_timestamp() - interval '1 s'"))
          == 0, "a transaction is open while the broker is away")
    server.start()
    case.recovery(case.done, 5, "the broker is back")
    case.ear.wait_ready()
    before = case.ear.total
    case.fill(3000)
    wait_until(lambda: case.ear.total > before + 100, 20, "it is under way")
    server.kill()
    # Until the deadline of the batch in hand a transaction may stand.
    wait_until(lambda: case.sessions("xact_start IS NOT NULL") == 0, 5, "the batches are ended")
    check(for_seconds(2, lambda: case.sessions("xact_start < clock_timestamp() - interval '1 s'"))
          == 0, "a transaction is open while the broker is away")
    server.start()
    case.recovery(case.done, 5, "the broker is back")
    case.judge(2 * BATCH)


@fault("24")
def a_round_trip_of_two_seconds_only_takes_time(case):
    case.prepare(lanes=1, batch=BATCH, publish_timeout="5s")
    line = case.proxy(case.nats_address)
    case.new_relay(nats_url=f"nats://{line.address}")
    case.fill(BATCH)
    case.wait_done()
    line.delay(1000)
    case.fill(2 * BATCH)
    case.recovery(case.done, 5, "two batches, a round trip each")
    line.pass_through()
    case.judge(0)


@fault("24")
def a_batch_that_is_too_large_for_the_line_keeps_what_was_acknowledged(case):
    """Each batch of 100 kB meets a line of 30 kB/s and a deadline of 1 s."""
    case.prepare(lanes=1, batch=100)
    line = case.proxy(case.nats_address)
    relay = case.new_relay(nats_url=f"nats://{line.address}")
    case.fill(BATCH)
    case.wait_done()
    line.throttle(30000)
    begin = time.monotonic()
    case.fill(200, payload="x" * 1000)
    steps = []
    while time.monotonic() < begin + 8 and not case.done():
        left = case.unsent()
        wait_until(lambda left=left: case.unsent() < left, 8, "progress on a slow line")
        steps.append(left - case.unsent())
    case.note(f"rows settled at each look: {steps}")
    tries = time.monotonic() - begin + 2
    line.pass_through()
    case.recovery(case.done, 5, "the rest is sent")
    check("deadline" in relay.log or "acknowledg" in relay.log, "no deadline was met: no test")
    case.judge(int(tries) * 100)


# ---- names and clocks ----

def by_name(case, shim, **options):
    database = case.pg_url.rsplit("/", 1)[1]
    return case.new_relay(
        env=shim.env, nats_url=f"nats://bus.test:{case.nats_address.split(':')[1]}",
        pg_url=f"postgresql://postgres@db.test:{case.pg_address.split(':')[1]}/{database}"
               "?sslmode=disable", **options)


NORMAL, NOT_THERE, NOBODY, LATE = range(4)


@fault("33")
def names_that_do_not_resolve_are_waited_for(case):
    case.prepare(lanes=2, batch=BATCH)
    shim = Shim(case)
    shim.set("resolve", NOT_THERE)
    relay = by_name(case, shim)
    case.fill(BATCH)
    relay.wait_log("translate host name|db.test|not known", 20)
    shim.set("resolve", NORMAL)
    case.recovery(case.done, 5, "the names are known")
    check(shim.get("resolved") > 0, "the shim was not asked")
    case.judge(0)


@fault("33")
def a_name_that_has_moved_is_resolved_anew(case):
    case.prepare(lanes=2, batch=BATCH)
    shim = Shim(case)
    shim.set("resolve", NOBODY)
    relay = by_name(case, shim)
    case.fill(BATCH)
    relay.wait_log("refused", 20)
    shim.set("resolve", NORMAL)
    case.recovery(case.done, 5, "the new address is taken")
    case.terminate_relays()
    shim.set("resolve", LATE)
    wait_until(lambda mark=shim.get("resolved"): shim.get("resolved") > mark, 20, "it is asked for")
    shim.set("resolve", NORMAL)
    case.fill(BATCH)
    case.recovery(case.done, 10, "a resolver of three seconds")
    case.judge(0)


@fault("34")
def a_wall_clock_that_jumps_an_hour_changes_nothing(case):
    case.prepare(lanes=2, batch=BATCH)
    shim = Shim(case)
    relay = case.new_relay(env=shim.env)
    jumps = (3600, 0, -3600, 0)
    for offset in jumps:
        case.fill(1000)
        shim.set("clock_offset_s", offset)
        case.recovery(case.done, 5, f"all is sent at {offset:+d} s")
    case.fill(BATCH)
    case.recovery(case.done, 5, "and after")
    strange = case.sql("SELECT count(*) FROM outbox WHERE abs(extract(epoch FROM now() - sent_at))"
                       " > 300")
    check(strange == "0", f"{strange} rows are marked at a strange time")
    check(relay.running(), "it has not ended")
    shim.set("clock_offset_s", 3600)
    case.judge(0)
    hours = [line[11:13] for line in relay.lines()]
    check(hours[0] != hours[-1], f"the shim moves no clock: {hours}")


# ---- signals ----

@fault("35")
def sigterm_and_sigint_under_load_repeat_nothing(case):
    case.prepare(lanes=2, batch=BATCH)
    slowest = 0.0
    for turn in range(10):
        case.fill(1000)
        before = case.ear.total
        relay = case.new_relay()
        wait_until(lambda: case.ear.total > before, 20, "it is under way")
        begin = time.monotonic()
        relay.signal(signal.SIGINT if turn % 2 else signal.SIGTERM)
        check(relay.wait(SHUTDOWN_S + 1) == 0, f"exit status {relay.process.returncode}")
        slowest = max(slowest, time.monotonic() - begin)
    case.note(f"10 stops, the slowest took {slowest:.2f} s (promised: shutdown_timeout + 1 s)")
    case.new_relay()
    case.judge(0)


@fault("35")
def a_second_sigterm_leaves_at_once_and_costs_a_window(case):
    case.prepare(lanes=2, batch=BATCH, publish_timeout="10s")
    nats = case.proxy(case.nats_address)
    relay = case.new_relay(nats_url=f"nats://{nats.address}")
    case.fill(BATCH)
    case.wait_done()
    nats.black_hole("to_client")
    before = case.ear.total
    case.fill(100)
    wait_until(lambda: case.ear.total > before, 20, "a batch is under way")
    relay.term().wait_log("stopping", 10)
    begin = time.monotonic()
    check(relay.term().wait(SHUTDOWN_S / 3) == 1, "the second SIGTERM exits 1")
    case.note(f"left after {time.monotonic() - begin:.2f} s")
    case.new_relay()
    case.recovery(case.done, 5, "another relay sends the batches")
    case.judge(2 * BATCH)


@fault("35")
def sigpipe_and_sighup_change_nothing(case):
    relay = relaying(case, lanes=2)
    before = case.ear.total
    case.fill(2000)
    wait_until(lambda: case.ear.total > before, 20, "it is under way")
    for number in (signal.SIGPIPE, signal.SIGHUP):
        relay.signal(number)
    relay.wait_log("is read again", 20)
    case.recovery(case.done, 5, "all is sent")
    case.fill(BATCH)
    case.recovery(case.done, 5, "and goes on")
    check(relay.running(), f"ended by a signal: {relay.process.returncode}")
    case.judge(0)


# ---- memory ----

@fault("36")
def in_64_mib_huge_rows_are_set_aside_and_the_others_arrive(case):
    case.prepare(lanes=2, batch=500, publish_timeout="5s")
    relay = case.new_relay()
    case.sql(f"INSERT INTO outbox (topic, payload) SELECT '{case.subject}.event',"
             " to_jsonb(repeat('x', 50 * 1024 * 1024)) FROM generate_series(1, 4)")
    case.fill(5000, payload="y" * 2000)
    case.recovery(case.done, 20, "the outbox is empty")
    status = pathlib.Path(f"/proc/{relay.pid}/status").read_text()
    peak_mib = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024
    case.note(f"peak {peak_mib:.0f} MiB, 4 rows of 50 MiB are dead")
    check(peak_mib < 64, "more than 64 MiB was resident")
    check(case.sql("DELETE FROM outbox_parked WHERE state = 'dead' RETURNING 1").split()
          == ["1"] * 4, "the huge rows are dead")
    case.judge(0)


def fail_allocations(case, rounds, whose):
    """One allocation fails in each round, and the relay goes on or ends. What it ended with."""
    case.prepare(lanes=1, batch=BATCH)
    shim = Shim(case)
    relay, ends, blamed = None, [], []
    shim.set("fail_whose", whose)
    for turn in range(rounds):
        shim.set("fail_at", 0)
        if relay is None or not relay.running():
            relay = case.new_relay(env=shim.env)
            case.fill(1)
            case.wait_done()
        failed = shim.get("failed")
        shim.set("fail_at", shim.get("allocations") + case.random.randrange(1, 120))
        if turn % 3 == 0:
            case.terminate_relays()  # connecting takes memory too
        case.fill(2 * BATCH)
        wait_until(lambda: shim.get("failed") > failed or case.done(), 20,
                   "it fails, or has not to")
        wait_until(lambda: not relay.running() or case.done(), 20, "it ends or goes on")
        blamed += [shim.whose()] if shim.get("failed") > failed else []
        if not relay.running():
            ends.append((relay.wait(1), shim.whose(), relay.lines()[-1][25:]))
    shim.set("fail_at", 0)
    counts = ", ".join(f"{blamed.count(name)} of {name}" for name in sorted(set(blamed)))
    case.note(f"{len(blamed)} allocations failed ({counts}); {len(ends)} ends: {ends}")
    check(len(blamed) >= rounds // 2, "too few allocations failed")
    if not relay.running():
        case.new_relay()
    case.wait_done()
    for one in case.relays:
        if one.running():
            check(one.term().wait(25) in (0, 1), f"exit status {one.process.returncode}")
    case.judge(rounds * BATCH)
    return ends


ANY, LIBPQ = range(2)


@fault("36")
def a_failed_allocation_of_libpq_never_crashes(case):
    ends = fail_allocations(case, 10, LIBPQ)
    check(all(status >= 0 for status, _, _ in ends), f"a crash: {ends}")


@fault("36")
def a_failed_allocation_anywhere_loses_nothing_and_marks_nothing_unsent(case):
    """nats.c and Kerberos do not always survive theirs; then PostgreSQL rolls back."""
    ends = fail_allocations(case, 12, ANY)
    check(all(status >= 0 or not whose.startswith(("outbox-relay", "libpq", "libc."))
              for status, whose, _ in ends), f"a crash: {ends}")


# ---- descriptors, interruptions ----

@fault("37")
def without_descriptors_it_backs_off_and_comes_back(case):
    relay = relaying(case, lanes=2)
    soft, hard = resource.prlimit(relay.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(relay.pid, resource.RLIMIT_NOFILE, (3, hard))
    mark = len(relay.log)
    case.terminate_relays()
    case.fill(BATCH)
    relay.wait_log("Too many open files", 20, mark)
    begin, used = time.monotonic(), case.cpu_seconds(relay)
    wait_until(lambda: time.monotonic() - begin > 3, 10, "three seconds")
    share = (case.cpu_seconds(relay) - used) / (time.monotonic() - begin)
    case.note(f"CPU without descriptors: {share:.1%}")
    check(share < 0.1, f"a busy loop: {share:.0%} of a CPU")
    resource.prlimit(relay.pid, resource.RLIMIT_NOFILE, (soft, hard))
    case.recovery(case.done, 5, "descriptors are there again")
    case.judge(2 * BATCH)


@fault("37")
def short_reads_and_writes_change_nothing(case):
    case.prepare(lanes=2, batch=BATCH)
    shim = Shim(case)
    shim.set("short_bytes", 33)
    case.new_relay(env=shim.env)
    case.fill(1000)
    case.recovery(case.done, 20, "all is sent in pieces")
    case.note(f"{shim.get('shortened')} reads and writes were shortened")
    check(shim.get("shortened") > 100, "the shim shortens nothing")
    case.judge(0)


@fault("37")
def interrupted_calls_cost_repeats_at_most(case):
    """nats.c takes an interrupted recv(2) for a lost connection; libpq and the relay do not."""
    case.prepare(lanes=2, batch=BATCH)
    shim = Shim(case)
    relay = case.new_relay(env=shim.env)
    case.fill(BATCH)
    case.wait_done()
    shim.set("interrupt_every", 150)
    end = time.monotonic() + 30
    while shim.get("interrupted") < 8 and time.monotonic() < end:
        case.fill(500)
        case.recovery(case.done, 5, "all is sent")
    shim.set("interrupt_every", 0)
    check(shim.get("interrupted") >= 8, "too few interruptions")
    lost = len([line for line in relay.lines() if " error " in line])
    case.note(f"{shim.get('interrupted')} calls were interrupted, {lost} errors")
    check(relay.running(), "it has not ended")
    case.judge(lost * BATCH)


# ---- many relays ----

@fault("39")
def relays_that_double_and_halve_share_the_work(case):
    case.prepare(lanes=1, batch=BATCH)
    kills, most = 0, 0
    live = []
    for count in (1, 2, 4, 8, 16, 8, 4, 8, 2):
        while len(live) < count:
            live.append(case.new_relay())
        while len(live) > count:
            relay = live.pop(case.random.randrange(len(live)))
            if case.random.random() < 0.5:
                relay.kill()
                kills += 1
            else:
                check(relay.term().wait(25) == 0, "a relay stops cleanly")
        before = case.ear.total
        case.fill(1500)
        wait_until(lambda: case.ear.total > before, 20, "progress")
        most = max(most, case.sessions())
    case.note(f"{kills} kills, at most {most} sessions of 16 relays")
    check(most <= 16 * 3, "more sessions than a lane, its flush and a janitor each")
    case.recovery(case.done, 5, "all is sent")
    oldest = case.sql("SELECT max(sent_at - created_at) FROM outbox")
    case.note(f"the oldest row waited {oldest}")
    # A killed relay is dead by its pid; those that still run end with 0.
    case.relays = live
    case.judge(kills * BATCH)


# ---- the log ----

def with_stderr(case, stderr):
    case.prepare(lanes=2, batch=BATCH, log_level="debug")
    config = case.config("relay", **case.options)
    relay = case.relay(1, config)
    relay.process = subprocess.Popen([relay.binary, "run", "-c", str(config)], stderr=stderr,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    case.started.append(relay.process)
    case.sql("INSERT INTO outbox (topic) SELECT '' FROM generate_series(1, 3000)")
    case.fill(500)
    case.recovery(case.done, 20, "3,000 dead rows, a line each, and 500 good ones")
    check(case.sql("WITH gone AS (DELETE FROM outbox_parked WHERE sent_at IS NULL RETURNING 1)"
                   " SELECT count(*) FROM gone")
          == "3000", "the dead rows are set aside")
    check(relay.running(), "it has not ended")
    check(relay.term().wait(25) == 0, f"exit status {relay.process.returncode}")
    case.judge(0)
    return relay.process


@fault("+")
def a_log_that_nobody_reads_blocks_nothing(case):
    process = with_stderr(case, subprocess.PIPE)
    left = len(process.stderr.read())
    process.stderr.close()
    case.note(f"{left} bytes stood in the pipe")
    check(left > 30000, "the pipe was not full: no test")


@fault("+")
def a_log_on_a_full_disk_blocks_nothing(case):
    with open("/dev/full", "wb") as full:
        with_stderr(case, full)
