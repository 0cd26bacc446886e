"""What a relay costs the application beside it: pgbench with an outbox, and a relay that drains it or none."""
import os
import subprocess

import cpu
from common import FOLDER, READER, delete_destination, new_destination, pgbench, pgbench_rate, sql

SECONDS = 8
SCALE = 10

EVENT = ("INSERT INTO outbox (topic, key, type, payload)"
         " VALUES ('{topic}', 'k' || :key, 'Bench', '{{\"n\": 0, \"pad\": \"{pad}\"}}');\n")
KEY = "\\set key random(1, 10000)\n"
SCRIPTS = {"insert": KEY + EVENT, "TPC-B": KEY + r"""\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
""" + EVENT + "END;\n"}


def transactions(name, topic):
    """Transactions per second of this script, and the part of the cores that stayed idle."""
    script = FOLDER / "application.sql"
    script.write_text(SCRIPTS[name].format(topic=topic, pad="x" * 176))
    for clean in ("VACUUM pgbench_branches, pgbench_tellers", "TRUNCATE pgbench_history", "CHECKPOINT"):
        sql(clean)
    cores = cpu.Cores()
    return pgbench_rate(script, SECONDS, "-s", str(SCALE)), cores.parts()


def beside(module, name, relays):
    stream, topic = new_destination("nats")
    try:
        with module.Fleet(stream, "ours", relays, lanes=4):
            rate, parts = transactions(name, topic)
            if relays > 0:
                module.await_that(lambda: sql("SELECT count(*) FROM outbox") == "0", "the relay to send the rest")
        rows = int(sql("SELECT last_value FROM outbox_id_seq"))
        messages = int(subprocess.run([READER, "nats-end", os.environ["TEST_NATS_URL"], stream], check=True,
                                      capture_output=True, text=True).stdout)
    finally:
        delete_destination("nats", stream, topic)
    missing = rows - messages if relays > 0 else 0
    return {"kind": "app", "sink": "nats", "cell": f"{name}, {relays} relays", "script": name, "relays": relays,
            "rows": rows, "rate": rate, "lost": max(0, missing), "doubled": max(0, -missing), "left": 0, **parts}


def application(module, rounds, note):
    """Each round begins with another case."""
    pgbench("-i", "-q", "-s", str(SCALE))
    for number in range(1, rounds + 1):
        for name in SCRIPTS:
            for relays in (0, 1) if number % 2 else (1, 0):
                note(beside(module, name, relays) | {"round": number})
    pgbench("-i", "-I", "d")
