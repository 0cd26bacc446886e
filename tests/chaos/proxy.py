"""A TCP proxy on 127.0.0.1 that disturbs its connections: slow, silent, cut, or cut at a COMMIT.

One thread and poll(2) carry all connections; the methods hand their work to that thread and return
when it is done, so a fault that was asked for holds when the call is back. A direction holds at
most 256 KiB and then stops reading, as a socket does. Half-closes are passed on. A connection that
has lost bytes to black_hole() stays silent when the proxy passes data again, because the stream
would have a gap. New connections then work.

    proxy = Proxy(lab.pg_address)
    config = lab.config("relay", pg_url=f"postgresql://postgres@{proxy.address}/test")
    proxy.on_commit("lose_reply")
    wait_until(lambda: proxy.hits == 1, 10, "a COMMIT has met its fault")
    proxy.close()
"""
import collections
import errno
import queue
import re
import select
import socket
import struct
import threading
import time

BUFFER_BYTES = 256 * 1024
CHUNK_BYTES = 64 * 1024
CALL_S = 10
REPLY_S = 5  # how long a lost reply is waited for before the cut
SIDES = {"to_server": (True, False), "to_client": (False, True), "both": (True, True)}
# What a COMMIT looks like, a statement that settles sent rows (None: each COMMIT does), and what an answer to a COMMIT has.
Wire = collections.namedtuple("Wire", "commit settle answers")
# A Bind: its length, the unnamed portal, the prepared statement. Positions settle by `pass`.
POSTGRES = Wire(*(re.compile(rb"B[\0-\xff]{4}\0(?:" + name + rb")\0") for name in (b"commit", b"sent|pass")),
                (b"COMMIT\0", b"ROLLBACK\0"))
# A packet: its length, its number, a query.
MYSQL = Wire(re.compile(rb"\x07\0\0\0\x03COMMIT"), None, (b"",))
TAIL_BYTES = 16  # longer than these: they may come in two pieces


class Stream:
    """One direction of a connection."""

    def __init__(self, source, sink, to_server):
        self.source, self.sink, self.to_server = source, sink, to_server
        self.waiting = collections.deque()  # (due, bytes)
        self.held = 0
        self.next_send = 0.0
        self.ended = False  # the source will send no more
        self.closed = False  # and the sink knows
        self.silent = False
        self.tail = b""

    def wants_to_read(self):
        return not self.ended and self.held < BUFFER_BYTES

    def due(self):
        return max(self.waiting[0][0], self.next_send) if self.waiting else None

    def finds(self, data, pattern):
        return any(m.end() > len(self.tail) for m in pattern.finditer(self.tail + data))


class Connection:
    def __init__(self, client, server):
        self.client, self.server = client, server
        self.connecting = True
        self.up, self.down = Stream(client, server, True), Stream(server, client, False)
        self.settling = False
        self.reply = None  # what the server has answered since a COMMIT whose reply is to be lost
        self.cut_at = None

    def streams(self):
        return (self.up, self.down)

    def close(self, reset):
        for end in (self.client, self.server):
            if reset:
                linger = struct.pack("ii", 1, 0)
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            end.close()


class Proxy:
    def __init__(self, target, listen_port=0, wire=POSTGRES):
        self._wire = wire
        host, port = target.rsplit(":", 1)
        self.target = (host, int(port))
        self.hits = 0  # commits that met their fault
        self.accepted = 0
        self.passed = {"to_server": 0, "to_client": 0}  # bytes
        self._delay_s, self._rate = 0.0, None
        self._silent = (False, False)
        self._refusing = False
        self._commit = None
        self._connections = []
        self._calls = queue.SimpleQueue()
        self._running = True
        self._listener = socket.create_server(("127.0.0.1", listen_port), backlog=128)
        self._listener.setblocking(False)
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        self._wake_in, self._wake_out = socket.socketpair()
        self._wake_in.setblocking(False)
        self._thread = threading.Thread(target=self._run, name=f"proxy {self.address}", daemon=True)
        self._thread.start()

    # ---- what a test asks for ----

    def pass_through(self):
        def change():
            self._delay_s, self._rate, self._silent = 0.0, None, (False, False)
            self._refusing, self._commit = False, None
        self._call(change)

    def delay(self, ms):
        """Applies to each direction, from now on."""
        self._call(lambda: setattr(self, "_delay_s", ms / 1000))

    def throttle(self, bytes_per_s):
        """Applies to both directions of every connection."""
        self._call(lambda: setattr(self, "_rate", bytes_per_s))

    def black_hole(self, side="both"):
        self._call(lambda: setattr(self, "_silent", SIDES[side]))

    def reset(self):
        """RST on every open connection, both ends."""
        self._call(lambda: [self._drop(one, True) for one in list(self._connections)])

    def refuse(self):
        """New connections are closed at once; open ones stay."""
        self._call(lambda: setattr(self, "_refusing", True))

    def on_commit(self, action, settling=True):
        """Acts once, on the next COMMIT: "lose_reply", "lose_request" or "black_hole". settling: only on a
        COMMIT that settles sent rows, because an empty claim ends with a COMMIT too."""
        if action not in ("lose_reply", "lose_request", "black_hole"):
            raise ValueError(action)
        self._call(lambda: setattr(self, "_commit", (action, settling)))

    def open_connections(self):
        count = []
        self._call(lambda: count.append(len(self._connections)))
        return count[0]

    def ports(self):
        """From which it is connected to its target."""
        ports = []
        self._call(lambda: ports.extend(one.server.getsockname()[1] for one in self._connections))
        return ports

    def close(self):
        if self._thread.is_alive():
            self._call(lambda: setattr(self, "_running", False))
            self._thread.join(CALL_S)

    def _call(self, function):
        done = threading.Event()
        if not self._thread.is_alive():
            raise RuntimeError("the proxy is closed")
        self._calls.put((function, done))
        self._wake_out.send(b"x")
        if not done.wait(CALL_S):
            raise RuntimeError("the proxy's thread does not answer")

    # ---- the thread ----

    def _run(self):
        try:
            while self._running:
                self._turn()
        finally:
            for connection in list(self._connections):
                self._drop(connection, False)
            for one in (self._listener, self._wake_in, self._wake_out):
                one.close()

    def _turn(self):
        now = time.monotonic()
        interest, wake_at = self._interest(now)
        poll = select.poll()
        for fd, (events, _) in interest.items():
            poll.register(fd, events)
        wait_ms = None if wake_at is None else max(0, (wake_at - now) * 1000) + 1
        ready = poll.poll(wait_ms)
        for fd, _ in ready:
            for action in interest[fd][1]:
                action()
        for connection in list(self._connections):
            self._pump(connection)

    def _interest(self, now):
        """fd -> [events, actions], and when to look again though nothing is ready."""
        interest = {self._wake_in.fileno(): [select.POLLIN, [self._obey]],
                    self._listener.fileno(): [select.POLLIN, [self._accept]]}
        times = []
        for connection in self._connections:
            if connection.cut_at is not None:
                times.append(connection.cut_at)
            if connection.connecting:
                interest[connection.server.fileno()] = [
                    select.POLLOUT, [lambda c=connection: self._connected(c)]]
                continue
            for stream in connection.streams():
                if stream.wants_to_read():
                    entry = interest.setdefault(stream.source.fileno(), [0, []])
                    entry[0] |= select.POLLIN
                    entry[1].append(lambda c=connection, s=stream: self._read(c, s))
                due = stream.due()
                if due is not None and due <= now:
                    interest.setdefault(stream.sink.fileno(), [0, []])[0] |= select.POLLOUT
                elif due is not None:
                    times.append(due)
        return interest, min(times, default=None)

    def _obey(self):
        self._wake_in.recv(4096)
        while not self._calls.empty():
            function, done = self._calls.get()
            function()
            done.set()

    def _accept(self):
        try:
            client, _ = self._listener.accept()
        except OSError:
            return
        self.accepted += 1
        if self._refusing:
            client.close()
            return
        server = socket.socket()
        for end in (client, server):
            end.setblocking(False)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        status = server.connect_ex(self.target)
        self._connections.append(Connection(client, server))
        if status not in (0, errno.EINPROGRESS):
            self._drop(self._connections[-1], True)

    def _connected(self, connection):
        if connection not in self._connections:
            return
        connection.connecting = False
        if connection.server.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0:
            self._drop(connection, True)

    def _drop(self, connection, reset):
        if connection in self._connections:
            self._connections.remove(connection)
            connection.close(reset)

    # ---- bytes ----

    def _read(self, connection, stream):
        if connection not in self._connections:
            return
        try:
            data = stream.source.recv(CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            self._lost(connection, stream)
            return
        stream.silent = stream.silent or self._silent[0 if stream.to_server else 1]
        if not data:
            stream.ended = True
        elif self._passes(connection, stream, data):
            stream.waiting.append((time.monotonic() + self._delay_s, data))
            stream.held += len(data)

    def _lost(self, connection, stream):
        """Passes a reset on, unless the other end must not notice anything."""
        if stream.silent or self._silent[0 if stream.to_server else 1]:
            stream.ended = stream.silent = True
        else:
            self._drop(connection, True)

    def _passes(self, connection, stream, data):
        if stream.to_server:
            self._meet_commit(connection, stream, data)
        if connection not in self._connections:
            return False
        stream.tail = (stream.tail + data)[-TAIL_BYTES:]
        if connection.reply is not None and not stream.to_server:
            connection.reply += data
            if any(word in connection.reply for word in self._wire.answers):
                connection.cut_at = 0.0
            return False
        return not stream.silent

    def _meet_commit(self, connection, stream, data):
        connection.settling = (connection.settling or self._wire.settle is None
                               or stream.finds(data, self._wire.settle))
        if not stream.finds(data, self._wire.commit):
            return
        settles, connection.settling = connection.settling, False
        if self._commit is None or (self._commit[1] and not settles):
            return
        action, self._commit = self._commit[0], None
        self.hits += 1
        if action == "lose_request":
            self._drop(connection, True)
        elif action == "lose_reply":
            connection.reply = b""
            connection.cut_at = time.monotonic() + REPLY_S
        else:
            connection.up.silent = connection.down.silent = True

    def _pump(self, connection):
        if connection not in self._connections or connection.connecting:
            return
        now = time.monotonic()
        if connection.cut_at is not None and connection.cut_at <= now:
            self._drop(connection, True)
            return
        for stream in connection.streams():
            if not self._send(connection, stream, now):
                return
            # Silence includes the end of a stream; but with both ends gone nobody is left.
            if stream.ended and not stream.closed and not stream.waiting and not stream.silent:
                stream.closed = True
                self._shut(stream.sink)
        if connection.up.ended and connection.down.ended and not any(
                stream.waiting for stream in connection.streams()):
            self._drop(connection, False)

    def _send(self, connection, stream, now):
        """Forwards what is due. Returns False when the connection is gone."""
        while stream.waiting and stream.due() <= now:
            due, data = stream.waiting[0]
            piece = data if self._rate is None else data[:max(1, self._rate // 20)]
            try:
                count = stream.sink.send(piece)
            except BlockingIOError:
                return True
            except OSError:
                self._drop(connection, True)
                return False
            stream.held -= count
            self.passed["to_server" if stream.to_server else "to_client"] += count
            stream.waiting.popleft()
            if count < len(data):
                stream.waiting.appendleft((due, data[count:]))
            if self._rate is not None:
                stream.next_send = now + count / self._rate
        return True

    @staticmethod
    def _shut(end):
        try:
            end.shutdown(socket.SHUT_WR)
        except OSError:
            pass
