#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# in_browser.sh [--keep FOLDER] [RESULT.json ...] - asks a browser how a report looks, on a desk and on a telephone, by day and by night:
# no words stand on others or outside their picture, nothing makes the page wider than its window, the night is dark. With
# --keep the screenshots stay in that folder.
keep=
[ "${1:-}" = --keep ] && { keep=$(realpath "$2"); shift 2; }
given=()
for file in "$@"; do given+=("$(realpath "$file")"); done
. "$(dirname "$0")/report.sh"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo "no Chromium is here (Debian: chromium)"; exit 77; }
results=$RUNG_SOURCE/results
[ ${#given[@]} -gt 0 ] || given=("$results"/xeon-pocl/{bench,bench_tuned,types,batch,overlap,tune}.json "$results/explain/sm_86.json")
expect 0 "a report" "${given[@]}" -o page.html
[ $bad -eq 0 ] || exit 1

# The page in a frame of a telephone's width, since a browser's window has a least width; it tells what it sees.
cat > probe.js <<'JS'
addEventListener("load", () => {
    const faults = [];
    const box = e => e.getBoundingClientRect();
    for (const svg of document.querySelectorAll("figure svg")) {
        const edge = box(svg);
        if (edge.width === 0) continue;
        const name = svg.querySelector("title").textContent;
        const upright = t => !/rotate\(-(?!90\))/.test(t.getAttribute("transform") || ""); // a box around slanted words is too large
        const texts = [...svg.querySelectorAll("text")].filter(upright).map(t => [box(t), t.textContent]);
        texts.forEach(([a, words], i) => {
            if (a.left < edge.left - 1 || a.right > edge.right + 1 || a.bottom > edge.bottom + 1 || a.top < edge.top - 2)
                faults.push(`${name}: "${words}" stands outside`);
            if (a.height < 9.5 && a.width < 9.5) faults.push(`${name}: "${words}" is too small`);
            for (const [b, others] of texts.slice(i + 1))
                if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4)
                    faults.push(`${name}: "${words}" stands on "${others}"`);
        });
    }
    if (![...document.querySelectorAll("figure svg")].some(s => box(s).width > 0)) faults.push("no picture is seen");
    if (document.documentElement.scrollWidth > innerWidth) faults.push(`${document.documentElement.scrollWidth} wide in ${innerWidth}`);
    const paper = getComputedStyle(document.body).backgroundColor;
    parent.postMessage({width: innerWidth, height: document.documentElement.scrollHeight, paper, faults: faults.slice(0, 30)}, "*");
});
JS
python3 - <<'PY'
page = open("page.html").read()
open("probed.html", "w").write(page.replace("</body>", "<script>" + open("probe.js").read() + "</script></body>"))
for width in (390, 1280):
    open(f"frame{width}.html", "w").write(f"""<!DOCTYPE html><body style="margin:0"><iframe src="probed.html" style="border:0;width:{width}px;height:900px">
</iframe><pre id="told">nothing</pre><script>addEventListener("message", e => {{ told.textContent = JSON.stringify(e.data);
document.querySelector("iframe").style.height = e.data.height + "px"; }})</script></body>""")
PY
browse() { timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files \
    --user-data-dir="$work/profile" "$@" 2> browser.err; }
for width in 390 1280; do
    for scheme in 1:light 0:dark; do
        what="$width px, ${scheme#*:}"
        browse --blink-settings=preferredColorScheme=${scheme%%:*} --window-size=1300,1000 --virtual-time-budget=5000 --dump-dom \
            "file://$work/frame$width.html" > dom
        python3 - "$what" "$width" "${scheme#*:}" <<'PY' || bad=1
import html, json, re, sys
what, width, scheme = sys.argv[1:]
told = re.search(r'<pre id="told">(.*?)</pre>', open("dom").read(), re.S)
if not told or told[1] == "nothing":
    sys.exit(f"{what}: the browser told nothing: " + open("browser.err").read()[-500:])
seen = json.loads(html.unescape(told[1]))
faults = seen["faults"]
if seen["width"] != int(width):
    faults.append(f"the frame is {seen['width']} wide")
light = sum(map(int, re.findall(r"\d+", seen["paper"])[:3])) > 380
if light != (scheme == "light"):
    faults.append(f"the paper is {seen['paper']}")
open("height", "w").write(str(seen["height"]))
for fault in faults:
    print(f"{what}: {fault}")
sys.exit(1 if faults else 0)
PY
        [ -z "$keep" ] || { mkdir -p "$keep"; browse --blink-settings=preferredColorScheme=${scheme%%:*} \
            --window-size="$width,$(cat height)" --virtual-time-budget=5000 --screenshot="$keep/$width-${scheme#*:}.png" "file://$work/frame$width.html"; }
    done
done
exit $bad
