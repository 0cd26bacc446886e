"""Clients that take their time: COPYs that pause, and transactions that stay open.

A thread for each kind: it comes, holds, goes and after a rest comes again, at moments that the
run's seed decides, until the run ends. What a fault ends is counted as lost; what became of its
COMMIT the ledger knows. They do not flush what they commit: that would save commits of others that
a killed PostgreSQL is to forget.
"""
import contextlib
import random
import threading
import time

from lab import wait_until
from sampler import Session

NAME = "holder"
SETTINGS = f"SET application_name = '{NAME}'; SET synchronous_commit = off"
STEP_S = 1  # how often one that holds is asked whether it is still there
COPIED, COPIED_FIRST = 60, 40  # lines: psql and PostgreSQL have some 8 KiB in hand before the pause
TO_OUTBOX = "COPY outbox (event_id, topic, key, type, payload, headers) FROM STDIN"


class Holder:
    """One kind of holder, of which one exists at a time."""

    # Between those that have a number of their own there is to be time without any.
    rest_s, hold_s = (5, 20), (3, 15)
    begin = "BEGIN"
    session = Session, SETTINGS

    def __init__(self, lab, seed, ended):
        self.lab, self.ended = lab, ended
        self.draw = random.Random(f"{self.name} {seed}")
        self.came = self.went = 0

    def run(self):
        while not self.ended.wait(self.draw.uniform(*self.rest_s)):
            with contextlib.suppress(OSError):
                self.come_and_go(self.draw.uniform(*self.hold_s))

    def open(self):
        kind, settings = self.session
        return kind(self.lab, settings)

    def come_and_go(self, seconds):
        """Raises OSError if the holder was lost or PostgreSQL could not be reached."""
        session = self.open()
        try:
            session.ask(self.begin)
            self.came += 1
            self.hold(session, time.monotonic() + seconds)
            session.ask("COMMIT")
            self.went += 1
            self.gone(session)
        finally:
            session.close()

    def hold(self, session, until):
        while not self.over(until):
            self.step(session)

    def over(self, until):
        return self.ended.wait(STEP_S) or time.monotonic() >= until

    def step(self, session):
        session.ask("SELECT")

    def gone(self, session):
        """After its end."""


class Reader(Holder):
    """An idle snapshot."""
    name = "reader"
    begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM broker"


class Writer(Holder):
    """An idle transaction that has written, but not to the outbox."""
    name = "writer"
    begin = "BEGIN; UPDATE elsewhere SET n = n + 1"


class Emitter(Holder):
    """A transaction that emits events for about half a minute. They become visible long after
    others of higher ids, and right behind them each key has one event more."""
    name, rest_s, hold_s = "emitter", (10, 25), (20, 40)
    begin = "BEGIN; SELECT key FROM emitter FOR UPDATE"

    def __init__(self, lab, seed, ended):
        super().__init__(lab, seed, ended)
        self.keys = [f"long{number}" for number in range(1, 5)]
        self.lock = threading.Lock()
        self.barred = 0  # by so many who need the table alone
        self.is_open = False

    def come_and_go(self, seconds):
        with self.lock:
            if self.barred:
                return
            self.is_open = True
        try:
            super().come_and_go(seconds)
        finally:
            self.is_open = False

    def hold(self, session, until):
        self.step(session)
        super().hold(session, until)

    def over(self, until):
        return super().over(until) or self.barred > 0

    def step(self, session):
        session.ask(f"SELECT emit('{self.draw.choice(self.keys)}')")

    def gone(self, session):
        session.ask("SELECT count(emit(key)) FROM emitter")

    @contextlib.contextmanager
    def away(self):
        """While the block lasts no holder is open; an open one ends early."""
        with self.lock:
            self.barred += 1
        try:
            wait_until(lambda: not self.is_open, 20, "the transaction that emits has ended")
            yield
        finally:
            with self.lock:
                self.barred -= 1


class Copier(Holder):
    """A COPY of events of a branch, behind the lock of its key: PostgreSQL has drawn the ids of
    lines that it keeps for later while it waits for more. One more event follows right behind."""
    name, rest_s, hold_s = "COPY", (1, 5), (0.3, 1.5)

    def __init__(self, lab, seed, ended, branches):
        super().__init__(lab, seed, ended)
        self.branches = branches
        self.branch = None

    def hold(self, session, until):
        draw, self.branch = self.draw, self.draw.randint(1, self.branches)
        words = (f"{self.branch}, {COPIED}, {draw.randint(1, 10 * self.branches)},"
                 f" {draw.randint(1, 100000)}, {draw.randint(-5000, 5000)}")
        pause_s = until - time.monotonic()
        session.ask(f"SELECT pass_gate(), lock_to_copy({self.branch})")
        lines = session.ask(f"SELECT lines_to_copy({words})")
        session.send("\n".join([TO_OUTBOX + ";"] + lines[:COPIED_FIRST]) + "\n")
        time.sleep(pause_s)
        session.send("\n".join(lines[COPIED_FIRST:] + ["\\."]) + "\n")
        session.answer()
        session.ask(f"SELECT book_copied({words})")

    def gone(self, session):
        session.ask(f"BEGIN; SELECT lock_key(1, {self.branch});"
                    f" SELECT post_next({self.branch}, 0, 0); COMMIT")


class Preparer(Holder):
    """A transaction with an event that is prepared, and committed when it goes."""
    name = "prepared"

    def come_and_go(self, seconds):
        session = Session(self.lab, SETTINGS)
        try:
            for gid in session.ask("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()"):
                session.ask(f"COMMIT PREPARED '{gid}'")
            session.ask(f"BEGIN; SELECT post_two({self.draw.randint(1, 20)}, 1, 0, 0); PREPARE TRANSACTION 'chaos'")
            self.came += 1
            self.ended.wait(min(seconds, 3))
            session.ask("COMMIT PREPARED 'chaos'")
            self.went += 1
        finally:
            session.close()


class Holders:
    """One of each kind, in threads of their own."""

    def __init__(self, lab, seed, branches, locks):
        self.ended = threading.Event()
        self.kinds = self.make(lab, seed, branches, locks)
        self.threads = [threading.Thread(target=kind.run, daemon=True) for kind in self.kinds]

    def make(self, lab, seed, branches, locks):
        self.emitter = Emitter(lab, seed, self.ended)
        return [Reader(lab, seed, self.ended), Writer(lab, seed, self.ended), self.emitter,
                Copier(lab, seed, self.ended, branches), *([] if locks else [Preparer(lab, seed, self.ended)])]

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        """Ends the holders."""
        self.ended.set()
        for thread in self.threads:
            if thread.is_alive():
                thread.join(30)
