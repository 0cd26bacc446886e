"""What publishers send to NATS, before JetStream drops the doubles that its duplicate window shows it."""
import collections
import re
import socket
import threading
import urllib.parse

NUMBER = re.compile(rb'\{"n": (\d+)[,}]')


class Heard:
    """How often each {"n": N, ...} went by, in bytes that come in any pieces. A message ends with a line."""

    def __init__(self):
        self.times, self.tail = collections.Counter(), b""

    def feed(self, chunk):
        lines, end, self.tail = (self.tail + chunk).rpartition(b"\n")
        self.times.update(map(int, NUMBER.findall(lines + end)))

    def lost_and_doubled(self, rows):
        return rows - len(self.times), self.times.total() - len(self.times)


class Tap:
    """A subscription of core NATS, for as long as the block lasts: it gets each PUB, stored or not."""

    def __init__(self, url, subjects):
        address = urllib.parse.urlparse(url)
        self.socket = socket.create_connection((address.hostname, address.port))
        self.heard, self.answered = Heard(), threading.Event()
        self.socket.sendall(f'CONNECT {{"verbose": false, "headers": true}}\r\nSUB {subjects} 1\r\n'.encode())
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        last = b""
        while chunk := self.socket.recv(1 << 16):
            self.heard.feed(chunk)
            seen = last + chunk
            if b"PONG\r\n" in seen:
                self.answered.set()
            if b"PING\r\n" in seen:
                self.socket.sendall(b"PONG\r\n")
            last = b"" if seen.endswith(b"\n") else seen[-5:]

    def flush(self):
        """Until all that the server took before now is here: it answers in turn."""
        self.answered.clear()
        self.socket.sendall(b"PING\r\n")
        if not self.answered.wait(10):
            raise TimeoutError("nats-server does not answer a subscriber")

    def __enter__(self):
        self.flush()
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)  # the reader hears it; closed under it, it would fail
        self.reader.join()
        self.socket.close()
