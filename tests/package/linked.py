"""What the program is linked with, by the database of Debian's packages on this machine, and documents in SPDX about it.

The documents are written by debsbom and validated by spdx-tools, both of PyPI. The same libraries, version and date make
the same bytes.
"""
import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import pypi  # noqa: E402

PINS = ("debsbom==0.10.2", "spdx-tools==0.8.5", "beartype==0.23.1", "boolean.py==5.0", "click==8.5.1", "defusedxml==0.7.1",
        "license-expression==30.4.4", "packageurl-python==0.17.6", "ply==3.11", "pyparsing==3.3.3", "python-debian==1.1.1",
        "PyYAML==6.0.4", "rdflib==7.6.0", "semantic-version==2.10.0", "typing_extensions==4.16.0", "uritools==6.1.5",
        "xmltodict==1.0.4")
TOOLS = {"debsbom": "debsbom.cli", "pyspdxtools": "spdx_tools.spdx.clitools.pyspdxtools"}
HEADERS = "libtomlplusplus-dev"  # compiled into the program, which therefore needs no library of it
STATUS = "var/lib/dpkg/status.d"  # where an image without dpkg has a file for each of its packages
DEADLINE_S = 300


class Mistake(Exception):
    pass


def run(*words, environment=None):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=DEADLINE_S, check=False,
                          env=environment)
    if done.returncode != 0:
        raise Mistake(f"{words[0]}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def run_tool(name, *options):
    """A tool of PyPI. It keeps packages in sets, whose order depends on the seed of Python's hashes."""
    folder = pypi.fetch("sbom-" + hashlib.sha256(" ".join(PINS).encode()).hexdigest()[:12], "--no-deps", *PINS)
    return run(sys.executable, "-c", f"import sys; from {TOOLS[name]} import main; sys.exit(main())", *options,
               environment={**os.environ, "PYTHONPATH": str(folder), "PYTHONHASHSEED": "0"})


def libraries(program):
    """The files that the loader loads for the program, whether the program or another library needs them."""
    lines = run("ldd", program).splitlines()
    lost = [line.strip() for line in lines if "not found" in line]
    if lost:
        raise Mistake(f"{program}: {', '.join(lost)}")
    return sorted(word for line in lines for word in line.split() if word.startswith("/"))


def read_field(stanza, name):
    return next(line.split(": ", 1)[1] for line in stanza.splitlines() if line.startswith(f"{name}: "))


def owners(files):
    """The names of the packages that brought the files. Where /lib is a link, dpkg may know either path of a file."""
    paths = {path: file for file in files for path in (file, os.path.realpath(file))}
    # Its exit status is 1 for the paths that it does not know.
    done = subprocess.run(["dpkg", "-S", *paths], capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    found = {paths[path]: names.split(",")[0].split(":")[0] for names, path in
             (line.split(": ", 1) for line in done.stdout.splitlines()) if path in paths}
    strangers = sorted(set(files) - set(found))
    if strangers:
        raise Mistake(f"no package of this machine has {', '.join(strangers)}")
    return sorted(set(found.values()))


def stanzas_of_program(program):
    """What dpkg knows of each package that the program is made of."""
    return run("dpkg-query", "-s", *owners(libraries(program)), HEADERS).strip().split("\n\n")


def stanzas_of_root(root):
    """The same, of an image's root: a folder, or the tar of it that `docker export` writes."""
    if root.is_dir():
        found = [path.read_text() for path in (root / STATUS).glob("*")]
    else:
        with tarfile.open(root) as archive:
            found = [archive.extractfile(member).read().decode() for member in archive
                     if member.isfile() and member.name.removeprefix("./").startswith(STATUS + "/")]
    if not found:
        raise Mistake(f"{root}: there is no package in /{STATUS}")
    return found


def write_document(path, version, purpose, stanzas):
    status = "\n\n".join(sorted(stanza.strip() for stanza in stanzas)) + "\n"
    architecture = next(read_field(stanza, "Architecture") for stanza in stanzas if read_field(stanza, "Package") == "libc6")
    date = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    digest = hashlib.sha256(f"{version} {purpose} {date}\n{status}".encode()).hexdigest()
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "var/lib/dpkg").mkdir(parents=True)
        (root / "var/lib/dpkg/status").write_text(status)
        run_tool("debsbom", "generate", "-t", "spdx", "--validate", "-r", root, "-o", root / "document",
                 "--distro-name", "outbox-relay", "--distro-version", version, "--distro-arch", architecture,
                 "--timestamp", date.isoformat(), "--spdx-namespace", f"https://outbox-relay.invalid/spdx/{digest}")
        document = json.loads((root / "document.spdx.json").read_text())
    # debsbom takes every set of packages for an operating system.
    own = next(package for package in document["packages"] if package["name"] == "outbox-relay")
    own["primaryPackagePurpose"] = purpose
    path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")


def findings(path, stanzas):
    """What the document lacks: each of the packages must be in it, with its version."""
    named = {(package["name"], package.get("versionInfo")) for package in json.loads(path.read_text())["packages"]
             if package.get("primaryPackagePurpose") != "SOURCE"}
    wanted = [(read_field(stanza, "Package"), read_field(stanza, "Version")) for stanza in stanzas]
    return [f"{name} {version}" for name, version in wanted if (name, version) not in named]


def check_document(path, program):
    lacking = findings(path, stanzas_of_program(program))
    if lacking:
        raise Mistake(f"{path} does not name {', '.join(lacking)}")
    run_tool("pyspdxtools", "-i", path)
