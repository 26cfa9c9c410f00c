# SPDX-License-Identifier: BSD-3-Clause
"""Headless Chromium over the pipe of its DevTools protocol: a page, its errors, its requests, and pictures of it."""

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import tempfile
import time

from harness import kill, skip, start, until

PATIENCE = 120  # seconds, on a box with other work


class Browser:
    """One Chromium, up inside `with`. Skips the test when it is not installed. prefix: a command that starts it."""

    def __init__(self, prefix=()):
        self.prefix = prefix

    def __enter__(self):
        program = shutil.which("chromium")
        if not program:
            skip("chromium is not installed: sudo ./scripts/deps install test")
        self.stack = contextlib.ExitStack()
        profile = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="ddiperf-chromium-", ignore_cleanup_errors=True))
        down_read, self.down = os.pipe()
        self.up, up_write = os.pipe()
        # The protocol's file descriptors are 3 and 4.
        shell = f'exec "$0" "$@" 3<&{down_read} 4>&{up_write}'
        # No GPU, no sandbox (tests run as root), nothing that calls home.
        self.process = start(
            [*self.prefix, "bash", "-c", shell, program, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--no-first-run",
             "--disable-extensions", "--disable-sync", "--hide-scrollbars", f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(down_read, up_write))
        os.close(down_read)
        os.close(up_write)
        self.numbers, self.rest, self.events = itertools.count(1), b"", []
        target = until(self.first_page, "a page of chromium", PATIENCE)
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        return self

    def first_page(self):
        """The id of its page, None: it has none yet."""
        targets = self.call("Target.getTargets")["targetInfos"]
        return next((one["targetId"] for one in targets if one["type"] == "page"), None)

    def __exit__(self, *_):
        kill(self.process)
        self.process.communicate()
        os.close(self.down)
        os.close(self.up)
        self.stack.close()

    def read(self, deadline):
        """The next message."""
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.up], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self.up, 1 << 20) if ready else b""
            assert data, "no answer of chromium"
            self.rest += data
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def call(self, method, session=None, timeout=PATIENCE, **parameters):
        number, deadline = next(self.numbers), time.monotonic() + timeout
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        os.write(self.down, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read(deadline)
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.events.append(answer)

    def wait(self, method, timeout=PATIENCE):
        """Until the page says so, or has said so."""
        deadline = time.monotonic() + timeout
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.read(deadline))

    def send(self, method, **parameters):
        """A command to the page."""
        return self.call(method, self.session, **parameters)

    def change(self, width=1600, dark=False, media="screen"):
        """Another window, setting of the reader, or medium."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.settle()

    def open(self, path, width=1600, dark=False, media="screen", fragment=""):
        """Load a file and wait until it is drawn."""
        self.visit(f"file://{path}{fragment}", "'drawn' in document.documentElement.dataset", width, dark, media)

    def visit(self, url, ready, width=1600, dark=False, media="screen"):
        """Load a page and wait until the expression is true in it."""
        self.events.clear()
        self.change(width, dark, media)
        self.send("Page.navigate", url="about:blank")
        self.wait("Page.loadEventFired")
        self.events.clear()
        self.send("Page.navigate", url=url)
        self.wait("Page.loadEventFired")
        self.until(ready)
        self.settle()

    def until(self, expression):
        """Wait until it is true in the page."""
        deadline = time.monotonic() + PATIENCE
        while not self.value(expression):
            assert time.monotonic() < deadline, f"the page does not come to {expression}: {self.complaints()}"
            time.sleep(0.02)

    def settle(self):
        """Two frames later, all that a change made is drawn."""
        self.value("new Promise(go => requestAnimationFrame(() => requestAnimationFrame(() => go(1))))")

    def value(self, expression):
        """A JavaScript expression's value in the page, as JSON has it."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, (expression, answer["exceptionDetails"])
        return answer["result"].get("value")

    def mouse(self, kind, x, y, clicks=1):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="none" if kind == "mouseMoved" else "left",
                  buttons=0 if kind == "mouseReleased" else 1, clickCount=clicks)

    def complaints(self):
        """Errors and warnings of the console since open()."""
        wrong = []
        for event in self.events:
            if event.get("method") == "Runtime.exceptionThrown":
                details = event["params"]["exceptionDetails"]
                wrong.append(details.get("exception", {}).get("description") or details["text"])
            elif event.get("method") == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "warning", "assert"):
                wrong.append(str(event["params"]["args"]))
            elif event.get("method") == "Log.entryAdded":
                wrong.append(event["params"]["entry"]["text"])
        return wrong

    def requests(self):
        """What the page asked for since open(), besides itself and data within it."""
        asked = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [url for url in asked[1:] if not url.startswith("data:")]

    def picture(self, path, selector=None):
        """A PNG of one element, or of the whole page."""
        box = self.value(f"(() => {{const b = document.querySelector({json.dumps(selector or 'body')}).getBoundingClientRect();"
                         "return {x: b.x, y: b.y + scrollY, width: b.width, height: b.height}})()")
        shot = self.send("Page.captureScreenshot", clip={**box, "scale": 1}, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))
