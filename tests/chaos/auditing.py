"""The command `audit`, again and again beside the faults, and once at the end: it must invent nothing."""
import json
import subprocess
import threading

from report import EPOCH, Finding, at_least

PAUSE_S = 5
AUDIT_S = 120
BROKEN = ("unknown", "altered", "late")


class Audits:
    def __init__(self, relay, config, ordered):
        self.words = [relay, "audit", "--json", "-c", config]
        self.broken = BROKEN if ordered else BROKEN[:-1]
        self.made = self.impossible = 0
        self.last_made = False
        self.invented = []   # lines of findings that cannot be true
        self.missing, self.last_missing = set(), set()  # event ids, ever and at the end
        self.problem = "none"  # why one could not be made
        self.last = None     # the counts of the last audit that was made
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._repeat, daemon=True)

    def start(self):
        self.thread.start()

    def _repeat(self):
        while not self.ended.wait(PAUSE_S):
            self.look()

    def look(self):
        """A server may be away: then the audit cannot be made."""
        done = subprocess.run(self.words, capture_output=True, text=True, timeout=AUDIT_S, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode not in (0, 1) or not lines or not all(sink["read"] for sink in lines[-1]["summary"]["sinks"]):
            self.impossible += 1
            self.problem = (done.stderr.splitlines() or [done.stdout[-300:]])[-1]
            return
        self.made += 1
        self.last = lines[-1]["summary"]
        self.invented += [line for line in lines[:-1] if line["finding"] in self.broken]
        self.last_missing = {line["event_id"] for line in lines[:-1] if line["finding"] == "missing"}
        self.missing |= self.last_missing

    def end(self):
        """After the last row was settled; the servers are there."""
        self.ended.set()
        self.thread.join(AUDIT_S)
        made = self.made
        self.look()
        self.last_made = self.made > made

    def compare(self, lab):
        """After audit.sql. How many events were called missing that are there, and how many that a broker has forgotten
        were not, at the end."""
        path = lab.folder / "missing.sql"
        path.write_text("CREATE TABLE audit.missing (id text PRIMARY KEY, at_end boolean);\nCOPY audit.missing FROM stdin;\n"
                        + "".join(f"{event}\t{event in self.last_missing}\n" for event in self.missing) + f"""\\.
            CREATE VIEW audit.last AS SELECT DISTINCT ON (topic) * FROM amnesia ORDER BY topic, number DESC;
            CREATE TABLE audit.held AS
                SELECT DISTINCT d.id FROM audit.delivered d LEFT JOIN audit.last ON topic = destination
                WHERE position >= coalesce(number, 0) * {EPOCH};""")
        lab.sql_file(path)
        return map(int, lab.sql("""
            SELECT (SELECT count(*) FROM audit.missing m
                    WHERE EXISTS (SELECT FROM audit.held h WHERE h.id = m.id)
                        OR at_end AND EXISTS (SELECT FROM ledger JOIN audit.last USING (topic)
                                              WHERE event_id::text = m.id AND sink IS NULL)),
                   count(*)
            FROM (SELECT event_id::text AS id, to_jsonb(o) AS kept FROM outbox o) o
            WHERE kept->>'sent_at' IS NOT NULL AND coalesce(kept->>'status', 'SENT') = 'SENT'
                AND NOT EXISTS (SELECT FROM audit.held h WHERE h.id = o.id)
                AND NOT EXISTS (SELECT FROM audit.replayed r WHERE r.id = o.id)
                AND NOT EXISTS (SELECT FROM audit.missing m WHERE m.id = o.id AND at_end)
                AND NOT EXISTS (SELECT FROM ledger JOIN audit.last USING (topic)
                                WHERE event_id::text = o.id AND sink IS NULL)""").split("|"))

    def judge(self, lab):
        invented, unseen = self.compare(lab)
        # Where ids began anew, messages have lost their rows, and a row's id says nothing of those before.
        removed = set(lab.sql("SELECT event_id FROM removed").split())
        self.invented = [line for line in self.invented
                         if line["event_id"] not in removed and not (removed and line["finding"] == "late")]
        return [Finding("audits invented", len(self.invented) + invented, 0,
                        "findings of the command `audit`, beside the faults and at the end"),
                Finding("audits blind", unseen, 0, "events that a broker has forgotten, of which the last one said nothing"),
                at_least("audits made", self.made if self.last_made else 0, 2,
                         f"with the last one; {self.impossible} could not be made, the last of them: {self.problem}")]
