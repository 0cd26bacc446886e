"""Instructions a message on a path, by library and function: stable where seconds are not.

A path is a sink and an order, and `run --drain` with one lane and everything else as it is by default
(200-byte jsonb, 10,000 keys). The unmodified program runs under valgrind twice, with a small and with a
large backlog; the difference, divided by the difference of the rows, is free of the start, of the end
and of the waiting there.
"""
import collections
import sys

import callgrind
from common import COLD_KEY, FOLDER, RELAY, URL, address, make_tables, new_destination, sql

PATHS = {"stdout": ("stdout", "key"), "kafka": ("kafka", "key"), "nats": ("nats", "key"),
         "kafka, order none": ("kafka", "none"), "nats, order none": ("nats", "none")}
FEW, MANY = 2500, 12500
QUICK = 1000, 5000  # enough to see where they go
LARGEST = 10

CONFIG = """
[database]
url = "{url}"
allow_superuser = true
[outbox]
order = "{order}"
[relay]
lanes = 1
[http]
listen = ""
[log]
level = "error"
[sink.broker]
type = "{sink}"
{address}
"""


def drain(sink, order, rows, preload):
    name, topic = new_destination(sink) if sink != "stdout" else ("", "bench.check")
    config = FOLDER / "check.toml"
    config.write_text(CONFIG.format(url=URL, order=order, sink=sink, address=address(sink, name)))
    make_tables(config)
    # The time is no now(): its digits cost instructions.
    sql(f"""INSERT INTO outbox (topic, key, type, payload, created_at)
            SELECT '{topic}', {COLD_KEY}, 'Bench', jsonb_build_object('n', i, 'pad', repeat('x', 176)),
                   '2026-01-02 03:04:05.678901+00'
            FROM generate_series(100001, 100000 + {rows}) i""")
    sql("VACUUM ANALYZE outbox")
    cost = callgrind.run([RELAY, "run", "--drain", "-c", config], preload)
    if sql("SELECT count(*) FROM outbox WHERE sent_at IS NULL") != "0":
        sys.exit("rows were left")
    return cost


def measure(path, preload=None, rows=(FEW, MANY)):
    """{(library, function): instructions a message}"""
    sink, order = PATHS[path]
    few, many = (drain(sink, order, count, preload) for count in rows)
    return {function: (many[function] - few[function]) / (rows[1] - rows[0]) for function in many}


def by_library(measured):
    libraries = collections.Counter()
    for (library, _), value in measured.items():
        libraries[library] += value
    worth = 0.002 * sum(libraries.values())
    return {library: round(value) for library, value in libraries.most_common() if value >= worth}


def by_name(measured, count):
    """{"library function": instructions}, the largest of them."""
    largest = sorted(measured.items(), key=lambda item: -item[1])[:count]
    return {f"{library} {function}": round(value) for (library, function), value in largest}


def profile(sinks, note):
    """Where a message's instructions go, on each path of order "key"."""
    for sink in ("stdout", *sinks):
        measured = measure(sink, rows=QUICK)
        note({"kind": "profile", "sink": sink, "instructions": round(sum(measured.values())),
              "libraries": by_library(measured), "functions": by_name(measured, LARGEST)})
