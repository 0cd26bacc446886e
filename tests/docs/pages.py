"""The pages that users read, README.md and docs/*.md, taken apart into their fenced blocks."""
import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w*)$")
COMMENT = re.compile(r"<!--\s*(.*?)\s*-->", re.S)
NOT_RUN = "not run:"
RUN_FIRST = "run first:"

# `line` is where the block begins; `first` is a script that readers do not see; `not_run` is a reason, or None.
Block = collections.namedtuple("Block", "page line language text first not_run")


def all_pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def comments_before(lines, fence):
    """The HTML comments that stand right above the fence, blank lines aside."""
    above = "\n".join(lines[:fence]).rstrip()
    found = []
    while above.endswith("-->"):
        begin = above.rindex("<!--")
        found.insert(0, COMMENT.fullmatch(above[begin:])[1])
        above = above[:begin].rstrip()
    return found


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
            first = [c.removeprefix(RUN_FIRST) for c in comments if c.startswith(RUN_FIRST)]
            not_run = [c.removeprefix(NOT_RUN).strip() for c in comments if c.startswith(NOT_RUN)]
            blocks.append(Block(name, begin + 1, FENCE.match(lines[begin])[1],
                                "\n".join(lines[begin + 1:number]) + "\n", "\n".join(first),
                                not_run[0] if not_run else None))
            begin = None
    if begin is not None:
        raise SystemExit(f"{name}:{begin + 1}: a fenced block without an end")
    return blocks


def without_blocks(text):
    """The page's prose: blocks and comments are blank lines, so that line numbers stay."""
    def blank(match):
        return "\n" * match[0].count("\n")
    return COMMENT.sub(blank, re.sub(r"^```.*?^```$", blank, text, flags=re.S | re.M))
