"""The relay and its two ends, for payloads of any size and for brokers at any address: `large`, `slow`.

A rate is that of the broker's own times, from the first message stored to the last; of a claim alone
that of the first and the last batch. Nothing of a start is in it.
"""
import contextlib
import os
import subprocess
import sys

from common import FOLDER, RELAY, ROOT, URL, delete_destination, drain, make_tables, new_destination, sql

SERVERS = {"nats": os.environ.get("TEST_NATS_URL"), "kafka": os.environ.get("TEST_KAFKA_BROKERS")}
SLICES = 64  # of the keys

CONFIG = """
[database]
url = "{url}"
[outbox]
order = "{order}"
on_sent = "delete"
slices = {slices}
[relay]
lanes = {lanes}
batch = {batch}
[http]
listen = ""
[log]
level = "warn"
[sink.broker]
type = "{sink}"
{address}
"""


def sink_address(sink, server, name, properties=()):
    if sink == "stdout":
        return ""
    if sink == "nats":
        return f'servers = ["{server}"]\nstream = "{name}"'
    lines = [f'brokers = ["{server}"]', "[sink.broker.properties]"]
    lines += [f'"{key}" = "{value}"' for key, value in properties]
    return "\n".join(lines)


def configure(sink, address, lanes, batch, order):
    config = FOLDER / "ends.toml"
    config.write_text(CONFIG.format(url=URL, sink=sink, address=address, lanes=lanes, batch=batch, order=order,
                                    slices=SLICES))
    return config


def fill(rows, topic, size, column="jsonb"):
    """Rows of `size` bytes that PostgreSQL cannot compress where it would, in a fresh table."""
    for table in ("outbox", "outbox_parked") if column != "jsonb" else ():
        sql(f"ALTER TABLE {table} ALTER payload TYPE {column} USING NULL")
    if size <= 1000:
        pad = f"repeat('x', {size - 24})"
    else:  # the same for all, because making it costs more than to store it
        pad = f"(SELECT left(string_agg(md5(j::text), ''), {size - 24}) FROM generate_series(1, {size // 32 + 1}) j)"
    payload = "jsonb_build_object('n', i, 'pad', pad)"
    if column != "jsonb":
        payload = """convert_to('{"n": ' || i || ', "pad": "' || pad || '"}', 'UTF8')"""
    sql(f"""INSERT INTO outbox (topic, key, type, payload)
            SELECT '{topic}', 'k' || i % 10000, 'Bench', {payload}
            FROM (SELECT {pad} AS pad OFFSET 0) pads, generate_series(1, {rows}) i""")
    sql("VACUUM ANALYZE outbox")
    sql("CHECKPOINT")


@contextlib.contextmanager
def destination(sink):
    """A new stream or topic, for as long as the block lasts: with large payloads many would fill the disk."""
    name, topic = new_destination(sink)
    try:
        yield name, topic
    finally:
        delete_destination(sink, name, topic)


def stored_as(sink, name, topic):
    return name if sink == "nats" else topic


def count(sink, name, topic, rows):
    """Seconds from the first message stored to the last; all must be there, once."""
    out = subprocess.run([ROOT / "build/bench_count", sink, SERVERS[sink], stored_as(sink, name, topic), str(rows)],
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    messages, distinct, first_us, last_us = map(int, out.split())
    if messages != rows or distinct != rows:
        sys.exit(f"{sink}: {messages} messages, {distinct} different ones, of {rows} rows")
    return max(0.001, (last_us - first_us) / 1e6)


def claim_alone(rows, size, lanes, batch, order="key", column="jsonb"):
    """Rows a second of claim and settle, without a broker."""
    config = configure("stdout", "", lanes, batch, order)
    make_tables(config)
    fill(rows, "bench.ends", size, column)
    drain(config, program=ROOT / "build/bench_claim")
    messages, seconds = (FOLDER / "bench.out").read_text().split()
    if int(messages) != rows:
        sys.exit(f"{messages} of {rows} rows were claimed")
    return rows / max(0.001, float(seconds))


def publish_alone(sink, server, rows, size, lanes, window):
    """Messages a second of the client library alone."""
    with destination(sink) as (name, topic):
        subprocess.run([ROOT / "build/bench_publish", sink, server, stored_as(sink, name, topic), topic, str(rows),
                        str(lanes), str(window), str(size)], check=True)
        return rows / count(sink, name, topic, rows)


def relay(sink, server, rows, size, lanes, batch, order="key", column="jsonb", properties=()):
    """Rows a second, and the peak in MiB."""
    with destination(sink) as (name, topic):
        config = configure(sink, sink_address(sink, server, name, properties), lanes, batch, order)
        make_tables(config)
        fill(rows, topic, size, column)
        _, _, peak = drain(config, program=RELAY)
        return rows / count(sink, name, topic, rows), peak
