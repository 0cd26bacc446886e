#!/usr/bin/env python3
"""The rules of the code as a test: sizes, direction of includes, banned calls, closed headers.

Prints the figures, then every break with its place; exit status 1 when there is one. It reads C as
text: a function is what stands between a line that ends a head and the "}" in the first column.
"""
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUNCTION_MAX, FILE_MAX, HEADER_MAX, LINE_MAX = 70, 400, 100, 100
MEDIAN_MAX, P90_MAX = 12, 40

# An include points from a folder to one on its right, or stays inside.
ORDER = {
    "main": {"cli"},
    "cli": {"config", "relay", "outbox", "broker", "core", "base"},
    "config": {"relay", "outbox", "broker", "core", "base"},
    "relay": {"outbox", "broker", "core", "base"},
    "outbox": {"core", "base"},
    "broker": {"core", "base"},
    "core": {"base"},
    "base": set(),
}
# A library's header may be included in these folders only.
LIBRARIES = {
    "libpq-fe.h": {"outbox"},
    "librdkafka/rdkafka.h": {"broker"},
    "nats/nats.h": {"broker"},
    "jansson.h": {"outbox", "broker", "cli"},
    "toml++/toml.h": {"config"},
    "getopt.h": {"cli"},
}
PURE = re.compile(r"^(unistd|fcntl|poll|pthread|signal|time|sys/.*|netinet/.*|arpa/.*)\.h$")  # not in core/
BANNED = re.compile(r"\b(strcpy|strcat|sprintf|vsprintf|gets|atoi|atol|strtok|sleep|usleep|system|popen)\s*\(")
EXIT = re.compile(r"\b_?exit\s*\(")
NOTE = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
CALLS_ALLOWED = {("cli/status.c", "sleep")}  # --watch is a person's clock

problems = []


def complain(path, line, text):
    problems.append(f"{path.relative_to(ROOT)}:{line}: {text}")


def functions(lines):
    """Yields (first line, length) of each function body, braces included."""
    start = None
    for number, line in enumerate(lines, 1):
        if line.rstrip() == "{" and number > 1 and not lines[number - 2].startswith(" " * 8 + "="):
            start = number
        elif start and line.startswith("}"):
            if line.rstrip() == "}":
                yield start, number - start + 1
            start = None


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"//[^\n]*", "", text)


def check_includes(path, folder, text):
    for number, line in enumerate(text.split("\n"), 1):
        own = re.match(r'#include "([a-z]+)/', line)
        library = re.match(r"#include <(.+)>", line)
        if own and own[1] != folder and own[1] not in ORDER[folder]:
            complain(path, number, f"{folder}/ may not include {own[1]}/")
        if library and library[1] in LIBRARIES and folder not in LIBRARIES[library[1]]:
            complain(path, number, f"{folder}/ may not include <{library[1]}>")
        if library and folder == "core" and PURE.match(library[1]):
            complain(path, number, f"core/ is pure: no <{library[1]}>")


def check_text(path, folder, text):
    code = without_comments(text)
    for number, line in enumerate(code.split("\n"), 1):
        banned = BANNED.search(line)
        if banned and (f"{folder}/{path.name}", banned[1]) not in CALLS_ALLOWED:
            complain(path, number, f"banned call: {banned[1]}()")
        if EXIT.search(line) and folder != "cli":
            complain(path, number, "exit belongs to cli/")
    for number, line in enumerate(text.split("\n"), 1):
        if NOTE.search(line):
            complain(path, number, "a note left behind")
        if len(line) > LINE_MAX:
            complain(path, number, f"line of {len(line)} columns, at most {LINE_MAX}")


def check_file(path):
    folder = "main" if path.name == "main.c" else path.parent.name
    text = path.read_text()
    lines = text.split("\n")
    limit = HEADER_MAX if path.suffix == ".h" else FILE_MAX
    if len(lines) - 1 > limit:
        complain(path, len(lines) - 1, f"{len(lines) - 1} lines, at most {limit}")
    check_includes(path, folder, text)
    check_text(path, folder, text)
    lengths = []
    for start, length in functions(lines):
        lengths.append(length)
        if length > FUNCTION_MAX:
            complain(path, start, f"function of {length} lines, at most {FUNCTION_MAX}")
    return lengths


def check_lane_step():
    lines = (ROOT / "src/relay/lane.c").read_text().split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith("enum lane_result lane_step("))
    end = next(i for i in range(start, len(lines)) if lines[i] == "}")
    body = [line for line in lines[start : end + 1] if line.strip()]
    print(f"lane_step: {len(body)} lines")
    if len(body) > 25:
        complain(ROOT / "src/relay/lane.c", start + 1, f"lane_step() has {len(body)} lines, at most 25")


def main():
    files = sorted(p for p in (ROOT / "src").rglob("*") if p.suffix in (".c", ".h", ".cpp"))
    lengths = sorted(length for path in files for length in check_file(path))
    check_lane_step()
    median, p90 = statistics.median(lengths), lengths[int(len(lengths) * 0.9)]
    print(f"{len(files)} files, {len(lengths)} functions: median {median:g} lines, p90 {p90}, max {lengths[-1]}")
    if median > MEDIAN_MAX or p90 > P90_MAX:
        problems.append(f"function lengths: median at most {MEDIAN_MAX}, p90 at most {P90_MAX}")
    for problem in problems:
        print(problem)
    print(f"lint: {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
