"""The application of a run on MariaDB or MySQL: clients that call the procedures of bank_mysql.sql."""
import contextlib
import random
import re
import threading
import time
import zlib

import mysql_lab
import workload
from lab import wait_until

KINDS = ("transfer", "slow", "keyless", "several", "prepared", "emitted")
CLIENTS = 12
ACCOUNTS = 20000


def set_up_bank(lab, config, brokers):
    lab.init(config)
    lab.sql("CREATE USER app; GRANT ALL ON test.* TO app")
    if lab.is_mysql():
        lab.sql("GRANT XA_RECOVER_ADMIN ON *.* TO app; SET GLOBAL log_bin_trust_function_creators = 1")
        lab.try_sql("INSTALL COMPONENT 'file://component_classic_hashing'")  # which has MD5() since MySQL 9
    lab.lines((workload.HERE / "bank_mysql.sql").read_text(), "app")  # as whom the server shows who runs its procedures
    lab.sql(f"INSERT INTO broker VALUES ('{brokers}')")
    for table, column, count in (("branches", "bid", workload.SCALE), ("tellers", "tid", 10 * workload.SCALE),
                                 ("accounts", "aid", ACCOUNTS)):
        lab.sql(f"INSERT INTO pgbench_{table} ({column}) VALUES " + ", ".join(f"({n})" for n in range(1, count + 1)))


def literal(text):
    return "NULL" if text == "" else f"CONVERT(X'{text}' USING utf8mb4)"


def insist(lab, statement):
    """It may meet a deadlock, a lock for too long, or no server."""
    return any(lab.try_sql(statement) is not None for _ in range(10))


def insert_poison(lab, books, brokers):
    """As workload.insert_poison(). The auditor's PostgreSQL says what the values are; topics are too long for the column."""
    rows = [row for broker in brokers for row in workload.poison_rows(broker) if not row[0].endswith("too long")]
    taken = 0
    for what, topic, payload, headers in rows:
        topic, headers = books.sql(f"SELECT encode(convert_to({topic}, 'UTF8'), 'hex'),"
                                   f" encode(convert_to(({headers})::text, 'UTF8'), 'hex')").split("|")
        long = re.search(r"\d{7}", payload)
        value = f"CONCAT('{{\"pad\": \"', REPEAT('x', {long[0]}), '\"}}')" if long else "'{}'"
        topic = topic and literal(topic) or "''"
        taken += insist(lab, f"INSERT INTO outbox (topic, `key`, type, payload, headers) VALUES ({topic},"
                                 f" CONCAT('p', RAND()), 'poison {what}', {value}, {literal(headers)})")
    return len(rows), taken


def hold_keys(lab, brokers):
    """A key of each broker gets a row that will end dead amid good ones."""
    taken = int(lab.sql("SELECT COUNT(*) FROM emitter"))
    for place, broker in enumerate(("kafka", "nats")):
        keys = (f"held{taken}.{n}" for n in range(1000))
        if broker in brokers:
            insist(lab, "CALL hold('%s')" % next(key for key in keys if len(brokers) == 1
                                                     or zlib.crc32(key.encode()) & 1 == place))


class Load:
    """As workload.Load."""

    def __init__(self, lab, keys, rate, seed, _):
        self.lab, self.seed = lab, seed
        self.hot = {"hot": 1.0, "cold": 0.0, "mixed": 0.5}[keys]
        self.pause_s = CLIENTS / rate
        self.holders = mysql_lab.MysqlHolders(lab, seed, workload.SCALE, True)
        self.ended = threading.Event()
        self.starts = 0
        self.threads = [threading.Thread(target=self._keep_up, args=(number,), daemon=True) for number in range(CLIENTS)]

    def start(self):
        for thread in self.threads:
            thread.start()
        self.holders.start()

    def halt(self):
        self.ended.set()
        self.holders.ended.set()

    def _keep_up(self, number):
        draw = random.Random(f"client {number} {self.seed}")
        while not self.ended.wait(0.2):
            with contextlib.suppress(OSError):
                session = mysql_lab.ApplicationSession(self.lab, "SET SESSION innodb_lock_wait_timeout = 5")
                self.starts += 1
                try:
                    self._pay(session, draw, number)
                finally:
                    session.close()

    def _pay(self, session, draw, number):
        """Until the session is lost or the load ends."""
        due = time.monotonic()
        while not self.ended.is_set():
            hot = draw.random() < self.hot
            session.ask(f"CALL pay({int(hot)}, {draw.randint(1, ACCOUNTS)}, {draw.randint(1, workload.SCALE)},"
                        f" {draw.randint(1, 10 * workload.SCALE)}, {draw.randint(-5000, 5000)}, {number},"
                        f" {draw.randrange(10**9)}, {draw.randint(100, 1200)}, {draw.randint(1, 100)})")
            due = max(due + self.pause_s * draw.uniform(0, 2), time.monotonic() - 1)
            self.ended.wait(max(0, due - time.monotonic()))

    def stop(self):
        self.halt()
        for thread in self.threads:
            thread.join(30)
        self.holders.stop()
        self.holders.preparer.finish()
        wait_until(lambda: self.lab.try_sql(mysql_lab.OF_ROLE.format("COUNT(*)", "app")) == "0"
                   or self.lab.kill("p.USER = 'app'") < 0, 30, "the application's sessions are gone")

    def came(self):
        counts = dict(line.split("|") for line in self.lab.sql(
            "SELECT type, COUNT(*) FROM ledger WHERE NOT poison GROUP BY type").splitlines())
        return ({kind: int(counts.get(kind, 0)) for kind in KINDS}
                | {kind.name: kind.went for kind in self.holders.kinds})
