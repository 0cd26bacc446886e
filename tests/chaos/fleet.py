"""The relays of a run, each behind proxies of its own, and the keeper that starts the dead again.

Kafka's clients go on at the one address that the broker advertises, so all relays share its proxy.
"""
import pathlib
import signal
import threading
import time

import workload
from lab import Failure
from proxy import POSTGRES, Proxy

SCHEMA_STATUS = 3  # how a relay may end at its start while the schema is broken for it


class Member:
    """One relay with its proxies; its lock is held while a fault decides about its life."""

    def __init__(self, relay, pg, nats, lanes, batch):
        self.relay, self.pg, self.nats = relay, pg, nats
        self.lanes, self.batch = lanes, batch  # the largest batch size, and the first
        self.batch_now = batch
        self.lock = threading.RLock()
        self.ended_at = None
        self.rest_s = 0.5
        self.expected = False
        self.wanted = True  # False: the fleet is smaller now

    @property
    def window(self):
        """How many events may be repeated when this relay dies."""
        return self.lanes * self.batch

    def kill(self, rest_s=0.5):
        """Returns False if it was dead already."""
        with self.lock:
            if not self.relay.running():
                return False
            self.expected, self.rest_s = True, rest_s
            self.relay.kill()
            return True


class Fleet:
    wire = POSTGRES
    new_password = "ALTER ROLE relay PASSWORD '{}'"

    def __init__(self, lab, options, fleet, on_sent, retention):
        self.lab, self.options = lab, options
        self.secret = lab.folder / "password"
        self.kafka = None
        if "kafka" in options.brokers:
            self.kafka = Proxy(lab.kafka_proxied, listen_port=int(lab.kafka_proxy.split(":")[1]))
            lab.at_exit.callback(self.kafka.close)
        self.members = [self._member(number, *shape, on_sent, retention)
                        for number, shape in enumerate(fleet, 1)]
        for member in self.members[1 if options.churn else len(self.members):]:
            member.wanted = False
        self.schema_broken = 0  # by so many faults
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._keep, daemon=True)
        self.halted = False
        self.starts = 0
        self.surprises = []   # relays that ended, and nobody knows why
        self.refusals = 0     # relays that met a broken schema at their start
        self.statuses = []    # of relays that were asked to stop; "deaf": had to be killed
        self.rss_kib = 0

    def _proxy(self, target, *wire):
        proxy = Proxy(target, 0, *wire)
        self.lab.at_exit.callback(proxy.close)
        return proxy

    def _member(self, number, lanes, batch, on_sent, retention):
        lab, options = self.lab, self.options
        pg = self._proxy(lab.pg_address, self.wire)
        nats = self._proxy(lab.nats_address) if "nats" in options.brokers else None
        config = lab.config(
            f"relay-{number}", on_sent=on_sent, order=options.order, slices=options.slices,
            lanes=lanes, batch=batch, publish_timeout=f"{options.publish_timeout}s",
            retention=retention,
            durable=not options.no_barrier,
            shutdown_timeout=f"{options.publish_timeout + 6}s", backoff="200ms", backoff_max="2s",
            sinks=options.brokers, stream="BANK", routes=options.routes, **workload.TABLES[options.table],
            pg_url=lab.url_of("relay", pg.address), password_file=self.secret,
            nats_url=f"nats://{nats.address}" if nats else None, kafka_brokers=lab.kafka_proxy)
        return Member(lab.relay(number, config, options.relay), pg, nats, lanes, batch)

    def require_password(self):
        rules = self.lab.test_dir / "postgres/data/pg_hba.conf"
        rules.write_text("host all relay 127.0.0.1/32 scram-sha-256\n" + rules.read_text())
        self.lab.sql("SELECT pg_reload_conf()")
        self.change_password("first")

    def change_password(self, password):
        """In the database and, replaced at once, in the file of all relays."""
        fresh = self.secret.with_suffix(".new")
        fresh.write_text(password + "\n")
        fresh.chmod(0o600)
        self.lab.sql(self.new_password.format(password))
        fresh.rename(self.secret)

    def __getitem__(self, number):
        """Picks another relay if the fleet has shrunk meanwhile."""
        return self.members[(number - 1) % max(1, len(self.wanted()))]

    def wanted(self):
        """Returns the relays that are to run."""
        return [member for member in self.members if member.wanted]

    def window(self, number=None):
        """Returns the window of one relay, or of all together."""
        if number is not None:
            return self[number].window
        return sum(member.window for member in self.wanted())

    def start(self):
        for member in self.wanted():
            self.launch(member)
        self.thread.start()

    def launch(self, member, env=None):
        if self.halted:
            raise Failure("the run is over")
        member.relay.start(env)
        member.expected, member.ended_at, member.rest_s = False, None, 0.5
        self.starts += 1

    def _keep(self):
        while not self.ended.wait(0.05):
            for member in self.members:
                if member.lock.acquire(blocking=False):
                    try:
                        self._look(member)
                    except Failure:
                        return
                    finally:
                        member.lock.release()

    def _look(self, member):
        if not member.wanted:
            return
        if member.relay.running():
            self.rss_kib = max(self.rss_kib, resident_kib(member.relay.pid))
            return
        if member.ended_at is None:
            member.ended_at = time.monotonic()
            self._note_end(member)
        if time.monotonic() - member.ended_at >= member.rest_s:
            self.launch(member)

    def _note_end(self, member):
        if not member.expected:
            self.note_end(member, member.relay.process.returncode)

    def note_end(self, member, status):
        """Notes that a relay ended unasked. Returns whether it did so because of a broken schema."""
        refuses = status == SCHEMA_STATUS and self.schema_broken > 0
        if refuses:
            self.refusals += 1
        else:
            last = (member.relay.lines() or ["no log"])[-1]
            self.surprises.append(f"relay {member.relay.number}: status {status}: {last}")
        return refuses

    def restart(self, member, deadline_s, env=None):
        """Sends SIGTERM; the next relay starts at once. Returns False if there was none to ask."""
        with member.lock:
            if not member.wanted:
                return False
            running = member.relay.running()
            if running:
                member.expected = True
                member.relay.term()
                self._note_answer(member, deadline_s)
            else:
                self._note_absence(member)
            self.launch(member, env)
            return running

    def _note_absence(self, member):
        if member.ended_at is None:
            self._note_end(member)

    def _note_answer(self, member, deadline_s):
        status = self._answer(member, deadline_s)
        if status == SCHEMA_STATUS and self.schema_broken > 0:
            self.refusals += 1
        elif status != -signal.SIGTERM or not member.relay.is_silent():
            self.statuses.append(status)  # else the program had not begun

    @staticmethod
    def _answer(member, deadline_s):
        """Returns the exit status; a relay that ignores SIGTERM is killed."""
        try:
            return member.relay.wait(deadline_s)
        except Failure:
            member.relay.kill()
            return "deaf"

    def resize(self, size):
        """Doubles the fleet, or halves it: every other relay that goes is killed, the rest get
        SIGTERM. Returns those that went, and of them those that were asked to."""
        now, asked = len(self.wanted()), []
        for member in self.members[now:size]:
            with member.lock:
                member.wanted = True
                self.launch(member)
        going = self.members[size:now]
        for number, member in enumerate(going):
            with member.lock:
                member.wanted = False
                if not member.relay.running():
                    self._note_absence(member)
                elif number % 2 == 0:
                    member.kill()
                else:
                    member.relay.term()
                    asked.append(member)
        return going, asked

    def await_gone(self, members, deadline_s):
        for member in members:
            self._note_answer(member, deadline_s)

    def heal(self):
        for member in self.members:
            member.relay.cont()
            member.pg.pass_through()
            if member.nats:
                member.nats.pass_through()
        if self.kafka:
            self.kafka.pass_through()

    def end_keeping(self):
        """From now on no relay is started; all that are wanted are running."""
        self.ended.set()
        self.thread.join(60)
        for member in self.wanted():
            if not member.relay.running():
                self.launch(member)

    def halt(self):
        """From now on no relay is started, not even by a fault."""
        self.halted = True
        self.ended.set()

    def now(self):
        return self.lab.sql("SELECT clock_timestamp()")

    def idle_lanes(self, since):
        """["RELAY/LANE"] whose session has asked nothing since a moment, which now() has returned."""
        lanes = {f"{member.relay.pid}/{lane}": f"{member.relay.number}/{lane}"
                 for member in self.wanted() for lane in range(1, member.lanes + 1)}
        asked = self.lab.try_sql("SELECT substring(application_name FROM '[0-9]+/[0-9]+$')"
                                 " FROM pg_stat_activity WHERE application_name LIKE"
                                 f" 'outbox-relay/%:%/%' AND query_start > '{since}'")
        return [lanes[lane] for lane in lanes if lane not in (asked or "").split()]

    def cut_off(self):
        """Relays that are not connected to a broker, or say that it is away."""
        return self.lab.cut_off([(member.relay, member.lanes, [address for address in (
            member.nats and member.nats.address, self.kafka and self.lab.kafka_proxy) if address])
                                 for member in self.wanted()])

    def stop(self, deadline_s):
        """Sends SIGTERM to all relays; returns their exit statuses."""
        for member in self.wanted():
            member.relay.term()
        return [self._answer(member, deadline_s) for member in self.wanted()]


def resident_kib(pid):
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0
