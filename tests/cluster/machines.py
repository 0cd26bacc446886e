"""Machines for a test: network namespaces on one bridge, which can be cut off from each other.

The test runs itself again in namespaces of its own (network, mounts, processes, shared memory): addresses and names
are nobody else's business, and when the test ends, even by SIGKILL, the kernel removes them and ends every server.
Machines have names, which all of them know. A cut drops packets in both directions and tells nobody, as a broken
switch does.
"""
import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile

from lab import Failure, wait_until

SKIPPED = 77
NAMESPACES = ["unshare", "--net", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
INSIDE = "CLUSTER_TEST_NAMESPACES"
SUBNET = "10.77.0"
FILTER = """
table inet cut {
    set peers { type ipv4_addr; }
    chain input { type filter hook input priority 0; ip saddr @peers drop; }
}"""


def obstacle():
    """Returns why there can be no machines here, or None."""
    missing = [tool for tool in ("unshare", "nsenter", "ip", "nft") if shutil.which(tool) is None]
    if missing:
        return f"missing: {', '.join(missing)} (apt-get install iproute2 nftables util-linux)"
    if os.geteuid() != 0:
        return "network namespaces need root"
    done = subprocess.run([*NAMESPACES, "nft", FILTER], capture_output=True, text=True, check=False)
    return f"no network namespace, or no packet filter in it: {done.stderr.strip()}" if done.returncode else None


def enter(name):
    """Returns only inside: outside it runs the program there, in a folder of its own ($TEST_DIR), and ends with its
    status. Without what that needs it says so and ends with status 77."""
    if INSIDE in os.environ:
        return
    why = obstacle()
    if why:
        print(f"{name}: SKIPPED, nothing was tested: {why}", file=sys.stderr)
        sys.exit(SKIPPED)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    folder = tempfile.mkdtemp(prefix="outbox-relay.")
    os.chmod(folder, 0o711)
    process = subprocess.Popen([*NAMESPACES, sys.executable, *sys.argv],
                               env={**os.environ, INSIDE: "1", "TEST_DIR": folder})
    try:
        status = process.wait()
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
        with contextlib.suppress(subprocess.TimeoutExpired):  # who is inside has had the signal, too, if it listened
            status = process.wait(15)
    finally:
        process.kill()
        process.wait()
        wait_until(lambda: shutil.rmtree(folder, ignore_errors=True) or not os.path.exists(folder), 20,
                   f"{folder} is removed")
    sys.exit(status)


def run(*words, user=None, what=None, **options):
    """Returns the output of a command, which must succeed."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=120,
                          **{"stdin": subprocess.DEVNULL, **options})
    if done.returncode != 0:
        raise Failure(f"{what or ' '.join(map(str, words))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


class Machine:
    """words(...) is a command that runs on it. The first machine is where the test itself runs."""

    def __init__(self, name, number):
        self.name, self.address = name, f"{SUBNET}.{number}"

    def words(self, *words, user=None):
        prefix = ["nsenter", f"--net=/run/netns/{self.name}"]
        if user:
            entry = pwd.getpwnam(user)
            prefix += [f"--setuid={entry.pw_uid}", f"--setgid={entry.pw_gid}"]
        return [*prefix, "--", *map(str, words)]

    def run(self, *words, user=None, **options):
        return run(*self.words(*words, user=user), what=f"{self.name}: {words[0]}", **options)

    def connect(self, bridge):
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", "name", f"v-{self.name}", "type", "veth", "peer", "name", "eth0", "netns", self.name)
        run("ip", "link", "set", f"v-{self.name}", "master", bridge, "up")
        run("ip", "-n", self.name, "address", "add", f"{self.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            run("ip", "-n", self.name, "link", "set", device, "up")
        self.run("nft", FILTER)

    def refuse(self, others):
        """Drops what they send from now on."""
        peers = ", ".join(other.address for other in others)
        self.run("nft", f"add element inet cut peers {{ {peers} }}")

    def accept_all(self):
        self.run("nft", "flush set inet cut peers")


class TestMachine(Machine):
    def words(self, *words, user=None):
        return list(map(str, words))

    def connect(self, bridge):
        run("ip", "address", "add", f"{self.address}/24", "dev", bridge)
        self.run("nft", FILTER)


class Network:
    def __init__(self, folder, *names):
        """names: of the machines beside the test's own, which is called app."""
        run("mount", "--make-rprivate", "/")
        os.makedirs("/run/netns", exist_ok=True)
        run("mount", "-t", "tmpfs", "tmpfs", "/run/netns")
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "name", "bridge", "type", "bridge")
        run("ip", "link", "set", "bridge", "up")
        self.machines = {"app": TestMachine("app", 1)}
        self.machines |= {name: Machine(name, 10 + number) for number, name in enumerate(names)}
        hosts = pathlib.Path(folder, "hosts")
        hosts.write_text("127.0.0.1 localhost\n" + "".join(
            f"{machine.address} {machine.name}\n" for machine in self.machines.values()))
        run("mount", "--bind", hosts, "/etc/hosts")
        for machine in self.machines.values():
            machine.connect("bridge")

    def __getitem__(self, name):
        return self.machines[name]

    def cut(self, names, others=None):
        """Between the machines of `names` and `others`, by default all that are not of `names`, no packet passes."""
        ones = [self[name] for name in names]
        others = [self[name] for name in (others or [name for name in self.machines if name not in names])]
        for machine in ones:
            machine.refuse(others)
        for machine in others:
            machine.refuse(ones)

    def heal(self):
        for machine in self.machines.values():
            machine.accept_all()
