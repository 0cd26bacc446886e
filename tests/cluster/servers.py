"""The servers of a cluster, each on a machine of its own: three nats-servers, three Kafka brokers that are their own
controllers, a PostgreSQL with a synchronous standby. Their settings are the defaults of production, but for what
replication needs.
"""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import urllib.request

import machines
from faults_case import postgres_bin
from lab import SERVICES, Failure, section, wait_until

START_S = 120  # the tests' machine is small
STOP_S = 60
WHOLE_S = 120
UNLIKE_S = 20
NATS_SERVER = os.environ.get("NATS_SERVER") or "nats-server"
STREAM, TOPIC, PARTITIONS = "BANK", "kafka.bank", 6


def together(function, members):
    """Calls the function for all members at the same time; raises what one of them raised."""
    with concurrent.futures.ThreadPoolExecutor(len(members)) as pool:
        return list(pool.map(function, members))


class Server:
    user, stop_signal = None, signal.SIGTERM

    def __init__(self, lab, machine):
        self.lab, self.machine, self.name = lab, machine, machine.name
        self.folder = lab.test_dir / machine.name
        self.folder.mkdir()
        self.log = lab.folder / f"{machine.name}.log"
        self.process = None
        self.logged_before = 0

    def launch(self):
        with open(self.log, "ab") as log:
            self.logged_before = log.tell()
            self.process = subprocess.Popen(self.machine.words(*self.words(), user=self.user), cwd="/", stdout=log,
                                            stderr=log, stdin=subprocess.DEVNULL)
        self.lab.started.append(self.process)

    def start(self):
        self.launch()
        wait_until(self.is_ready_or_dead, START_S, f"{self.name} is ready")
        if self.process.poll() is not None:
            raise Failure(f"{self.name} ended at its start: {self.log_of_start()[-600:]}")

    def is_ready_or_dead(self):
        return self.process.poll() is not None or self.is_ready()

    def log_of_start(self):
        return self.log.read_bytes()[self.logged_before:].decode(errors="replace")

    def send(self, number):
        """Sends it to the server and its children, as the death or the sleep of a machine would."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        pids = [self.process.pid, *map(int, children.read_text().split())]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self):
        self.send(signal.SIGKILL)
        self.process.wait(STOP_S)

    def stop(self):
        self.process.send_signal(self.stop_signal)
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.name} did not stop within {STOP_S} s") from None


# ---- NATS ----

class Nats(Server):
    def __init__(self, lab, machine, names):
        super().__init__(lab, machine)
        routes = ", ".join(f'"nats://{name}:6222"' for name in names)
        (self.folder / "nats.conf").write_text(f"""
server_name: {self.name}
listen: "{machine.address}:4222"
http: "{machine.address}:8222"
jetstream {{ store_dir: "{self.folder}/store" }}
cluster {{ name: test, listen: "{machine.address}:6222", routes: [{routes}] }}
""")

    def words(self):
        return [NATS_SERVER, "-c", self.folder / "nats.conf"]

    def ask(self, path):
        """Returns the answer of its monitoring, or None."""
        try:
            with urllib.request.urlopen(f"http://{self.name}:8222/{path}", timeout=3) as answer:
                return json.load(answer)
        except (OSError, ValueError):
            return None

    def is_ready(self):
        return self.ask("varz") is not None

    def is_healthy(self):
        """Whether its JetStream is up and has caught up."""
        return (self.ask("healthz") or {}).get("status") == "ok"

    def stream(self, name=STREAM):
        """What it knows of the stream; {} for nothing."""
        for account in (self.ask("jsz?accounts=true&streams=true") or {}).get("account_details", []):
            for stream in account.get("stream_detail", []):
                if stream["name"] == name:
                    return stream
        return {}

    def leads(self, name=STREAM):
        """Returns the leader of the stream as far as it knows."""
        return self.stream(name).get("cluster", {}).get("leader")

    def holds(self):
        """What its own copy of the stream is: when all have caught up, those of all servers are the same."""
        state = self.stream().get("state", {})
        return tuple(state.get(name) for name in ("messages", "bytes", "first_seq", "last_seq"))


class NatsCluster:
    """Half of the keys go to a stream of their own."""
    title, sink, names = "NATS", "nats", ("n1", "n2", "n3")
    streams = {"nats.bank": STREAM, "nats.other": "OTHER"}
    topics = ("CREATE OR REPLACE FUNCTION topic_of(key text) RETURNS text LANGUAGE sql STABLE AS"
              " $$SELECT CASE WHEN hashtext($1) & 1 = 0 THEN 'nats.bank' ELSE 'nats.other' END$$")

    def __init__(self, lab, network):
        self.lab, self.network = lab, network
        self.members = [Nats(lab, network[name], self.names) for name in self.names]
        lab.nats_url = ",".join(f"nats://{name}:4222" for name in self.names)

    def version(self):
        return machines.run(NATS_SERVER, "--version").strip()

    def start(self):
        together(Nats.start, self.members)
        wait_until(self.elects, WHOLE_S, "the nats-servers elect a leader")
        for subject, stream in self.streams.items():
            self.lab.stream(stream, subject, replicas=3)
        self.await_whole()

    def options(self):
        """Of Lab.config()."""
        return {"routes": [{"match": "nats.other", "sink": "other"}, {"match": ">", "sink": "bus"}],
                "extra": section("sink.other", {"type": "nats", "stream": "OTHER",
                                                "servers": self.lab.nats_url.split(",")})}

    def step_down(self, stream):
        with socket.create_connection((self.names[0], 4222), 5) as connection:
            connection.sendall(f"CONNECT {{}}\r\nPUB $JS.API.STREAM.LEADER.STEPDOWN.{stream} 0\r\n\r\nPING\r\n".encode())
            heard = b""
            while b"PONG" not in heard:
                heard += connection.recv(4096)

    def leaders(self):
        """Two servers, and the first stream keeps its own."""
        while self.leader() is self.leader("OTHER"):
            self.step_down("OTHER")
        return {(subject, 0): self.leader(stream).name for subject, stream in self.streams.items()}

    def elects(self):
        return all(((member.ask("jsz") or {}).get("meta_cluster") or {}).get("leader") for member in self.members)

    def leader(self, stream=STREAM):
        """Returns the member that leads the stream, once a majority agrees."""
        def agreed():
            said = [member.leads(stream) for member in self.members]
            return next((member for member in self.members if said.count(member.name) >= 2), None)
        return wait_until(agreed, WHOLE_S, "the stream has a leader")

    def is_whole(self):
        return all(member.is_healthy() for member in self.members)

    def await_whole(self):
        wait_until(self.is_whole, WHOLE_S, "every nats-server has caught up")

    def unlike_copies(self):
        """Returns how many copies of the stream are unlike the first: a defect of the server, not of who publishes."""
        def copies():
            return [member.holds() for member in self.members]
        with contextlib.suppress(Failure):
            wait_until(lambda: len(set(copies())) == 1, UNLIKE_S, "the copies are alike")
        found = copies()
        if len(set(found)) > 1:
            print("*** THE REPLICAS DIFFER (messages, bytes, first_seq, last_seq): " + ", ".join(
                f"{member.name} {copy}" for member, copy in zip(self.members, found)))
        return sum(copy != found[0] for copy in found)

    def make_weak(self):
        """Makes what `check` is to warn of. Returns the options of Lab.config() that name it, and words of each
        warning."""
        self.lab.stream("WEAK", "weak.>")
        return {"stream": "WEAK"}, ["1 replica"]

    def read(self, output):
        for stream in self.streams.values():
            self.lab.reader("nats", self.lab.nats_url, stream, output=output)


# ---- Kafka ----

KAFKA_JAVA = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
              "-Dorg.slf4j.simpleLogger.showDateTime=true",
              "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS"]


class Kafka(Server):
    def __init__(self, lab, machine, names, jars):
        super().__init__(lab, machine)
        self.java = ["java", *KAFKA_JAVA, "-cp", f"{jars}/*"]
        self.id = names.index(self.name) + 1
        voters = ",".join(f"{number}@{name}:9093" for number, name in enumerate(names, 1))
        self.settings = self.folder / "server.properties"
        self.settings.write_text(f"""
process.roles=broker,controller
node.id={self.id}
controller.quorum.voters={voters}
listeners=BROKER://{self.name}:9092,CONTROLLER://{self.name}:9093
listener.security.protocol.map=BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=BROKER
controller.listener.names=CONTROLLER
log.dirs={self.folder}/data
default.replication.factor=3
min.insync.replicas=2
auto.create.topics.enable=false
log.message.timestamp.type=LogAppendTime
""")
        machine.run(*self.java, "kafka.tools.StorageTool", "format", "-t", "b3V0Ym94LXJlbGF5LXRzdA", "-c",
                    self.settings)

    def words(self):
        return [*self.java, "kafka.Kafka", self.settings]

    def is_ready(self):
        return "Kafka Server started" in self.log_of_start()


class KafkaCluster:
    title, sink, names = "Kafka", "kafka", ("k1", "k2", "k3")
    topics = ""

    def __init__(self, lab, network):
        self.lab, self.network = lab, network
        self.jars = machines.run(SERVICES, "jars").strip()
        self.members = together(lambda name: Kafka(lab, network[name], self.names, self.jars), self.names)
        lab.kafka_brokers = ",".join(f"{name}:9092" for name in self.names)

    def version(self):
        return pathlib.Path(self.jars).name

    def start(self):
        together(Kafka.start, self.members)
        self.lab.topic(TOPIC, PARTITIONS, replicas=3)
        self.await_whole()

    def partitions(self):
        """[(leader, how many replicas are in sync)]"""
        lines = self.lab.reader("topics", self.lab.kafka_brokers, "show", TOPIC).splitlines()
        return [tuple(map(int, line.split("\t")[1:])) for line in lines]

    def options(self):
        return {}

    def leaders(self):
        names = dict(enumerate(self.names, 1))
        return {(TOPIC, number): names.get(leader) for number, (leader, _) in enumerate(self.partitions())}

    def leader(self):
        """Returns the member that leads the most partitions."""
        leaders = [leader for leader, _ in self.partitions()]
        return max(self.members, key=lambda member: leaders.count(member.id))

    def is_whole(self):
        with contextlib.suppress(Failure):
            found = self.partitions()
            return len(found) == PARTITIONS and all(leader > 0 and count == 3 for leader, count in found)
        return False

    def await_whole(self):
        wait_until(self.is_whole, WHOLE_S, "every replica is in sync")

    def unlike_copies(self):
        return 0  # the broker does not show them

    def make_weak(self):
        self.lab.topic("kafka.single")
        self.lab.topic("kafka.loose", replicas=3, setting="min.insync.replicas=1")
        self.lab.topic("kafka.unclean", replicas=3, setting="unclean.leader.election.enable=true")
        names = ("kafka.bank", "kafka.loose", "kafka.single", "kafka.unclean")
        return ({"routes": [{"match": name, "sink": "ledger", "topic": name} for name in names]},
                ["min.insync.replicas is 1", "replication factor 1", "unclean.leader.election.enable is true"])

    def read(self, output):
        self.lab.reader("kafka", self.lab.kafka_brokers, TOPIC, output=output)


# ---- PostgreSQL ----

PATIENCE = "connect_timeout=2&keepalives_idle=2&keepalives_interval=1&keepalives_count=3&tcp_user_timeout=5000"


SETTINGS = """
unix_socket_directories = ''
max_connections = 100
wal_keep_size = 2GB
max_wal_size = 4GB
log_line_prefix = '%m [%p] %q%a '
"""


class Postgres(Server):
    user, stop_signal = "postgres", signal.SIGINT

    def __init__(self, lab, machine):
        super().__init__(lab, machine)
        shutil.chown(self.folder, "postgres", "postgres")
        self.data = self.folder / "data"
        self.url = f"postgresql://postgres@{self.name}:5432/test?{PATIENCE}"

    def command(self, program, *words, **options):
        return self.machine.run(postgres_bin() / program, *words, user="postgres", cwd="/", **options)

    def create(self):
        self.command("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8",
                     "-N", "--data-checksums")
        self.command("postgres", "--single", "-D", self.data, "postgres", input="CREATE DATABASE test", stdin=None)
        with open(self.data / "pg_hba.conf", "a", encoding="ascii") as rules:
            rules.write(f"host all,replication all {machines.SUBNET}.0/24 trust\n")
        with open(self.data / "postgresql.conf", "a", encoding="ascii") as settings:
            settings.write(SETTINGS)

    def words(self):
        return [postgres_bin() / "postgres", "-D", self.data, "-c", f"listen_addresses={self.machine.address}", "-c",
                f"cluster_name={self.name}"]

    def is_ready(self):
        return self.lab.try_sql("SELECT 1", url=self.url) == "1"

    def copy_of(self, primary):
        self.command("pg_basebackup", "-D", self.data, "-R", "-X", "stream", "-c", "fast", "-d",
                     f"host={primary.name} user=postgres")

    def rewind_to(self, primary):
        """Forgets what the primary never got, and follows it at the next start."""
        self.command("pg_rewind", "-D", self.data, "-R", "--source-server",
                     f"host={primary.name} user=postgres dbname=postgres")

    def configure(self, setting):
        self.lab.sql(f"ALTER SYSTEM {setting}", url=self.url)
        self.lab.sql("SELECT pg_reload_conf()", url=self.url)


class PostgresPair:
    """A primary and its synchronous standby. What is committed there is safe: the standby has it."""
    names = ("p1", "p2")

    def __init__(self, lab, network):
        self.lab, self.network = lab, network
        self.primary, self.standby = (Postgres(lab, network[name]) for name in self.names)
        both = ",".join(f"{name}:5432" for name in self.names)
        lab.pg_url = f"postgresql://postgres@{both}/test?target_session_attrs=read-write&{PATIENCE}"
        self.relay_url = f"postgresql://relay@{both}/test?target_session_attrs=read-write"

    def start(self):
        self.primary.create()
        self.primary.start()
        self.standby.copy_of(self.primary)
        self.follow()

    def follow(self):
        """The standby starts, and from then on each commit waits for it."""
        self.standby.start()
        self.primary.configure(f"SET synchronous_standby_names = '{self.standby.name}'")
        state = "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'"
        wait_until(lambda: self.lab.try_sql(state, url=self.primary.url) == "sync", WHOLE_S,
                   f"{self.standby.name} follows")

    def promote(self):
        """Whoever calls it has seen to it that the primary accepts nothing more."""
        self.standby.command("pg_ctl", "-s", "-w", "-t", "60", "-D", self.standby.data, "promote")
        self.primary, self.standby = self.standby, self.primary

    def rejoin(self):
        """The old primary, which has ended, becomes the standby. pg_rewind goes by the timeline of the last checkpoint."""
        self.lab.sql("CHECKPOINT", url=self.primary.url)
        self.standby.rewind_to(self.primary)
        self.follow()
