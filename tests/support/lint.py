#!/usr/bin/env python3
"""The rules of the code as a test: direction of includes and of symbols, circles of both, banned calls, length of lines.

Prints every break with its place; exit status 1 when there is one. It reads C as text, and with the folder of the
objects as its argument what nm(1) says of them.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINE_MAX = 100

# A room is a folder of src/, or one file of it without its ending. Beside itself it may use these, and no others.
ROOMS = {
    "main": {"cli"},
    "cli": {"config", "config/read", "http", "relay", "relay/report", "trace", "audit", "admin/audit", "admin/statements", "admin/status", "admin", "desk", "source", "cli/terminal", "broker/clients", "broker", "route",
            "message", "base"},
    "cli/terminal": {"message", "base"},
    "desk/statement": {"catalog", "sql", "source", "message", "base"},
    "desk": {"desk/statement", "cli/terminal", "admin", "catalog", "sql", "pg", "source", "route", "message", "base"},
    "config": {"source", "config/check", "config/keys", "config/read", "route", "base"},
    "config/check": {"trace/headers", "config/keys", "config/read", "broker/clients", "broker", "source", "route", "base"},
    "config/keys": {"config/read", "relay/options", "trace/options", "source", "base"},
    "config/read": {"base"},
    "http": {"trace", "relay/report", "relay/trouble", "relay/options", "source", "wake", "base"},
    "relay": {"trace", "relay/report", "relay/trouble", "relay/options", "source", "wake", "broker/clients", "broker", "route", "message", "base"},
    "relay/report": {"trace", "relay/options", "relay/trouble", "message", "base"},
    "relay/trouble": {"source", "base"},
    "relay/options": {"broker", "source", "route", "message"},
    "wake": {"base"},
    "source": {"wake", "route", "message", "base"},
    "admin/audit": {"admin", "outbox", "outbox/slices", "catalog", "sql", "pg", "source", "route", "message", "base"},
    "admin/explain": {"admin", "outbox", "outbox/slices", "catalog", "sql", "pg", "source", "route", "message", "base"},
    "admin/statements": {"desk/statement", "admin/audit", "admin", "outbox", "outbox/slices", "catalog", "sql", "pg", "source", "route", "message", "base"},
    "admin/status": {"admin", "catalog", "sql", "pg", "source", "route", "message", "base"},
    "admin": {"catalog", "sql", "pg", "source", "route", "message", "base"},
    "outbox": {"outbox/slices", "catalog", "sql", "pg", "source", "route", "message", "base"},
    "outbox/slices": {"catalog", "sql", "pg", "source", "wake", "route", "message", "base"},
    "catalog": {"sql", "pg", "source", "base"},
    "sql": set(),
    "pg": {"sql", "source", "base"},
    "broker/clients": {"broker/kafka", "broker/nats", "broker", "base"},
    "broker/kafka": {"broker", "route", "message", "base"},
    "broker/nats": {"broker", "route", "message", "base"},
    "broker": {"route", "message", "base"},
    "route": {"message", "base"},
    "message": {"base"},
    "trace": {"trace/headers", "trace/options", "broker", "message", "base"},
    "trace/options": set(),
    "trace/headers": set(),
    "audit": {"message", "base"},
    "base": set(),
    "mysql/cli": {"mysql", "cli", "cli/terminal", "source", "route", "message", "base"},
    "mysql": {"source", "sql", "wake", "outbox/slices/source_state", "outbox/slices/horizon", "outbox/slices/choice", "outbox/row", "pg/wal_flush", "catalog/refused", "route",
              "message", "base"},
}
# Files without libpq that the programs of both databases have. Who may use their room may use them.
OF_BOTH = {
    "outbox": {"outbox/row": {"pg/wire", "message", "base"}},
    "outbox/slices": {"outbox/slices/horizon": {"source", "base"}, "outbox/slices/choice": {"outbox/slices/horizon"},
                      "outbox/slices/source_state": {"outbox/slices/horizon", "pg/wal_flush", "source", "base"}},
    "pg": {"pg/wal_flush": {"source", "base"}, "pg/wire": {"base"}},
    "catalog": {"catalog/refused": set()},
}
for room, files in OF_BOTH.items():
    for name, users in list(ROOMS.items()):
        if name == room or room in users:
            users.update(files)
    ROOMS.update(files)
# The rooms of PostgreSQL. The rooms above them know only the headers of source/, the seam: of a function that one of these
# declares, the room that defines it does not matter.
POSTGRESQL = ("pg", "sql", "catalog", "outbox", "admin", "desk")
# A library's header may be included in these folders only.
LIBRARIES = {
    "libpq-fe.h": {"pg", "pg/wire"},
    "librdkafka/rdkafka.h": {"broker/kafka"},
    "nats/nats.h": {"broker/nats"},
    "mysql.h": {"mysql"},
    "mysqld_error.h": {"mysql"},
    "errmsg.h": {"mysql"},
    "jansson.h": {"mysql", "mysql/cli", "outbox", "outbox/row", "relay", "admin", "admin/status", "source", "http", "broker", "broker/nats", "cli", "cli/terminal", "trace"},
    "curl/curl.h": {"trace"},
    "toml++/toml.h": {"config/read"},
    "microhttpd.h": {"http"},
    "openssl/evp.h": {"audit"},
    "getopt.h": {"cli"},
}
# Of libpq the rooms above pg/ may call these, to read a result. pg/ has a function for what else they need.
LIBPQ = re.compile(r"^(PQ|pq|pg_|pgres|lo_)")
LIBPQ_READERS = {"PQntuples", "PQnfields", "PQgetvalue", "PQgetisnull", "PQgetlength", "PQftype", "PQfname", "PQcmdTuples", "PQclear"}
IMPURE = re.compile(r"^(unistd|fcntl|poll|pthread|signal|time|sys/.*|netinet/.*|arpa/.*)\.h$")  # not in the pure rooms
BANNED = re.compile(r"\b(strcpy|strcat|sprintf|vsprintf|gets|atoi|atol|strtok|sleep|usleep|system|popen)\s*\(")
EXIT = re.compile(r"\b_?exit\s*\(")
NOTE = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")

problems = []


def complain(path, line, text):
    problems.append(f"{path.relative_to(ROOT)}:{line}: {text}")


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"//[^\n]*", "", text)


def room_of(name):
    """The room of a file, by its path below src/ without the ending."""
    if name == "main" or name in ROOMS:
        return name
    return name.rpartition("/")[0]


def may_use(user, used):
    return user == used or used in ROOMS.get(user, ())


def check_includes(path, name, text):
    room = room_of(name)
    if room not in ROOMS:
        complain(path, 1, f"{room}/ is no room of tests/support/lint.py")
        return
    for number, line in enumerate(text.split("\n"), 1):
        own = re.match(r'#include "(.+)\.h"', line)
        library = re.match(r"#include <(.+)>", line)
        if own and not may_use(room, room_of(own[1])):
            complain(path, number, f"{room} may not include {room_of(own[1])}")
        if library and library[1] in LIBRARIES and room not in LIBRARIES[library[1]]:
            complain(path, number, f"{room} may not include <{library[1]}>")
        if library and room in ("route", "message") and IMPURE.match(library[1]):
            complain(path, number, f"{room}/ is pure: no <{library[1]}>")


def find_circles(edges, what):
    """Circles of a graph {node: its neighbours}: what can be reached from itself, and by which neighbours."""
    reached = {}
    for node in edges:
        seen, todo = set(), list(edges[node])
        while todo:
            at = todo.pop()
            if at not in seen:
                seen.add(at)
                todo.extend(edges.get(at, ()))
        reached[node] = seen
    for node in sorted(edges):
        back = sorted(other for other in edges[node] if node in reached.get(other, ()))
        if back:
            problems.append(f"src/{node}: {what} in a circle with {', '.join(back)}")


def check_circles(files):
    """A header and the file of its name are one, with the private header NAME_state.h."""
    edges = {}
    for path in files:
        name = name_of(path).removesuffix("_state")
        included = {used.removesuffix("_state") for used in re.findall(r'^#include "(.+)\.h"', path.read_text(), re.M)} - {name}
        edges.setdefault(name, set()).update(included)
    find_circles(edges, "includes")
    find_circles({room: used - {room} for room, used in ROOMS.items()}, "the table of rooms uses this room")


def check_symbols(folder):
    """Also without a header nobody calls into a room that his own may not use, nor a function of libpq outside pg/, and
    no two files need each other."""
    defined, of_mysql, used, edges = {}, {}, [], {}
    seam = set()
    for header in (ROOT / "src/source").glob("*.h"):
        seam.update(re.findall(r"\b(\w+)(?:\(|\[\];)", without_comments(header.read_text())))
    for path in sorted(folder.rglob("*.o")):
        name = str(path.relative_to(folder)).split(".")[0]
        if not (ROOT / "src" / name).with_suffix(path.suffixes[0]).exists():
            continue
        listing = subprocess.run(["nm", "-P", path], capture_output=True, text=True, check=True).stdout
        for symbol, kind, *_ in map(str.split, listing.splitlines()):
            if kind == "U":
                used.append((name, symbol))
            elif kind.isupper() and name.startswith("mysql/"):
                of_mysql[symbol] = name
            elif kind.isupper():
                defined[symbol] = name
    if not used:
        problems.append(f"{folder}: no objects")
    for name, symbol in used:
        definer = of_mysql.get(symbol) if name.startswith("mysql/") else None
        definer = definer or defined.get(symbol)
        if definer:
            edges.setdefault(name, {}).setdefault(definer, symbol)
            across = symbol in seam and definer.startswith(POSTGRESQL) and not name.startswith(POSTGRESQL)
            if not may_use(room_of(name), "source" if across else room_of(definer)):
                problems.append(f"src/{name}: {room_of(name)} may not use {symbol}() of {definer}")
        if not definer and LIBPQ.match(symbol) and room_of(name) != "pg" and symbol not in LIBPQ_READERS:
            problems.append(f"src/{name}: only pg/ may use {symbol}() of libpq")
    find_circles(edges, "uses symbols")


def check_statements():
    for path in sorted((ROOT / "src").rglob("*.sql")):
        lines = path.read_text().splitlines()
        if not next((line for line in lines if not line.startswith("-- use: ")), "").startswith("-- "):
            complain(path, 1, "a statement begins with a comment")
        for number, line in enumerate(lines, 1):
            if len(line) > 120:
                complain(path, number, "more than 120 columns")


def check_text(path, name, text):
    code = without_comments(text)
    for number, line in enumerate(code.split("\n"), 1):
        banned = BANNED.search(line)
        if banned:
            complain(path, number, f"banned call: {banned[1]}()")
        if EXIT.search(line) and room_of(name) != "cli":
            complain(path, number, "exit belongs to cli/")
    for number, line in enumerate(text.split("\n"), 1):
        if NOTE.search(line):
            complain(path, number, "a note left behind")
        if len(line) > LINE_MAX:
            complain(path, number, f"line of {len(line)} columns, at most {LINE_MAX}")


def name_of(path):
    return str(path.relative_to(ROOT / "src").with_suffix(""))


def check_unit_tests():
    """Each stands in the folder of what it tests, or includes the fixture of the folder above, or the seam's header."""
    for path in (ROOT / "tests/unit").rglob("test_*.c"):
        room = str(path.parent.relative_to(ROOT / "tests/unit"))
        used = {name.rpartition("/")[0] for name in re.findall(r'#include "(?:unit/)?(.+)\.h"', path.read_text())}
        fit = {room, room.partition("/")[0]} | ({"source"} if room.startswith(POSTGRESQL) else set())
        if room not in ROOMS or not used & fit:
            complain(path, 1, f"includes nothing of {room}/")


def main():
    files = sorted(p for p in (ROOT / "src").rglob("*") if p.suffix in (".c", ".h", ".cpp"))
    for path in files:
        text = path.read_text()
        check_includes(path, name_of(path), text)
        check_text(path, name_of(path), text)
    check_circles(files)
    check_statements()
    check_unit_tests()
    for folder in sys.argv[1:]:
        check_symbols(pathlib.Path(folder).resolve())
    for problem in problems:
        print(problem)
    print(f"lint: {len(files)} files, {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
