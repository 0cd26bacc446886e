"""Who holds something open while a benchmark runs: a snapshot, a transaction's number, an event of the outbox.

    with make("outbox", topic) as holder:
        holder.begin()
        ...
        holder.must_live()
"""
import subprocess
import sys

from common import FOLDER, URL, sql

END = "~end~"


class Session:
    """A psql that answers one query after the other, for as long as the block lasts."""

    def __init__(self):
        self.log = open(FOLDER / "bench.log", "a", encoding="utf-8")
        self.process = subprocess.Popen(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", URL], text=True, stderr=self.log,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, query):
        """Returns the lines of the answer."""
        self.process.stdin.write(f"{query};\n\\echo {END}\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.strip() == END:
                return lines
            lines.append(line.rstrip("\n"))
        sys.exit(f"a session ended at: {query}\n" + (FOLDER / "bench.log").read_text()[-2000:])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()


class Holder:
    """Holds nothing; the base class of the others."""

    early = False  # it begins before the backlog is there
    script = ""
    holds = ""  # a condition of its line in pg_stat_activity
    events = 0

    def __init__(self, topic):
        self.topic, self.session, self.pid = topic, None, None

    def begin(self):
        if self.script:
            self.session = Session()
            self.pid = self.session.ask("SELECT pg_backend_pid()")[0]
            self.session.ask(self.script.format(topic=self.topic))

    def must_live(self):
        if self.session and sql("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
                                f" AND pid = {self.pid} AND {self.holds}") != "1":
            sys.exit(f"the holder was lost, {type(self).__name__}: the run proves nothing")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.session:
            self.session.__exit__()


class Reader(Holder):
    """An idle REPEATABLE READ transaction, which sees the database as it was."""
    script = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class"
    holds = "backend_xmin IS NOT NULL"


class Writer(Holder):
    """An idle transaction that has written, but not to the outbox."""
    script = """DROP TABLE IF EXISTS elsewhere; CREATE TABLE elsewhere (n int);
                BEGIN; INSERT INTO elsewhere VALUES (1)"""
    holds = "backend_xid IS NOT NULL AND backend_xmin IS NULL"


class Outbox(Holder):
    """An idle transaction that inserted an event, with a lower id than all of the backlog. When it commits, another
    event of the key follows at once. Their numbers are negative, as the order of the key wants them."""
    early = True
    script = """BEGIN; SELECT pg_advisory_xact_lock(hashtext('held'));
                INSERT INTO outbox (topic, key, type, payload) VALUES ('{topic}', 'held', 'Bench', '{{"n": -2}}')"""
    holds = "backend_xid IS NOT NULL AND backend_xmin IS NULL"
    events = 2

    def commit(self, clock):
        """Returns when the COMMIT was sent, by this clock."""
        moment = clock()
        self.session.ask("COMMIT; BEGIN; SELECT pg_advisory_xact_lock(hashtext('held'));"
                         " INSERT INTO outbox (topic, key, type, payload)"
                         f" VALUES ('{self.topic}', 'held', 'Bench', '{{\"n\": -1}}'); COMMIT")
        return moment


HOLDERS = {"none": Holder, "reader": Reader, "writer": Writer, "outbox": Outbox}
