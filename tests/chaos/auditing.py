"""The command `audit`, again and again beside the faults, and once at the end: it must invent nothing."""
import json
import subprocess
import threading

from report import Finding, at_least

PAUSE_S = 5
AUDIT_S = 120
BROKEN = ("missing", "unknown", "altered", "late")


class Audits:
    def __init__(self, relay, config, ordered):
        self.words = [relay, "audit", "--json", "-c", config]
        self.broken = BROKEN if ordered else BROKEN[:-1]
        self.made = self.impossible = 0
        self.invented = []   # lines of findings that cannot be true
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

    def end(self):
        """After the last row was settled; the servers are there."""
        self.ended.set()
        self.thread.join(AUDIT_S)
        made = self.made
        self.look()
        self.last_made = self.made > made

    def judge(self):
        return [Finding("audits invented", len(self.invented), 0, "findings of the command `audit`, beside the faults and at the end"),
                at_least("audits made", self.made if self.last_made else 0, 2,
                         f"with the last one; {self.impossible} could not be made, the last of them: {self.problem}")]
