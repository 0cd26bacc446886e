"""What a test of faults needs: the servers, the relays, the queries and what reached the brokers.

A Lab lives inside `tests/support/services run -- COMMAND`, makes a folder of its own in $TEST_DIR,
ends only what it started, and on an exception keeps its folder and the servers' logs for a reader.
It judges nothing.

    with Lab("lost-replies") as lab:
        lab.stream("LAB", "lab.>")
        config = lab.config("relay", sinks=["nats"], stream="LAB")
        lab.init(config)
        relay = lab.relay(1, config).start()
        wait_until(lambda: lab.backlog() == 0, 30, "the outbox is empty")
        assert relay.term().wait(20) == 0
"""
import collections
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVICES = ROOT / "tests/support/services"
READER = ROOT / "build/reader"
SINKS = {"kafka": "ledger", "nats": "bus"}  # type -> the name config() gives it

Message = collections.namedtuple("Message", "arrival destination partition position key id type"
                                 " created_at message_id others payload stored_ms")


class Failure(Exception):
    """Something that a test waited for or asked for did not happen."""


def wait_until(condition, deadline_s, what):
    """Polls each 20 ms; returns the condition's first true value, raises Failure with `what`."""
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= end:
            raise Failure(f"not within {deadline_s} s: {what}")
        time.sleep(0.02)


def connections(pid, address):
    """Returns how many TCP connections a process has to HOST:PORT."""
    port, established = int(address.rpartition(":")[2]), "01"
    sockets = set()
    for path in pathlib.Path(f"/proc/{pid}/fd").glob("*"):
        with contextlib.suppress(OSError):  # it has been closed meanwhile
            sockets.add(os.readlink(path))
    count = 0
    for name in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            _, _, remote, state, *rest = line.split()
            count += (state == established and int(remote.rpartition(":")[2], 16) == port
                      and f"socket:[{rest[5]}]" in sockets)
    return count


def quote(value):
    """A TOML value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(quote(one) for one in value) + "]"
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def section(name, pairs):
    lines = [f"{key} = {quote(value)}" for key, value in pairs.items() if value is not None]
    return f"[{name}]\n" + "\n".join(lines) + "\n\n"


class Relay:
    """One relay process and its log; it may be started again after it has ended."""

    def __init__(self, lab, number, config, binary=None, env=None):
        self.lab, self.number, self.config = lab, number, config
        self.binary = str(binary or os.environ.get("RELAY") or ROOT / lab.program)
        self.env = env or {}
        self.prefix = []  # words before the program's name
        self.log_path = lab.folder / f"relay-{number}.log"
        self.logged_before = 0
        self.process = None

    def command(self, *words):
        """Runs a command other than `run`, which must succeed; returns its output."""
        done = subprocess.run([*self.prefix, self.binary, *words, "-c", str(self.config)],
                              capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise Failure(f"outbox-relay {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def start(self, env=None):
        """env: added to the relay's own environment, for this start only."""
        variables = {**os.environ, **self.env, **(env or {})}
        with open(self.log_path, "ab") as log:
            self.logged_before = log.tell()
            self.process = subprocess.Popen(
                [*self.prefix, self.binary, "run", "-c", str(self.config)], env=variables,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        self.lab.started.append(self.process)
        return self

    @property
    def pid(self):
        return self.process.pid

    def running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        if self.running():
            self.process.send_signal(number)
        return self

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait(30)
        return self

    def term(self):
        return self.signal(signal.SIGTERM)

    def stop_signal(self):
        """Sends SIGSTOP and waits until all threads have stopped, which they do only once the thread
        that receives the signal runs."""
        self.signal(signal.SIGSTOP)
        if self.running():
            wait_until(self.stands_still, 10, f"relay {self.number} stands still")
        return self

    def stands_still(self):
        states = [path.read_text().rpartition(")")[2].split()[0]
                  for path in pathlib.Path(f"/proc/{self.pid}/task").glob("*/stat")]
        return all(state in "TtZX" for state in states)

    def cont(self):
        return self.signal(signal.SIGCONT)

    def wait(self, deadline_s):
        """Returns the exit status; negative: the signal that ended it."""
        try:
            return self.process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            raise Failure(f"relay {self.number} is still there after {deadline_s} s") from None

    @property
    def log(self):
        try:
            return self.log_path.read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def lines(self):
        return self.log.splitlines()

    def is_silent(self):
        """Whether it has logged nothing since its start."""
        return self.log_path.stat().st_size == self.logged_before

    def wait_log(self, pattern, deadline_s, since=0):
        """since: len(relay.log) of an earlier moment."""
        return wait_until(lambda: re.search(pattern, self.log[since:]), deadline_s,
                          f"relay {self.number} logs {pattern!r}")


class Lab:
    program = "build/outbox-relay"

    def __init__(self, name="chaos"):
        if "TEST_DIR" not in os.environ:
            raise SystemExit(f"run it as {SERVICES.relative_to(ROOT)} run -- {sys.argv[0]}")
        self.name = name
        self.test_dir = pathlib.Path(os.environ["TEST_DIR"])
        self.folder = self.test_dir / name
        self.pg_url = os.environ.get("TEST_PG_URL")
        self.pg_address = f"127.0.0.1:{os.environ.get('TEST_PG_PORT')}"
        self.nats_url = os.environ.get("TEST_NATS_URL")
        self.nats_address = (self.nats_url or "").removeprefix("nats://")
        self.kafka_brokers = os.environ.get("TEST_KAFKA_BROKERS")
        # A client that is to come through a proxy bootstraps at kafka_proxy, where the proxy has
        # to listen; the proxy passes on to kafka_proxied.
        self.kafka_proxy = os.environ.get("TEST_KAFKA_PROXY")
        self.kafka_proxied = os.environ.get("TEST_KAFKA_PROXIED")
        self.started = []
        self.at_exit = contextlib.ExitStack()  # close what has a .close(): lab.at_exit.callback(f)
        self.kept = None

    def __enter__(self):
        self.folder.mkdir()
        for number in (signal.SIGTERM, signal.SIGHUP):
            if threading.current_thread() is threading.main_thread():
                signal.signal(number, lambda number, _: sys.exit(128 + number))
        return self

    def __exit__(self, kind, value, trace):
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait(30)
        if kind is not None and not issubclass(kind, (KeyboardInterrupt, SystemExit)):
            self.keep_evidence()
        self.at_exit.close()

    def keep_evidence(self):
        if self.kept is None:
            self.kept = pathlib.Path(tempfile.mkdtemp(prefix=f"outbox-relay-{self.name}."))
            shutil.copytree(self.folder, self.kept, dirs_exist_ok=True)
            for server in ("postgres", "mariadb", "nats", "kafka"):
                with contextlib.suppress(OSError):
                    shutil.copy(self.test_dir / server / "log", self.kept / f"{server}.log")
            print(f"{self.name}: logs and messages are kept in {self.kept}", file=sys.stderr)
        return self.kept

    # ---- PostgreSQL ----

    def url_of(self, role, address):
        return f"postgresql://{role}@{address}/test"

    def _psql(self, *words, url=None):
        environment = {**os.environ, "PGCONNECT_TIMEOUT": "5"}
        command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", url or self.pg_url, *words]
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120, env=environment, check=False)

    def sql(self, query, *, url=None):
        done = self._psql("-c", query, url=url)
        if done.returncode != 0:
            raise Failure(f"psql: {done.stderr.strip()} in: {query[:300]}")
        return done.stdout.strip()

    def try_sql(self, query, *, url=None):
        """Returns None instead of raising an error."""
        try:
            return self.sql(query, url=url)
        except (Failure, subprocess.TimeoutExpired):
            return None

    def sql_file(self, path, **variables):
        words = [word for pair in variables.items() for word in ("-v", "%s=%s" % pair)]
        done = self._psql(*words, "-f", str(path))
        if done.returncode != 0:
            raise Failure(f"psql: {done.stderr.strip()} in {path}")
        return done.stdout

    def psql_background(self, script, *, url=None):
        """A psql whose session stays open when the script is done, until .stdin is closed or it is
        killed: for those who hold locks. Its output goes to .stdout, as text."""
        process = subprocess.Popen(["psql", "-XqAt", url or self.pg_url], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        self.started.append(process)
        process.stdin.write(script.rstrip().rstrip(";") + ";\n")
        process.stdin.flush()
        return process

    def cut_off(self, relays):
        """[what is missing] of relays whose lanes are not all connected to each broker, or that say so themselves.
        relays: [(relay, lanes, [address of a broker])]"""
        away = self.try_sql("SELECT string_agg(substring(application_name FROM '[0-9]+/away:'), ' ')"
                            " FROM pg_stat_activity WHERE application_name LIKE 'outbox-relay/%/away:%'") or ""
        missing = []
        for relay, lanes, addresses in relays:
            if not relay.running():
                continue
            missing += [f"relay {relay.number}: {have} of {lanes} connections to {address}" for address in addresses
                        if (have := connections(relay.pid, address)) < lanes]
            if f"{relay.pid}/away:" in away.split():
                missing.append(f"relay {relay.number} says that a sink is away")
        return missing

    def backlog(self, table="outbox"):
        return int(self.sql(f"SELECT count(*) FROM {table} WHERE sent_at IS NULL"))

    # ---- the servers and the relays ----

    def service(self, action, name, env=None):
        """stop start kill pause resume wipe, of postgres nats kafka."""
        done = subprocess.run([str(SERVICES), action, name], capture_output=True, text=True,
                              timeout=180, env=env, check=False)
        if done.returncode != 0:
            raise Failure(f"services {action} {name}: {done.stderr.strip()}")

    def config(self, name, *, table=None, on_sent="mark", order="none", lanes=2, batch=100,
               slices=None, batch_bytes=None, poll_interval=None, publish_timeout=None,
               shutdown_timeout=None, durable=None, max_attempts=None, backoff=None,
               backoff_max=None, retention=None,
               sinks=("nats",), stream="LAB", allow=None, properties=None, pg_url=None,
               password_file=None, allow_plaintext=None, nats_url=None, kafka_brokers=None,
               routes=(), log_level=None, outbox=None, extra=""):
        """Writes NAME.toml. sinks: of "kafka" (named ledger) and "nats" (named bus). routes: dicts
        of match, sink, topic, key. properties: librdkafka's. outbox: more keys of [outbox].
        extra: TOML at the end."""
        text = section("database", {"url": pg_url or self.pg_url,
                                    "password_file": password_file,
                                    "allow_plaintext": allow_plaintext,
                                    "allow_superuser": True})
        text += section("outbox", {"table": table, "on_sent": on_sent, "order": order,
                                   "slices": slices, "durable_before_publish": durable,
                                   "retention": retention, **(outbox or {})})
        text += section("relay", {"lanes": lanes, "batch": batch, "batch_bytes": batch_bytes,
                                  "poll_interval": poll_interval,
                                  "publish_timeout": publish_timeout,
                                  "shutdown_timeout": shutdown_timeout})
        text += section("retry", {"max_attempts": max_attempts, "backoff": backoff,
                                  "backoff_max": backoff_max})
        if "kafka" in sinks:
            brokers = kafka_brokers or self.kafka_brokers
            text += section("sink." + SINKS["kafka"],
                            {"type": "kafka", "brokers": brokers.split(","), "allow": allow})
            if properties:
                quoted = {quote(key): value for key, value in properties.items()}
                text += section(f"sink.{SINKS['kafka']}.properties", quoted)
        if "nats" in sinks:
            text += section("sink." + SINKS["nats"], {"type": "nats", "stream": stream,
                                                      "servers": (nats_url or self.nats_url).split(","),
                                                      "allow": allow})
        for route in routes:
            text += section("[route]", route)
        text += section("http", {"listen": ""}) + section("log", {"level": log_level}) + extra
        path = self.folder / f"{name}.toml"
        path.write_text(text)
        return path

    def init(self, config, *words, binary=None):
        """outbox-relay init: creates the tables."""
        Relay(self, 0, config, binary).command("init", *words)

    def fit(self, config):
        """Executes what init prints for a table that is in use."""
        relay, path = Relay(self, 0, config), self.folder / "fit.sql"
        done = subprocess.run([relay.binary, "init", "-c", str(config)], capture_output=True, text=True,
                              timeout=60, check=False)
        if done.returncode != 5:
            raise Failure(f"outbox-relay init: {done.stderr.strip()}")
        path.write_text(done.stdout)
        self.sql_file(path)

    def relay(self, number, config, binary=None, env=None):
        return Relay(self, number, config, binary, env)

    # ---- the brokers ----

    def reader(self, *words, output=None):
        """output: an open file; without it the text is returned."""
        done = subprocess.run([str(READER), *map(str, words)], stdout=output or subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="replace", timeout=300,
                              check=False)
        if done.returncode != 0:
            raise Failure(f"reader {' '.join(map(str, words))}: {done.stderr.strip()}")
        return done.stdout

    def topic(self, name, partitions=6, replicas=1, setting=None):
        words = ["--setting", setting] if setting else []
        self.reader("topics", self.kafka_brokers, "create", name, partitions, "--replicas", replicas, *words)

    def stream(self, name, *subjects, duplicates_ms=None, replicas=1):
        words = ["--replicas", replicas]
        words += ["--duplicates-ms", duplicates_ms] if duplicates_ms else []
        self.reader("stream", self.nats_url, "create", name, *subjects, *words)

    def read_kafka(self, *topics):
        return parse_messages(self.reader("kafka", self.kafka_brokers, *topics))

    def read_nats(self, stream):
        return parse_messages(self.reader("nats", self.nats_url, stream))


# ---- the reader's lines ----

ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}


def unescape(field):
    if field == "\\N":
        return None
    if "\\" not in field:
        return field
    return re.sub(r"\\(?:x([0-9A-F]{2})|(.))",
                  lambda m: chr(int(m[1], 16)) if m[1] else ESCAPES[m[2]], field)


def parse_messages(text):
    messages = []
    for line in text.split("\n"):
        if line:
            fields = [unescape(field) for field in line.split("\t")]
            fields += [None] * (len(Message._fields) - len(fields))
            for number in (0, 2, 3, 11):
                fields[number] = int(fields[number]) if fields[number] is not None else None
            messages.append(Message(*fields))
    return messages
