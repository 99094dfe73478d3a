# SPDX-License-Identifier: Apache-2.0
"""chromium.py - drives Chromium over a pipe with its DevTools protocol, so that keys are real keys and errors of the console are
seen. For tests of pages."""
import base64
import json
import os
import subprocess
import sys
import time


class Browser:
    def __init__(self, program, profile):
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()

        def take_pipes():  # Chromium reads from 3 and writes to 4
            incoming, outgoing = os.dup(to_read), os.dup(from_write)
            os.dup2(incoming, 3)
            os.dup2(outgoing, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
             "--user-data-dir=" + profile], preexec_fn=take_pipes, close_fds=False, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.out, self.incoming, self.rest = to_write, from_read, b""
        self.number, self.session, self.events = 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def receive(self):
        while b"\0" not in self.rest:
            chunk = os.read(self.incoming, 1 << 16)
            if not chunk:
                sys.exit("Chromium ended")
            self.rest += chunk
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url):
        self.events.clear()
        self.call("Page.navigate", url=url)
        limit = time.monotonic() + 30
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive())
            if time.monotonic() > limit:
                sys.exit(f"{url} was not loaded")

    def ask(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            sys.exit(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def press(self, key):
        codes = {"Tab": 9, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key])

    def errors(self):
        self.ask("0")  # events before this answer have arrived
        found = []
        for event in self.events:
            details = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(json.dumps(details["exceptionDetails"].get("exception", {}).get("description", details))[:300])
            elif event.get("method") == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning", "assert"):
                found.append(json.dumps(details["args"])[:300])
            elif event.get("method") == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning"):
                found.append(details["entry"]["text"])
        return found
