"""A small disk under the outbox: a tmpfs as a tablespace, filled by a file."""
import contextlib
import os
import pathlib
import subprocess
import time

from lab import Failure


class Disk:
    SIZE = "512m"

    def __init__(self, lab):
        self.lab, self.path = lab, lab.test_dir / "postgres" / "disk"

    @classmethod
    def mount(cls, lab):
        """Returns None where this user may not mount."""
        disk = cls(lab)
        disk.path.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={cls.SIZE}", "outbox-chaos",
                               str(disk.path)], capture_output=True, check=False)
        if done.returncode != 0:
            disk.path.rmdir()
            return None
        lab.at_exit.callback(disk.unmount)
        space = disk.path / "space"
        space.mkdir()
        owner = pathlib.Path(lab.test_dir, "postgres", "data").stat()
        os.chown(space, owner.st_uid, owner.st_gid)
        lab.sql(f"CREATE TABLESPACE small LOCATION '{space}'")
        lab.sql("GRANT CREATE ON TABLESPACE small TO PUBLIC")  # a relay makes partitions where their table is
        for table in lab.sql("SELECT relname FROM pg_class WHERE relname ~ '^outbox' AND"
                             " relkind = 'r'").split():
            lab.sql(f"ALTER TABLE {table} SET TABLESPACE small")
        for index in lab.sql("SELECT indexrelid::regclass FROM pg_index WHERE"
                             " indrelid::regclass::text ~ '^outbox'").split():
            lab.sql(f"ALTER INDEX {index} SET TABLESPACE small")
        return disk

    def fill(self, seconds):
        ballast = self.path / "ballast"
        try:
            with contextlib.suppress(OSError), open(ballast, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(1 << 20))
            state = os.statvfs(self.path)
            time.sleep(seconds)
            if state.f_bavail > 256:
                return "the small disk could not be filled"
        finally:
            with contextlib.suppress(FileNotFoundError):
                ballast.unlink()
        return None

    def unmount(self):
        """Call it when PostgreSQL is about to be stopped for good, because its files are removed."""
        with contextlib.suppress(Failure, OSError, subprocess.SubprocessError):
            self.lab.service("kill", "postgres")
        subprocess.run(["umount", "-l", str(self.path)], capture_output=True, check=False)
