#!/usr/bin/env python3
"""The rules of the code as a test: direction of includes, banned calls, length of lines.

Prints every break with its place; exit status 1 when there is one. It reads C as text.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINE_MAX = 100

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
    check_includes(path, folder, text)
    check_text(path, folder, text)


def main():
    files = sorted(p for p in (ROOT / "src").rglob("*") if p.suffix in (".c", ".h", ".cpp"))
    for path in files:
        check_file(path)
    for problem in problems:
        print(problem)
    print(f"lint: {len(files)} files, {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
