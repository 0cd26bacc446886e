"""CPU seconds of processes, from /proc."""
import glob
import os
import pathlib
import time

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def times_of(stat):
    """Of one line of /proc/PID/stat: its own seconds, and those of its children that were waited for.

    The name, in brackets, may hold blanks and brackets of its own.
    """
    fields = stat[stat.rindex(")") + 2:].split()
    own, children = fields[11:13], fields[13:15]
    return sum(map(int, own)) * TICK_S, sum(map(int, children)) * TICK_S


def tree_s(pid, proc="/proc"):
    """Of the process and its children, including those that have ended."""
    own, ended = times_of(pathlib.Path(f"{proc}/{pid}/stat").read_text())
    total = own + ended
    for children in glob.glob(f"{proc}/{pid}/task/*/children"):
        for child in pathlib.Path(children).read_text().split():
            try:
                total += sum(times_of(pathlib.Path(f"{proc}/{child}/stat").read_text()))
            except OSError:  # it ended this instant, and the next sample has it among the ended
                pass
    return total


def cores_s(path="/proc/stat"):
    """Seconds that cores had nothing to do, of all cores together (one that waits for a disk is idle), and that they
    were ready but the host of this virtual machine ran something else (steal: proc(5))."""
    fields = pathlib.Path(path).read_text().split("\n", 1)[0].split()
    return {"idle": (int(fields[4]) + int(fields[5])) * TICK_S, "stolen": int(fields[8]) * TICK_S}


class Cores:
    """From now on: which part of the cores was idle, and which part the host took."""

    def __init__(self):
        self.before, self.began_s = cores_s(), time.monotonic()

    def parts(self):
        whole_s = (time.monotonic() - self.began_s) * os.cpu_count()
        return {name: (after - self.before[name]) / whole_s for name, after in cores_s().items()}


def threads_s(pid):
    """Of the threads that are alive, in nanoseconds, for programs that use less than a tick."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        try:
            total += int(pathlib.Path(path).read_text().split()[0])
        except OSError:
            pass
    return total / 1e9
