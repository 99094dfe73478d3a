# SPDX-License-Identifier: Apache-2.0
"""class_browser.py CHROMIUM PROFILE PAGE... [--keep FOLDER] - opens pages of `rung grade --class --html` in Chromium, at the widths
of a desk and of a phone, light and dark, and sorts the table with the keyboard. Prints what is wrong and exits with 1."""
import base64
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "kernel_page"))
from chromium import Browser  # noqa: E402

COLUMN = "JSON.stringify([...document.querySelectorAll('#students-table tbody tr')].map(row => row.cells[%d].textContent))"
ORDER = "document.querySelectorAll('#students-table thead th')[%d].ariaSort"
FOCUS = "document.activeElement.closest('th') ? document.activeElement.closest('th').cellIndex : -1"


def press(browser, key, code, text=""):
    for kind in ("rawKeyDown", "char", "keyUp"):
        if kind != "char" or text:
            browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, text=text)


def sort_with_keyboard(browser, faults):
    browser.ask("document.querySelector('.scroll').focus()")
    names = json.loads(browser.ask(COLUMN % 0))
    press(browser, "Tab", 9)
    press(browser, "Tab", 9)
    if browser.ask(FOCUS) != 1:
        faults.append("the keyboard does not reach the second column")
        return
    press(browser, "Enter", 13, "\r")
    points = [int(one) for one in json.loads(browser.ask(COLUMN % 1))]
    if points != sorted(points, reverse=True) or browser.ask(ORDER % 1) != "descending":
        faults.append(f"the points are not sorted: {points[:9]}")
    press(browser, "Enter", 13, "\r")
    points = [int(one) for one in json.loads(browser.ask(COLUMN % 1))]
    if points != sorted(points) or browser.ask(ORDER % 1) != "ascending" or browser.ask(ORDER % 0):
        faults.append(f"the points are not sorted in the other direction: {points[:9]}")
    browser.ask("document.querySelector('#students-table thead button').focus()")
    press(browser, " ", 32, " ")
    if json.loads(browser.ask(COLUMN % 0)) != sorted(names, key=str.lower):
        faults.append("the names are not sorted")


def look(browser, page, width, scheme, faults, keep):
    own = []
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=850, deviceScaleFactor=1, mobile=width < 500)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.open("file://" + os.path.abspath(page))
    wide = browser.ask("document.documentElement.scrollWidth")
    if wide > width:
        own.append(f"the page is {wide} wide")
    if browser.ask("document.querySelectorAll('script').length") != 1 or browser.ask("window.hacked === 1"):
        own.append("text of a student became markup")
    if browser.ask("[...document.querySelectorAll('.bars i')].some(e => e.getBoundingClientRect().width < 0.9)"):
        own.append("a bar cannot be seen")
    if keep:
        height = browser.ask("document.documentElement.scrollHeight")
        image = browser.call("Page.captureScreenshot", captureBeyondViewport=True,
                             clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})
        with open(f"{keep}/{pathlib.Path(page).stem}-{width}-{scheme}.png", "wb") as file:
            file.write(base64.b64decode(image["data"]))
    sort_with_keyboard(browser, own)
    own += browser.errors()
    faults += [f"{os.path.basename(page)}, {width} px, {scheme}: {fault}" for fault in own]


def main(arguments):
    keep = None
    if "--keep" in arguments:
        at = arguments.index("--keep")
        keep = arguments[at + 1]
        del arguments[at:at + 2]
        os.makedirs(keep, exist_ok=True)
    browser, faults = Browser(arguments[0], arguments[1]), []
    try:
        for page in arguments[2:]:
            for width in (390, 1280):
                for scheme in ("light", "dark"):
                    look(browser, page, width, scheme, faults, keep)
    finally:
        browser.process.terminate()
        browser.process.wait()
    print("\n".join(faults))
    return 1 if faults or len(arguments) < 3 else 0


sys.exit(main(sys.argv[1:]))
