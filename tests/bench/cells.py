"""One cell of `bench`: a backlog, claimed alone, or published by a relay, or messages published alone.

A rate is that of the broker's own times, from the first message stored to the last (of a claim alone:
the first and the last batch), so that no start-up is in it. CPU is that of the whole processes while
they drain, less what the same drain of an empty table takes (`overhead`).
"""
import dataclasses
import os
import resource
import subprocess
import time

import cpu
import tap
from common import (COLD_KEY, DATABASE, FOLDER, RELAY, ROOT, delete_destination, drain, fill, make_tables, new_destination, sql,
                    write_config)

KEYS = {"cold": COLD_KEY, "hot": "'k' || i % 10"}
SERVERS = {"nats": os.environ.get("TEST_NATS_URL"), "kafka": os.environ.get("TEST_KAFKA_BROKERS")}
ROWS_OF_SIZE = {200: 1.0, 2048: 0.3, 102400: 0.03}  # of the rows that are asked for
IDLE_S, IDLE_CPU_S, IDLE_PATIENCE_S = 0.1, 0.02, 3  # a broker with nothing to do uses at most a fifth of a core


@dataclasses.dataclass(frozen=True)
class Cell:
    on_sent: str = "delete"
    order: str = "key"
    lanes: int = 4
    batch: int = 500
    size: int = 200
    keys: str = "cold"
    slices: int = 64
    column: str = "jsonb"
    rows: int = 60000

    def name(self):
        """The settings that differ from the default."""
        words = [self.on_sent] if self.on_sent != "delete" else []
        words += [f"order {self.order}"] if self.order != "key" else []
        words += [f"{self.lanes} lane" + "s" * (self.lanes > 1)] if self.lanes != 4 else []
        words += [f"batch {self.batch}"] if self.batch != 500 else []
        words += [f"{self.size // 1024} KiB"] if self.size != 200 else []
        words += [self.column] if self.column != "jsonb" else []
        words += ["10 keys"] if self.keys == "hot" else []
        words += [f"{self.slices} slices"] if self.slices != 64 else []
        return ", ".join(words) or "default"


@dataclasses.dataclass(frozen=True)
class Way:
    """How the broker is reached, and the special settings of its clients."""
    server: str = ""  # not its own address
    properties: tuple = ()  # of a Kafka client
    stream: tuple = ()  # options of `reader stream`
    proxy: int = 0  # a process in between, whose CPU is told apart


DIRECT = Way()


def cell(rows, **factors):
    return Cell(rows=max(1000, int(rows * ROWS_OF_SIZE[factors.get("size", 200)])), **factors)


def pid_of(server):
    return int((FOLDER / server / "pid").read_text())


def stored_as(sink, name, topic):
    return name if sink == "nats" else topic


def count(sink, name, topic, rows):
    """Returns the number of messages, of different messages, and the seconds from first to last."""
    out = subprocess.run([ROOT / "build/bench_count", sink, SERVERS[sink], stored_as(sink, name, topic), str(rows)],
                         check=True, capture_output=True, text=True).stdout
    messages, distinct, first_us, last_us = map(int, out.split())
    return messages, distinct, max(0.001, (last_us - first_us) / 1e6)


def unsent(on_sent):
    return int(sql("SELECT count(*) FROM outbox" + (" WHERE sent_at IS NULL" if on_sent == "mark" else "")))


def servers_s(sink, way=DIRECT):
    """Returns the CPU seconds so far of PostgreSQL (or what is in its place), of the broker, and of a proxy if there is one."""
    found = {"postgres_s": cpu.tree_s(pid_of(DATABASE)),
             "broker_s": cpu.tree_s(pid_of(sink)) if sink in SERVERS else 0.0}
    return found | ({"link_s": cpu.tree_s(way.proxy)} if way.proxy else {})


def spent_since(before, sink, way=DIRECT):
    return {part: after - before[part] for part, after in servers_s(sink, way).items()}


def settle(sink):
    """Waits until the broker has finished earlier work, such as creating the topic, or a time limit has
    passed."""
    until = time.monotonic() + IDLE_PATIENCE_S if sink in SERVERS else 0
    while time.monotonic() < until:
        before = cpu.tree_s(pid_of(sink))
        time.sleep(IDLE_S)
        if cpu.tree_s(pid_of(sink)) - before <= IDLE_CPU_S:
            return


def drained(sink, config, program=RELAY, way=DIRECT):
    settle(sink)
    before, cores = servers_s(sink, way), cpu.Cores()
    _, relay_s, peak = drain(config, program=program)
    return {"relay_s": relay_s, **spent_since(before, sink, way), **cores.parts(), "peak_mib": peak}


def result(kind, sink, described, rows, seconds, spent, lost, doubled, left):
    return {"kind": kind, "sink": sink, **described, "rows": rows, "rate": rows / seconds, **spent,
            "lost": lost, "doubled": doubled, "left": left}


def describe(one):
    return {"cell": one.name(), **dataclasses.asdict(one)}


def prepare(sink, one, name, topic, *options, way=DIRECT):
    config = write_config(sink, name, one.lanes, one.on_sent, one.order, batch=one.batch, slices=one.slices,
                          server=way.server, properties=way.properties)
    make_tables(config, *options)
    fill(one.rows, topic, KEYS[one.keys], one.size, one.column)
    return config


def claim(one):
    """Measures claim and settle alone."""
    spent = drained("stdout", prepare("stdout", one, "", "bench.drain"), ROOT / "build/bench_claim")
    messages, seconds = (FOLDER / "bench.out").read_text().split()
    lost = one.rows - int(messages)
    return result("claim", "none", describe(one), one.rows, max(0.001, float(seconds)), spent, max(0, lost),
                  max(0, -lost), unsent(one.on_sent))


def relay(sink, one, way=DIRECT):
    """The release binary."""
    name, topic = new_destination(sink, *way.stream)
    spent = drained(sink, prepare(sink, one, name, topic, way=way), way=way)
    messages, distinct, seconds = count(sink, name, topic, one.rows)
    delete_destination(sink, name, topic)
    return result("relay", sink, describe(one), one.rows, seconds, spent, one.rows - distinct, messages - distinct,
                  unsent(one.on_sent))


def watched(one):
    """Runs the relay to NATS and counts every PUB, without measuring its rate: see `tap`."""
    name, topic = new_destination("nats")
    config = prepare("nats", one, name, topic)
    with tap.Tap(SERVERS["nats"], f"{name}.>") as every:
        drain(config)
        every.flush()
    delete_destination("nats", name, topic)
    lost, doubled = every.heard.lost_and_doubled(one.rows)
    return {"kind": "watched", "sink": "nats", **describe(one), "lost": lost, "doubled": doubled,
            "left": unsent(one.on_sent)}


def publish(sink, rows, size, lanes, window, way=DIRECT):
    """Measures the client library alone, in a program that does nothing else."""
    name, topic = new_destination(sink, *way.stream)
    settle(sink)
    servers = servers_s(sink, way)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([ROOT / "build/bench_publish", sink, way.server or SERVERS[sink], stored_as(sink, name, topic),
                    topic, str(rows), str(lanes), str(window), str(size)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = {"relay_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
             **spent_since(servers, sink, way), "postgres_s": 0.0}
    messages, distinct, seconds = count(sink, name, topic, rows)
    delete_destination(sink, name, topic)
    described = {"cell": f"{lanes} x {window}", "lanes": lanes, "window": window, "size": size}
    return result("publish", sink, described, rows, seconds, spent, rows - distinct, messages - distinct, 0)


def overhead(sink, lanes, way=DIRECT):
    """Measures what it costs to start, find an empty table and end."""
    name, topic = new_destination(sink) if sink in SERVERS else ("", "bench.drain")
    config = prepare(sink, Cell(rows=0, lanes=lanes), name, topic, way=way)
    spent = drained(sink, config, RELAY if sink in SERVERS else ROOT / "build/bench_claim", way)
    if sink in SERVERS:
        delete_destination(sink, name, topic)
    return {"kind": "overhead", "sink": sink, "cell": f"{lanes} lanes", "lanes": lanes, "rows": 0, **spent}
