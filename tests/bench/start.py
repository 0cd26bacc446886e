"""A relay that starts behind rows that have left and cannot be removed: when is it quick?

So many rows are inserted, somebody takes a snapshot and keeps it, and all rows leave by one statement: as many dead
entries stay in the index. Then a relay starts on the empty table, and a row comes each 50 ms. The relay is quick from
the first of 64 rows in turn, three seconds of them, of which 61 took less than 0.1 s from the commit to the relay's
output. A second relay starts beside it, and they are quick together when such rows are there, whoever writes them.
Then the first is killed, so that the second is the one that delivers. No vacuum runs meanwhile: what is measured is
the relay.
"""
import itertools
import math
import signal
import subprocess
import sys
import threading
import time

import held
from common import FOLDER, RELAY, ended_with, fill, make_tables, sql, table_of, write_config
from figures import Arrivals, quick_from

ROW_S = 0.05
QUICK = 0.1, 64, 3  # seconds, rows, of which so many may take longer: others use the machine, too
DEADLINE_S = 90
KEYS = 1000  # so many have rows in every slice, and each has some in a minute
LEAVE = {"mark": "UPDATE outbox SET sent_at = now()", "delete": "DELETE FROM outbox"}


class Feed:
    """A row each 50 ms, until it is ended, and when each was committed and came out."""

    def __init__(self):
        self.committed, self.arrived = {}, {}  # number -> moment; number -> (moment, who), the first time
        self.came = []  # (moment, key, number), repeats too
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        with held.Session() as session:
            for number in itertools.count(1):
                if self.ended.wait(ROW_S):
                    return
                session.ask("INSERT INTO outbox (topic, key, type, payload) VALUES"
                            f" ('bench', 'k{number % KEYS}', 'Bench', '{{\"n\": {number}}}')")
                self.committed[number] = time.monotonic()

    def end(self):
        """Returns when all rows have come, or will not."""
        self.ended.set()
        self.thread.join()
        deadline = time.monotonic() + DEADLINE_S
        while len(self.arrived) < len(self.committed) and time.monotonic() < deadline:
            time.sleep(0.1)

    def note(self, number, who):
        now = time.monotonic()
        self.came.append((now, number % KEYS, number))
        self.arrived.setdefault(number, (now, who))

    def rows_since(self, begin):
        """[(when committed, what it took, who)] of the rows that were committed since then."""
        rows = [(moment, *self.arrived.get(number, (math.inf, None)))
                for number, moment in list(self.committed.items()) if moment >= begin]
        return [(moment, arrival - moment, who) for moment, arrival, who in rows]


class Process:
    """A relay whose lines are read as they come."""

    def __init__(self, name, config, feed):
        self.name, self.feed = name, feed
        with open(FOLDER / "bench.log", "a", encoding="utf-8") as log:
            self.began = time.monotonic()
            self.process = subprocess.Popen([RELAY, "run", "-c", config], stdout=subprocess.PIPE, stderr=log)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.feed.note(int(line.rpartition(b'"n": ')[2].rstrip(b"}\n")), self.name)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.thread.join()

    def stop(self):
        status = ended_with(self.process)
        self.thread.join()
        if status != 0:
            sys.exit(f"the relay ended with {status}:\n" + (FOLDER / "bench.log").read_text()[-2000:])


def await_quick(feed, begin, who):
    """From `begin` on, until rows are quick and `who` has had some of them, or it is given up."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        time.sleep(0.1)
        rows = feed.rows_since(begin)
        if quick_from([took for _, took, _ in rows], *QUICK) is not None and any(
                name == who for _, _, name in rows):
            break
    return begin, time.monotonic(), who


def line_of(feed, begin, end, who):
    """What is to be told when all rows have come."""
    rows = [row for row in feed.rows_since(begin) if row[0] <= end]
    own = [moment + took - begin for moment, took, name in rows if name == who]
    place = quick_from([took for _, took, _ in rows], *QUICK)
    return {"quick after, s": "never" if place is None else rows[place][0] - begin,
            "slowest row, s": max((took for _, took, _ in rows), default=math.inf),
            "its first row, s": min(own, default=math.inf), "rows": len(rows), "of its own": len(own)}


def relay_after_relay(feed, config):
    """One alone, a second beside it, the second alone: the spans, and when the first was killed."""
    first = second = None
    try:
        first = Process("first", config, feed)
        feed.thread.start()
        spans = [await_quick(feed, first.began, "first")]
        second = Process("second", config, feed)
        spans.append(await_quick(feed, second.began, "second"))
        killed = time.monotonic()
        first.kill()
        spans.append(await_quick(feed, killed, "second"))
        feed.end()
        second.stop()
    finally:
        feed.ended.set()
        for relay in (first, second):
            if relay and relay.process.poll() is None:
                relay.kill()
    return spans, killed


def measure(options, order, on_sent):
    """Lines of the table, and whether all is well."""
    config = write_config("stdout", "", options.lanes, on_sent, order)
    make_tables(config)
    sql("ALTER TABLE outbox SET (autovacuum_enabled = false)")
    fill(options.rows, "bench", size=24)
    with held.Reader("bench") as snapshot:
        snapshot.begin()
        sql(LEAVE[on_sent])
        sql("ANALYZE outbox")
        feed = Feed()
        spans, killed = relay_after_relay(feed, config)
        snapshot.must_live()
    lines = [{"order": order, "on_sent": on_sent, "relay": name} | line_of(feed, *span)
             for name, span in zip(("the first", "a second beside it", "the second alone"), spans)]
    return lines, judged(feed, order, killed, lines)


def judged(feed, order, killed, lines):
    """A relay that is killed may repeat what it had in hand; nobody else repeats anything."""
    found = Arrivals(feed.came, len(feed.committed))
    twice = Arrivals([one for one in feed.came if one[0] < killed], 0).twice
    fine = (found.missing == twice == 0 and (order == "none" or found.behind == 0)
            and all(line["quick after, s"] != "never" and line["of its own"] for line in lines))
    print(f"{order:5} {lines[0]['on_sent']:6}  {len(feed.committed)} rows, {found.missing} missing, {twice} twice,"
          f" {found.twice - twice} repeated after the kill, {found.behind} out of order{'' if fine else '  FAILED'}",
          flush=True)
    return fine


def compare(options):
    print(f"behind {options.rows} rows that have left, {options.lanes} lanes, {options.rounds} rounds", flush=True)
    lines, fine = [], True
    for _, order, on_sent in itertools.product(range(options.rounds), options.orders, options.on_sents):
        found, whole = measure(options, order, on_sent)
        fine, lines = fine and whole, lines + found
    table_of(lines, list(lines[0]))
    return 0 if fine else 1
