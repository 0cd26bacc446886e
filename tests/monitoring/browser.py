"""Headless Chromium, driven over its debugging pipe: no port, no driver, no library."""
import base64
import fcntl
import json
import os
import select
import subprocess
import time

DEADLINE_S = 40


class Mistake(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Mistake(text)


class Browser:
    """One page at a time. `made_up` is what /status answers in the place of the relay; None: the relay answers."""

    def __init__(self, folder):
        (read, self.to), (self.answers, write) = os.pipe(), os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (read, write)]

        def give():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)
        self.process = subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
             f"--user-data-dir={folder}/chromium", "about:blank"], preexec_fn=give, pass_fds=(3, 4), stderr=subprocess.DEVNULL)
        for end in (read, write, *ends):
            os.close(end)
        self.rest, self.number, self.tab, self.session = b"", 0, None, None
        self.complaints, self.made_up = [], None

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=DEADLINE_S)
        os.close(self.to)
        os.close(self.answers)

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        return self.number

    def receive(self, deadline):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.answers], [], [], max(0, deadline - time.monotonic()))
            check(ready, "Chromium does not answer")
            self.rest += os.read(self.answers, 1 << 20)
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def on_event(self, name, event):
        if name == "Fetch.requestPaused" and self.made_up is not None:
            self.send("Fetch.fulfillRequest", requestId=event["requestId"], responseCode=200,
                      body=base64.b64encode(json.dumps(self.made_up).encode()).decode())
        elif name == "Fetch.requestPaused":
            self.send("Fetch.continueRequest", requestId=event["requestId"])
        elif name == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(event["exceptionDetails"]))
        elif name == "Log.entryAdded" and event["entry"]["source"] != "network":
            self.complaints.append(event["entry"]["text"])

    def call(self, method, **parameters):
        deadline = time.monotonic() + DEADLINE_S
        number = self.send(method, **parameters)
        while True:
            message = self.receive(deadline)
            if message.get("id") == number:
                check("error" not in message, f"{method}: {message.get('error')}")
                return message["result"]
            if "method" in message:
                self.on_event(message["method"], message["params"])

    def open(self, url, scripts=True):
        """In a new tab, in the place of the one before."""
        self.session = None
        if self.tab:
            self.call("Target.closeTarget", targetId=self.tab)
        self.tab = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=self.tab, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Accessibility"):
            self.call(f"{domain}.enable")
        self.call("Fetch.enable", patterns=[{"urlPattern": "*/status"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.screen(1200, 1350)
        self.call("Page.navigate", url=url)

    def screen(self, width, height, scheme="light"):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def run(self, expression):
        """The value of an expression of JavaScript, or of what it promises."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        check("exceptionDetails" not in result, f"{expression}: {result.get('exceptionDetails')}")
        return result["result"].get("value")

    def wait_for(self, expression, what):
        deadline = time.monotonic() + DEADLINE_S
        while not self.run(expression):
            check(time.monotonic() < deadline, f"{what}: {self.run('document.body.innerText')}")
            time.sleep(0.1)

    def told(self):
        """(role, name) of everything that a screen reader reads."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]

    def picture(self, path, height=None):
        height = height or self.run("document.documentElement.scrollHeight")
        width = self.run("innerWidth")
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})["data"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(data))
