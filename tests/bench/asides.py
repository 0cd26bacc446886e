"""What `bench` measures beside the rates: latency under load, the application's pgbench, an idle relay,
a held snapshot; and what it all ran on."""
import argparse
import datetime
import importlib.machinery
import importlib.util
import itertools
import math
import os
import pathlib
import platform
import re
import socket
import subprocess
import sys
import time

import cells
import cpu
import figures
import report
import targets
from common import FOLDER, RELAY, ROOT, URL, delete_destination, ended_with, fill, new_destination, sql

SHARES = (0.1, 0.5, 0.9)
FLAT_OUT_S, STEADY_S = 6, 7  # with flow.c's warm second
HORIZON_ROWS = 400000
MONITORED_ROWS = 1000000


def load_script(name):
    """A benchmark without the ending .py, as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "tests/bench" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def wakeup():
    module = load_script("wakeup")
    module.ORDER, module.IDLE_S = "key", 10
    return module


class Relay:
    """A relay of the default cell, awake to every commit (`init --notify`)."""

    def __init__(self, sink):
        self.sink = sink
        self.name, self.topic = new_destination(sink)
        self.config = cells.prepare(sink, cells.Cell(rows=0), self.name, self.topic, "--notify")

    def __enter__(self):
        self.log = open(FOLDER / "bench.log", "a", encoding="utf-8")
        self.process = subprocess.Popen([RELAY, "run", "-c", self.config], stderr=self.log)
        return self

    def __exit__(self, *_):
        status = ended_with(self.process)
        self.log.close()
        delete_destination(self.sink, self.name, self.topic)
        if status != 0:
            sys.exit(f"the relay ended with {status}:\n" + (FOLDER / "bench.log").read_text()[-2000:])


def flow(sink, rate, seconds):
    """A load that commits at this rate (0: as fast as the relay can follow), and a consumer."""
    with Relay(sink) as relay:
        cores = cpu.Cores()
        program = subprocess.run([ROOT / "build/bench_flow", sink, cells.SERVERS[sink],
                                  cells.stored_as(sink, relay.name, relay.topic), relay.topic, URL, str(rate),
                                  str(seconds)],
                                 capture_output=True, text=True, check=False)
        parts = cores.parts()
    if not program.stdout:
        sys.exit(f"bench_flow: {program.stderr}")
    totals, *took_us = program.stdout.splitlines()
    committed, messages, distinct, counted_s, counted = (float(word) for word in totals.split())
    return {"sink": sink, "rows": int(committed), "rate": counted / counted_s, "lost": int(committed - distinct),
            "doubled": int(messages - distinct), "left": 0, **parts}, [int(us) / 1000 for us in took_us]


def steady(sink, share, most):
    """Measures the latency at this share of the maximum rate."""
    wanted = round(most * share)
    found, took_ms = flow(sink, wanted, STEADY_S)
    found |= {f"p{name}_ms": figures.percentile(took_ms, at)
              for name, at in (("50", 0.5), ("99", 0.99), ("99.9", 0.999), ("100", 1))}
    return {"kind": "latency", "cell": f"{share:.0%}", "wanted": wanted} | found


def latency(sinks, rounds, note):
    most = {}
    for sink in sinks:
        flat_out, _ = flow(sink, 0, FLAT_OUT_S)
        note({"kind": "latency", "cell": "maximum"} | flat_out | {"round": 1})
        most[sink] = flat_out["rate"]
    for number, sink, share in itertools.product(range(1, rounds + 1), sinks, SHARES):
        note(steady(sink, share, most[sink]) | {"round": number})


def idle(note):
    module = wakeup()
    returned, sent = module.measure_latency("ours", 0.7, 40)
    note({"kind": "idle", "cell": "latency at 1.4 inserts/s, from COMMIT sent", "p50_ms": sent[0], "p99_ms": sent[1]})
    note({"kind": "idle", "cell": "the same, from COMMIT returned", "returned_p50_ms": returned[0],
          "returned_p99_ms": returned[1]})
    sql("ALTER SYSTEM SET autovacuum = off")
    sql("SELECT pg_reload_conf()")
    own, _ = module.measure_idle("none", 0, 4)
    rate, cpu = module.measure_idle("ours", 1, 4)
    note({"kind": "idle", "cell": "nothing to do", "cpu_percent": 100 * cpu, "transactions": rate - own})
    sql("ALTER SYSTEM RESET autovacuum")
    sql("SELECT pg_reload_conf()")


def monitored(note):
    """Inserts and drains a backlog with HTTP on: which part of the cores the session takes that measures the table.
    Rates with HTTP on and off differ by more for other reasons. The janitor's session has the same name, and takes
    less."""
    relay = Relay("nats")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    relay.config.write_text(relay.config.read_text().replace('listen = ""', f'listen = "127.0.0.1:{port}"'))
    with relay:
        began_s = time.monotonic()
        fill(MONITORED_ROWS, relay.topic)
        while cells.unsent("delete") > 0:
            time.sleep(0.5)
        took_s = time.monotonic() - began_s
        pids = sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'outbox-relay/admin'").split()
        spent_s = max(map(cpu.threads_s, pids), default=math.nan)
    note({"kind": "monitored", "sink": "nats", "cell": "HTTP on", "rows": MONITORED_ROWS,
          "cores_percent": 100 * spent_s / took_s / os.cpu_count()})


def horizon(rounds, note):
    module = load_script("horizon")
    for number, (way, (lanes, on_sent)), held in itertools.product(
            range(1, rounds + 1), targets.HELD.items(), (False, True)):
        options = argparse.Namespace(rows=HORIZON_ROWS, lanes=lanes, sink="stdout")
        measured, fine = module.measure(options, "key", on_sent, "reader" if held else "none")
        note({"kind": "horizon", "way": way, "cell": "held" if held else "none", "round": number, "rows": HORIZON_ROWS,
              "rate": measured.pop("whole"), "lost": int(not fine)} | measured)


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def kafka_version():
    return re.search(r"KAFKA_VERSION=(\S+)", (ROOT / "tests/support/services.d/kafka.sh").read_text())[1]


def machine():
    processor = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())
    return {"cores": len(os.sched_getaffinity(0)), "processor": processor[1] if processor else platform.machine(),
            "memory_gib": round(int(memory[1]) / 1048576), "system": platform.freedesktop_os_release()["PRETTY_NAME"],
            "kernel": platform.release(),
            "nats-server": output_of("nats-server", "--version").removeprefix("nats-server: v"),
            "kafka": kafka_version(), "librdkafka": output_of("pkg-config", "--modversion", "rdkafka"),
            "nats.c": output_of("pkg-config", "--modversion", "libnats"),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "commit": output_of("git", "describe", "--always", "--dirty")}


def about():
    return machine() | {"postgresql": sql("SHOW server_version").split()[0],
                        **{name: sql(f"SHOW {name}") for name in report.SETTINGS}}
