"""What the benchmarks share: a backlog in the default table, one `run --drain`, and the broker read back."""
import glob
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATABASE = os.environ.get("DATABASE") or "postgres"
RELAY = os.environ.get("RELAY", ROOT / f"build/outbox-relay{'' if DATABASE == 'postgres' else '-mysql'}")
READER = ROOT / "build/reader"
URL = os.environ.get("TEST_PG_URL", "")
FOLDER = pathlib.Path(os.environ["TEST_DIR"])

NUMBERS = itertools.count(1)


def end_by_signal(*_):
    """Turns the signal into an exception, so that everything that was started is ended too."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)


signal.signal(signal.SIGTERM, end_by_signal)

CONFIG = """
[database]
url = "{url}"
allow_superuser = true
[outbox]
order = "{order}"
on_sent = "{on_sent}"
slices = {slices}
[relay]
lanes = {lanes}
batch = {batch}
[http]
listen = ""
[sink.broker]
type = "{sink}"
{address}
"""
ORDERS = ("none", "key")
COLD_KEY = "'k' || i % 10000"


def write_config(sink, name, lanes, on_sent, order="none", url=URL, batch=500, slices=64, **reached):
    """reached: `address` says how."""
    config = FOLDER / f"bench-{sink}.toml"
    config.write_text(CONFIG.format(url=url, sink=sink, lanes=lanes, on_sent=on_sent, order=order, slices=slices,
                                    batch=batch, address=address(sink, name, **reached)))
    return config


def make_tables(config, *options):
    sql("DROP TABLE IF EXISTS outbox, outbox_parked, outbox_control, outbox_slice")
    subprocess.run([RELAY, "init", "-c", config, *options], check=True, stdout=subprocess.DEVNULL)


def sql(text, url=URL):
    return subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", text, url], check=True,
                          capture_output=True, text=True).stdout.strip()


def pgbench(*words):
    program = shutil.which("pgbench") or sorted(glob.glob("/usr/lib/postgresql/*/bin/pgbench"))[-1]
    return subprocess.run([program, *words, URL], check=True, capture_output=True, text=True).stdout


def pgbench_rate(script, seconds, *words):
    """Returns the transactions per second of this script, run by eight clients."""
    out = pgbench("-n", "-c", "8", "-j", "2", "-T", str(seconds), "-M", "prepared", "-f", str(script), *words)
    return float(re.search(r"tps = ([\d.]+)", out)[1])


def reader(*words, **options):
    return subprocess.run([READER, *words], check=True, text=True, **options)


def new_destination(sink, *options):
    """Makes an empty stream or topic. Returns its name and the topic column of its rows."""
    name = f"BENCH{os.getpid()}N{next(NUMBERS)}"
    topic = f"{name}.drain"
    if sink == "nats":
        reader("stream", os.environ["TEST_NATS_URL"], "create", name, f"{name}.>", *options)
    else:
        reader("topics", os.environ["TEST_KAFKA_BROKERS"], "create", topic, "12")
    return name, topic


def delete_destination(sink, name, topic):
    if sink == "nats":
        reader("stream", os.environ["TEST_NATS_URL"], "delete", name)
    else:
        reader("topics", os.environ["TEST_KAFKA_BROKERS"], "delete", topic)


def address(sink, name, server="", properties=()):
    """server: where it is not the broker's own; properties: (name, value) of a Kafka client."""
    if sink == "stdout":
        return ""
    if sink == "nats":
        return f'servers = ["{server or os.environ["TEST_NATS_URL"]}"]\nstream = "{name}"'
    lines = [f'brokers = ["{server or os.environ["TEST_KAFKA_BROKERS"]}"]', "[sink.broker.properties]"]
    return "\n".join(lines + [f'"{key}" = "{value}"' for key, value in properties])


def messages(sink, name, topic):
    """The fields of each, in the order of its partition."""
    words = ["nats", os.environ["TEST_NATS_URL"], name] if sink == "nats" else [
        "kafka", os.environ["TEST_KAFKA_BROKERS"], topic]
    with subprocess.Popen([READER, *words], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            yield line.split("\t")
    if process.returncode != 0:
        sys.exit(f"the reader failed with {process.returncode}")


def read_back(sink, name, topic):
    """Returns the number of messages and of different event ids."""
    count, ids = 0, set()
    for fields in messages(sink, name, topic):
        count += 1
        ids.add(fields[5])
    return count, len(ids)


def pad(size):
    """What makes a payload of `size` bytes, in SQL; nothing that PostgreSQL could compress, where it would."""
    if size <= 1000:
        return f"repeat('x', {size - 24})"
    return f"(SELECT left(string_agg(md5(j::text), ''), {size - 24}) FROM generate_series(1, {size // 32 + 1}) j)"


PAYLOADS = {"jsonb": "jsonb_build_object('n', i, 'pad', {pad})",
            "bytea": "convert_to('{{\"n\": ' || i || ', \"pad\": \"' || {pad} || '\"}}', 'UTF8')"}


def fill(rows, topic, key=COLD_KEY, size=200, column="jsonb"):
    """key: of the i-th row, in SQL; column: the payload's type."""
    for table in ("outbox", "outbox_parked") if column != "jsonb" else ():
        sql(f"ALTER TABLE {table} ALTER payload TYPE {column} USING NULL")
    sql(f"""INSERT INTO outbox (topic, key, type, payload)
            SELECT '{topic}', {key}, 'Bench', {PAYLOADS[column].format(pad=pad(size))}
            FROM generate_series(1, {rows}) i""")
    sql("VACUUM ANALYZE outbox")
    sql("CHECKPOINT")


def table_of(results, columns):
    """Prints dicts, as a table for people and then as one line of JSON."""
    lines = [columns] + [[f"{value:.2f}" if isinstance(value, float) else str(value)
                          for value in map(result.get, columns)] for result in results]
    widths = [max(map(len, column)) for column in zip(*lines)]
    print()
    for line in lines:
        print("  ".join(word.rjust(width) for word, width in zip(line, widths)))
    print(json.dumps(results), flush=True)


def watch_peak(pid, peak):
    """Follows VmHWM while the process lives: its ru_maxrss would begin with this program's own size."""
    try:
        while True:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            peak[0] = int(status.split("VmHWM:")[1].split()[0]) / 1024
            time.sleep(0.02)
    except (OSError, IndexError):  # it has ended
        pass


def ended_with(process, patience_s=30):
    """Asks the process to end and returns its exit status."""
    process.send_signal(signal.SIGCONT)
    process.terminate()
    try:
        return process.wait(patience_s)
    except BaseException as why:
        process.kill()
        process.wait()
        if not isinstance(why, subprocess.TimeoutExpired):
            raise
        return f"nothing for {patience_s} s after SIGTERM"


def wait_for(pid):
    """Returns the exit status and the resources used. The process does not outlive this program."""
    try:
        return os.wait4(pid, 0)[1:]
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise


def drain(config, expected=0, program=RELAY):
    """Wall seconds, CPU seconds, peak MiB of one `run --drain`, which must end with this status. What it
    writes to its stdout is in bench.out."""
    started = time.monotonic()
    peak = [0]
    with open(FOLDER / "bench.log", "a") as log, open(FOLDER / "bench.out", "w") as out:
        pid = os.posix_spawn(program, [str(program), "run", "--drain", "-c", str(config)], os.environ,
                             file_actions=[(os.POSIX_SPAWN_DUP2, log.fileno(), 2),
                                           (os.POSIX_SPAWN_DUP2, out.fileno(), 1)])
        threading.Thread(target=watch_peak, args=(pid, peak), daemon=True).start()
        status, usage = wait_for(pid)
    if os.waitstatus_to_exitcode(status) != expected:
        sys.exit(f"run --drain ended with {os.waitstatus_to_exitcode(status)}:\n"
                 + (FOLDER / "bench.log").read_text()[-2000:])
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime, peak[0]
