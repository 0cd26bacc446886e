"""What a test of one fault stands on: a database and a stream of its own, servers of its own where
the fault is theirs, an ear at the broker, and the judgement that all of them share.

A Case is a Lab. Its rows lie in a database of the shared PostgreSQL, or of a Cluster that the test
may crash. fill() notes each committed event beside the outbox and rolls one insert back; judge()
compares: lost = noted and not in the stream, phantom = in the stream and not noted, repeats = what
was transmitted more than once, whether or not JetStream stored it again.
"""
import collections
import contextlib
import ctypes
import itertools
import json
import mmap
import os
import pathlib
import random
import shutil
import socket
import struct
import subprocess
import threading
import time

from lab import ROOT, Failure, Lab, wait_until
from proxy import Proxy

SHARED = 2  # times a promised time, before it counts as broken: the machine is shared
FULL_S = 40  # a whole backlog of a test


def check(truth, what):
    if not truth:
        raise Failure(what)


def free_port():
    """A port below the range of outgoing connections, so that it stays free while its server is down."""
    for _ in range(1000):
        port = random.randrange(10240, 32240)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise Failure("no free port")


# ---- a PostgreSQL that a test may crash ----

def postgres_bin():
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"),
                   key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else pathlib.Path(shutil.which("postgres")).parent


def as_postgres(*words, **options):
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    return subprocess.run([*prefix, *map(str, words)], capture_output=True, text=True, check=False,
                          stdin=options.pop("stdin", subprocess.DEVNULL), cwd="/", timeout=90,
                          **options)


def must(done, what):
    if done.returncode != 0:
        raise Failure(f"{what}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


class Cluster:
    template_lock = threading.Lock()

    def __init__(self, case, name, *settings, own_identity=False):
        self.dir = case.test_dir / f"{case.name}-{name}"
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.url = f"postgresql://postgres@{self.address}/test"
        self.settings = settings
        self.name, self.ages = case.database, None
        self.dir.mkdir()
        if os.geteuid() == 0:
            shutil.chown(self.dir, "postgres", "postgres")
        case.at_exit.callback(self.destroy)
        if own_identity is not None:
            self._create(case.test_dir, own_identity)

    def _create(self, test_dir, own_identity):
        template = test_dir / "faults-template"
        with Cluster.template_lock:
            if not template.exists():
                template.mkdir()
                if os.geteuid() == 0:
                    shutil.chown(template, "postgres", "postgres")
                self._initdb(template / "data")
        if own_identity:
            self._initdb(self.dir / "data")
        else:
            must(as_postgres("cp", "-a", template / "data", self.dir / "data"), "cp")

    @staticmethod
    def _initdb(data):
        must(as_postgres(postgres_bin() / "initdb", "-D", data, "-U", "postgres", "-A", "trust",
                         "-E", "UTF8", "--locale=C.UTF-8", "-N"), "initdb")
        prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        must(subprocess.run([*prefix, str(postgres_bin() / "postgres"), "--single", "-D", str(data),
                             "postgres"], input="CREATE DATABASE test", text=True, cwd="/",
                            capture_output=True, check=False), "postgres --single")

    def copy_of(self, primary, through=None):
        """Makes this a streaming standby of another cluster, whose WAL may come through a proxy."""
        host, port = (through or primary.address).split(":")
        must(as_postgres(postgres_bin() / "pg_basebackup", "-D", self.dir / "data", "-R", "-X",
                         "stream", "-c", "fast", "-d", f"host={host} port={port} user=postgres"),
             "pg_basebackup")
        return self

    def start(self):
        settings = {"listen_addresses": "127.0.0.1", "port": self.port,
                    "unix_socket_directories": self.dir, "shared_buffers": "32MB",
                    "dynamic_shared_memory_type": "mmap", "max_connections": 60}
        settings.update(pair.split("=", 1) for pair in self.settings)
        options = " ".join(f"-c {key}={value}" for key, value in settings.items())
        must(as_postgres(postgres_bin() / "pg_ctl", "-s", "-w", "-t", "60", "-D", self.dir / "data",
                         "-l", self.dir / "log", "-o", options, "start"),
             f"pg_ctl start ({self.dir})")
        self.ages = TransactionAges(self.url, self.name)
        return self

    def stop(self, mode="immediate"):
        watched = self.ages is not None and self.ages.close()
        must(as_postgres(postgres_bin() / "pg_ctl", "-s", "-w", "-t", "60", "-m", mode, "-D",
                         self.dir / "data", "stop"), "pg_ctl stop")
        check(watched, "the transactions' ages were not watched to the end")

    def promote(self):
        must(as_postgres(postgres_bin() / "pg_ctl", "-s", "-w", "-t", "60", "-D",
                         self.dir / "data", "promote"), "pg_ctl promote")

    def destroy(self):
        try:
            if (self.dir / "data/postmaster.pid").exists():
                self.stop()
        finally:
            shutil.rmtree(self.dir, ignore_errors=True)


# ---- NATS without a client library ----

class NatsServer:
    """A server that a test may kill."""

    def __init__(self, case):
        self.case, self.port, self.process = case, free_port(), None
        self.address = f"127.0.0.1:{self.port}"
        self.url = f"nats://{self.address}"
        self.config = case.folder / "nats.conf"
        self.config.write_text(f'listen: {self.address}\njetstream {{ store_dir: "{case.folder}'
                               f'/store"\n max_memory_store: 64MB\n max_file_store: 4GB }}\n')

    def start(self):
        with open(self.case.folder / "nats.log", "ab") as log:
            self.process = subprocess.Popen(["nats-server", "-c", str(self.config)], stderr=log,
                                            stdout=log, stdin=subprocess.DEVNULL)
        self.case.started.append(self.process)
        wait_until(self.accepts, 20, "the nats-server accepts connections")
        return self

    def accepts(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def kill(self):
        self.case.broker_killed = True
        self.process.kill()
        self.process.wait(30)


class Ear:
    """Hears every message that is published to a subject, also those that JetStream does not store
    a second time. It comes back after a loss of its connection."""

    def __init__(self, address, subject):
        self.address, self.subject = address, subject
        self.heard = collections.Counter()  # message id -> transmissions
        self.ready = threading.Event()
        self.stop = False
        self.socket = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    @property
    def total(self):
        return sum(list(self.heard.values()))

    @property
    def repeats(self):
        return sum(count - 1 for count in list(self.heard.values()))

    def wait_ready(self):
        check(self.ready.wait(20), "the ear is at the broker")
        return self

    def close(self):
        self.stop = True
        if self.socket is not None:
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join(10)

    def _run(self):
        host, port = self.address.split(":")
        while not self.stop:
            with contextlib.suppress(OSError, ValueError):
                with socket.create_connection((host, int(port)), 5) as self.socket:
                    self.socket.settimeout(None)
                    self._listen(self.socket.makefile("rb"))
            time.sleep(0.02)

    def _listen(self, stream):
        hello = {"verbose": False, "pedantic": False, "headers": True, "lang": "ear",
                 "version": "1"}
        self.socket.sendall(b"CONNECT " + json.dumps(hello).encode() + b"\r\nSUB " +
                            self.subject.encode() + b" 1\r\nPING\r\n")
        while line := stream.readline():
            words = line.split()
            if words[:1] == [b"PING"]:
                self.socket.sendall(b"PONG\r\n")
            elif words[:1] == [b"PONG"]:
                self.ready.set()
            elif words[:1] == [b"HMSG"]:
                self._hear(stream.read(int(words[-1]) + 2)[:int(words[-2])])

    def _hear(self, head):
        for line in head.split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name == b"Nats-Msg-Id":
                self.heard[value.strip().decode()] += 1


# ---- the shim ----

class Shim:
    """The control block of faults_shim.c, shared with the processes that have it preloaded."""

    FIELDS = ("clock_offset_s", "allocations", "fail_at", "failed", "interrupt_every",
              "interrupted", "short_bytes", "resolve", "resolved", "fail_whose", "shortened")
    WHOSE = 1024  # where the name of the object whose allocation failed stands
    lock = threading.Lock()

    def __init__(self, case):
        self.path = case.folder / "shim"
        self.path.write_bytes(bytes(4096))
        self.file = open(self.path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), 4096)
        self.library = ROOT / "build/faults_shim.so"
        self.env = {"LD_PRELOAD": str(self.library), "SHIM": str(self.path)}
        case.at_exit.callback(self.close)
        with Shim.lock:
            self._build()

    def _build(self):
        source = ROOT / "tests/chaos/faults_shim.c"
        if self.library.exists() and self.library.stat().st_mtime > source.stat().st_mtime:
            return
        fresh = self.library.with_suffix(f".{os.getpid()}")
        must(subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-Wall", "-Wextra", "-Werror",
                             "-O2", "-shared", "-fPIC", "-o", str(fresh), str(source)],
                            capture_output=True, text=True, check=False), "the shim")
        fresh.rename(self.library)

    def get(self, name):
        return struct.unpack_from("q", self.map, 8 * self.FIELDS.index(name))[0]

    def set(self, name, value):
        # One aligned store, as the processes read it.
        ctypes.c_int64.from_buffer(self.map, 8 * self.FIELDS.index(name)).value = value

    def whose(self):
        text = bytes(self.map[self.WHOSE:self.WHOSE + 256]).split(b"\0")[0].decode()
        return text.rsplit("/", 1)[-1]

    def close(self):
        with contextlib.suppress(BufferError):
            self.map.close()
        self.file.close()


# ---- the case ----

class Case(Lab):
    numbers = itertools.count(1)

    def __init__(self, number, test, seed=0):
        own = next(Case.numbers)
        self.random = random.Random(f"{seed} {test}")
        super().__init__(f"fault-{own}")
        self.number, self.title = number, test
        self.notes, self.options = [], {"publish_timeout": "10s"}
        self.database = f"fault_{own}"
        self.stream_name = f"FAULT{own}"
        self.subject = f"fault{own}"
        self.relays = []
        self.ear = None
        self.broker_killed = False

    def note(self, text):
        self.notes.append(text)

    def __enter__(self):
        super().__enter__()
        return self

    # ---- what stands between ----

    def proxy(self, address):
        proxy = Proxy(address)
        self.at_exit.callback(proxy.close)
        return proxy

    def through(self, proxy, user="postgres"):
        """The url of the database through a proxy."""
        return f"postgresql://{user}@{proxy.address}/{self.pg_url.rsplit('/', 1)[1]}"

    def prepare(self, *, cluster=None, nats=None, **options):
        """Makes a database with the outbox, a stream and an ear. options: those of lab.config()."""
        if cluster is not None:
            self.pg_url, self.pg_address = cluster.url, cluster.address
        else:
            self.sql(f"CREATE DATABASE {self.database}")
            self.pg_url = self.pg_url.rsplit("/", 1)[0] + "/" + self.database
        if nats is not None:
            self.nats_url, self.nats_address = nats.url, nats.address
        self.options = {"stream": self.stream_name, "publish_timeout": "1s", **options}
        base = {key: value for key, value in self.options.items()
                if key not in ("pg_url", "nats_url", "extra")}
        self.init(self.config("init", **base))
        self.sql("CREATE TABLE committed (event_id uuid PRIMARY KEY)")
        self.stream(self.stream_name, f"{self.subject}.>")
        self.ear = Ear(self.nats_address, f"{self.subject}.>").wait_ready()
        self.at_exit.callback(self.ear.close)
        return self

    def new_relay(self, *, env=None, **options):
        number = len(self.relays) + 1
        config = self.config(f"relay-{number}", **{**self.options, **options})
        relay = self.relay(number, config, env=env)
        self.relays.append(relay)
        return relay.start()

    # ---- rows ----

    def fill(self, count, *, payload="{}", url=None, before=""):
        """Commits `count` events and rolls ten back."""
        def insert(rows):
            return ("INSERT INTO outbox (topic, key, payload)"
                    f" SELECT '{self.subject}.event', (i % 17)::text,"
                    f" jsonb_build_object('n', i, 'is', '{payload}')"
                    f" FROM generate_series(1, {rows}) i RETURNING event_id")

        # A ROLLBACK would take `before` back with it.
        self.sql(f"BEGIN; {insert(10)}; ROLLBACK; {before};"
                 f"WITH new AS ({insert(count)}) INSERT INTO committed SELECT event_id FROM new",
                 url=url)

    def unsent(self):
        return int(self.sql("SELECT count(*) FROM outbox WHERE sent_at IS NULL"))

    def done(self):
        """Whether nothing is left; an error of a server in trouble counts as no."""
        return self.try_sql("SELECT count(*) FROM outbox WHERE sent_at IS NULL") == "0"

    def wait_done(self, deadline_s=FULL_S):
        return wait_until(self.done, deadline_s, "the outbox is empty")

    def sessions(self, condition="true"):
        """The relays' sessions on this database."""
        return int(self.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE"
                            " 'outbox-relay/%' AND datname = current_database()"
                            f" AND ({condition})"))

    def terminate_relays(self):
        self.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname ="
                 " current_database() AND application_name LIKE 'outbox-relay/%'")

    # ---- judgement ----

    def recovery(self, condition, promised_s, what, since=None):
        """Waits, and prints how long that took beside the promised time (G13)."""
        begin = since or time.monotonic()
        wait_until(condition, SHARED * promised_s, what)
        self.note(f"recovery {time.monotonic() - begin:.2f} s (promised {promised_s} s)")

    def stop_relays(self, status=0):
        for relay in self.relays:
            if relay.running():
                relay.cont()
                relay.term()
        for relay in self.relays:
            if relay.process is not None and relay.process.returncode is None:
                found = relay.wait(25)
                check(found == status,
                      f"relay {relay.number} ended with {found}: {relay.log[-600:]}")

    def judge(self, repeats_max, *, deadline_s=FULL_S, stop=True, phantoms=0):
        self.wait_done(deadline_s)
        if stop:
            self.stop_relays()
        committed = set(self.sql("SELECT event_id FROM committed").split())
        stored = [message.message_id for message in self.read_nats(self.stream_name)]
        if not self.broker_killed:  # that costs the ear a few; the stored ones count then
            wait_until(lambda: set(self.ear.heard) >= set(stored), 10, "the ear has heard all")
        lost, phantom = committed - set(stored), set(stored) - committed
        repeats = max(self.ear.repeats, len(stored) - len(set(stored)))
        self.note(f"committed {len(committed)} lost {len(lost)} phantom {len(phantom)}"
                  f" repeats {repeats} (at most {repeats_max})")
        check(not lost, f"{len(lost)} events are lost, as {sorted(lost)[:3]}")
        check(len(phantom) <= phantoms, f"{len(phantom)} events were never committed")
        check(repeats <= repeats_max, f"{repeats} repeats, at most {repeats_max}")
        parked = self.sql("SELECT count(*) FROM outbox_parked WHERE sent_at IS NULL")
        check(parked == "0", f"{parked} rows are parked")

    def cpu_seconds(self, relay):
        fields = pathlib.Path(f"/proc/{relay.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class TransactionAges:
    """Watches how old the relays' transactions become, in each database of a server (G9). name: the
    case to which the server belongs."""

    oldest = {}  # case's database -> seconds

    QUERY = ("SELECT datname, max(extract(epoch FROM clock_timestamp() - xact_start))"
             " FROM pg_stat_activity WHERE application_name LIKE 'outbox-relay/%'"
             " AND xact_start IS NOT NULL GROUP BY 1 \\watch 0.2\n")

    def __init__(self, url, name=None):
        self.name = name
        self.psql = subprocess.Popen(["psql", "-XqAt", "-F", " ", url], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.psql.stdin.write(self.QUERY)
        self.psql.stdin.flush()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for line in self.psql.stdout:
            words = line.split()
            if len(words) == 2:
                name = self.name or words[0]
                self.oldest[name] = max(self.oldest.get(name, 0), float(words[1]))

    def close(self):
        """Ends the watching. Returns whether it lasted until now."""
        watched = self.psql.poll() is None
        self.psql.kill()
        self.psql.wait(30)
        self.thread.join(10)
        return watched


FAULTS = []  # (number, function, alone)


def fault(number, alone=False):
    """One fault of the matrix. alone: it must not run beside other tests."""
    def register(function):
        FAULTS.append((number, function, alone))
        return function
    return register
