"""Measures how a fault interrupts the events: a transaction five times a second that emits one event of each of sixteen
keys, which lie in all slices and partitions, and a look at when the relays have marked them.
"""
import contextlib
import threading
import time
from types import SimpleNamespace

from lab import Failure, wait_until
from sampler import Session

KEYS = 16
PAUSE_S = 0.2
LIMIT_S = 45  # more than all time limits of relay, client library and server together


# A row that had to wait was sent from the other table, and is there still.
SENT = ("(SELECT key, created_at, sent_at FROM outbox UNION ALL SELECT key, created_at, sent_at FROM outbox_parked)"
        " sent WHERE key LIKE 'probe%' AND sent_at IS NOT NULL")


class Probe:
    def __init__(self, lab, url):
        self.lab, self.url = lab, url
        self.acknowledged = 0  # the number of the last transaction whose COMMIT was answered
        self.forgotten = 0     # numbers that came again after that
        self.session = None
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        lab.sql(f"INSERT INTO held SELECT 'probe' || n FROM generate_series(1, {KEYS}) n")

    def _open(self):
        return Session(SimpleNamespace(pg_url=self.url, started=self.lab.started),
                       "SET application_name = 'probe'")

    def _run(self):
        while not self.ended.wait(PAUSE_S):
            with contextlib.suppress(OSError):
                if self.session is None:
                    self.session = self._open()
                self._emit()
                continue
            self._close()

    def _emit(self):
        numbers = self.session.ask(
            "BEGIN; SELECT count(post_held(key, 1)) FROM (SELECT key FROM held ORDER BY key FOR UPDATE) probes;"
            " SELECT min(seq) FROM held; COMMIT")
        number = int(numbers[-1])
        self.forgotten += number <= self.acknowledged
        self.acknowledged = number

    def _close(self):
        if self.session is not None:
            self.session.close()
            self.session = None

    def start(self):
        self.thread.start()

    def follow(self, url):
        """From now on it writes to another server."""
        self.url = url
        session = self.session
        if session is not None:
            session.process.kill()

    def stop(self):
        self.ended.set()
        self.thread.join(30)
        self._close()

    def watch(self):
        return Watch(self)

    def longest_delay(self, begin, end):
        """Of the events that were committed between two moments (wall s): the most seconds from INSERT to mark."""
        return float(self.lab.sql(
            f"SELECT coalesce(max(extract(epoch FROM sent_at - created_at)), 0) FROM {SENT}"
            f" AND created_at BETWEEN to_timestamp({begin:.3f}) AND to_timestamp({end:.3f})"))


class Watch:
    """Begins with the fault; finds for each key when the first event that was committed after it has been
    acknowledged."""

    def __init__(self, probe):
        self.probe, self.began = probe, time.time()
        self.times = {}  # key: seconds
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        session = None
        while len(self.times) < KEYS and time.time() < self.began + LIMIT_S:
            try:
                if session is None:
                    session = self.probe._open()
                keys = session.ask(f"SELECT coalesce(string_agg(DISTINCT key, ' '), '') FROM {SENT}"
                                   f" AND created_at > to_timestamp({self.began:.3f})")[-1].split()
            except OSError:
                if session is not None:
                    session.close()
                session = None
                keys = []
            for key in keys:
                self.times.setdefault(key, time.time() - self.began)
            time.sleep(0.05)
        if session is not None:
            session.close()

    def wait(self):
        """Returns the seconds of each key that has gone on."""
        self.thread.join(LIMIT_S + 10)
        return self.times
