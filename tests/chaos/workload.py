"""The application: pgbench's bank, an event in each transaction, and rows that can never be sent.

pgbench ends when its connections do, so it is started again until the run stops it: a thread each
for the clients that commit durably and for those with synchronous_commit = off. Beside them are the
clients of holders.py, which take their time.
"""
import json
import os
import pathlib
import signal
import subprocess
import threading

import holders
from lab import Failure, wait_until

HERE = pathlib.Path(__file__).resolve().parent
SCALE = 10
# A thousand transactions of the bank come with so many of these.
KEYLESS, SLOW = 40, {"hot": 2, "cold": 8}
KINDS = ("transfer", "slow", "keyless", "copied", "emitted")  # of events: their types
CLIENTS = {"sync": (8, 0.7), "async": (4, 0.3)}  # name -> (clients, share of the rate)
FREE_CLIENTS = {"sync": (22, 0.7), "async": (10, 0.3)}  # of those that lock nothing
CONTRACTS = ("locks", "trigger", "none")  # who keeps the order of a key: contract.sql

# The outbox of a run: what is special in the configuration of its relays. `computed` is made by computed.sql.
TABLES = {"plain": {}, "computed": {
    "outbox": {"where": "status = 'NEW'", "mark": "status = 'SENT', sent_at = clock_timestamp()",
               "park": "status = upper($state), last_error = $error, attempts = $attempts",
               "due": "available_at", "adopt": True},
    "extra": """
[outbox.columns]
topic = "(CASE type WHEN 'slow' THEN replace(topic, 'bank', 'größe.銀行') ELSE topic END)"
key = "(payload->>'key')"
payload = "(payload - 'internal')"
headers = "(headers || jsonb_build_object('kind', type))"
sent_at = "sent_at"

[outbox.headers]
"x-branch" = "(payload->>'bid')"
"x-divided" = "((100 / (payload->>'divisor')::int)::text)"
"""}}

SQL_LONG = "(SELECT jsonb_build_object('pad', repeat('x', %d)))"
GOOD = "'{}'::jsonb"


def headers(value):
    return "'" + json.dumps(value).replace("'", "''") + "'::jsonb"


def poison_rows(broker):
    """[(what is wrong, topic, payload, headers)], in SQL: each is a row that must end dead."""
    topic = f"'{broker}.bank'"
    rows = [
        ("headers nested", topic, GOOD, headers({"a": {"b": "c"}})),
        ("headers a list", topic, GOOD, headers(["a", "b"])),
        ("headers a string", topic, GOOD, headers("a")),
        ("header name empty", topic, GOOD, headers({"": "x"})),
        ("header name with CRLF", topic, GOOD, headers({"a\r\nNats-Rollup": "all"})),
        ("header name with a tab", topic, GOOD, headers({"a\tb": "x"})),
        ("header id", topic, GOOD, headers({"id": "00000000-0000-4000-8000-000000000000"})),
        ("header type", topic, GOOD, headers({"type": "x"})),
        ("header created_at", topic, GOOD, headers({"created_at": "x"})),
        ("headers too many", topic, GOOD, headers({f"h{n}": "x" for n in range(65)})),
        ("headers too large", topic, GOOD, headers({"h": "x" * 17000})),
        ("payload too large", topic, SQL_LONG % 1100000, "NULL"),
        ("payload larger than a batch", topic, SQL_LONG % 9000000, "NULL"),
        ("topic empty", "''", GOOD, "NULL"),
    ]
    if broker == "kafka":
        rows += [
            ("topic with a slash", "'kafka.a/b'", GOOD, "NULL"),
            ("topic with a space", "'kafka.a b'", GOOD, "NULL"),
            ("topic with a line end", "E'kafka.a\\nb'", GOOD, "NULL"),
            ("topic too long", "'kafka.' || repeat('x', 250)", GOOD, "NULL"),
            ("topic internal", "'__consumer_offsets'", GOOD, "NULL"),
        ]
    else:
        rows += [
            ("subject with a space", "'nats.a b'", GOOD, "NULL"),
            ("subject with CRLF", "E'nats.a\\r\\nPUB nats.bank 1\\r\\nx'", GOOD, "NULL"),
            ("subject a wildcard", "'nats.*'", GOOD, "NULL"),
            ("subject a full wildcard", "'nats.>'", GOOD, "NULL"),
            ("subject with an empty token", "'nats..a'", GOOD, "NULL"),
            ("subject beyond ASCII", "'nats.ä'", GOOD, "NULL"),
            ("subject too long", "'nats.' || repeat('x', 255)", GOOD, "NULL"),
            ("subject of the purge", "'$JS.API.STREAM.PURGE.BANK'", GOOD, "NULL"),
            ("subject of an inbox", "'_INBOX.x'", GOOD, "NULL"),
            ("header name with a colon", topic, GOOD, headers({"a:b": "x"})),
            ("header name with a space", topic, GOOD, headers({"a b": "x"})),
            ("header Nats-Rollup", topic, GOOD, headers({"Nats-Rollup": "all"})),
            ("header Nats-Msg-Id", topic, GOOD, headers({"nats-msg-id": "1"})),
            ("header with Nats- inside", topic, GOOD, headers({"x-Nats-Msg-Id": "1"})),
            ("header key", topic, GOOD, headers({"key": "x"})),
            ("header value with CRLF", topic, GOOD, headers({"a": "b\r\nNats-Rollup: all"})),
        ]
    return rows


def failing_rows(broker):
    """Rows like these where an expression fails for them; elsewhere they could be sent."""
    topic = f"'{broker}.bank'"
    return [("division by zero", topic, """'{"divisor": 0}'::jsonb""", "NULL"),
            ("cast of a text", topic, """'{"divisor": "x"}'::jsonb""", "NULL"),
            ("payload without members", topic, "'1'::jsonb", "NULL")]


def unsent(table, on_sent="mark"):
    """The condition of a row that is to be sent, or to be parked."""
    if table == "computed":
        return "status = 'NEW'"
    return {"delete": "true", "position": "id IN (SELECT unsent_ids())"}.get(on_sent, "sent_at IS NULL")


def unmarked(table, on_sent="mark"):
    """The condition of a row that lacks the marks of one that was sent, or is dead in its place."""
    if table == "computed":
        return "(status NOT IN ('SENT', 'DEAD') OR status = 'SENT' AND sent_at IS NULL)"
    return unsent(table, on_sent)


def routes(brokers):
    """Includes the routes that lead poison to its broker, so that the broker's rules stop it."""
    found = []
    if "kafka" in brokers:
        found += [{"match": "kafka.größe.*", "sink": "ledger", "topic": "kafka.bank"},
                  {"match": "kafka.>", "sink": "ledger"}, {"match": "re:^__", "sink": "ledger"}]
    if "nats" in brokers:
        found += [{"match": "re:^nats[.]gr(ö|o)ß+e[.][^a-z.]+$", "sink": "bus",
                   "topic": "nats.bank"},
                  {"match": "re:^(nats\\..*|[$]JS|_INBOX)", "sink": "bus"}]
    return found


def insert_poison(lab, brokers, table="plain"):
    """Inserts a row of each kind. Returns how many there are, and how many PostgreSQL accepted."""
    rows = [row for broker in brokers for row in poison_rows(broker)
            + (failing_rows(broker) if table == "computed" else [])]
    script = "".join(
        "INSERT INTO outbox (topic, key, type, payload, headers) VALUES "
        f"({topic}, 'p' || random(), 'poison {what}', {payload}, {head}) RETURNING 1;\n"
        for what, topic, payload, head in rows)
    done = subprocess.run(["psql", "-XqAt", lab.pg_url], input=script, text=True, check=False,
                          capture_output=True, timeout=60)
    return len(rows), done.stdout.split().count("1")


def hold_keys(lab, brokers):
    """A key of each broker gets a row that will end dead amid good ones; earlier such keys get more
    of them behind it."""
    wanted = ", ".join(f"('{broker}.bank')" for broker in brokers)
    lab.sql(f"""
        SELECT count(post_held(key, 2)) FROM held WHERE NOT is_closed;
        SELECT count(hold(key)) FROM (
            SELECT DISTINCT ON (topic) 'held' || taken + n AS key
            FROM (VALUES {wanted}) wanted (topic), generate_series(1, 100) n,
                 (SELECT count(*) * 100 AS taken FROM held) held
            WHERE topic_of('held' || taken + n) = topic ORDER BY topic, n) keys""")


class Load:
    """keys: hot, cold or mixed. seed: decides when the holders come."""

    def __init__(self, lab, keys, rate, seed, contract):
        self.lab, self.rate = lab, rate
        self.clients = CLIENTS if contract == "locks" else FREE_CLIENTS
        names = ("hot", "cold") if keys == "mixed" else (keys,)
        weights = {"keyless": KEYLESS}
        for name in names:
            weights |= {name: 1000 // len(names), f"slow_{name}": SLOW[name]}
        if contract != "locks":
            weights = {"free": 1000, "keyless": KEYLESS}
        self.scripts = [word for name, weight in weights.items()
                        for word in ("-f", f"{HERE / name}.sql@{weight}")]
        self.holders = holders.Holders(lab, seed, SCALE, contract == "locks")
        self.ended = threading.Event()
        self.lock = threading.Lock()
        self.processes = {}
        self.starts = 0
        self.threads = [threading.Thread(target=self._keep_up, args=(name,), daemon=True)
                        for name in self.clients]

    def start(self):
        for thread in self.threads:
            thread.start()
        self.holders.start()

    def halt(self):
        """From now on nothing new begins."""
        self.ended.set()
        self.holders.ended.set()

    def _launch(self, name):
        clients, share = self.clients[name]
        words = ["pgbench", "-n", "-s", str(SCALE), "-c", str(clients), "-j", "1", "-T", "7200",
                 "-R", str(max(1, self.rate * share)), *self.scripts, self.lab.pg_url]
        environment = {**os.environ, "PGCONNECT_TIMEOUT": "5"}
        if name == "async":
            environment["PGOPTIONS"] = "-c synchronous_commit=off"
        with open(self.lab.folder / f"pgbench-{name}.log", "ab") as log:
            return subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                    env=environment)

    def _keep_up(self, name):
        while not self.ended.is_set():
            with self.lock:
                if self.ended.is_set():
                    return
                process = self.processes[name] = self._launch(name)
                self.lab.started.append(process)
                self.starts += 1
            process.wait()
            self.ended.wait(0.2)

    def _signal(self, name, number):
        with self.lock:
            process = self.processes.get(name)
            if process is not None and process.poll() is None:
                process.send_signal(number)

    def pause(self, name):
        self._signal(name, signal.SIGSTOP)

    def resume(self, name):
        self._signal(name, signal.SIGCONT)

    def stop(self):
        self.halt()
        for name in self.clients:
            self._signal(name, signal.SIGCONT)
            self._signal(name, signal.SIGKILL)
        for thread in self.threads:
            thread.join(30)
        self._end_sessions("pgbench")
        self.holders.stop()
        self._end_sessions(holders.NAME)

    def _end_sessions(self, name):
        """What a client had begun ends when its backend notices; only then is the ledger final."""
        end_them = (f"SELECT count(CASE WHEN application_name = '{name}'"
                    " THEN pg_terminate_backend(pid) END) FROM pg_stat_activity")
        wait_until(lambda: self.lab.try_sql(end_them) == "0", 30,
                   f"the sessions named {name} are gone")

    def came(self):
        """How often each kind of event was committed, and each kind of holder ended as intended."""
        counts = dict(line.split("|") for line in self.lab.sql(
            "SELECT type, count(*) FROM ledger WHERE NOT poison GROUP BY type").splitlines())
        return ({kind: int(counts.get(kind, 0)) for kind in KINDS}
                | {kind.name: kind.went for kind in self.holders.kinds})


def set_up_bank(lab, config, brokers, table="plain", contract="locks", partitions=None):
    """pgbench's tables, the relay's, and the ledger."""
    done = subprocess.run(["pgbench", "-i", "-q", "-s", str(SCALE), lab.pg_url], text=True,
                          capture_output=True, check=False, timeout=120)
    if done.returncode != 0:
        raise Failure(f"pgbench -i: {done.stderr.strip()}")
    if table == "computed":
        lab.sql_file(HERE / "computed.sql")
        lab.fit(config)
    lab.init(config, *(["--order-trigger"] if contract == "trigger" else []),
             *(["--partitions", str(partitions)] if partitions else []))
    lab.sql_file(HERE / "bank.sql", brokers=brokers)
    if contract != "locks":
        lab.sql_file(HERE / "contract.sql", trigger=str(contract == "trigger").lower())


def judge_positions(lab, slices):
    """A second opinion on what the newest progress of a row's slice says of it. It is asked of all rows at once, and
    without compiling the query, because sampler.py looks ten times a second."""
    lab.sql("CREATE FUNCTION slice_of(id bigint, key text) RETURNS int LANGUAGE sql IMMUTABLE AS"
            f" $$SELECT (hashtext(coalesce($2, $1::text)) & 2147483647) % {slices}$$;"
            " CREATE FUNCTION unsent_ids() RETURNS SETOF bigint LANGUAGE sql STABLE SET enable_nestloop = off SET jit = off AS $$"
            " WITH newest AS MATERIALIZED (SELECT one AS slice, low, ends, snapshots"
            f" FROM generate_series(0, {slices} - 1) slices (one) LEFT JOIN LATERAL (SELECT * FROM outbox_progress"
            " WHERE slice = one ORDER BY top DESC, number DESC LIMIT 1) p ON true)"
            " SELECT id FROM outbox JOIN newest ON newest.slice = slice_of(id, key)"
            " WHERE id >= (SELECT min(coalesce(low, -9223372036854775808)) FROM newest) AND (low IS NULL OR NOT"
            " (id < low OR EXISTS (SELECT FROM unnest(ends, snapshots) s (last, seen)"
            " WHERE id <= last AND pg_visible_in_snapshot(xid, seen))))$$")


def go_beyond_ascii(lab):
    """A quarter of the keys has a topic that routes() leads to the bank's own."""
    lab.sql("ALTER FUNCTION topic_of RENAME TO bank_of;"
            " CREATE FUNCTION topic_of(key text) RETURNS text LANGUAGE sql STABLE AS $$SELECT CASE WHEN"
            " hashtext($1) & 6 = 0 THEN replace(bank_of($1), '.bank', '.größe.銀行') ELSE bank_of($1) END$$")


def hear_losses(lab):
    """Keeps what relays say that brokers have lost: an audit ends each of these warnings."""
    lab.sql("CREATE FUNCTION hear_loss() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS"
            " $$BEGIN INSERT INTO public.named (about) VALUES (NEW.value::jsonb); RETURN NULL; END$$;"
            " CREATE TRIGGER hear_loss AFTER INSERT ON outbox_control FOR EACH ROW WHEN (NEW.name LIKE 'lost %')"
            " EXECUTE FUNCTION hear_loss()")


def restrict_role(lab, config):
    """The relays log in as a role that has what `init --grant` prints, and no more."""
    lab.sql("CREATE ROLE relay LOGIN")
    grants = lab.relay(0, config).command("init", "--grant", "relay")
    lab.sql(grants)
    return grants


def let_drop(lab):
    """The relays' role becomes a member of a role that owns the outbox, as who drops partitions must be."""
    lab.sql("CREATE ROLE keeper; GRANT keeper TO relay; GRANT CREATE, USAGE ON SCHEMA public TO keeper;"
            " DO $$DECLARE one regclass; BEGIN FOR one IN SELECT 'outbox'::regclass UNION ALL SELECT inhrelid FROM"
            " pg_inherits WHERE inhparent = 'outbox'::regclass LOOP EXECUTE format('ALTER TABLE %s OWNER TO keeper',"
            " one); END LOOP; END$$")


def dropped(lab, rows):
    """How many partitions are empty or gone of those whose ids were drawn since ids began."""
    return int(lab.sql(f"SELECT greatest((SELECT last_value FROM outbox_id_seq) / {rows}"
                       " - count(DISTINCT tableoid), 0) FROM outbox"))
