"""The destinations of a run, and brokers that forget what they had acknowledged.

Just before a broker forgets, all that lies there is read and kept, as by a consumer, while relays go on. What came
after that is gone unread. In the end it may be missing if a relay has named the loss (audit.sql). What had certainly
not been sent when the destination was gone must be at the new one.
"""
import collections
import contextlib
import os
import re
import time

from lab import Failure, wait_until

IN_FLIGHT_S = 20  # how long a batch may take that was being sent: a relay may be paused with it
CLUSTERS = ("b3V0Ym94LXJlbGF5LXRzdA", "YW5vdGhlci1jbHVzdGVyLQ")  # the id of services.d/kafka.sh, and another

# topic: in the ledger. sink, place: how relays name it.
Destination = collections.namedtuple("Destination", "topic sink place")
DESTINATIONS = {"kafka": Destination("kafka.bank", "ledger", "kafka.bank"),
                "nats": Destination("nats.bank", "bus", "BANK")}
PARTITIONS = 6


class Destinations:
    """unsent: the condition of a row that is to be sent."""

    def __init__(self, lab, unsent, by_position, duplicates_ms):
        self.lab, self.unsent, self.by_position, self.duplicates_ms = lab, unsent, by_position, duplicates_ms
        self.kept = []  # a file for each time that a broker forgot

    def make(self, broker):
        if broker == "kafka":
            self.lab.topic("kafka.bank", PARTITIONS)
        else:
            self.lab.stream("BANK", "nats.>", duplicates_ms=self.duplicates_ms)

    def read(self, broker, name):
        """Returns the file of all that lies there now."""
        words = {"kafka": ("kafka", self.lab.kafka_brokers, "kafka.bank"), "nats": ("nats", self.lab.nats_url, "BANK")}
        path = self.lab.folder / f"{name}.tsv"
        with open(path, "w", encoding="utf-8") as file:
            self.lab.reader(*words[broker], output=file)
        return path

    # ---- what is forgotten ----

    def forget(self, broker, fault, take, over):
        """take(): takes the destination away. over(): is called when another one is there."""
        path = self.read(broker, f"{broker}.{len(self.kept) + 1}")
        began = time.time()
        take(fault)
        self.kept.append(path)
        number = len(self.kept)
        try:
            self._note_sent(number, began, DESTINATIONS[broker])
            time.sleep(fault.seconds)
        finally:
            self._make_anew(broker)
        self._note(f"UPDATE amnesia SET over = clock_timestamp() WHERE number = {number}")
        over()
        self._await_in_flight(number)

    def purge(self, broker, over):
        """An operator takes away what was read, which is no loss; nothing else is."""
        path = self.read(broker, f"{broker}.{len(self.kept) + 1}")
        lines = path.read_bytes().splitlines()
        if not lines:
            return "there was nothing to purge"
        self.lab.reader("stream", self.lab.nats_url, "purge", "BANK", int(lines[-1].split(b"\t")[3]) + 1)
        self.kept.append(path)
        over()
        self._note(f"INSERT INTO amnesia VALUES ({len(self.kept)}, '{DESTINATIONS[broker].topic}')")
        return None

    def delete_topic(self, _):
        self.lab.reader("topics", self.lab.kafka_brokers, "delete", "kafka.bank")
        data = self.lab.test_dir / "kafka/data"  # the broker says that it is gone before it is
        wait_until(lambda: not any(re.fullmatch(r"kafka\.bank-\d+", path.name) for path in data.iterdir()), 20,
                   "the topic is gone")

    def delete_stream(self, _):
        self.lab.reader("stream", self.lab.nats_url, "delete", "BANK")

    def wipe_kafka(self, fault):
        """The new cluster has the id of the old one, or another."""
        self._wipe("kafka", {**os.environ, "TEST_KAFKA_CLUSTER": CLUSTERS[fault.count % len(CLUSTERS)]})

    def wipe_nats(self, _):
        self._wipe("nats")

    def _wipe(self, broker, env=None):
        self.lab.service("kill", broker)
        try:
            self.lab.service("wipe", broker, env)
        except Failure:
            self.lab.service("start", broker)
            raise

    def _make_anew(self, broker):
        self.lab.service("start", broker)
        wait_until(lambda: self._try_make(broker), 30, "the destination is made anew")

    def _try_make(self, broker):
        with contextlib.suppress(Failure):
            self.make(broker)
            return True
        return False

    def _note(self, statement):
        wait_until(lambda: self.lab.try_sql(statement) is not None, 60, "it is noted what a broker forgot")

    def _note_sent(self, number, began, destination):
        """What may have been sent: all but the rows that wait and that nobody is sending. Who sends rows by position locks
        their slice alone."""
        free, is_free = "", ""
        if self.by_position:
            free = "CREATE TEMP TABLE free ON COMMIT DROP AS SELECT slice FROM outbox_slice FOR UPDATE SKIP LOCKED;"
            is_free = "slice_of(id, key) IN (SELECT slice FROM free) AND"
        self._note(f"""
            BEGIN;
            {free}
            WITH unsent AS (
                SELECT event_id FROM outbox
                WHERE {is_free} {self.unsent} AND id NOT IN (SELECT id FROM outbox_parked WHERE state = 'unsettled')
                FOR UPDATE SKIP LOCKED
            ), parked AS (
                SELECT event_id FROM outbox_parked
                WHERE sent_at IS NULL AND state <> 'unsettled' AND replayed_at IS NULL
                FOR UPDATE SKIP LOCKED
            ), noted AS (
                INSERT INTO amnesia
                VALUES ({number}, '{destination.topic}', '{destination.sink}', '{destination.place}', to_timestamp({began}))
            )
            INSERT INTO forgettable SELECT {number}, event_id FROM ledger l
            WHERE topic = '{destination.topic}' AND NOT poison
                AND NOT EXISTS (SELECT FROM unsent u WHERE u.event_id = l.event_id)
                AND NOT EXISTS (SELECT FROM parked p WHERE p.event_id = l.event_id);
            COMMIT""")

    def _await_in_flight(self, number):
        """So that each row of a batch that was in flight is read before the broker forgets again."""
        left = (f"WITH waiting AS MATERIALIZED (SELECT event_id FROM outbox WHERE {self.unsent} UNION ALL"
                " SELECT event_id FROM outbox_parked WHERE sent_at IS NULL AND replayed_at IS NULL)"
                f" SELECT count(*) FROM forgettable JOIN waiting USING (event_id) WHERE number = {number}")
        with contextlib.suppress(Failure):
            wait_until(lambda: self.lab.try_sql(left) == "0", IN_FLIGHT_S, "what was in flight is sent")
