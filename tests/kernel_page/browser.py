# SPDX-License-Identifier: Apache-2.0
"""browser.py CHROMIUM PROFILE PAGE... [--keep FOLDER] - opens pages of `rung explain --html` in Chromium, at the widths of a desk
and of a phone, one light and one dark, and uses them with the keyboard. Prints what is wrong and exits with 1."""
import base64
import json
import os
import sys

from chromium import Browser

LOOKS = ((390, "dark"), (1280, "light"), (390, "light"), (1280, "dark"))

# For every recorded step: what is drawn must be what the emulator counted.
ALL_STEPS = """(() => {
    const faults = [], data = JSON.parse(document.getElementById("data").textContent);
    let steps = 0;
    const set = (id, value, type) => { const e = document.getElementById(id); e.value = value; e.dispatchEvent(new Event(type)); };
    for (const row of document.querySelectorAll("#source tr.has")) {
        row.click();
        const own = data.trace.rows.filter(part => data.lines[part.row].line === Number(row.dataset.line));
        own.forEach((part, i) => {
            set("i-access", i, "change");
            part.warps.forEach((warp, w) => {
                set("i-warp", w, "input");
                for (let s = 0; s < warp.steps.length / 2; s++) {
                    set("i-step", s, "input");
                    steps++;
                    const pattern = data.trace.patterns[warp.steps[2 * s]], line = data.lines[part.row];
                    const isGlobal = line.kind.startsWith("global");
                    const drawn = document.querySelectorAll(isGlobal ? "#i-picture .touched" : "#i-picture .wavefront").length;
                    const lanes = document.querySelectorAll("#i-lanes .lane:not(.off)").length;
                    const counted = isGlobal ? pattern[1] : pattern[4];
                    let mask = pattern[0], active = 0;
                    for (; mask > 0; mask = Math.floor(mask / 2)) active += mask % 2;
                    if (drawn !== counted || lanes !== active)
                        faults.push(`line ${line.line}, ${line.kind}, warp ${w}, step ${s}: ${drawn} drawn, ${counted} counted, ${lanes} lanes`);
                }
            });
        });
    }
    return {steps, faults: faults.slice(0, 5)};
})()"""


def use_keyboard(browser, faults):
    """Tab reaches the listing, arrows move between lines and steps, and the sliders change what is lit."""
    state = "JSON.stringify([document.querySelector('[aria-selected=true]')?.dataset.line, document.getElementById('i-step').value," \
            "document.getElementById('i-warp').value, document.getElementById('i-table').textContent])"
    browser.ask("document.querySelector('#source [aria-selected=true]').focus()")
    line = lambda: json.loads(browser.ask(state))[0]
    browser.press("Home")
    first = line()
    browser.press("ArrowDown")
    if line() == first:
        faults.append("arrow down does not move to the next line")
    browser.press("ArrowUp")
    if line() != first:
        faults.append("arrow up does not move back")
    before = json.loads(browser.ask(state))
    browser.press("ArrowRight")
    after = json.loads(browser.ask(state))
    if before[1] == after[1] and browser.ask("document.getElementById('i-step').max") != "0":
        faults.append("arrow right on a line does not move to the next step")
    if not browser.ask("getComputedStyle(document.activeElement).outlineStyle !== 'none'"):
        faults.append("the focused line has no outline")
    for _ in range(3):  # from the line to the choice of the access, the warp and the step
        browser.press("Tab")
    if browser.ask("document.activeElement.id") != "i-step":
        faults.append("Tab reaches " + str(browser.ask("document.activeElement.id")) + " instead of the step")
        return
    browser.press("Home")
    before = json.loads(browser.ask(state))
    browser.press("ArrowRight")
    after = json.loads(browser.ask(state))
    if browser.ask("document.getElementById('i-step').max") != "0" and (before[1] == after[1] or before[3] == after[3]):
        faults.append("arrow right on the slider does not change the lit sectors")
    if not browser.ask("document.getElementById('i-step').getAttribute('aria-valuetext').includes('step')"):
        faults.append("the slider has no text for screen readers")


def look(browser, page, width, scheme, faults, keep):
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=850, deviceScaleFactor=1, mobile=width < 500)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.open("file://" + os.path.abspath(page))
    own = []
    wide = browser.ask("document.documentElement.scrollWidth")
    if wide > width:
        own.append(f"the page is {wide} wide")
    paper = [int(x) for x in browser.ask("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).join(' ')").split()]
    if (sum(paper[:3]) > 380) != (scheme == "light"):
        own.append(f"the paper is {paper}")
    if browser.ask("document.querySelectorAll('script').length") != 2 or browser.ask("window.hacked === 1"):
        own.append("text of the kernel became markup")
    if browser.ask("[...document.querySelectorAll('button,select,input')].some(e => !e.labels?.length && !e.ariaLabel)"):
        own.append("a control has no label")
    if not browser.ask("document.getElementById('inspector').hidden"):
        use_keyboard(browser, own)
        if width > 1000 and scheme == "light":
            seen = browser.ask(ALL_STEPS)
            own += seen["faults"]
            if seen["steps"] == 0:
                own.append("no step was drawn")
    elif browser.ask("JSON.parse(document.getElementById('data').textContent).trace.rows.length > 0"):
        own.append("the requests are hidden")
    own += browser.errors()
    if keep:
        name = os.path.splitext(os.path.basename(page))[0]
        browser.ask("scrollTo(0, 0)")
        height = browser.ask("document.documentElement.scrollHeight")
        image = browser.call("Page.captureScreenshot", captureBeyondViewport=True,
                             clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})
        with open(f"{keep}/{name}-{width}-{scheme}.png", "wb") as file:
            file.write(base64.b64decode(image["data"]))
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
            # All four for a person; widths do not depend on colours.
            for width, scheme in LOOKS if keep else LOOKS[:2]:
                look(browser, page, width, scheme, faults, keep)
    finally:
        browser.process.terminate()
        browser.process.wait()
    print("\n".join(faults))
    return 1 if faults or len(arguments) < 3 else 0


sys.exit(main(sys.argv[1:]))
