"""The targets of the relay's speed, and what of them a run of `bench` has reached."""
import math

import figures

NAMES = {"nats": "NATS", "kafka": "Kafka"}
WINDOW_S, SHORT_WINDOW_S = 120, 20  # how long JetStream remembers ids: by default, and at least for publish_timeout
BACKLOGS = {("claim", WINDOW_S): "claim alone", ("relay", WINDOW_S): "to NATS", ("publish", WINDOW_S): "NATS alone",
            ("relay", SHORT_WINDOW_S): "to NATS, ids kept 20 s", ("publish", SHORT_WINDOW_S): "NATS alone, ids kept 20 s"}
RECOMMENDED = (("nats", "order none, 12 lanes, batch 1000"), ("nats", "16 lanes, batch 1000"),
               ("kafka", "24 lanes, batch 1000, 128 slices"))  # for a broker at 50 ms: docs/sizing.md


def size_name(size):
    return f"{size // 1024} KiB" if size >= 1024 else f"{size} B"


def runs_of(found, kind, sink):
    return [run for run in found.get("runs", []) if run["kind"] == kind and run["sink"] == sink]


def grouped(runs, name):
    groups = {}
    for run in runs:
        groups.setdefault(run[name], []).append(run)
    return groups


def by_cell(found, kind, sink, size=None):
    return grouped((run for run in runs_of(found, kind, sink) if size in (None, run["size"])), "cell")


def by_rows(found, kind, window_s=WINDOW_S):
    """Those before there were two windows had the server's."""
    return grouped((run for run in found.get("size", [])
                    if (run["kind"], run.get("window_s", WINDOW_S)) == (kind, window_s)), "rows")


def sizes_of(found, sink):
    return sorted({run["size"] for run in runs_of(found, "publish", sink)})


def rates(runs):
    """{round: messages a second}"""
    return {run["round"]: run["rate"] for run in runs}


def cpu_of(found, run):
    """CPU seconds a million messages, of each."""
    sink = run["sink"] if run["kind"] == "relay" else "stdout"
    start = next((other for other in found["runs"] if run["kind"] != "publish" and other["kind"] == "overhead"
                  and (other["sink"], other["lanes"], other["round"]) == (sink, run["lanes"], run["round"])), {})
    return {part: figures.per_million(run[f"{part}_s"], start.get(f"{part}_s", 0.0), run["rows"])
            for part in ("relay", "postgres", "broker", "link") if f"{part}_s" in run}


def best_window(found, sink, size):
    """Of those that were in every round, or there would be luck in it."""
    cells = by_cell(found, "publish", sink, size)
    most = max(map(len, cells.values()), default=0)
    full = {cell: figures.median(rates(runs).values()) for cell, runs in cells.items() if len(runs) == most}
    return max(full, key=full.get, default=None)


def ends(found, sink, cell):
    """The rates of claim and settle alone, of the same cell, and of publishing alone, the same size."""
    size = by_cell(found, "relay", sink)[cell][0]["size"]
    claim = by_cell(found, "claim", "none").get(cell, [])
    publish = by_cell(found, "publish", sink, size).get(best_window(found, sink, size), [])
    return {name: rates(runs) for name, runs in (("claim", claim), ("publish", publish)) if runs}


def reach(found, sink, cell):
    """How near a cell of the relay comes to the slower of its ends, and to what the cores allow."""
    runs = by_cell(found, "relay", sink)[cell]
    own, alone = rates(runs), ends(found, sink, cell)
    slower = min(alone, key=lambda name: figures.median(alone[name].values()), default=None)
    ceilings = {run["round"]: figures.ceiling(found["about"]["cores"], *cpu_of(found, run).values()) for run in runs}
    return {"end": f"{slower} {figures.median(alone[slower].values()):,.0f}" if slower else "not measured",
            "of_end": figures.ratio(own, alone[slower]) if slower else float("nan"),
            "ceiling": figures.median(ceilings.values()), "of_ceiling": figures.ratio(own, ceilings)}


def near_the_limit(found, sink, cell):
    """Whichever of the two is reached first."""
    name = f"{NAMES[sink]}, on_sent {'mark' if 'mark' in cell else 'delete'}"
    wanted = "0.85 of the slower end or 0.90 of the CPU ceiling"
    if cell not in by_cell(found, "relay", sink):
        return name, wanted, "", None
    limit = reach(found, sink, cell)
    near = limit["of_end"] >= 0.85 or limit["of_ceiling"] >= 0.90
    if math.isnan(limit["of_end"]):
        return name, wanted, f"{limit['of_ceiling']:.2f} of the ceiling, the ends not in this run", near or None
    return name, wanted, f"{limit['of_end']:.2f} of {limit['end']}/s, {limit['of_ceiling']:.2f} of the ceiling", near


def light(found, sink, most):
    name, wanted = f"relay's CPU to {NAMES[sink]}", f"at most {most} s/M"
    runs = by_cell(found, "relay", sink).get("default", [])
    if not runs:
        return name, wanted, "", None
    seconds = [cpu_of(found, run)["relay"] for run in runs]
    return name, wanted, figures.spread(seconds, 2), figures.median(seconds) <= most


def small(found, sink):
    runs = by_cell(found, "relay", sink).get("default", [])
    peak = max((run["peak_mib"] for run in runs), default=None)
    return (f"peak memory to {NAMES[sink]}", "at most 32 MiB", f"{peak:.1f} MiB" if runs else "",
            peak <= 32 if runs else None)


def at_least(name, least, above, below):
    """Two rates against each other, round by round."""
    each = figures.ratios(above, below)
    return name, f"at least {least:.2f}", figures.spread(each, 2), figures.median(each) >= least if each else None


def as_fast(name, found, sink, above, below, least):
    """Two cells of the relay against each other."""
    cells = by_cell(found, "relay", sink)
    return at_least(f"{NAMES[sink]}: {name}", least, *(rates(cells.get(cell, [])) for cell in (above, below)))


def dear(found, kind, sink):
    """Mark against delete, by what PostgreSQL spends."""
    name = "PostgreSQL's CPU, mark against delete, " + (NAMES[sink] if sink in NAMES else "claim alone")
    cells = by_cell(found, kind, sink)
    mark, delete = ({run["round"]: cpu_of(found, run)["postgres"] for run in cells.get(cell, [])}
                    for cell in ("mark", "default"))
    each = figures.ratios(mark, delete)
    return name, "at most 1.30", figures.spread(each, 2), figures.median(each) <= 1.3 if each else None


def hot_keys(found, sink):
    name, _, measured, _ = as_fast("10 hot keys against 10,000", found, sink, "10 keys", "default", 0)
    return name, "reported", measured, None


def grown(found, kind, window_s=WINDOW_S):
    """Each of the few large ones against all the small ones, which stand before and behind it."""
    rows = by_rows(found, kind, window_s)
    small_ones = rates(rows.get(100000, [])).values()
    below = figures.median(small_ones) if small_ones else math.nan
    large_ones = rates(rows.get(10000000, [])) if small_ones else {}
    name = f"10,000,000 rows against 100,000, {BACKLOGS[kind, window_s]}"
    _, wanted, measured, reached = at_least(name, 0.9, large_ones, dict.fromkeys(large_ones, below))
    return (name, "reported", measured, None) if kind == "publish" else (name, wanted, measured, reached)


HELD = {"4 lanes, delete": (4, "delete"), "1 lane, mark": (1, "mark")}


def snapshots(found, way):
    return grouped((run for run in found.get("horizon", []) if run["way"] == way), "cell")


def held(found, way):
    return at_least(f"held snapshot against none, {way}", 0.9,
                    *(rates(snapshots(found, way).get(cell, [])) for cell in ("held", "none")))


def far(found):
    """The runs through a delay, as if there were no others."""
    return {"about": found["about"], "runs": found.get("slow", [])}


def reached_from_afar(found, sink, cell):
    """What is recommended for a broker that is far away."""
    name, wanted = f"{NAMES[sink]} at 50 ms, {cell}", "0.90 of the slower end or of the CPU ceiling"
    if cell not in by_cell(far(found), "relay", sink):
        return name, wanted, "", None
    limit = reach(far(found), sink, cell)
    return (name, wanted, f"{limit['of_end']:.2f} of {limit['end']}/s, {limit['of_ceiling']:.2f} of the ceiling",
            max(limit["of_end"], limit["of_ceiling"]) >= 0.9)


def loads(found, sink):
    """{share of the maximum: its runs}"""
    return grouped((run for run in found.get("latency", []) if run["sink"] == sink), "cell")


def under_load(runs):
    """Messages a second and what they were to be, p50 and p99: medians of the rounds."""
    return {name: figures.median([run[name] for run in runs]) for name in ("rate", "wanted", "p50_ms", "p99_ms")}


def prompt(found, sink):
    """A latency at a load that was not reached says nothing of that load."""
    name, wanted = f"{NAMES[sink]}: latency at half of the maximum", "p50 at most 5 ms, p99 at most 25 ms"
    runs = loads(found, sink).get("50%", [])
    if not runs:
        return name, wanted, "", None
    took = under_load(runs)
    measured = f"p50 {took['p50_ms']:.2f} ms, p99 {took['p99_ms']:.2f} ms at {took['rate']:,.0f}/s"
    if took["rate"] < 0.95 * took["wanted"]:
        return name, wanted, f"{measured}; not reached: the load, {took['wanted']:,.0f}/s", False
    return name, wanted, measured, took["p50_ms"] <= 5 and took["p99_ms"] <= 25


def rested(found):
    run = {name: value for run in found.get("idle", []) for name, value in run.items()}
    name, wanted = "an idle relay", "p50 at most 2 ms, 0.2 % of a core"
    if not {"p50_ms", "cpu_percent"} <= set(run):
        return name, wanted, "", None
    returned = run.get("returned_p50_ms", math.nan)
    measured = f"p50 {run['p50_ms']:.2f} ms ({returned:.2f} after COMMIT's return), {run['cpu_percent']:.2f} %"
    return (name, wanted, measured, run["p50_ms"] <= 2 and run["cpu_percent"] <= 0.2)


def unobtrusive(found):
    name, wanted = "measuring for HTTP beside a backlog", "at most 1 % of the cores"
    shares = [run["cores_percent"] for run in found.get("monitored", [])]
    if not shares:
        return name, wanted, "", None
    return name, wanted, f"{figures.spread(shares, 2)} %", figures.median(shares) <= 1


APPLICATIONS = {"insert": "an insert a transaction", "TPC-B": "TPC-B and an insert"}


def gentle(found, script):
    runs = [run for run in found.get("app", []) if run["script"] == script]
    return at_least(f"pgbench beside a relay against alone, {APPLICATIONS[script]}", 0.8,
                    *(rates([run for run in runs if run["relays"] == relays]) for relays in (1, 0)))


def all_of(found):
    """(target, wanted, measured, reached or not or None: it was not measured)"""
    lines = [near_the_limit(found, sink, cell) for sink in NAMES for cell in ("default", "mark")]
    lines += [light(found, "kafka", 3), light(found, "nats", 4.5)] + [small(found, sink) for sink in NAMES]
    lines += [as_fast('order "key" against "none"', found, sink, "default", "order none", 1) for sink in NAMES]
    lines += [hot_keys(found, sink) for sink in NAMES]
    lines += [as_fast("8 lanes against 4", found, sink, "8 lanes", "default", 1) for sink in NAMES]
    lines += [dear(found, "claim", "none"), *(dear(found, "relay", sink) for sink in NAMES)]
    lines += [grown(found, *backlog) for backlog in BACKLOGS] + [held(found, way) for way in HELD]
    lines += [reached_from_afar(found, sink, cell) for sink, cell in RECOMMENDED]
    return lines + [prompt(found, sink) for sink in NAMES] + [rested(found), unobtrusive(found)] + [
        gentle(found, script) for script in APPLICATIONS]
