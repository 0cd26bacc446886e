"""What lab.py, sampler.py and holders.py ask of a database, of MariaDB or MySQL: statements, sessions, clients that take their
time, and who looks at it. Their names say PostgreSQL where they mean the database."""
import os
import subprocess
import time

import holders
from lab import Failure, Lab
from sampler import END, Sampler, Session

CLIENT = ["mariadb", "--no-defaults", "-N", "-B", "-n", "--skip-reconnect", "--default-character-set=utf8mb4"]
OF_ROLE = "SELECT {} FROM information_schema.PROCESSLIST p WHERE p.USER = '{}'"


class MysqlSession(Session):
    mark = f"SELECT '{END}';\n"
    role = "root"

    @classmethod
    def words(cls, lab):
        return lab.client(cls.role)


class ApplicationSession(MysqlSession):
    role = "app"


class StubbornSession(MysqlSession):
    """One that goes on after an error."""

    @classmethod
    def words(cls, lab):
        return [*super().words(lab), "--force"]


class MysqlLab(Lab):
    program = "build/outbox-relay-mysql"

    def __init__(self, name):
        super().__init__(name)
        self.pg_url = os.environ["TEST_MARIADB_URL"]
        self.pg_address = self.pg_url.split("@")[1].split("/")[0]

    def url_of(self, role, address):
        return f"mysql://{role}@{address}/test"

    @staticmethod
    def client(role="root"):
        return [*CLIENT, "-S", os.environ["TEST_MARIADB_SOCKET"], "-u", role, "test"]

    def lines(self, query, role="root"):
        done = subprocess.run(self.client(role), input=query, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            raise Failure(f"mariadb: {done.stderr.strip()} in: {query[:300]}")
        return done.stdout

    def sql(self, query, *, url=None):
        return self.lines(query).strip().replace("\t", "|")

    def is_mysql(self):
        return "MariaDB" not in self.sql("SELECT VERSION()")

    def psql_background(self, script, *, url=None):
        process = subprocess.Popen(self.client(), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        self.started.append(process)
        process.stdin.write(script + ";\n")
        process.stdin.flush()
        return process

    def kill(self, where):
        """Ends sessions, by a condition of the process list. Returns how many."""
        found = self.sql(f"SELECT p.ID FROM information_schema.PROCESSLIST p WHERE {where}").split()
        return sum(self.try_sql(f"KILL {session}") is not None for session in found)


class MysqlSampler(Sampler):
    session = MysqlSession, "SET SESSION lock_wait_timeout = 3"

    def _look(self):
        age, wait = self.talk.ask("""
            SELECT COALESCE(MAX(TIMESTAMPDIFF(SECOND, t.trx_started, NOW())), 0) FROM information_schema.INNODB_TRX t
            JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id AND p.USER = 'relay';
            SELECT COALESCE(MAX(w.wait_age_secs), 0) FROM sys.innodb_lock_waits w
            JOIN information_schema.PROCESSLIST b ON b.ID = w.blocking_pid AND b.USER = 'relay'
            JOIN information_schema.PROCESSLIST a ON a.ID = w.waiting_pid AND a.USER = 'app'""")
        self.looks += 1
        if float(age) > self.longest_s:
            self.longest_s, self.longest_seen = float(age), f"{age} s"
        self.app_wait_s = max(self.app_wait_s, float(wait))

    def _look_at_backlog(self):
        """Returns the ids that are unsent."""
        ids = set(self.outbox_talk.ask(f"SELECT id FROM outbox WHERE {self.unsent} ORDER BY id LIMIT 100000"))
        parked = self.outbox_talk.ask("SELECT COUNT(*) FROM outbox_parked WHERE sent_at IS NULL AND state <> 'dead'")[0]
        self.note_backlog(len(ids), min(map(int, ids), default=0), int(parked))
        return ids

    def _look_at_recoveries(self, snapshot):
        """A recovery is over when the ids that were unsent at its begin are not any longer."""
        with self.lock:
            for recovery in list(self.open):
                recovery.snapshot = snapshot if recovery.snapshot is None else recovery.snapshot & snapshot
                self.note_recovery(recovery, bool(recovery.snapshot))


# ---- clients that take their time ----

SESSION = ApplicationSession, "SET SESSION innodb_lock_wait_timeout = 10"


class Reader(holders.Reader):
    """An idle read view, which keeps InnoDB from removing what was sent."""
    session = SESSION
    begin = "START TRANSACTION WITH CONSISTENT SNAPSHOT; SELECT COUNT(*) FROM broker"

    def step(self, session):
        session.ask("SELECT 1")


class Writer(Reader):
    """An idle transaction that has written, but not to the outbox."""
    name, rest_s = "writer", (5, 20)
    begin = "START TRANSACTION; INSERT INTO elsewhere VALUES (1, '') ON DUPLICATE KEY UPDATE filler = 'x'"


class Emitter(holders.Emitter):
    session = SESSION
    begin = "START TRANSACTION; SELECT seq FROM emitter WHERE name LIKE 'long%' FOR UPDATE"

    def step(self, session):
        session.ask(f"CALL emit('{self.draw.choice(self.keys)}', 'emitted')")

    def gone(self, session):
        for key in self.keys:
            session.ask(f"CALL emit('{key}', 'emitted')")


class Preparer(holders.Holder):
    """A distributed transaction that is prepared, loses its session, and is committed, or rolled back, by another one;
    right behind it its key has another event."""
    name, session, rest_s, hold_s = "prepared", SESSION, (0.5, 3), (0.5, 3)

    def come_and_go(self, seconds):
        name, key = f"chaos{self.came}", f"xa{self.draw.randint(1, 2)}"
        self.finish()
        session = self.open()
        try:
            session.ask(f"XA START '{name}'; CALL emit('{key}', 'prepared'); CALL emit('{key}', 'prepared');"
                        f" XA END '{name}'; XA PREPARE '{name}'")
            self.came += 1
        finally:
            session.close()
        self.ended.wait(seconds)
        self.finish("ROLLBACK" if self.draw.random() < 0.2 else "COMMIT")
        session = self.open()
        try:
            session.ask(f"CALL emit('{key}', 'prepared')")
            self.went += 1
        finally:
            session.close()

    def finish(self, how="COMMIT"):
        """The server may still hold the session that has gone."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            names = [line.split("|")[3] for line in (self.lab.try_sql("XA RECOVER") or "").splitlines()]
            if not names:
                return
            for name in names:
                self.lab.try_sql(f"XA {how} '{name}'")
            time.sleep(0.1)


class MysqlHolders(holders.Holders):
    def make(self, lab, seed, branches, locks):
        self.emitter = Emitter(lab, seed, self.ended)
        self.preparer = Preparer(lab, seed, self.ended)
        return [Reader(lab, seed, self.ended), Writer(lab, seed, self.ended), self.emitter, self.preparer]
