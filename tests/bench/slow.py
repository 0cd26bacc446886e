"""A broker that is far away: which lanes and batch reach the slower of the two ends, or the cores.

Between clients and broker stands a proxy that passes each byte half a round trip later and holds back
nothing else. The ends: publishing alone through the same proxy with many messages under way, and claim
and settle alone, which the way to the broker does not touch. The proxy's CPU counts among what a
message costs: it takes the place of a network.
"""
import contextlib
import dataclasses
import os
import subprocess

import cells
from common import ROOT

ROUND_TRIP_MS = 50
WINDOWS = {"nats": [(2, 10000), (4, 10000)], "kafka": [(2, 50000), (4, 50000)]}  # lanes, unacknowledged messages
SHAPES = {"nats": [{"order": "none", "lanes": 12, "batch": 1000}, {"lanes": 8, "batch": 1000},
                   {"lanes": 16, "batch": 1000}],
          "kafka": [{"order": "none", "lanes": 8, "batch": 1000}, {"lanes": 8, "batch": 1000},
                    {"lanes": 16, "batch": 1000}, {"lanes": 16, "batch": 2000},
                    {"lanes": 24, "batch": 1000, "slices": 128}]}
ROWS = 60000  # at least, and of publishing alone three times as many
BATCHES = 30  # of each lane, at least: the first is counted without its claim and its way, 3 % of 30


def port_of(address):
    return address.rsplit(":", 1)[1]


@contextlib.contextmanager
def far_away(sink, ms=ROUND_TRIP_MS):
    """The connection through the proxy. Kafka must advertise this address."""
    listen, target = "0", port_of(os.environ["TEST_NATS_URL"]) if sink == "nats" else ""
    if sink == "kafka":
        listen, target = port_of(os.environ["TEST_KAFKA_PROXY"]), port_of(os.environ["TEST_KAFKA_PROXIED"])
    words = [ROOT / "build/bench_delay", listen, target, str(ms // 2)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as proxy:
        address = "127.0.0.1:" + proxy.stdout.readline().strip()
        try:
            yield cells.Way(f"nats://{address}" if sink == "nats" else address, proxy=proxy.pid)
        finally:
            proxy.kill()


def shape(factors):
    one = cells.Cell(**factors)
    return dataclasses.replace(one, rows=max(ROWS, BATCHES * one.lanes * one.batch))


def relays(sink, note):
    chosen = [shape(factors) for factors in SHAPES[sink]]
    with far_away(sink) as way:
        for lanes in sorted({one.lanes for one in chosen}):
            note(cells.overhead(sink, lanes, way))
        for lanes, window in WINDOWS[sink]:
            note(cells.publish(sink, 3 * ROWS, 200, lanes, window, way))
        for one in chosen:
            note(cells.relay(sink, one, way))


def round_of(sinks, note):
    claimed = sorted({shape(factors) for sink in sinks for factors in SHAPES[sink]}, key=lambda one: one.name())
    for lanes in sorted({one.lanes for one in claimed}):
        note(cells.overhead("stdout", lanes))
    for one in claimed:
        note(cells.claim(one))
    for sink in sinks:
        relays(sink, note)


def slow(sinks, rounds, note):
    for number in range(1, rounds + 1):
        round_of(sinks, lambda run, number=number: note(run | {"round": number}))
