"""What `bench` found, as Markdown: all of it for build/bench.md, and one page for RESULTS.md."""
import figures
import targets

SHOWN = ("kind", "sink", "cell", "rows", "rate", "peak_mib", "p50_ms", "p99_ms", "cpu_percent", "cores_percent",
         "transactions", "instructions")
BROKERS = {"nats": "NATS JetStream", "kafka": "Kafka"}
SETTINGS = ("shared_buffers", "min_wal_size", "max_wal_size")
PARTS = ("idle", "stolen")  # of the cores
MIB = 1024 * 1024


def is_fine(run):
    """A peak of nothing has not been measured."""
    return (run.get("lost", 0) == run.get("doubled", 0) == run.get("left", 0) == 0
            and 0 < run.get("peak_mib", 1) <= run.get("bound_mib", 1e9))


def exit_status(found):
    return 0 if all(is_fine(run) for runs in found.values() if isinstance(runs, list) for run in runs) else 1


def table(columns, lines):
    if not lines:
        return ""
    right = ["---" if i == 0 else "---:" for i in range(len(columns))]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in (columns, right, *lines)) + "\n"


def heading(found):
    """With what was measured at another time, of another commit."""
    about = found["about"]
    others = [f"{section}: {date}, commit {commit}" for section, (date, commit) in found.get("measured", {}).items()
              if commit != about["commit"]]
    settings = ", ".join(f"{name} {about[name]}" for name in SETTINGS)
    return (f"{about['date']}, commit {about['commit']}. {about['cores']} cores ({about['processor']}), "
            f"{about['memory_gib']} GiB, {about['system']}, Linux {about['kernel']}; PostgreSQL {about['postgresql']} "
            f"({settings}), nats-server {about['nats-server']} with file storage, nats.c {about['nats.c']}, "
            f"Kafka {about['kafka']} with 12 partitions, librdkafka {about['librdkafka']}, all on these cores.\n"
            + "".join(f"{other}.\n" for other in others))


def cost(found, run):
    """CPU seconds a million messages of relay, PostgreSQL, broker, and of what stands in for a network."""
    return tuple(targets.cpu_of(found, run).values())


def costs(found, runs):
    return [figures.spread(each, 1) for each in zip(*(cost(found, run) for run in runs))]


def parts_of_cores(runs):
    return [figures.spread([run[part] for run in runs if part in run], 2) for part in PARTS]


def claim_table(found):
    lines = []
    for cell, runs in targets.by_cell(found, "claim", "none").items():
        relay, postgres, _ = costs(found, runs)
        lines.append((cell, figures.spread([run["rate"] for run in runs]), relay, postgres))
    return table(("claim and settle alone", "rows/s", "relay, CPU s/M", "PostgreSQL, CPU s/M"), lines)


def publish_table(found, sink):
    lines = []
    for size in targets.sizes_of(found, sink):
        best = targets.best_window(found, sink, size)
        for cell, runs in targets.by_cell(found, "publish", sink, size).items():
            client, _, broker, *_ = costs(found, runs)
            name = f"{targets.size_name(size)}, {cell}" + (" (best)" if cell == best else "")
            lines.append((name, figures.spread([run["rate"] for run in runs]), client, broker))
    return table((f"{BROKERS[sink]} alone: connections x window", "messages/s", "client, CPU s/M", "broker, CPU s/M"),
                 lines)


def relay_table(found, sink, *links):
    lines = []
    for cell, runs in targets.by_cell(found, "relay", sink).items():
        reach = targets.reach(found, sink, cell)
        lines.append((cell, figures.spread([run["rate"] for run in runs]), reach["end"], f"{reach['of_end']:.2f}",
                      *costs(found, runs), f"{reach['ceiling']:,.0f}", f"{reach['of_ceiling']:.2f}",
                      *parts_of_cores(runs),
                      f"{max(run['peak_mib'] for run in runs):.1f}"))
    return table((f"relay to {BROKERS[sink]}", "messages/s", "slower end", "of it", "relay, CPU s/M", "PostgreSQL",
                  "broker", *links, "CPU ceiling", "of it", *PARTS, "peak MiB"), lines)


def latency_line(sink, cell, runs):
    took = [figures.spread([run[name] for run in runs if name in run], 2)
            for name in ("p50_ms", "p99_ms", "p99.9_ms", "p100_ms")]
    wanted = f"{runs[0]['wanted']:,.0f}" if "wanted" in runs[0] else ""
    return (BROKERS[sink], cell, wanted, figures.spread([run["rate"] for run in runs]), *took, *parts_of_cores(runs))


def latency_table(found):
    lines = [latency_line(sink, cell, runs) for sink in BROKERS for cell, runs in targets.loads(found, sink).items()]
    return table(("commit to consumer", "load", "wanted", "messages/s", "p50 ms", "p99 ms", "p99.9 ms", "slowest ms",
                  *PARTS), lines)


def application_table(found):
    lines = []
    for script, name in targets.APPLICATIONS.items():
        for relays in (0, 1):
            runs = [run for run in found.get("app", []) if run["script"] == script and run["relays"] == relays]
            if runs:
                lines.append((name, relays, figures.spread([run["rate"] for run in runs]), *parts_of_cores(runs)))
    return table(("pgbench -c 8", "relays", "transactions/s", *PARTS), lines)


def idle_table(found):
    lines = []
    for run in found.get("idle", []):
        lines += [(run["cell"] + ", " + name.replace("returned_", "").replace("_", " "), f"{value:.2f}")
                  for name, value in run.items() if isinstance(value, float)]
    return table(("idle relay", ""), lines)


def size_table(found):
    lines = []
    for (kind, window_s), name in targets.BACKLOGS.items():
        for rows, runs in targets.by_rows(found, kind, window_s).items():
            cpu = [targets.cpu_of(found, run) for run in runs]
            lines.append((name, f"{rows:,}", figures.spread([run["rate"] for run in runs]),
                          *(figures.spread([each[part] for each in cpu], 1) for part in ("relay", "postgres", "broker")),
                          f"{max(run.get('peak_mib', 0) for run in runs):.1f}" if kind != "publish" else ""))
    return table(("backlog", "rows", "rows/s", "relay or client, CPU s/M", "PostgreSQL", "broker", "peak MiB"), lines)


def horizon_table(found):
    lines = []
    for way, (cell, runs) in ((way, each) for way in targets.HELD for each in targets.snapshots(found, way).items()):
        ends = [run["last tenth"] / run["first tenth"] for run in runs]
        lines.append((way, cell, figures.spread([run["rate"] for run in runs]), figures.spread(ends, 2),
                      *(figures.spread([run[name] for run in runs], 2) for name in ("claim p50, ms", "claim p99, ms"))))
    return table(("lanes, on_sent", "snapshot", "rows/s", "last tenth / first", "claim p50 ms", "claim p99 ms"), lines)


def slow_tables(found):
    """Claim alone, and then each broker through the delay."""
    if not found.get("slow"):
        return ""
    far = targets.far(found)
    sinks = [sink for sink in BROKERS if targets.by_cell(far, "relay", sink)]
    return "\n".join(["### A broker at a round trip of 50 ms\n", claim_table(far)] + [
        text for sink in sinks for text in (publish_table(far, sink), relay_table(far, sink, "proxy"))])


def large_line(found, sink, cell, runs):
    """In MiB a second."""
    size, numbers = runs[0]["size"], targets.rates(runs)
    view = {"about": found["about"], "runs": found["large"]}
    ends = targets.ends(view, sink, cell)
    ends["disk"] = targets.rates([run for run in found["large"] if run["kind"] == "disk" and run["size"] == size])
    slower = min(ends, key=lambda name: figures.median(ends[name].values()))
    mib = [figures.spread([rate * size / MIB for rate in rates.values()])
           for rates in (ends["disk"], ends["publish"], ends["claim"], numbers)]
    peak = max(run["peak_mib"] for run in runs)
    of = figures.ratio(numbers, ends[slower]), targets.reach(view, sink, cell)["of_ceiling"]
    return (f"{targets.NAMES[sink]}, {cell}", *mib, slower, *(f"{ratio:.2f}" for ratio in of), f"{peak:.0f}",
            runs[0]["bound_mib"])


def large_table(found):
    view = {"runs": found.get("large", [])}
    lines = [large_line(found, sink, cell, runs) for sink in BROKERS
             for cell, runs in targets.by_cell(view, "relay", sink).items()]
    return table(("large messages, MiB/s", "disk", "client alone", "claim alone", "relay", "slowest", "of it",
                  "of the CPU ceiling", "peak MiB", "bound"), lines)


def profile_table(found):
    """A column for each path: all, by library, and the largest functions."""
    paths = found.get("profile", [])
    lines = [["**all**", *(f"**{path['instructions']:,}**" for path in paths)]] if paths else []
    libraries = sorted({name for path in paths for name in path["libraries"]},
                       key=lambda name: -max(path["libraries"].get(name, 0) for path in paths))
    lines += [[name, *(f"{path['libraries'].get(name, 0):,}" for path in paths)] for name in libraries]
    largest = [[f"{value:,} `{name}`" for name, value in path["functions"].items()] for path in paths]
    lines += [[f"{rank}. function", *each] for rank, each in enumerate(zip(*largest), 1)]
    return table(("instructions a message, 1 lane", *(path["sink"] for path in paths)), lines)


def target_table(found):
    lines = [(name, wanted, measured or "not in this run", {True: "yes", False: "no", None: ""}[reached])
             for name, wanted, measured, reached in targets.all_of(found)]
    return table(("target", "wanted", "measured", "reached"), lines)


def broken(found):
    """What no table may hide."""
    return [f"**{run['kind']} {run.get('sink', '')} {run.get('cell', '')}: {run.get('lost', 0)} lost, "
            f"{run.get('doubled', 0)} doubled, {run.get('left', 0)} left, peak {run.get('peak_mib', '')} MiB.**\n"
            for runs in found.values() if isinstance(runs, list) for run in runs if not is_fine(run)]


def watched_line(found):
    """How often it was looked whether NATS was sent anything twice."""
    runs = [run for run in found.get("runs", []) if run["kind"] == "watched"]
    rows = sum(run["rows"] for run in runs)
    return (f"Every PUB to NATS was counted in {len(runs)} untimed drains ({rows:,} rows): "
            f"{sum(run['doubled'] for run in runs)} doubled, {sum(run['lost'] for run in runs)} lost.\n"
            if runs else "")


METHOD = """Medians, and in brackets from the lowest to the highest of the rounds; ratios are made inside a round.
A rate is by the broker's own times, from the first message stored to the last (of a claim alone: by the relay's
first and last batch). CPU seconds per million messages (s/M) are those of all processes and threads of
the relay, PostgreSQL and the broker over the drain, less those of a drain that finds nothing. The default: order
"key", on_sent "delete", 4 lanes, batch 500, 200 bytes, 10,000 keys, durable, synchronous_commit on; a
line names what differs. The ends: the relay's own claim and settle with the broker taken out, and the same client
library publishing the same messages in a program that does nothing else. The CPU ceiling: all cores, divided by
what a message costs in all; "idle" is the part of the cores that nobody used meanwhile, the start included,
"stolen" the part that the host of a virtual machine took (blank where that was not counted yet), and what all leave
over other programs took. The servers are those that have run for some time: Kafka's JVM was sent
messages in large requests and in small ones until they cost its CPU no less (or for about 25 s: at first it compiles,
on the same cores, and a message costs two to four times as much); PostgreSQL has segments of the WAL to use again
(min_wal_size), where a cluster that is new, or that writes more than ever before, makes one every 16 MB and stops all
commits meanwhile. Kafka's index files have 1 MB instead of 10, because the first message of
each reads it ahead as far as the disk says, and what a cell leaves is removed at once instead of a minute later, in
another cell. A cell begins when its broker is idle (or after 3 s). Latency: from right before COMMIT is sent to the
consumer, on one clock, loader and consumer on the same cores; "maximum": as fast as the relay follows with both
beside it. Each cell is read back: a lost message shows in all of them, a doubled one in those to Kafka; JetStream's
duplicate window drops a double to NATS, so that untimed drains beside the others count what NATS was sent, not what
it stored. A rate counts the first batch but not the time of its claim: at 100,000 rows claim alone and the relay
look 1 to 2 % faster than they are (more with fewer rows, at batch 2000 and with large messages), and with the
relay's rate its parts of publishing alone and of the CPU ceiling. Instructions: on_sent "mark". pgbench: one
200-byte row in each transaction, of 10,000 keys, with the trigger of `init --notify`; TPC-B is pgbench's own, at
scale 10.
"""


def markdown(found):
    sinks = [sink for sink in BROKERS if any(run["sink"] == sink for run in found.get("runs", []))]
    parts = [heading(found), METHOD, watched_line(found), *broken(found), target_table(found), claim_table(found)]
    parts += [publish_table(found, sink) for sink in sinks] + [relay_table(found, sink) for sink in sinks]
    parts += [section(found) for section in (latency_table, application_table, idle_table, profile_table,
                                               size_table, horizon_table, slow_tables, large_table)]
    return "\n".join(part for part in parts if part)


PAGE = """# Results of `make bench`

`make bench-keep` writes this page and docs/benchmarks.svg from what `make bench` left in build/; all tables are then in
build/bench.md, which also says how each figure is measured.

"""
READ = """Figures are medians, with the lowest and the highest round in brackets. "s/M" is CPU seconds a million messages, of
all processes and threads. The slower end is the lower of two rates: claim and settle without a broker, and the client
library alone, publishing the same messages. The CPU ceiling is what all cores could send if nobody else used them and
none was ever idle. The default is order "key", on_sent "delete", 4 lanes, batch 500, 200 bytes, 10,000 keys, durable;
each line names what differs from it.
"""


def summary_table(found):
    """Each cell of the relay, to both brokers."""
    lines = []
    for sink in BROKERS:
        for cell, runs in targets.by_cell(found, "relay", sink).items():
            lines.append((targets.NAMES[sink], cell, figures.spread([run["rate"] for run in runs]),
                          f"{targets.reach(found, sink, cell)['of_ceiling']:.2f}", *costs(found, runs)[:3],
                          f"{max(run['peak_mib'] for run in runs):.1f}"))
    return table(("relay to", "what differs", "messages/s", "of the CPU ceiling", "relay, CPU s/M", "PostgreSQL", "broker",
                  "peak MiB"), lines)


def page(found):
    parts = [heading(found), READ, watched_line(found), *broken(found), target_table(found), summary_table(found)]
    return PAGE + "\n".join(part for part in parts if part)
