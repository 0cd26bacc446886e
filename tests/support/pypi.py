"""Packages of PyPI that tests and releases use. Each set is fetched once, into the cache of the tests."""
import os
import pathlib
import subprocess
import sys
import tempfile

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "outbox-relay"
DEADLINE_S = 300


def fetch(name, *requirements):
    """The folder that holds the packages. It is made beside the cache and then renamed, so that it is whole or absent."""
    folder = CACHE / name
    if not folder.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as partial:
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                            "--root-user-action=ignore", "--target", f"{partial}/packages", *requirements], check=True, timeout=DEADLINE_S)
            os.rename(f"{partial}/packages", folder)
    return folder
