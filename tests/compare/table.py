"""What `compare` found, as figures and Markdown. Nothing here measures anything (table_test proves it)."""
import figures

BROKERS = {"kafka": "Kafka", "nats": "NATS"}
NAMES = {"ours": "outbox-relay, as installed", "ours-tuned": "outbox-relay, tuned",
         "ours-position": "outbox-relay, position",
         "debezium": "Debezium Server, as installed", "debezium-tuned": "Debezium Server, tuned"}
FAULTS = ("lost", "twice", "behind")
SHORT = ("messages/s", "relay CPU", "database CPU", "and cleanup", "broker CPU", "MiB", "200/s", "1,000/s", "restart", "repeats")
FULL = SHORT + ("start CPU, s", "start to last message, s")
UNITS = ("CPU in seconds a million messages, that of the relay without its start; and cleanup: with"
         " that of the database until the rows are gone, by purge, or by DELETE and its decoding, and VACUUM; 200/s and 1,000/s: from COMMIT to the"
         " consumer, p50 / p99 in ms; restart: seconds from the start after SIGKILL to the first new message; repeats"
         " after it.")


def faults(part, came):
    """part: of the run; came: figures.Arrivals."""
    return {f"{part}_lost": came.missing, f"{part}_twice": came.twice, f"{part}_behind": came.behind}


def reason(output):
    """The line of a failed command that says why: the first that is called an error, else the last."""
    lines = output.strip().splitlines()
    return next((line for line in lines if "ERROR" in line), lines[-1] if lines else "")


def first_new(arrivals, restarted):
    """Seconds from the restart to the first message that was not there before it; None: all were. arrivals: (moment,
    key, number)."""
    before = {number for moment, _, number in arrivals if moment < restarted}
    new = [moment for moment, _, number in arrivals if moment >= restarted and number not in before]
    return min(new) - restarted if new else None


def per_million(run, part, events):
    """CPU seconds a million messages; of the relay without its start, which a service has once."""
    return figures.per_million(run[f"{part}_s"], run["start_s"] if part == "relay" else 0, events)


def shown(values, digits, full):
    """The median, and where `full` from where to where. What was not measured in a run is in none."""
    values = [value for value in values if value is not None]
    if not values:
        return "–"
    return figures.spread(values if full else [figures.median(values)], digits).replace(" - ", " – ")


def cells_of(runs, events, full):
    """The values of one line: a peer and a broker."""
    def each(name, digits):
        return shown([run.get(name) for run in runs], digits, full)

    def cpu(part):
        return shown([per_million(run, part, events) for run in runs], 1, full)

    def latency(rate):
        return f"{each(f'p50_{rate}', 1)} / {each(f'p99_{rate}', 1)}"

    whole = [run | {"whole_life_s": run["database_s"] + run["cleanup_s"]} for run in runs]
    life = shown([per_million(run, "whole_life", events) for run in whole], 1, full)
    line = [each("rate", 0), cpu("relay"), cpu("database"), life, cpu("broker"), each("peak_mib", 0), latency(200),
            latency(1000), each("restart_s", 2), each("kill_twice", 0)]
    return line + [each("start_s", 1), each("whole_s", 1)] if full else line


def table(found, full):
    columns = [""] + list(FULL if full else SHORT)
    lines = [columns, ["---"] + ["---:"] * (len(columns) - 1)]
    for sink, name in BROKERS.items():
        for peer, title in NAMES.items():
            runs = [run for run in found["runs"] if run["sink"] == sink and run["peer"] == peer]
            if runs:
                lines.append([f"{name}: {title}", *cells_of(runs, found["events"], full)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def broken(run):
    """What was lost, came out of order, or came twice without a fault."""
    return {name: count for name, count in run.items() if name.endswith(FAULTS) and count and name != "kill_twice"}


def verdict(found):
    """One sentence for each run that was not faultless, or one for all."""
    lines = [f"{BROKERS[run['sink']]}, {NAMES[run['peer']]}, round {run['round']}: "
             + ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in broken(run).items()) + "."
             for run in found["runs"] if broken(run)]
    return lines or ["Every message was read back: none was lost, none came twice but after the SIGKILL, and none was"
                     " out of order within its key."]


def machine(found):
    about = found["about"]
    return (f"{about['date']}, {about['processor']}, {about['cores']} cores, {about['memory_gib']} GiB,"
            f" {about['system']}, Linux {about['kernel']}; {about['database']}, Kafka {about['kafka']}, nats-server {about['nats-server']} (file); commit {about['commit']}. Load"
            f" average {about['load_before']:.1f} at the start, {about['load_after']:.1f} at the end.")


def page(found):
    rounds = max((run["round"] for run in found["runs"]), default=0)
    versions = sorted({f"{NAMES[peer].partition(',')[0]} {version}" for peer, version in found["versions"].items()})
    lines = [machine(found),
             f"{', '.join(versions)}. {found['events']:,} events in transactions of {found['rows']} rows, in turns,"
             f" {rounds} round{'s' * (rounds != 1)}, {found['took_s'] / 60:.0f} minutes.", "",
             "Medians:", "", table(found, False), "Medians (lowest – highest):", "", table(found, True),
             UNITS, "", *verdict(found)]
    lines += [f"{NAMES[peer]} was not run: {why}" for peer, why in found["absent"].items()]
    return "\n".join(lines) + "\n"


def line(run):
    """One run, for somebody who waits."""
    restart = run["restart_s"]
    latency = f"  1,000/s {run['p50_1000']:.1f} / {run['p99_1000']:.1f} ms" if "p50_1000" in run else ""
    return (f"{run['sink']:5}  {run['peer']:14}  {run['rate']:8,.0f}/s  relay {run['relay_s']:.1f} s"
            f"  database {run['database_s']:.1f} + {run['cleanup_s']:.1f} s  {run['peak_mib']:,.0f} MiB{latency}"
            f"  restart {'–' if restart is None else f'{restart:.2f} s'}"
            f"{'  ' + str(broken(run)) if broken(run) else ''}")


def exit_status(found):
    """1 where ours failed: what others do is a result."""
    return 1 if any(broken(run) for run in found["runs"] if run["peer"].startswith("ours")) else 0
