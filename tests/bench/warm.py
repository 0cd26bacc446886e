"""What makes new servers as those that have run for some time, before `bench` measures them.

A JVM compiles what it runs for its first millions of messages, on the cores that are measured; a new PostgreSQL
cluster makes each segment of its WAL anew, and every commit waits meanwhile.
"""
import time

import cells
import figures
from common import DATABASE, sql

PATIENCE_S = {"nats": 0, "kafka": 22}  # only what compiles itself gets faster
MESSAGES = {"nats": 200000, "kafka": 400000}
WINDOWS = (10000, 500)  # large requests, and small ones like a relay's
RELAYED = 20000
SEGMENTS, SEGMENT_BYTES = 128, 16 * 1024 * 1024  # of the WAL: more than any cell of `make bench` writes


def segments():
    """So many that the cluster never makes another one: it uses again as many as min_wal_size holds."""
    sql(f"SELECT count(pg_logical_emit_message(false, 'bench', repeat('x', {SEGMENT_BYTES}))) "
        f"FROM generate_series(1, {SEGMENTS})")
    sql("CHECKPOINT")


def broker(sink):
    """Messages in both shapes until they get no cheaper, or for as long as there is patience; once at least."""
    costs, until = {window: [] for window in WINDOWS}, time.monotonic() + PATIENCE_S[sink]
    while True:
        for window, spent in costs.items():
            spent.append(cells.publish(sink, MESSAGES[sink], 200, 4, window)["broker_s"])
        if time.monotonic() >= until or all(map(figures.is_steady, costs.values())):
            break
    if DATABASE == "postgres":
        cells.relay(sink, cells.Cell(rows=RELAYED))
