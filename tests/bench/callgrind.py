"""Instructions of one program run, by library and function, from valgrind's callgrind.

Every thread counts, the kernel does not. A function without a symbol counts for its library.
"""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

COST = re.compile(r"[-+*\d]\S* (\d+)")
LIBRARIES = {"outbox-relay": "relay", "libpq": "libpq", "librdkafka": "librdkafka", "libnats": "libnats",
             "libc": "libc", "libm": "libc", "ld-linux-x86-64": "libc"}
NO_SYMBOL = re.compile(r"0x[0-9a-f]+$|\?\?\?$")


def must_be_there():
    if shutil.which("valgrind") is None:
        print("valgrind is missing: apt-get install valgrind", file=sys.stderr)
        sys.exit(2)


def library_of(path):
    name = os.path.basename(path)
    if name == "???":
        return "vdso"
    return LIBRARIES.get(name.split(".so")[0], name)


class Names:
    """ "(7) text" defines, and "(7)" repeats. """

    def __init__(self):
        self.texts = {}

    def read(self, word):
        number, _, text = word.partition(")")
        if text:
            self.texts[number] = text.strip()
        return self.texts[number]


def read(path):
    """Returns a Counter of (library, function): its own instructions, without those of its callees."""
    objects, functions = Names(), Names()
    cost = collections.Counter()
    library = function = ""
    called = False  # the line behind a "calls=" is the callee's cost
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            word, _, rest = line.rstrip("\n").partition("=")
            if word == "ob":
                library = library_of(objects.read(rest))
            elif word == "fn":
                name = functions.read(rest)
                function = "(without a symbol)" if NO_SYMBOL.match(name) else name
            elif word == "cob":
                objects.read(rest)
            elif word == "cfn":
                functions.read(rest)
            elif word == "calls":
                called = True
            elif found := COST.match(line):
                if not called:
                    cost[library, function] += int(found[1])
                called = False
    return cost


def run(words, preload=None):
    """Counts the instructions of the program `words`. Its output is discarded; it must exit with 0."""
    environment = dict(os.environ)
    if preload is not None:
        environment["LD_PRELOAD"] = str(preload)
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "callgrind")
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *map(str, words)],
                              env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              errors="replace")
        if done.returncode != 0:
            sys.exit(f"{words} ended with {done.returncode} under valgrind:\n{done.stderr[-2000:]}")
        return read(out)
