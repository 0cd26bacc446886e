"""Which fault comes when: a pure function of the options, so that a seed replays its run.

A fault belongs to a group. Faults of one group follow each other; those of different groups may
overlap. No fault begins in a calm: there the run proves that nothing is repeated without a cause,
and, by one pause in it, that nothing paused is published.
The last fault of each group stands alone, so that a recovery of each is measured in any run. With
churn the fleet doubles and halves all the time, beside the other faults.
"""
import collections
import random

PUBLISH_TIMEOUT_S = 4  # of the relays

DEDUP_MS = 120_000  # JetStream's default, longer than any repeat takes here

# A fault lasts between low and high seconds, and its healing costs some more. It hits "one" relay
# or "all", or "some" that it chooses itself. Each lane of a relay that is hit may publish `tries`
# batches again, given the seconds that it lasted, and none later than `tail` seconds after the end.
# What waited at the end has left within `bar` seconds. A fault of one broker repeats nothing at the
# other.
Kind = collections.namedtuple("Kind", "group low high costs hits tries tail bar broker",
                              defaults=("",))


def once(_):
    return 1


def thrice(_):
    """In flight; then refused, because an acknowledgement told that the destination is another one, in two batches."""
    return 3


def each_backoff(seconds):
    """Published, cannot be settled, and is published again after about 50, 100, 200 ms ..."""
    tries, pause = 1, 0.05
    while seconds > 0:
        seconds -= pause
        pause = min(pause * 2, 2.5)
        tries += 1
    return tries


def each_wait(seconds):
    """As often as a statement gives up to wait for a lock, after 3 s."""
    return 2 + int(seconds / 3)


def each_timeout(seconds):
    """The broker is alive but too slow: the rest of a batch is published again after each timeout."""
    return 1 + int(seconds / PUBLISH_TIMEOUT_S) + 1


def never(_):
    return 0


# (tail, bar) where a session is gone at once; where a server comes back; where somebody is silent
# until a deadline passes, the transaction's (PUBLISH_TIMEOUT_S + 5) or the broker's and a pause.
GONE, BACK, SILENT = (4, 1), (10, 5), (10, 15)
# Where the batch in hand is not published yet, or is settled already: only other lanes repeat.
HARMLESS_POINTS = ("P0", "P1", "P2", "P3", "P10")
POINTS = [f"P{number}" for number in range(11)]

KINDS = {
    "relay killed": Kind("relay", 0, 0, 0.2, "one", once, *GONE),
    **{f"relay crashes at {point}": Kind("relay", 0, 0, 3.5, "one", once, *GONE)
       for point in POINTS},
    "relay killed while it stops": Kind("relay", 0, 0, 0.2, "one", once, *GONE),
    "relay restarted": Kind("relay", 0, 0, 1, "one", never, *GONE),
    "relay paused": Kind("relay", 0.5, 8, 0, "one", once, *SILENT),
    "relay paused past its session": Kind("relay", 11, 13, 0, "one", once, *SILENT),
    "sessions terminated, of one relay": Kind("database", 0, 0, 0.3, "one", once, *BACK),
    "sessions terminated, of all relays": Kind("database", 0, 0, 0.3, "all", once, *BACK),
    "PostgreSQL restarted": Kind("database", 0, 1, 6, "all", once, *BACK),
    "PostgreSQL killed": Kind("database", 0, 1, 6, "all", once, *BACK),
    "PostgreSQL killed behind stopped brokers": Kind("all", 0.6, 0.8, 7, "all", once, *BACK),
    "PostgreSQL connection reset": Kind("database", 0, 0, 0.3, "one", once, *BACK),
    "PostgreSQL refuses connections": Kind("database", 0.5, 2, 0.3, "one", once, *BACK),
    "PostgreSQL black hole, both ways": Kind("database", 1, 5, 0.3, "one", once, *SILENT),
    "PostgreSQL black hole, requests": Kind("database", 1, 5, 0.3, "one", once, *SILENT),
    "PostgreSQL black hole, replies": Kind("database", 1, 5, 0.3, "one", once, *SILENT),
    "PostgreSQL slow": Kind("database", 1, 3, 0.3, "one", once, *SILENT),
    "PostgreSQL throttled": Kind("database", 1, 3, 0.3, "one", once, *SILENT),
    "COMMIT reply lost": Kind("database", 0, 0, 1, "one", once, *BACK),
    "COMMIT request lost": Kind("database", 0, 0, 1, "one", once, *BACK),
    "COMMIT black-holed": Kind("database", 2, 4, 1, "one", once, *SILENT),
    "disk full": Kind("database", 1, 3, 1, "all", each_backoff, *BACK),
    "permissions revoked": Kind("database", 1, 3, 1, "all", once, *BACK),
    "column renamed": Kind("database", 1, 3, 1, "all", once, *BACK),
    "column added": Kind("database", 0, 0, 1, "all", once, *BACK),
    "table changed": Kind("database", 2, 3, 7, "all", once, *BACK),
    "settles refused": Kind("database", 4, 6, 6, "all", once, *SILENT),
    "table locked": Kind("database", 1, 2, 1, "all", once, *BACK),
    "rows locked by others": Kind("database", 1, 3, 0.2, "all", never, *BACK),
    "old snapshot held": Kind("database", 3, 6, 0.2, "all", never, *BACK),
    "no connections left": Kind("database", 1, 3, 0.5, "all", once, *BACK),
    "password rotated": Kind("database", 0, 0, 1, "all", once, *BACK),
    "ids begin anew": Kind("all", 0, 0, 4, "all", once, *BACK),
    "poison rows": Kind("rows", 0, 0, 0.5, "all", never, *GONE),
    "topic paused": Kind("operator", 1, 4, 1.5, "all", never, *BACK),
    "key paused": Kind("operator", 1, 4, 1.5, "all", never, *BACK),
    "sink paused": Kind("operator", 1, 4, 1.5, "all", never, *BACK),
    "rows replayed": Kind("operator", 0, 0, 1, "all", never, *BACK),
    "batch size reloaded": Kind("operator", 0, 0, 1, "one", never, *GONE),
    "routes changed": Kind("operator", 0, 0, 12, "all", never, *BACK),
    "relays doubled": Kind("fleet", 0, 0, 0.5, "some", never, *GONE),
    "relays halved": Kind("fleet", 0, 0, 0.5, "some", once, *GONE),
}
PAUSES = ("topic paused", "key paused", "sink paused")
CHURN = ("relays doubled", "relays halved")
CHURN_S = (8, 12)  # between two of them
FLEET_MAX = 8
for name, title, hits, cost in (("nats", "NATS", "one", 2), ("kafka", "Kafka", "all", 11)):
    KINDS |= {
        f"{title} killed": Kind("broker", 0, 1, cost, "all", once, *BACK, name),
        f"{title} paused": Kind("broker", 1, 6, 0, "all", once, *SILENT, name),
        f"{title} connection reset": Kind("broker", 0, 0, 0.3, hits, once, *BACK, name),
        f"{title} black hole, both ways": Kind("broker", 1, 5, 0, hits, once, *SILENT, name),
        f"{title} black hole, requests": Kind("broker", 1, 5, 0, hits, once, *SILENT, name),
        f"{title} black hole, replies": Kind("broker", 1, 5, 0, hits, once, *SILENT, name),
        f"{title} slow": Kind("broker", 1, 3, 0, hits, once, *SILENT, name),
        f"{title} throttled": Kind("broker", 1, 3, 0, hits, each_timeout, *SILENT, name),
    }
# What was acknowledged is gone (amnesia.py); whoever has it in hand then sends it to the new destination.
AMNESIA = {"Kafka topic deleted": Kind("broker", 0, 2, 4, "all", thrice, *SILENT, "kafka"),
           "Kafka wiped": Kind("broker", 0, 1, 15, "all", thrice, *SILENT, "kafka"),
           "NATS stream deleted": Kind("broker", 0, 2, 4, "all", thrice, *SILENT, "nats"),
           "NATS wiped": Kind("broker", 0, 1, 5, "all", thrice, *SILENT, "nats")}
KINDS |= AMNESIA | {"NATS stream purged": Kind("broker", 0, 0, 2, "all", never, *GONE, "nats")}

# The tier for each push: the kill points and the connection faults.
SHORT = [f"relay crashes at {point}" for point in POINTS] + [
    "relay killed while it stops", "relay killed", "relay paused", "poison rows", "topic paused",
    "rows replayed",
    "sessions terminated, of one relay", "PostgreSQL connection reset", "COMMIT reply lost",
    "COMMIT request lost", "PostgreSQL restarted", "NATS killed", "NATS connection reset",
    "NATS black hole, replies", "Kafka connection reset", "Kafka black hole, replies"]
PROFILES = {"full": [name for name in KINDS if name not in CHURN], "short": SHORT,
            "calm": ["poison rows"],  # for --churn and nothing else
            "amnesia": ["poison rows", *AMNESIA, "NATS stream purged", "relay killed", "relay paused", "relay paused past its session",
                        "sessions terminated, of all relays", "PostgreSQL restarted", "COMMIT reply lost",
                        "routes changed", "rows replayed", "ids begin anew", "sink paused", "Kafka killed", "NATS killed"]}
# MariaDB and MySQL: what is the same there, and what has a meaning there alone.
KINDS |= {name.replace("PostgreSQL", "MariaDB"): kind for name, kind in KINDS.items()
          if name.startswith("PostgreSQL ") and kind.group == "database"}
KINDS |= {
    "table rebuilt": Kind("database", 0, 0, 4, "all", once, *BACK),
    "table swapped": Kind("database", 0, 0, 4, "all", once, *BACK),
    "rows deadlocked": Kind("database", 2, 4, 1, "all", each_backoff, *BACK),
    "dead rows tried": Kind("operator", 0, 0, 1, "all", never, *BACK),
}
# There a settle waits for a lock, and then in vain: the rows are published again.
KINDS |= {f"{name} for long": KINDS[name]._replace(tries=each_wait) for name in ("table locked", "rows locked by others")}
ELSEWHERE = ("table locked", "rows locked by others", "disk full", "column renamed", "ids begin anew", "rows replayed")  # not there
PROFILES["mariadb"] = [name for name in KINDS if name not in (*CHURN, *AMNESIA, *ELSEWHERE, "NATS stream purged")
                       and not name.startswith(("PostgreSQL", "relay crashes"))]
WHOLE = ("full", "mariadb")  # these have all kinds of fault
ALONE = ("relay killed", "sessions terminated, of one relay")  # and a connection of a broker
ALONE_S = 8  # between two of them, and before the first
PAUSE_S = 4  # in a calm, when what was broken before it is over
PLANS = 1000  # how many are drawn until one holds every kind

# count: how often, or how many; for CHURN: how many relays there are then.
Fault = collections.namedtuple("Fault", "number at kind relay seconds count alone",
                               defaults=(False,))


def kinds_of(profile, brokers, churn=False):
    return [name for name in PROFILES[profile] + list(CHURN if churn else ())
            if not KINDS[name].broker or KINDS[name].broker in brokers]


def calms(seconds):
    """[(begin, end)]: at the start, at the end, and in a longer run once between."""
    if seconds < 150:
        return [(0, 8), (seconds - 16, seconds)]
    middle = seconds / 2
    return [(0, 10), (middle - 12, middle + 12), (seconds - 22, seconds)]


def out_of_calm(at, spell, lull):
    """The first moment from `at` on that leaves room for `spell` seconds before the next calm."""
    for begin, end in lull:
        if at < end and at + spell > begin:
            at = end
    return at


def last_faults(draw, seconds, relays, brokers):
    """[Fault] that happen alone, before the last calm, when everything else is over."""
    at = calms(seconds)[-1][0] - ALONE_S * (len(ALONE) + 1)
    title = {"nats": "NATS", "kafka": "Kafka"}[draw.choice(brokers)]
    return [(at + ALONE_S * number, kind, draw.randint(1, relays), 0, 1, True)
            for number, kind in enumerate((*ALONE, f"{title} connection reset"))]


def churn_faults(draw, begin, end, lull):
    """The sizes of a fleet that begins with one relay."""
    faults, at, size = [], begin, 1
    while True:
        at = out_of_calm(at + draw.uniform(*CHURN_S), 1, lull)
        if at + 1 > end:
            return faults
        grows = size == 1 or size < FLEET_MAX and draw.random() < 0.5
        size = size * 2 if grows else size // 2
        faults.append((round(at, 2), CHURN[0] if grows else CHURN[1], 1, 0, size))


def plan(seed, profile, seconds, faults_a_minute, relays, brokers, churn=False):
    """[Fault], with every kind in it; the last one drawn when the run is too short for that."""
    for attempt in range(PLANS):
        draw = random.Random(f"outbox-relay {seed} {attempt}")
        faults = draw_plan(draw, profile, seconds, faults_a_minute, relays, brokers)
        end = faults_end(profile, seconds)
        if churn:
            lull = calms(seconds)
            faults += churn_faults(draw, lull[0][1], end, lull)
        if profile in WHOLE and len(calms(seconds)) == 3:
            faults.append((sum(calms(seconds)[1]) / 2 + 2, "topic paused", 1, PAUSE_S, 1))
        if profile in WHOLE:
            faults += last_faults(draw, seconds, relays, brokers)
        faults = [Fault(number, *fault) for number, fault in enumerate(sorted(faults), 1)]
        if not lacking(faults, profile, brokers, churn):
            break
    return faults


def faults_end(profile, seconds):
    """When the faults end that do not happen alone."""
    last_calm = calms(seconds)[-1][0]
    return last_calm - ALONE_S * (len(ALONE) + 2) if profile in WHOLE else last_calm


def lacking(faults, profile, brokers, churn=False):
    planned = {fault.kind for fault in faults}
    return [name for name in kinds_of(profile, brokers, churn) if name not in planned]


def draw_plan(draw, profile, seconds, faults_a_minute, relays, brokers):
    """Poison first; then every kind comes once before any comes twice."""
    lull, end = calms(seconds), faults_end(profile, seconds)
    free = collections.defaultdict(float)
    faults, deck, at = [], [], lull[0][1]
    while at < end:
        if not deck:
            deck = kinds_of(profile, brokers)
            draw.shuffle(deck)
            deck.sort(key=lambda name: bool(faults) or name != "poison rows")
        name = deck.pop(0)
        kind = KINDS[name]
        lasts = round(draw.uniform(kind.low, kind.high), 2)
        begin = max(at, *free.values()) if kind.group == "all" else max(at, free[kind.group],
                                                                        free["all"])
        begin = out_of_calm(begin, lasts + kind.costs, lull)
        if begin + lasts + kind.costs <= end:
            free[kind.group] = begin + lasts + kind.costs
            faults.append((round(begin, 2), name, draw.randint(1, relays), lasts,
                           draw.randint(1, 3)))
        at += max(0.3, draw.expovariate(faults_a_minute / 60))
    return faults


def show(faults):
    for fault in faults:
        kind = KINDS[fault.kind]
        whom = {"one": f"relay {fault.relay}", "some": f"then {fault.count}"}.get(kind.hits, "")
        print(f"{fault.at:7.2f} s  {fault.kind:42} {fault.seconds:5.2f} s  {whom}"
              f"{', alone' if fault.alone else ''}")


def settings(seed, relays):
    """How relays and stream are set up: [(lanes, batch)], on_sent, retention, duplicates_ms,
    slices, the table (workload.TABLES) and the contract. With few slices each of them always has rows, even while one of its keys is locked."""
    draw = random.Random(f"settings {seed}")
    fleet = [(draw.choice((1, 2, 2, 3)), draw.choice((20, 50, 100, 200))) for _ in range(relays)]
    on_sent = draw.choice(("mark", "delete"))
    retention = draw.choice(("0", "20s"))
    return (fleet, on_sent, retention, draw.choice((DEDUP_MS, 100)), draw.choice((4, 16, 64)),
            draw.choice(("plain", "computed")), draw.choice(("locks", "trigger")))
