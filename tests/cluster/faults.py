"""The faults of clusters. Each is struck, measured, and healed before the next; FAULTS names them in their order."""
import collections
import signal
import time

from probe import KEYS, LIMIT_S

CUT_S = 20
STOPPED_S = 15
TAIL_S = 20  # how long after its end a fault's repeats may come
TRY_S = 10   # the relays' publish_timeout: then a batch is sent again

Kind = collections.namedtuple("Kind", "tail broker")


class Record:
    """A fault as it happened, with what report.py wants to know of it. Moments are wall milliseconds."""

    def __init__(self, name, begin_ms):
        self.name, self.begin_ms, self.end_ms = name, begin_ms, None
        self.kind = Kind(TAIL_S, "")
        self.tail_s = TAIL_S
        self.bound = 0
        self.delay = None
        self.times = {}    # key: seconds until it went on
        self.struck = ""   # the broker that was hit
        self.leaders = {}  # (destination, partition): the broker that led it before

    @property
    def first(self):
        return min(self.times.values(), default=None)

    @property
    def every(self):
        return max(self.times.values()) if len(self.times) == KEYS else None

    def healthy(self, places):
        """The most seconds of a key that another broker led. places: {key: (destination, partition)}"""
        return max((self.times.get(key, LIMIT_S) for key, place in places.items()
                    if self.struck and self.leaders.get(place, self.struck) != self.struck), default=None)


class Faults:
    def __init__(self, run):
        self.run, self.draw, self.network = run, run.draw, run.network
        self.brokers, self.postgres, self.relays = run.brokers, run.postgres, run.relays
        self.records = []

    def strike(self, name):
        FAULTS[name](self)

    def measured(self, name, *, seconds=0, struck=""):
        return Measured(self, name, seconds, struck)

    def a_relay(self):
        return self.draw.choice(list(self.relays))

    # ---- relays ----

    def relay_killed(self):
        relay = self.relays[self.a_relay()]
        with self.measured(f"relay r{relay.number} killed"):
            relay.kill()
        relay.start()

    # ---- brokers ----

    def rolling_restart(self):
        with self.measured(f"{', '.join(self.brokers.names)} restarted, one by one"):
            for member in self.brokers.members:
                member.stop()
                member.start()
                self.brokers.await_whole()

    def leader_killed(self):
        member = self.brokers.leader()
        with self.measured(f"{member.name}, the leader, killed", struck=member.name):
            member.kill()
        with self.measured(f"{member.name} started again"):
            member.start()
            self.brokers.await_whole()

    def leader_stopped(self):
        member = self.brokers.leader()
        with self.measured(f"{member.name}, the leader, stopped for {STOPPED_S} s", seconds=STOPPED_S,
                           struck=member.name):
            member.send(signal.SIGSTOP)
        with self.measured(f"{member.name} goes on"):
            member.send(signal.SIGCONT)
            self.brokers.await_whole()

    def minority_cut_off(self):
        """The relay beside the leader has lost the database, too."""
        self.cut_off([self.brokers.leader().name, self.a_relay()])

    def minority_beside_database(self):
        """The relay still has the database, and of the brokers the one that has lost the others."""
        leader, relay = self.brokers.leader().name, self.a_relay()
        majority = [name for name in self.brokers.names if name != leader]
        with self.measured(f"{leader}, the leader, cut off; {relay} sees it alone, and the database", seconds=CUT_S,
                           struck=leader):
            self.network.cut([leader], [name for name in self.network.machines if name not in (leader, relay)])
            self.network.cut([relay], majority)
        self.reconnect()

    def cut_off(self, names):
        with self.measured(f"{' and '.join(names)} cut off for {CUT_S} s", seconds=CUT_S, struck=names[0]):
            self.network.cut(names)
        self.reconnect()

    def reconnect(self):
        with self.measured("connected again"):
            self.network.heal()
            self.brokers.await_whole()

    # ---- PostgreSQL ----

    def primary_killed(self):
        old = self.postgres.primary
        with self.measured(f"{old.name}, the primary, killed, {self.postgres.standby.name} promoted"):
            old.kill()
            self.promote()
        self.rejoin(old)

    def primary_cut_off(self):
        """With a relay, and it goes on believing that it is the primary until it is ended."""
        old, relay = self.postgres.primary, self.a_relay()
        others = [name for name in ("app", *self.postgres.names, *self.relays) if name not in (old.name, relay)]
        with self.measured(f"{old.name}, the primary, cut off with {relay}, {self.postgres.standby.name} promoted",
                           seconds=CUT_S):
            self.network.cut([old.name, relay], others)
            self.promote()
        old.kill()
        with self.measured("connected again"):
            self.network.heal()
        self.rejoin(old)

    def promote(self):
        began = time.monotonic()
        self.postgres.promote()
        self.run.probe.follow(self.postgres.primary.url)
        self.run.say(f"promoted in {time.monotonic() - began:.2f} s")

    def rejoin(self, old):
        with self.measured(f"{old.name} follows as the standby"):
            self.postgres.rejoin()

    def show(self, counts, places):
        print(f"\n{'fault':68} {'first, s':>9} {'every key, s':>12} {'healthy keys, s':>15} {'longest delay, s':>16}"
              f" {'repeats':>8}")
        for record, count in zip(self.records, counts):
            print(f"{record.name:68} {figure(record.first):>9} {figure(record.every):>12}"
                  f" {figure(record.healthy(places)):>15} {record.delay:16.2f} {count:8}")


def figure(value):
    return "-" if value is None else f"{value:.2f}"


class Measured:
    """A fault and how long it takes until events pass again. It lasts for `seconds` at least."""

    def __init__(self, faults, name, seconds, struck):
        self.faults, self.name, self.seconds, self.struck = faults, name, seconds, struck

    def __enter__(self):
        leaders = self.faults.brokers.leaders() if self.struck else {}
        self.watch = self.faults.run.probe.watch()
        self.record = Record(self.name, self.watch.began * 1000)
        self.record.struck, self.record.leaders = self.struck, leaders
        self.faults.records.append(self.record)

    def __exit__(self, kind, *_):
        if kind is not None:
            return
        record, faults = self.record, self.faults
        record.times = self.watch.wait()
        time.sleep(max(0, self.watch.began + self.seconds - time.time()))
        end = time.time()
        record.end_ms = end * 1000
        record.bound = faults.run.window * (1 + int((end - self.watch.began) / TRY_S))
        record.delay = faults.run.probe.longest_delay(self.watch.began - 0.5, end)
        faults.run.say(f"{record.name}: first {figure(record.first)}, every key {figure(record.every)}, longest delay"
                       f" {record.delay:.2f}")


FAULTS = {
    "relay": Faults.relay_killed,
    "restart": Faults.rolling_restart,
    "leader": Faults.leader_killed,
    "stop": Faults.leader_stopped,
    "minority": Faults.minority_cut_off,
    "minority-database": Faults.minority_beside_database,
    "primary": Faults.primary_killed,
    "primary-cut": Faults.primary_cut_off,
}


def at_random(draw):
    """Every fault once before any comes twice, for ever."""
    while True:
        names = list(FAULTS)
        draw.shuffle(names)
        yield from names
