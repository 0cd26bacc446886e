"""Findings and figures: what the faults did, and the verdict."""
import collections
import math
import pathlib
import re
import statistics
import subprocess

import schedule
from lab import Failure

LOOK_ROWS = 100  # may come and be claimed between two looks at the backlog
RELAY_MIB = 64
EPOCH = 10 ** 12  # more than the positions of any destination
HERE = pathlib.Path(__file__).resolve().parent

Finding = collections.namedtuple("Finding", "name found allowed meaning")


def failed(finding):
    return finding.allowed is not None and finding.found > finding.allowed


def lines_of(kept, paths):
    """All lines, with positions that go on where a destination was made anew."""
    for number, path in [*enumerate(kept), *((len(kept), path) for path in paths)]:
        with open(path, "rb") as file:
            for line in file:
                *before, position, others = line.split(b"\t", 4)
                yield b"\t".join((*before, b"%d" % (int(position) + number * EPOCH), others))


def audit(lab, paths, unsent, judge_order, dropped_ms=None, kept=()):
    """Has audit.sql judge what the reader wrote to the files at paths, and to those that were kept before brokers forgot.
    dropped_ms: when the operator dropped the dead rows (wall ms); None: never."""
    done = subprocess.run(
        ["psql", "-Xq", lab.pg_url, "-v", f"unsent={unsent}", "-v", f"order_allowed={0 if judge_order else 'NULL'}",
         "-v", f"dropped_ms={int(dropped_ms or 1 << 62)}", "-v", f"epoch={EPOCH}", "-f", str(HERE / "audit.sql")],
        input=b"".join(lines_of(kept, paths)), capture_output=True, timeout=300, check=False)
    if done.returncode != 0:
        raise Failure(f"audit.sql: {done.stderr.decode(errors='replace').strip()}")
    found = lab.sql("SELECT name, found, coalesce(allowed::text, '-'), meaning FROM audit.finding"
                    " ORDER BY number")
    findings = []
    for line in found.splitlines():
        name, count, allowed, meaning = line.split("|", 3)
        allowed = None if allowed == "-" else int(allowed)
        findings.append(Finding(name, int(count), allowed, meaning))
    return findings


def read_repeats(lab):
    """[(wall ms, broker)]"""
    lines = lab.sql("SELECT stored_ms, split_part(destination, '.', 1) FROM audit.repeat"
                    " ORDER BY stored_ms").splitlines()
    return [(float(moment), broker) for moment, broker in (line.split("|") for line in lines)]


def count_replays(places):
    """How often the delivery of a key started again. Each event either continues a delivery that has
    reached the event before it, or starts another one. Several can be in progress, when a relay that
    slept continues beside the one that took over."""
    open_at, begun = collections.Counter(), 0
    for place in places:
        if open_at[place - 1] > 0:
            open_at[place - 1] -= 1
        else:
            begun += 1
        open_at[place] += 1
    return begun - 1


def judge_replays(lab, records, judge_order):
    """The shape of the repeats, in Kafka only, because JetStream drops some of them."""
    lines = lab.sql("""
        SELECT string_agg(place::text, ',' ORDER BY position)
        FROM audit.numbered d JOIN audit.place USING (id) WHERE starts_with(destination, 'kafka')
        GROUP BY destination, partition, place.key HAVING max(occurrence) > 1""").splitlines()
    most = max((count_replays(map(int, line.split(","))) for line in lines), default=0)
    allowed = sum(record.kind.tries((record.end_ms - record.begin_ms) / 1000)
                  for record in records)
    return Finding("replays of a key", most, allowed if judge_order else None,
                   "at most, in Kafka: each goes on in order from where it begins")


def judge_order(findings, ordered, held, behind, expect_disorder):
    """held: rows that waited behind dead ones until these were dropped, of `behind` that had to."""
    found = next(finding.found for finding in findings if finding.name == "out of order")
    judged = []
    if ordered:
        judged.append(at_least("held back", held, behind, "rows that waited behind a dead one"))
    if expect_disorder:
        judged.append(at_least("disorder seen", found, 1, "events out of order: order is judged"))
    return judged


def bound_records(records, backlogs):
    """How many repeats each fault may cause: a relay held at most as many rows as the outbox did. backlogs:
    [(wall ms, rows)], ten a second."""
    for record in records:
        seen = [rows for moment, rows in backlogs
                if record.begin_ms - 1000 <= moment <= record.end_ms + 2000]
        held = min(record.window, max(seen) + LOOK_ROWS) if seen else record.window
        record.bound = held * record.kind.tries((record.end_ms - record.begin_ms) / 1000)


def hold_records(records):
    """What was to be repeated is so after a pause that an operator made meanwhile."""
    for pause in sorted((one for one in records if one.fault.kind in schedule.PAUSES), key=lambda one: one.begin_ms):
        for record in records:
            begin, end = window_of(record)
            if begin <= pause.begin_ms <= end:
                record.tail_s = max(record.tail_s, record.kind.tail + (pause.end_ms - record.end_ms) / 1000)


def window_of(record):
    return record.begin_ms - 50, record.end_ms + record.tail_s * 1000


def hosts_of(records, moment, broker):
    """The faults that can have caused a repeat at this moment (wall ms), in this broker."""
    return [number for number, record in enumerate(records)
            if window_of(record)[0] <= moment <= window_of(record)[1]
            and record.kind.broker in ("", broker)]


def attribute(records, repeats):
    """Assigns each repeat to the latest fault that can still have caused it. Returns [count per record]
    and the repeats that no fault explains. This is an estimate, for the table."""
    counts, orphans = [0] * len(records), []
    for moment, broker in sorted(repeats):
        hosts = hosts_of(records, moment, broker)
        if not hosts:
            orphans.append(moment)
            continue
        able = [number for number in hosts if counts[number] < records[number].bound]
        counts[max(able or hosts, key=lambda number: records[number].begin_ms)] += 1
    return counts, orphans


def excess(records, repeats):
    """How many repeats of one broker exceed the bounds, however they are assigned: each goes to the
    fault whose time ends first, which leaves the most room for the others."""
    left = [record.bound for record in records]
    homeless = 0
    for moment, broker in sorted(repeats):
        hosts = hosts_of(records, moment, broker)
        able = [number for number in hosts if left[number] > 0]
        if able:
            left[min(able, key=lambda number: window_of(records[number])[1])] -= 1
        elif hosts:
            homeless += 1
    return homeless


def quiet_spans(records, begin_ms, end_ms):
    """[(begin, end)] in which no fault could explain a repeat."""
    spans, at = [], begin_ms
    for begin, end in sorted([*map(window_of, records), (end_ms, end_ms)]):
        if at < min(begin, end_ms):
            spans.append((at, min(begin, end_ms)))
        at = max(at, end)
    return spans


def delivered_in(lab, spans):
    """How many messages the brokers stored within them."""
    values = ", ".join(f"({begin}, {end})" for begin, end in spans) or "(0, 0)"
    return int(lab.sql(f"SELECT count(*) FROM audit.delivered, (VALUES {values}) span (a, z)"
                       " WHERE stored_ms BETWEEN a AND z"))


def judge_repeats(records, repeats):
    counts, orphans = attribute(records, repeats)
    brokers = {broker for _, broker in repeats}
    too_many = sum(excess(records, [one for one in repeats if one[1] == broker])
                   for broker in brokers)
    return counts, [
        Finding("repeats", len(repeats), sum(record.bound for record in records),
                "delivered again, in all"),
        Finding("repeats in excess", too_many, 0,
                "more than the faults around them may cause"),
        Finding("repeats unexplained", len(orphans), 0, "delivered again while nothing was broken"),
    ]


def judge_nats_repeats(records, found, duplicates_ms):
    """JetStream stores no repeat within its window, unless it has forgotten the event."""
    forgot = any(record.fault.kind in schedule.AMNESIA and record.kind.broker == "nats" for record in records)
    return Finding("repeats in NATS", found, None if forgot or duplicates_ms != schedule.DEDUP_MS else 0,
                   f"of them, with a duplicate window of {duplicates_ms} ms")


def judge_warnings(lab):
    """A line of a relay's log for each loss that was named."""
    times = int(lab.sql("SELECT count(DISTINCT number) FROM audit.named"))
    lines = sum(path.read_text(errors="replace").count("acknowledged messages are lost")
                for path in lab.folder.glob("relay-*.log"))
    return at_least("warned of amnesia", lines, times, "lines of relays' logs that a broker has lost messages")


def at_least(name, found, least, meaning):
    return Finding(name, max(0, least - found), 0, f"short of {least} {meaning}: {found}")


def judge_faults(planned, records, impossible=()):
    """planned: the kinds of fault, each as often as it was planned."""
    done = {record.fault.kind for record in records if not record.refused}
    missed = len(planned) - sum(not record.refused for record in records)
    missed -= sum(kind in impossible for kind in planned)
    absent = set(planned) - done - set(impossible)
    return [
        Finding("kinds missed", len(absent), 0,
                "of fault, never injected" + "".join(f"; {kind}" for kind in sorted(absent))),
        Finding("faults missed", missed, len(planned) // 20, "of the schedule, not injected"),
    ]


def judge_pauses(lab, pauses, records):
    """Once the command has returned, nothing paused is published. A broken relay or connection may
    still have had messages in flight, so only pauses beside which nothing was broken are judged."""
    others = [record for record in records if record.kind.group not in ("operator", "rows")]
    alone = [pause for pause in pauses
             if not any(window_of(record)[0] < pause[3] and window_of(record)[1] > pause[2]
                        for record in others)]
    found = 0
    for what, name, begin, end in alone:
        which = {"topic": f"destination LIKE '{name[:-1]}%'", "key": f"key = '{name}'",
                 "sink": f"destination LIKE '{'kafka' if name == 'ledger' else 'nats'}.%'"}[what]
        found += int(lab.sql(f"SELECT count(*) FROM audit.delivered WHERE {which}"
                             f" AND stored_ms > {begin} AND stored_ms < {end}"))
    return Finding("published while paused", found, 0,
                   f"beside {len(alone)} of {len(pauses)} pauses: those while nothing was broken")


def judge_load(came):
    """came: {kind of event or holder: how often}"""
    absent = [kind for kind, count in came.items() if count == 0]
    return Finding("load missed", len(absent), 0,
                   "kinds of event or holder that never came" + "".join(f"; {k}" for k in absent))


def hear_refusals(lab):
    """Which rows PostgreSQL refused to change while their copies were settled, as the relays told. A full disk is no
    reason for it."""
    lines = [line for path in lab.folder.glob("relay-*.log")
             for line in path.read_text(errors="replace").splitlines() if "refuses to change this row" in line
             and "(SQLSTATE 53" not in line]
    rows = {found[1] for found in (re.search(r"\brow\W+(\d+)", line) for line in lines) if found}
    lab.sql(f"INSERT INTO told SELECT unnest('{{{','.join(sorted(rows))}}}'::bigint[])")


def judge_computed(lab, moved):
    """Whether the run had what only a table with computed values has."""
    due, held, failing, mended, parked, told = map(int, lab.sql("""
        SELECT count(*) FILTER (WHERE available_at IS NOT NULL AND NOT poison), (
                   SELECT count(*) FROM ledger l WHERE EXISTS (
                       SELECT FROM ledger p WHERE NOT p.poison AND p.key = l.key AND p.id < l.id
                           AND p.available_at > l.created_at)),
               count(*) FILTER (WHERE payload ? 'divisor'), count(*) FILTER (WHERE type = 'mended'),
               (SELECT last_value FROM pg_sequences WHERE sequencename = 'outbox_parked_seq_seq'),
               (SELECT count(*) FROM told)
        FROM ledger""").split("|"))
    return [at_least("due rows", due, 1, "that were not to be sent at once"),
            at_least("held by due rows", held, 1, "rows of their keys that came before that time"),
            at_least("failing expressions", failing, 1, "rows with a value that cannot be computed"),
            at_least("mended rows", mended, 1, "dead rows that their owner mended and brought back"),
            at_least("parked in place", parked, 100, "copies in outbox_parked"),
            Finding("parked elsewhere", moved, 0, "rows that left the outbox"),
            Finding("refused to copies", told, None, "rows whose copies were settled alone, as was told")]


def judge_connections(cut_off):
    return Finding("cut off", len(cut_off), 0, "relays that never returned to a broker, whoever sends their rows")


def judge_relays(fleet, idle_lanes, cut_off, last_statuses):
    return [
        judge_connections(cut_off),
        Finding("dead lanes", len(idle_lanes), 0, "asked PostgreSQL nothing after all was healed"),
        Finding("surprises", len(fleet.surprises), 0, "relays that ended by themselves"),
        Finding("SIGTERM unanswered", sum(status not in (0, 1) for status in fleet.statuses), 0,
                "relays that were deaf to it, or crashed: "
                + (", ".join(str(s) for s in fleet.statuses if s not in (0, 1)) or "none")),
        Finding("exit statuses", sum(status != 0 for status in last_statuses), 0,
                "relays that did not answer the last SIGTERM with 0"),
        Finding("memory of a relay, MiB", round(fleet.rss_kib / 1024, 1), RELAY_MIB, "at its peak"),
    ]


def judge_sampler(sampler, seconds, transaction_s, alive):
    """alive: the sampler's threads were still working at the end of so many seconds."""
    late = sum(recovery.late for recovery in sampler.done) + len(sampler.open)
    return [
        Finding("transaction, s", round(sampler.longest_s, 2), transaction_s + 1,
                f"the longest of a relay; promised {transaction_s} s"),
        Finding("application wait, s", round(sampler.app_wait_s, 2), transaction_s + 1,
                "the longest behind a relay's lock"),
        Finding("stalls", len(sampler.stalls), 0,
                "10 s of backlog without progress while nothing was broken"),
        Finding("recoveries late", late, 0, "beyond the bar of the slowest fault not over yet"),
        at_least("looks", sampler.looks, int(seconds * 2.5), "at the transactions"),
        at_least("looks at the outbox", sampler.outbox_looks, int(seconds * 1.5), "at its rows"),
        Finding("sampler dead", not alive, 0, "a thread that looks had ended"),
    ]


def judge_measured(recoveries, groups):
    """Only a recovery that nothing else delayed shows how long a fault takes."""
    measured = {recovery.fault.kind.group for recovery in recoveries if not recovery.overtaken}
    return Finding("recoveries unmeasured", len(groups - measured), 0,
                   "of " + ", ".join(sorted(groups)) + ": no fault stood alone, nor at the end")


def print_kinds(records, counts, recoveries):
    """Prints a line for each kind of fault."""
    by_kind = collections.defaultdict(list)
    for number, record in enumerate(records):
        by_kind[record.fault.kind].append(number)
    times, overtaken = collections.defaultdict(list), collections.defaultdict(list)
    for recovery in recoveries:
        kind = recovery.fault.fault.kind
        (overtaken if recovery.overtaken else times)[kind].append(recovery.seconds or math.inf)
    # Overtaken: something else was broken, or had not recovered, before it was over.
    print(f"\n{'fault':42} {'count':>5}   {'recovery, s':^18}   {'overtaken':^12}   "
          "repeats a fault")
    print(f"{'':42} {'':>5}   {'mean':>6} {'max':>6} {'bar':>4}   {'count':>5} {'max':>6}   "
          f"{'mean':>6} {'max':>5} {'bound':>6}")
    for kind in schedule.KINDS:
        numbers = by_kind.get(kind)
        if numbers:
            again = [counts[number] for number in numbers]
            print(f"{kind:42} {len(numbers):5}   {figure(statistics.mean, times[kind])} "
                  f"{figure(max, times[kind])} {schedule.KINDS[kind].bar:4}   "
                  f"{len(overtaken[kind]):5} {figure(max, overtaken[kind])}   "
                  f"{statistics.mean(again):6.1f} {max(again):5} "
                  f"{max(records[number].bound for number in numbers):6}")


def figure(of, times):
    return f"{of(times):6.2f}" if times else f"{'-':>6}"


def print_refused(records):
    refused = [record for record in records if record.refused]
    for record in refused:
        print(f"*** NOT INJECTED: {record.fault.kind} (at {record.began:.1f} s): {record.refused}")
    return len(refused)


def print_load(lab, came, holders):
    """Also which kinds of event were late, where some were."""
    holding = {kind.name for kind in holders}
    print("events by kind: " + ", ".join(f"{count} {kind}" for kind, count in came.items()
                                         if kind not in holding))
    print("holders that came and went: " + ", ".join(
        f"{kind.name} {kind.came} and {kind.went}" for kind in holders)
          + "; a fault ended the others")
    late = lab.sql("SELECT coalesce(type, 'none'), count(*) FROM audit.late GROUP BY 1 ORDER BY 1")
    if late:
        print("*** OUT OF ORDER, by kind: " + late.replace("|", " ").replace("\n", ", "))


def print_findings(findings):
    print(f"\n{'check':24} {'found':>9} {'allowed':>9}  verdict")
    for finding in findings:
        allowed = "-" if finding.allowed is None else finding.allowed
        verdict = "FAILED" if failed(finding) else "shown" if finding.allowed is None else "ok"
        found = f"{finding.found:.2f}" if isinstance(finding.found, float) else finding.found
        print(f"{finding.name:24} {found:>9} {allowed:>9}  {verdict:7} {finding.meaning}")
