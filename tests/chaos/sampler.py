"""Looks at PostgreSQL ten times a second: transactions of the relays, backlog, recovery, progress,
and how long the application waits for a relay's lock, or behind an ALTER TABLE that waits for it.

Two psql are kept open and asked through pipes, and started anew when PostgreSQL dies: a locked
outbox must not hide how old the transactions are.
"""
import contextlib
import subprocess
import threading
import time

LOOK_S = 0.1
END = "~end~"
STALL_S = 10
ROOM_S = 2  # for a loaded machine, beside what is promised


class Session:
    """A psql that answers one query after the other; raises OSError when it has died."""

    mark = f"\\echo {END}\n"

    def __init__(self, lab, settings):
        self.process = subprocess.Popen(
            self.words(lab), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        lab.started.append(self.process)
        self.ask(settings)

    @staticmethod
    def words(lab):
        return ["psql", "-XqAt", "-F", "|", "-v", "ON_ERROR_STOP=1", lab.pg_url]

    def ask(self, query):
        self.send(f"{query};\n")
        return self.answer()

    def send(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def answer(self):
        """Returns the lines that answer all queries."""
        self.send(self.mark)
        lines = []
        for line in self.process.stdout:
            if line.strip() == END:
                return lines
            lines.append(line.rstrip("\n"))
        raise OSError("the client ended")

    def close(self):
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdout, self.process.stdin):
            with contextlib.suppress(OSError):  # what it had not read yet
                pipe.close()


class Conversation:
    """Sessions, each in the place of one that has died; raises OSError when one does."""

    def __init__(self, lab, kind, settings):
        self.lab, self.kind, self.settings, self.session = lab, kind, settings, None

    def ask(self, query):
        if self.session is None or self.session.process.poll() is not None:
            self.session = self.kind(self.lab, self.settings)
        return self.session.ask(query)


class Recovery:
    """From the end of a fault until each row that existed at that moment is sent or parked."""

    def __init__(self, fault, ended, overtaken):
        self.fault, self.ended = fault, ended
        self.snapshot = None
        self.seconds = None
        self.overtaken = overtaken  # something else was broken, or had not recovered
        self.due = None             # None: something is broken
        self.late = False


class Sampler:
    session = Session, "SET application_name = 'sampler'; SET statement_timeout = '3s'"

    def __init__(self, lab, unsent):
        self.talk, self.outbox_talk = (Conversation(lab, *self.session) for _ in range(2))
        self.unsent = unsent
        self.lock = threading.Lock()
        self.open = []        # recoveries
        self.done = []
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self._watch, args=(look,), daemon=True)
                        for look in (self._look, self._look_at_outbox)]
        self.looks = self.outbox_looks = self.missed = 0
        self.longest_s = 0.0  # of a transaction of a relay
        self.longest_seen = ""
        self.app_wait_s = 0.0
        self.backlog = self.backlog_max = 0
        self.backlogs = []    # (wall ms, rows that a relay can hold: those that wait, too)
        self.oldest = None    # id of the oldest unsent row
        self.calm_since = None
        self.stalls = []      # (monotonic, seconds)
        self.progress_at = time.monotonic()
        self.broken = 0       # faults that are being injected now

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        """Returns False if one of its threads had died."""
        alive = all(thread.is_alive() for thread in self.threads)
        self.ended.set()
        for thread in self.threads:
            thread.join(30)
        return alive

    def fault_begins(self):
        with self.lock:
            self.broken += 1
            self.calm_since = None
            for recovery in self.open:
                recovery.overtaken, recovery.due = True, None

    def fault_ends(self, fault):
        """Once nothing is broken, the slowest fault that has not recovered sets the deadline."""
        with self.lock:
            now = time.monotonic()
            self.broken -= 1
            self.open.append(Recovery(fault, now, bool(self.broken or self.open)))
            if self.broken == 0:
                self.calm_since = now
                limit_s = max(recovery.fault.kind.bar for recovery in self.open) + ROOM_S
                for recovery in self.open:
                    recovery.due = now + limit_s

    def _watch(self, look):
        while not self.ended.wait(LOOK_S):
            try:
                look()
            except (OSError, ValueError, IndexError):
                self.missed += 1

    def _look(self):
        answer = self.talk.ask("""
            SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0),
                   coalesce((array_agg(application_name || ' ' || state || ' ' || left(query, 60)
                             ORDER BY xact_start))[1], '')
            FROM pg_stat_activity
            WHERE application_name LIKE 'outbox-relay/%' AND xact_start IS NOT NULL;
            SELECT coalesce(max(extract(epoch FROM clock_timestamp() - a.query_start)), 0)
            FROM pg_stat_activity a
            WHERE a.application_name = 'pgbench' AND a.wait_event_type = 'Lock' AND EXISTS (
                SELECT FROM unnest(pg_blocking_pids(a.pid)) blocker JOIN pg_stat_activity r
                    ON r.pid = blocker OR r.pid = ANY (pg_blocking_pids(blocker))
                WHERE r.application_name LIKE 'outbox-relay/%')""")
        (age, seen), wait = answer[0].split("|", 1), answer[1]
        self.looks += 1
        if float(age) > self.longest_s:
            self.longest_s, self.longest_seen = float(age), seen
        self.app_wait_s = max(self.app_wait_s, float(wait))

    def _look_at_outbox(self):
        snapshot = self._look_at_backlog()
        self._look_at_recoveries(snapshot)
        self.outbox_looks += 1

    def _look_at_backlog(self):
        """Returns the snapshot in which it read the outbox, or an older one."""
        snapshot, answer = self.outbox_talk.ask(f"""
            SELECT pg_current_snapshot();
            SELECT count(*), coalesce(min(id), 0), (SELECT count(*) FROM outbox_parked
                                                    WHERE sent_at IS NULL AND state <> 'dead')
            FROM (SELECT id FROM outbox WHERE {self.unsent} ORDER BY id LIMIT 100000) unsent
            """)
        count, oldest, parked = answer.split("|")
        self.note_backlog(int(count), oldest, int(parked))
        return snapshot

    def note_backlog(self, count, oldest, parked):
        self.backlog = count
        self.backlogs.append((time.time() * 1000, count + parked))
        self.backlog_max = max(self.backlog_max, self.backlog)
        now = time.monotonic()
        if self.backlog == 0 or oldest != self.oldest:
            self.progress_at = now
        self.oldest = oldest
        with self.lock:
            if self.calm_since is not None:
                still_s = now - max(self.progress_at, self.calm_since)
                if still_s >= STALL_S:
                    self.stalls.append((now, still_s))
                    self.calm_since = now

    def _look_at_recoveries(self, snapshot):
        with self.lock:
            waiting = list(self.open)
        for recovery in waiting:
            recovery.snapshot = recovery.snapshot or snapshot
            left = self.outbox_talk.ask(f"""
                SELECT EXISTS (SELECT FROM outbox WHERE {self.unsent} AND pg_visible_in_snapshot(
                    xmin::text::xid8, '{recovery.snapshot}'))""")[0]
            with self.lock:
                self.note_recovery(recovery, left != "f")

    def note_recovery(self, recovery, goes_on):
        now = time.monotonic()
        recovery.late = recovery.late or (recovery.due is not None and now > recovery.due)
        if not goes_on:
            recovery.seconds = now - recovery.ended
            self.open.remove(recovery)
            self.done.append(recovery)
