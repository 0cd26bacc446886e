"""The faults themselves. Each breaks something, waits its time and heals it, whatever happens.

Injector.run(fault) calls the method that METHODS names for the fault's kind. A method returns None,
or the reason why nothing was injected; it calls self.over() where the fault ends before the healing
does. What it did is kept in self.records, which the audit attributes repeats to.
"""
import contextlib
import os
import signal
import subprocess
import threading
import time

import schedule
import workload
from lab import ROOT, Failure, wait_until

CRASH_LIBRARY = ROOT / "build/crash.so"
DEAD = "the relay was dead already"
CRASH_S = 20  # how long a relay may take to reach the point where it dies
RELOAD_S = 20  # a relay may be paused for 13 s
ALTER_TRIES = 10
REUSE_S = 25  # until no row waits for a moment
IDS_MAX = 10 ** 12
EMPTYINGS = ("TRUNCATE outbox", "DELETE FROM outbox")  # the second keeps the file node
MENDED = 5  # dead rows, each time that poison comes
STOP_S = 18  # shutdown_timeout is 15 s, and a second is allowed

# What may be done to the outbox while relays run. The last change takes the first ones back.
CHANGES = [
    "ALTER TABLE outbox ADD COLUMN added_{number} text DEFAULT 'x'",
    "ALTER TABLE outbox DROP COLUMN added_{number}",
    "ALTER TABLE outbox ALTER COLUMN type TYPE varchar(200);"
    " ALTER TABLE outbox_parked ALTER COLUMN type TYPE varchar(200)",
    "ALTER TABLE outbox ALTER COLUMN created_at SET DEFAULT clock_timestamp()",
    "ALTER TABLE outbox ADD CONSTRAINT changed CHECK (id > 0)",
    "ALTER TABLE outbox DROP CONSTRAINT changed, ALTER COLUMN type TYPE text,"
    " ALTER COLUMN created_at SET DEFAULT now();"
    " ALTER TABLE outbox_parked ALTER COLUMN type TYPE text",
]

# A sequence has the owner of its table, which is the relay's role where it makes partitions.
OWNED = ("DO $$BEGIN EXECUTE format('ALTER SEQUENCE {0} OWNER TO %s', (SELECT relowner::regrole FROM pg_class"
         " WHERE oid = 'outbox'::regclass)); END$$; ALTER SEQUENCE {0} OWNED BY outbox.id;")
# A sequence that goes on above all ids that were drawn, by contract.
NEW_SEQUENCE = {
    "locks": "LOCK TABLE outbox; ALTER TABLE outbox ALTER COLUMN id DROP IDENTITY IF EXISTS,"
             " ALTER COLUMN id DROP DEFAULT; DROP SEQUENCE IF EXISTS outbox_id_seq;"
             " CREATE SEQUENCE outbox_id_seq; " + OWNED.format("outbox_id_seq") +
             " SELECT setval('outbox_id_seq', (SELECT greatest(max(id) - max(base), 0) + 1000 FROM ledger, ids));"
             " ALTER TABLE outbox ALTER COLUMN id SET DEFAULT nextval('outbox_id_seq')",
    "trigger": "LOCK TABLE outbox; DROP SEQUENCE outbox_order_seq; CREATE SEQUENCE outbox_order_seq; "
               + OWNED.format("outbox_order_seq") +
               " SELECT setval('outbox_order_seq', (SELECT greatest(max(id) - max(base), 0) + 1000 FROM ledger, ids))",
}

# How PostgreSQL comes to refuse a settle, and what ends it.
CHOSEN = "hashtext(OLD.event_id::text) % 20 = 0"
# The lock first: else DROP TRIGGER locks partitions before their table, and whoever reads the table meanwhile deadlocks.
DROP = "LOCK TABLE outbox; DROP TRIGGER refused ON outbox; DROP FUNCTION refuse"
REFUSALS = [
    ("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
     " $$BEGIN RAISE 'this row is closed'; END$$; CREATE TRIGGER refused BEFORE UPDATE OR DELETE"
     f" ON outbox FOR EACH ROW WHEN ({CHOSEN}) EXECUTE FUNCTION refuse()", DROP),
    ("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$;"
     " CREATE TRIGGER refused BEFORE UPDATE OR DELETE ON outbox FOR EACH ROW"
     f" WHEN ({CHOSEN}) EXECUTE FUNCTION refuse()", DROP),
    ("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
     " $$BEGIN RAISE 'this row is closed at its end'; END$$; CREATE CONSTRAINT TRIGGER refused"
     " AFTER UPDATE OR DELETE ON outbox DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
     f" WHEN ({CHOSEN}) EXECUTE FUNCTION refuse()", DROP),
    # Rows that come meanwhile are not referenced.
    ("LOCK TABLE outbox; CREATE TABLE refers AS SELECT id FROM outbox ORDER BY id DESC LIMIT 50;"
     " ALTER TABLE refers ADD FOREIGN KEY (id) REFERENCES outbox (id)", "LOCK TABLE outbox; DROP TABLE refers"),
]


class Record:
    """A fault as it happened. Times are monotonic seconds for people, wall milliseconds to compare
    with the brokers' clocks."""
    room_s = 0  # --room

    def __init__(self, fault, began):
        self.fault, self.kind = fault, schedule.KINDS[fault.kind]
        self.began = time.monotonic() - began
        self.begin_ms = time.time() * 1000
        self.end_ms = None
        self.tail_s = self.kind.tail + self.room_s
        self.refused = None  # why it was not injected
        self.window = 0      # what the relays that were hit can hold, once for each lost batch
        self.bound = 0       # what of it they can have held: report.bound_records()
        self.struck = []     # the members that it hit, where it chose them itself


class Injector:
    def __init__(self, lab, fleet, load, sampler, destinations, options, disk):
        self.lab, self.fleet, self.load, self.sampler, self.destinations = lab, fleet, load, sampler, destinations
        self.options, self.disk = options, disk
        self.began = time.monotonic()
        self.records = []
        self.lock = threading.Lock()
        self.local = threading.local()
        self.forgotten = 0  # commits
        self.dropped = 0    # partitions, until ids began anew
        self.pauses = []    # (what, name, begin, end) in wall ms: nothing of it may be published
        self.log = open(lab.folder / "faults.log", "w", buffering=1)

    # ---- one fault after the other, in each group ----

    def run(self, fault):
        """Whether the fault was injected."""
        record = self.local.record = Record(fault, self.began)
        record.member, record.window = self.fleet[fault.relay], self.fleet.window()
        with self.lock:
            self.records.append(record)
        if record.kind.group != "rows":
            self.sampler.fault_begins()
        self._say(record, "begins")
        try:
            record.refused = getattr(self, METHODS[fault.kind].__name__)(fault)
        except (Failure, OSError, subprocess.SubprocessError) as error:
            record.refused = f"failed: {error}"
        self.over()
        record.window = self._window(record)
        self._say(record, f"not injected: {record.refused}" if record.refused else "healed")
        return not record.refused

    def over(self):
        """The fault has ended; the first call counts."""
        record = self.local.record
        if record.end_ms is None:
            record.end_ms = time.time() * 1000
            if record.kind.group != "rows":
                self.sampler.fault_ends(record)
            self._say(record, "ends")

    def _window(self, record):
        if record.kind.hits == "some":
            return sum(member.window for member in record.struck)
        if record.kind.hits == "all":  # the fleet may have grown, or be smaller now
            return max(record.window, self.fleet.window())
        window = record.member.window
        if record.fault.kind.rsplit(" ", 1)[1] in schedule.HARMLESS_POINTS:
            window -= record.member.batch
        return window

    def _say(self, record, word):
        self.log.write(f"{time.monotonic() - self.began:8.3f} {record.fault.number:3} "
                       f"{record.fault.kind} (relay {record.fault.relay}, "
                       f"{record.fault.seconds} s) {word}\n")

    def member(self, _):
        return self.local.record.member

    # ---- relays ----

    def kill_relay(self, fault):
        return None if self.member(fault).kill(rest_s=fault.count / 4) else DEAD

    def crash_relay(self, fault):
        if not CRASH_LIBRARY.exists():
            return "build/crash.so is not there"
        member, point = self.member(fault), fault.kind.rsplit(" ", 1)[1]
        end = time.monotonic() + CRASH_S
        with member.lock:
            if not member.wanted:
                return DEAD
            while time.monotonic() < end:
                self.fleet.restart(member, 20, {"LD_PRELOAD": str(CRASH_LIBRARY),
                                                "OUTBOX_CRASH": f"{point}:{fault.count}:kill"})
                member.expected = True
                try:
                    status = member.relay.wait(max(1, end - time.monotonic()))
                except Failure:
                    member.kill()
                    return f"{point} was not reached {fault.count} times in {CRASH_S} s"
                if status == -signal.SIGKILL:
                    return None
                if not self.fleet.note_end(member, status):
                    return f"the relay ended with status {status} before {point}"
                time.sleep(0.5)
        return f"the relay met a broken schema for {CRASH_S} s"

    def kill_stopping_relay(self, fault):
        member = self.member(fault)
        for pause in (fault.count / 1000, 0):  # an idle relay stops within 10 ms: the second time it is killed at once
            with member.lock:
                if not member.relay.running():
                    return DEAD
                member.expected = True
                member.relay.term()
                time.sleep(pause)
                if member.kill():
                    return None
            deadline = time.monotonic() + STOP_S
            while not member.relay.running() and time.monotonic() < deadline:
                time.sleep(0.05)
        return "it had stopped before"

    def restart_relay(self, fault):
        done = self.fleet.restart(self.member(fault), STOP_S)
        return None if done else DEAD

    def pause_relay(self, fault):
        relay = self.member(fault).relay
        if not relay.running():
            return DEAD
        try:
            relay.stop_signal()
            time.sleep(fault.seconds)
        finally:
            relay.cont()
        return None

    def resize(self, fault):
        gone, asked = self.fleet.resize(fault.count)
        self.local.record.struck = gone
        self.over()
        self.fleet.await_gone(asked, STOP_S)

    # ---- PostgreSQL ----

    def _terminate(self, pid=None):
        """Returns why nothing was terminated, or None."""
        pattern = f"outbox-relay/%:{pid}/%" if pid else "outbox-relay/%"
        count = self.lab.sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                             f" WHERE application_name LIKE '{pattern}'")
        return None if count != "0" else "there was no session"

    def terminate_one(self, fault):
        return self._terminate(self.member(fault).relay.pid)

    def terminate_all(self, _):
        return self._terminate()

    def _restart_postgres(self, action, fault):
        self.lab.service(action, "postgres")
        try:
            time.sleep(fault.seconds)
        finally:
            self.lab.service("start", "postgres")

    def restart_postgres(self, fault):
        self._restart_postgres("stop", fault)

    def kill_postgres(self, fault):
        self._restart_postgres("kill", fault)

    def forget_commits(self, fault):
        """Each lane holds a batch of commits that were never flushed, its messages already lie in
        the brokers' sockets, and PostgreSQL forgets. Only the relay's barrier prevents phantoms.
        What it forgot is what the ledger knew before and does not know after; the report counts it,
        and M12 proves that a relay without the barrier is caught."""
        brokers = self.options.brokers
        # It would write each full page, and what is written survives the death of PostgreSQL.
        writer = int(self.lab.sql("SELECT pid FROM pg_stat_activity"
                                  " WHERE backend_type = 'walwriter'"))
        self.load.pause("sync")
        try:
            time.sleep(0.3)
            os.kill(writer, signal.SIGSTOP)
            for name in brokers:
                self.lab.service("pause", name)
            time.sleep(fault.seconds)
            # The clients may all wait for a key that a paused one holds. These events have none.
            self.lab.sql("SET synchronous_commit = off; BEGIN;"
                         " SELECT count(post(NULL, 0, 1, 1, 1, 0, 0, n, 'keyless'))"
                         f" FROM generate_series({fault.number}000, {fault.number}000 + 19) n;"
                         " INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)"
                         " SELECT 1, 1, 1, 0, now() FROM generate_series(1, 20); COMMIT")
            known = self.lab.sql("SELECT event_id FROM ledger ORDER BY created_at DESC LIMIT 2000")
            self.lab.service("kill", "postgres")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(writer, signal.SIGCONT)
            for name in brokers:
                self.lab.service("resume", name)
            self.lab.service("start", "postgres")
            self.load.resume("sync")
        known = ",".join(known.split())
        forgotten = int(self.lab.sql(f"SELECT count(*) FROM unnest('{{{known}}}'::uuid[]) known"
                                     " WHERE known NOT IN (SELECT event_id FROM ledger)"))
        self.forgotten += forgotten
        return None

    def _with_proxy(self, proxy, break_it, fault):
        break_it(proxy)
        try:
            time.sleep(fault.seconds)
        finally:
            proxy.pass_through()

    def wire(self, fault, proxy):
        """What the last words of the kind's name say, upon one proxy."""
        what = fault.kind.split(" ", 1)[1]
        if proxy.open_connections() == 0:
            return "there was no connection"
        if what == "connection reset":
            proxy.reset()
            return None
        break_it = {
            "refuses connections": lambda p: (p.refuse(), p.reset()),
            "black hole, both ways": lambda p: p.black_hole("both"),
            "black hole, requests": lambda p: p.black_hole("to_server"),
            "black hole, replies": lambda p: p.black_hole("to_client"),
            "slow": lambda p: p.delay(80),
            "throttled": lambda p: p.throttle(30_000),
        }[what]
        self._with_proxy(proxy, break_it, fault)
        return None

    def wire_postgres(self, fault):
        return self.wire(fault, self.member(fault).pg)

    def wire_broker(self, fault):
        nats = schedule.KINDS[fault.kind].broker == "nats"
        return self.wire(fault, self.member(fault).nats if nats else self.fleet.kafka)

    def lose_commit(self, fault):
        proxy = self.member(fault).pg
        mode = {"COMMIT reply lost": "lose_reply", "COMMIT request lost": "lose_request",
                "COMMIT black-holed": "black_hole"}[fault.kind]
        before = proxy.hits
        proxy.on_commit(mode)
        try:
            wait_until(lambda: proxy.hits > before, 10, "a COMMIT comes by")
            time.sleep(fault.seconds)
        finally:
            proxy.pass_through()

    def fill_disk(self, fault):
        if self.disk is None:
            return "the outbox has no small disk of its own: mounting a tmpfs is not permitted here"
        return self.disk.fill(fault.seconds)

    @contextlib.contextmanager
    def _schema_broken(self, is_last=True):
        """A relay that has just started may still log a problem that is over."""
        self._count_schema(+1)
        try:
            yield
        finally:
            if is_last:
                self.over()
            threading.Timer(3, self._count_schema, [-1]).start()

    def _table_alone(self):
        """A transaction that emits for half a minute would have the application wait behind who
        waits for the table."""
        return self.load.holders.emitter.away()

    def _count_schema(self, change):
        with self.lock:
            self.fleet.schema_broken += change

    def revoke(self, fault):
        with self._schema_broken():
            self.lab.sql("REVOKE ALL ON outbox FROM relay")
            try:
                time.sleep(fault.seconds)
            finally:
                self.lab.sql(self.options.grants)

    def rename_column(self, fault):
        columns = ["payload", "topic", "event_id"]
        columns += {"mark": ["sent_at"], "position": ["sent_at", "xid"]}.get(self.options.on_sent, [])
        column = columns[fault.number % len(columns)]
        rename = "SET lock_timeout = '8s'; ALTER TABLE outbox RENAME COLUMN %s TO %s"
        with self._table_alone(), self._schema_broken():
            self.lab.sql(rename % (column, "renamed"))
            try:
                time.sleep(fault.seconds)
            finally:
                self.lab.sql((rename % ("renamed", column)).replace("8s", "60s"))

    def add_column(self, fault):
        with self._table_alone():
            self.lab.sql("SET lock_timeout = '8s';"
                         f" ALTER TABLE outbox ADD COLUMN extra_{fault.number} int")

    def _alter(self, sql):
        """Changes the table beside transactions that lock several tables in another order."""
        with self._table_alone():
            for attempt in range(ALTER_TRIES):
                try:
                    self.lab.sql(f"SET lock_timeout = '3s'; {sql}")
                    return
                except Failure:
                    if attempt + 1 == ALTER_TRIES:
                        raise

    def change_table(self, fault):
        """Each change of CHANGES, while rows come and go. A relay that starts just then may read one
        table before a change and the other one after it."""
        changes = CHANGES[:-1] + [NEW_SEQUENCE.get(self.options.contract, NEW_SEQUENCE["locks"]), CHANGES[-1]]
        for number, change in enumerate(changes, 1):
            with self._schema_broken(number == len(changes)):
                self._alter(f"{change.format(number=fault.number)}; {self.options.grants}")
            time.sleep(fault.seconds / len(changes))

    def refuse_settles(self, fault):
        """Every twentieth row can be neither marked nor deleted, each time for another reason."""
        for refuse, undo in REFUSALS:
            self._alter(refuse)
            try:
                time.sleep(fault.seconds / len(REFUSALS))
            finally:
                self._alter(undo)

    def _hold(self, script, fault):
        """A session that holds something until it is told to end; a count of 0 means that nothing is held."""
        holder = self.lab.psql_background(script + "; SELECT 'held'")
        try:
            threading.Timer(20, holder.kill).start()
            said = []
            while "held\n" not in said:
                said.append(holder.stdout.readline())
                if said[-1] == "":
                    return "the session that was to hold it ended"
            if "0\n" in said:
                return "there was nothing to hold"
            time.sleep(fault.seconds)
        finally:
            holder.kill()
            holder.wait(10)
        return None

    def lock_table(self, fault):
        with self._table_alone():
            return self._hold("BEGIN; LOCK TABLE outbox", fault)

    def lock_rows(self, fault):
        """Retries, because a relay that keeps up leaves a row unlocked only for a few milliseconds."""
        rows = (f"FROM outbox WHERE {self.sampler.unsent} ORDER BY id LIMIT 50"
                " FOR UPDATE SKIP LOCKED")
        return self._hold(f"BEGIN; DO $$BEGIN FOR i IN 1..5000 LOOP PERFORM {rows};"
                          " EXIT WHEN FOUND; PERFORM pg_sleep(0.001); END LOOP; END$$;"
                          f" SELECT count(*) FROM (SELECT {rows}) x", fault)

    def hold_snapshot(self, fault):
        return self._hold("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM broker",
                          fault)

    def no_connections(self, fault):
        self.lab.sql("ALTER ROLE relay CONNECTION LIMIT 0")
        try:
            nothing = self._terminate()
            time.sleep(fault.seconds)
        finally:
            self.lab.sql("ALTER ROLE relay CONNECTION LIMIT -1")
        return nothing

    def rotate_password(self, fault):
        """A relay that starts between the two changes is refused, as it is by a broken schema."""
        with self._schema_broken():
            self.fleet.change_password(f"number {fault.number}")
        return self._terminate()

    def begin_ids_anew(self, fault):
        """Once nothing waits but behind dead rows, whose keys get no more events. The application waits meanwhile,
        for at most 5 s and the time of a lock."""
        if self.options.table == "computed":
            return "dead rows are in the outbox still, with their ids"
        empty = EMPTYINGS[fault.count % len(EMPTYINGS)]
        sequence = "outbox_order_seq" if self.options.contract == "trigger" else "outbox_id_seq"
        waits = (f"(EXISTS (SELECT FROM outbox WHERE {self.sampler.unsent}"
                 " AND id NOT IN (SELECT id FROM outbox_parked WHERE state = 'unsettled'))"
                 " OR EXISTS (SELECT FROM outbox_parked WHERE state NOT IN ('dead', 'behind', 'sent', 'unsettled')))")
        statement = f"""
            SET lock_timeout = '8s';
            DO $$
            BEGIN
                PERFORM pg_advisory_xact_lock(3, 0);
                WHILE clock_timestamp() < statement_timestamp() + interval '5 s' AND {waits} LOOP
                    PERFORM pg_sleep(0.05);
                END LOOP;
                LOCK TABLE outbox;
                IF {waits} THEN
                    RAISE 'rows wait';
                END IF;
                INSERT INTO removed SELECT event_id FROM outbox;
                {empty};
                ALTER SEQUENCE {sequence} RESTART;
                UPDATE ids SET base = base + {IDS_MAX};
                UPDATE held SET is_closed = true;
            END $$"""
        rows = self.options.partitions
        dropped = workload.dropped(self.lab, rows) if rows else 0
        with self._table_alone():
            try:
                wait_until(lambda: self.lab.try_sql(statement) is not None, REUSE_S, "nothing waits")
            except Failure:
                return "rows were waiting all the time"
        self.dropped += dropped
        return None

    def insert_poison(self, _):
        rows, taken = workload.insert_poison(self.lab, self.options.brokers, self.options.table)
        workload.hold_keys(self.lab, self.options.brokers)
        if self.options.table == "computed":
            self.lab.try_sql(f"SELECT mend({MENDED})")
        return None if taken == rows else f"PostgreSQL took {taken} of {rows} rows"

    # ---- the operator ----

    def _operator(self):
        return self.lab.relay(0, self.options.first, self.options.relay)

    def _resume(self, what, name):
        try:
            self._operator().command("resume", what, name)
        except Failure as failure:
            return "is not paused" in str(failure)
        return True

    def pause(self, fault):
        """Ends the pause whatever happens, also if the command lost its session after the commit."""
        what = fault.kind.split(" ", 1)[0]
        broker = self.options.brokers[fault.number % len(self.options.brokers)]
        name = {"topic": f"{broker}.>", "sink": {"kafka": "ledger", "nats": "bus"}[broker],
                "key": self.lab.sql("SELECT l.key FROM ledger l WHERE l.key IS NOT NULL AND NOT poison"
                                    " ORDER BY id DESC LIMIT 1")}[what]
        wait_until(lambda: not self.fleet.schema_broken, 30, "the table is whole")
        try:
            self._operator().command("pause", what, name)
            begin = time.time() * 1000
            time.sleep(fault.seconds)
            self.pauses.append((what, name, begin, time.time() * 1000))
        finally:
            wait_until(lambda: self._resume(what, name), 60, f"{what} {name} is resumed")

    def replay(self, _):
        """What was asked for is kept, and whether the command has said that it was done."""
        if self.options.on_sent == "delete":
            return "rows that were sent are gone"
        attempt = int(time.monotonic() * 1000)
        ids = self.lab.sql(
            f"WITH chosen AS (SELECT event_id FROM outbox WHERE NOT ({self.sampler.unsent})"
            " AND event_id NOT IN (SELECT event_id FROM outbox_parked WHERE sent_at IS NULL AND event_id IS NOT NULL)"
            " ORDER BY id DESC LIMIT 40), noted AS (INSERT INTO asked SELECT event_id,"
            f" {attempt}, false FROM chosen) SELECT event_id FROM chosen").split()
        if not ids:
            return "no row was sent"
        wait_until(lambda: not self.fleet.schema_broken, 30, "the table is whole")
        self._operator().command("replay", *ids)
        self.lab.sql(f"UPDATE asked SET done = true WHERE attempt = {attempt}")
        return None

    def reload_batch(self, fault):
        """A smaller size, or the first one again, so that a member's window stays an upper bound."""
        member = self.member(fault)
        with member.lock:
            if not member.relay.running():
                return DEAD
            size = member.batch if member.batch_now < member.batch else member.batch // 2
            wait_until(lambda: not member.relay.is_silent(), 10, "it runs, so that it hears SIGHUP")
            text = member.relay.config.read_text()
            member.relay.config.write_text(text.replace(f"\nbatch = {member.batch_now}\n",
                                                        f"\nbatch = {size}\n"))
            before, member.batch_now = member.batch_now, size
            since = len(member.relay.log)
            member.relay.signal(signal.SIGHUP)
            member.relay.wait_log(rf"\[relay\] batch = {size}, was {before}", RELOAD_S, since)
        return None

    def change_routes(self, _):
        """One relay after the other loses its routes to the bank, and then gets them back."""
        members = self.fleet.wanted()
        texts = [member.relay.config.read_text() for member in members]
        try:
            for member, text in zip(members, texts):
                member.relay.config.write_text(text.replace('"kafka.>"', '"gone.>"').replace("(nats", "(gone"))
                self.fleet.restart(member, STOP_S)
        finally:
            for member, text in zip(members, texts):
                member.relay.config.write_text(text)
                self.fleet.restart(member, STOP_S)
        return None

    # ---- brokers ----

    def _without_broker(self, fault, end, begin):
        name = schedule.KINDS[fault.kind].broker
        self.lab.service(end, name)
        try:
            time.sleep(fault.seconds)
        finally:
            self.lab.service(begin, name)

    def kill_broker(self, fault):
        self._without_broker(fault, "kill", "start")

    def pause_broker(self, fault):
        self._without_broker(fault, "pause", "resume")

    def forget(self, fault):
        there, broker = self.destinations, schedule.KINDS[fault.kind].broker
        if fault.kind == "NATS stream purged":
            return there.purge(broker, self.over)
        take = {"Kafka topic deleted": there.delete_topic, "Kafka wiped": there.wipe_kafka,
                "NATS stream deleted": there.delete_stream, "NATS wiped": there.wipe_nats}
        return there.forget(broker, fault, take[fault.kind], self.over)


METHODS = {
    "relay killed": Injector.kill_relay,
    **{f"relay crashes at {point}": Injector.crash_relay for point in schedule.POINTS},
    "relay killed while it stops": Injector.kill_stopping_relay,
    "relay restarted": Injector.restart_relay,
    "relay paused": Injector.pause_relay,
    "relay paused past its session": Injector.pause_relay,
    **{name: Injector.resize for name in schedule.CHURN},
    "sessions terminated, of one relay": Injector.terminate_one,
    "sessions terminated, of all relays": Injector.terminate_all,
    "PostgreSQL restarted": Injector.restart_postgres,
    "PostgreSQL killed": Injector.kill_postgres,
    "PostgreSQL killed behind stopped brokers": Injector.forget_commits,
    "COMMIT reply lost": Injector.lose_commit,
    "COMMIT request lost": Injector.lose_commit,
    "COMMIT black-holed": Injector.lose_commit,
    "disk full": Injector.fill_disk,
    "permissions revoked": Injector.revoke,
    "column renamed": Injector.rename_column,
    "column added": Injector.add_column,
    "table changed": Injector.change_table,
    "settles refused": Injector.refuse_settles,
    "table locked": Injector.lock_table,
    "rows locked by others": Injector.lock_rows,
    "old snapshot held": Injector.hold_snapshot,
    "no connections left": Injector.no_connections,
    "password rotated": Injector.rotate_password,
    "ids begin anew": Injector.begin_ids_anew,
    "poison rows": Injector.insert_poison,
    "topic paused": Injector.pause,
    "key paused": Injector.pause,
    "sink paused": Injector.pause,
    "rows replayed": Injector.replay,
    "batch size reloaded": Injector.reload_batch,
    "routes changed": Injector.change_routes,
    **{name: Injector.wire_postgres for name, kind in schedule.KINDS.items()
       if kind.group == "database" and name.startswith("PostgreSQL ")
       and name not in ("PostgreSQL restarted", "PostgreSQL killed")},
    **{name: {"killed": Injector.kill_broker, "paused": Injector.pause_broker}.get(
        name.split(" ", 1)[1], Injector.wire_broker)
       for name, kind in schedule.KINDS.items() if kind.group == "broker"},
    **{name: Injector.forget for name in (*schedule.AMNESIA, "NATS stream purged")},
}
