"""The pages that users read, README.md and all of docs/, taken apart into their fenced blocks."""
import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w*)$")
COMMENT = re.compile(r"<!--\s*(.*?)\s*-->", re.S)
NOT_RUN = "not run:"
RUN_BY = "run by:"
RUN_FIRST = "run first:"
ONLY_READ = "only read:"
HEREDOC = re.compile(r"<<-?\s*'?(\w+)'?")

# `line` is where the block begins; `first` is a script that readers do not see; `not_run` is a reason, or None; `run_by`
# is the test that takes the block's commands from the page, or None; `only_read` says that a configuration has no tables.
Block = collections.namedtuple("Block", "page line language text first not_run run_by only_read")


def all_pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def comments_before(lines, fence):
    """The HTML comments that stand right above the fence, blank lines aside."""
    above = "\n".join(lines[:fence]).rstrip()
    found = []
    while above.endswith("-->"):
        begin = above.rindex("<!--")
        found.insert(0, COMMENT.fullmatch(above[begin:])[1])
        above = above[:begin].rstrip()
    return found


def marked(comments, mark):
    return [comment.removeprefix(mark) for comment in comments if comment.startswith(mark)]


def blocks_of(path, text=None):
    """Each fenced block of the page. `text` takes the place of the file's own."""
    lines = (path.read_text() if text is None else text).split("\n")
    name = str(path.relative_to(ROOT))
    blocks = []
    begin = None
    for number, line in enumerate(lines):
        if begin is None and FENCE.match(line):
            begin = number
        elif begin is not None and line == "```":
            comments = comments_before(lines, begin)
            first = marked(comments, RUN_FIRST)
            not_run, run_by = marked(comments, NOT_RUN), marked(comments, RUN_BY)
            blocks.append(Block(name, begin + 1, FENCE.match(lines[begin])[1],
                                "\n".join(lines[begin + 1:number]) + "\n", "\n".join(first),
                                not_run[0].strip() if not_run else None, run_by[0].strip() if run_by else None,
                                bool(marked(comments, ONLY_READ))))
            begin = None
    if begin is not None:
        raise SystemExit(f"{name}:{begin + 1}: a fenced block without an end")
    return blocks


def shell_commands(text):
    """Each command of a script, without comments: a line, with those that continue it and what it reads from here."""
    commands, reads_until = [], None
    for line in text.rstrip("\n").split("\n"):
        if reads_until:
            commands[-1] += "\n" + line
            reads_until = None if line == reads_until else reads_until
        elif commands and commands[-1].endswith("\\"):
            commands[-1] = commands[-1][:-1].rstrip() + " " + line.strip()
        elif line.strip() and not line.startswith("#"):
            commands.append(re.sub(r"\s+# .*$", "", line))
            reads_until = (HEREDOC.findall(line) or [None])[0]
    return commands


def without_blocks(text):
    """The page's prose: blocks and comments are blank lines, so that line numbers stay."""
    def blank(match):
        return "\n" * match[0].count("\n")
    return COMMENT.sub(blank, re.sub(r"^```.*?^```$", blank, text, flags=re.S | re.M))
