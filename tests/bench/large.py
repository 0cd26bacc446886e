"""Large messages: bytes a second against the ends, and the relay's peak memory against its bound.

The ends: the disk (written in pieces of the payload's size, with one flush at the end), publishing
alone, and claim and settle alone. A message of 1 MiB is made 2 KiB smaller: what either server takes
by default, 1 MiB, counts headers too. The bound is batch_bytes x lanes, as much again where the client
library copies (NATS), and a base.
"""
import itertools
import os
import time

import cells
from common import FOLDER

MIB = 1024 * 1024
EACH_MIB = 512  # of payload a measurement
SIZES = (100 * 1024, MIB - 2048)
WINDOWS = ((2, 100), (4, 500))
BATCH_BYTES = 8 * MIB
COPIES = {"nats": 2, "kafka": 1}  # of a batch: the rows, and what the client library makes of them
BASE_MIB = 32
WAYS = {"nats": cells.DIRECT, "kafka": cells.Way(properties=(("message.max.bytes", str(2 * MIB)),))}


def relay(sink, one):
    bound = COPIES[sink] * one.lanes * BATCH_BYTES // MIB + BASE_MIB
    return cells.relay(sink, one, WAYS[sink]) | {"bound_mib": bound}


def disk(size, rows):
    path = FOLDER / "disk"
    piece = os.urandom(size)
    started = time.monotonic()
    with open(path, "wb", buffering=0) as file:
        for _ in range(rows):
            file.write(piece)
        os.fdatasync(file.fileno())
    seconds = time.monotonic() - started
    path.unlink()
    return {"kind": "disk", "sink": "none", "cell": f"{size // 1024} KiB", "size": size, "rows": rows,
            "rate": rows / seconds}


def round_of(sinks, note):
    for sink in ("stdout", *sinks):
        note(cells.overhead(sink, cells.Cell.lanes))
    for size in SIZES:
        rows = EACH_MIB * MIB // size
        note(disk(size, rows))
        for sink, window in itertools.product(sinks, WINDOWS):
            note(cells.publish(sink, rows, size, *window))
        for column in ("bytea", "jsonb"):
            one = cells.Cell(rows=rows, size=size, column=column)
            note(cells.claim(one))
            for sink in sinks:
                note(relay(sink, one))


def large(sinks, rounds, note):
    for number in range(1, rounds + 1):
        round_of(sinks, lambda run, number=number: note(run | {"round": number}))
