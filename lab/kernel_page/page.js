/* SPDX-License-Identifier: Apache-2.0
 * page.js - the view of single requests on the page of `rung explain --html`.
 *
 * The element #data has the JSON of the explanation. A step is one request of a warp: the number of its pattern, which has
 * the lanes, the costs that the emulator counted and the distances between the lanes, and the offset of the first lane. The
 * pictures are drawn from the addresses; the numbers beside them are the emulator's. Text reaches the page as text nodes
 * only, never as markup. */
(() => {
"use strict";
const LANES = 32, SECTOR = 32, LINE = 128, BANKS = 32, WORD = 4, COSTS = 6;
const $ = id => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const trace = data.trace;
const table = $("source");
const rows = [...table.querySelectorAll("tr.has")];
const state = {line: 0, access: 0, warp: 0, step: 0};

/* ---- Small helpers ---- */

function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    made.append(...children);
    return made;
}

function shape(parent, name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
}

function picture(into, width, height, label) {
    into.replaceChildren();
    return shape(into, "svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label});
}

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const isGlobal = row => row.kind.startsWith("global");
const excess = row => isGlobal(row) ? row.sectors - row.sectors_ideal : row.wavefronts - row.wavefronts_ideal;
const isLoad = row => row.kind.endsWith("load");

/* ---- Steps ---- */

/* The accesses of a line with recorded requests: a row of the counts and its part of the trace. */
function accessesOf(line) {
    return trace.rows.filter(part => data.lines[part.row].line === line)
        .map(part => ({part, row: data.lines[part.row]}));
}

function stepOf(access, warp, step) {
    const steps = access.part.warps[warp].steps, pattern = trace.patterns[steps[2 * step]];
    const base = steps[2 * step + 1], lanes = [];
    for (let lane = 0; lane !== LANES; lane++)
        if (pattern[0] / 2 ** lane & 1) lanes.push({lane, offset: base + pattern[COSTS + lane]});
    return {lanes, width: access.row.bytes_a_lane, start: access.part.start, sectors: pattern[1], lines: pattern[2],
        sectorsIdeal: pattern[3], wavefronts: pattern[4], wavefrontsIdeal: pattern[5]};
}

/* The sectors that the lanes touch: number of the sector -> the words that a lane uses. */
function sectorsOf(step) {
    const sectors = new Map();
    for (const {lane, offset} of step.lanes)
        for (let at = offset; at !== offset + step.width; at++) {
            const sector = Math.floor(at / SECTOR), word = Math.floor(at % SECTOR / WORD);
            if (!sectors.has(sector)) sectors.set(sector, Array.from({length: SECTOR / WORD}, () => new Set()));
            sectors.get(sector)[word].add(lane);
        }
    return sectors;
}

/* Distributes the lanes to wavefronts as the emulator counts them: lanes that are served together need as many wavefronts as
 * the fullest group of banks has different chunks. Returns a list of wavefronts: bank -> lanes. */
function wavefrontsOf(step, pairs) {
    const chunk = Math.min(Math.max(step.width, WORD), 16), groups = BANKS * WORD / chunk, repeats = Math.ceil(step.width / chunk);
    const part = groups * (pairs ? 2 : 1), list = [];
    for (let first = 0; first < LANES; first += part) {
        const loads = new Map();
        for (const {lane, offset} of step.lanes) {
            if (lane < first || lane >= first + part) continue;
            const key = Math.floor((step.start + offset) / chunk), group = key % groups;
            if (!loads.has(group)) loads.set(group, new Map());
            if (!loads.get(group).has(key)) loads.get(group).set(key, []);
            loads.get(group).get(key).push(lane);
        }
        for (let repeat = 0; repeat < repeats; repeat++) {
            const most = Math.max(0, ...[...loads.values()].map(keys => keys.size));
            for (let turn = 0; turn < most; turn++) {
                const banks = new Map();
                for (const [group, keys] of loads) {
                    const lanes = [...keys.values()][turn];
                    for (let word = 0; lanes && word < chunk / WORD; word++) banks.set(group * chunk / WORD + word, lanes);
                }
                list.push(banks);
            }
        }
    }
    return list;
}

/* Loads of 16 bytes may be served in pairs of quarter warps; the emulator's count says which. */
function wavefronts(step) {
    const alone = wavefrontsOf(step, false);
    if (alone.length === step.wavefronts || step.width < 16) return alone;
    return wavefrontsOf(step, true);
}

/* ---- Pictures ---- */

/* Lights up the cells of a lane under the pointer. */
function light(event) {
    const lanes = event.target.closest("[data-lanes]");
    const wanted = event.type === "pointerover" && lanes ? lanes.dataset.lanes.split(" ") : [];
    for (const cell of $("inspector").querySelectorAll("rect[data-lanes], g[data-lanes] rect")) {
        const own = cell.closest("[data-lanes]").dataset.lanes.split(" ");
        cell.classList.toggle("lit", own.some(lane => wanted.includes(lane)));
    }
}

function drawLanes(step, classOf) {
    const svg = picture($("i-lanes"), 416, 46, `${plural(step.lanes.length, "active lane")} of 32`);
    const active = new Map(step.lanes.map(lane => [lane.lane, lane]));
    for (let lane = 0; lane < LANES; lane++) {
        const group = shape(svg, "g", {class: active.has(lane) ? "lane" : "lane off", "data-lanes": lane});
        const x = lane % 16 * 26, y = Math.floor(lane / 16) * 23;
        shape(group, "rect", {x, y, width: 24, height: 20, rx: 3, class: active.has(lane) ? classOf(lane) : "c-empty"});
        shape(group, "text", {x: x + 12, y: y + 14}, lane);
        const at = active.get(lane);
        shape(group, "title", {}, at ? `lane ${lane}: offset ${at.offset}` : `lane ${lane}: inactive`);
    }
}

/* One row per cache line of 128 bytes: four sectors of eight words. */
function drawSectors(step, array) {
    const sectors = sectorsOf(step), perLine = LINE / SECTOR, words = SECTOR / WORD;
    const lines = [...new Set([...sectors.keys()].map(sector => Math.floor(sector / perLine)))].sort((a, b) => a - b);
    const height = 14, svg = picture($("i-picture"), 416, lines.length * height + 16,
        `${plural(sectors.size, "sector")} in ${plural(lines.length, "cache line")}`);
    shape(svg, "text", {x: 0, y: 10}, `offset in ${array || "memory"}`);
    for (let i = 0; i < perLine; i++) shape(svg, "text", {x: 92 + i * 82, y: 10}, `sector ${i}`);
    lines.forEach((line, i) => {
        const y = 16 + i * height;
        shape(svg, "text", {x: 0, y: y + 10}, `+${line * LINE}`);
        for (let s = 0; s < perLine; s++) {
            const sector = sectors.get(line * perLine + s);
            const group = shape(svg, "g", {class: sector ? "sector touched" : "sector", "data-sector": line * perLine + s});
            for (let word = 0; word < words; word++) {
                const lanes = sector ? [...sector[word]] : [];
                const cell = shape(group, "rect", {x: 92 + s * 82 + word * 9.6, y: y + .5, width: 9, height: height - 3,
                    class: lanes.length ? "c-used" : sector ? "c-waste" : "c-empty"});
                if (lanes.length) cell.dataset.lanes = lanes.join(" ");
                shape(cell, "title", {}, lanes.length ? `${lanes.length === 1 ? "lane" : "lanes"} ${lanes.join(", ")}`
                    : sector ? "moved, but not used" : "not moved");
            }
        }
    });
    drawLanes(step, () => "c-used");
}

/* One row per wavefront, one column per bank. */
function drawBanks(step) {
    const list = wavefronts(step), height = 16, of = new Map();
    const svg = picture($("i-picture"), 416, list.length * height + 16, `${plural(list.length, "wavefront")} over 32 banks`);
    shape(svg, "text", {x: 0, y: 10}, "bank");
    for (const bank of [0, 8, 16, 24, 31]) shape(svg, "text", {x: 32 + bank * 12, y: 10}, bank);
    list.forEach((banks, i) => {
        const y = 16 + i * height, group = shape(svg, "g", {class: "wavefront", "data-wavefront": i});
        shape(group, "text", {x: 0, y: y + 11}, `#${i + 1}`);
        for (let bank = 0; bank < BANKS; bank++) {
            const lanes = banks.get(bank) || [];
            const cell = shape(group, "rect", {x: 32 + bank * 12, y: y + .5, width: 11, height: height - 3, rx: 1.5,
                class: lanes.length ? `c-${i % 8} bank used` : "c-empty bank"});
            if (lanes.length) cell.dataset.lanes = lanes.join(" ");
            for (const lane of lanes) if (!of.has(lane)) of.set(lane, i);
            shape(cell, "title", {}, lanes.length ? `bank ${bank}: ${lanes.length === 1 ? "lane" : "lanes"} ${lanes.join(", ")}`
                : `bank ${bank} is idle`);
        }
    });
    drawLanes(step, lane => `c-${(of.get(lane) || 0) % 8}`);
}

/* ---- Texts and tables ---- */

function legend(...entries) {
    $("i-legend").replaceChildren(...entries.flatMap(([mark, text]) => mark ? [element("i", {class: mark}), text] : [text]));
}

function summarize(access, step) {
    const {row} = access, lanes = plural(step.lanes.length, "lane");
    const does = isLoad(row) ? "read" : "write", of = row.array ? ` of ${row.array}` : "";
    const [count, ideal, unit] = isGlobal(row) ? [step.sectors, step.sectorsIdeal, "sector"]
        : [step.wavefronts, step.wavefrontsIdeal, "wavefront"];
    const cost = element("b", count > ideal ? {class: "bad"} : {}, plural(count, unit));
    const tail = isGlobal(row) ? ` in ${plural(step.lines, "cache line")}; ${ideal} would be enough.`
        : `; ${ideal === count ? "there is no conflict." : `${ideal} would be enough.`}`;
    $("i-summary").replaceChildren(`${lanes} ${does} ${row.bytes_a_lane} bytes each${of}: `, cost, tail);
}

function fill(into, heads, lines) {
    const row = (cells, tag) => element("tr", {}, ...cells.map((cell, i) =>
        element(tag || (i ? "td" : "th"), tag ? {scope: "col"} : i ? {class: "r"} : {scope: "row"}, String(cell))));
    into.replaceChildren(element("thead", {}, row(heads, "th")), element("tbody", {}, ...lines.map(cells => row(cells))));
}

function tabulate(access, step) {
    if (isGlobal(access.row))
        fill($("i-table"), ["lane", "offset", "cache line", "sector"], step.lanes.map(({lane, offset}) =>
            [lane, offset, Math.floor(offset / LINE), Math.floor(offset / SECTOR)]));
    else {
        const list = wavefronts(step);
        fill($("i-table"), ["lane", "offset", "bank", "wavefront"], step.lanes.map(({lane, offset}) =>
            [lane, offset, Math.floor((step.start + offset) / WORD) % BANKS,
                1 + list.findIndex(banks => [...banks.values()].some(lanes => lanes.includes(lane)))]));
    }
}

function tabulateCounts(line) {
    fill($("i-counts"), ["access", "bytes per lane", "requests", "sectors", "ideal", "wavefronts", "ideal"],
        data.lines.filter(row => row.line === line).map(row =>
            [`${row.kind.replace("_", " ")} ${row.array}`, row.bytes_a_lane, row.requests, row.sectors, row.sectors_ideal,
                row.wavefronts, row.wavefronts_ideal]));
}

/* ---- Selection ---- */

function show() {
    const accesses = accessesOf(state.line), access = accesses[state.access];
    for (const id of ["i-warp", "i-step", "i-access"]) $(id).disabled = !access;
    if (!access) {
        $("i-summary").textContent = "No request of this line was recorded: the first warps of the grid do not execute it.";
        for (const id of ["i-lanes", "i-picture", "i-legend", "i-table", "i-left", "i-warp-text", "i-step-text"]) $(id).replaceChildren();
        return;
    }
    const {part, row} = access, warps = part.warps;
    state.warp = Math.min(state.warp, warps.length - 1);
    const count = warps[state.warp].steps.length / 2;
    state.step = Math.min(state.step, count - 1);
    $("i-warp").max = warps.length - 1;
    $("i-warp").value = state.warp;
    $("i-step").max = count - 1;
    $("i-step").value = state.step;
    const number = warps[state.warp].warp, perBlock = Math.ceil(trace.threads_per_block / LANES);
    const warpText = `${number % perBlock} of block ${Math.floor(number / perBlock)}`;
    $("i-warp-text").textContent = warpText;
    $("i-warp").setAttribute("aria-valuetext", `warp ${warpText}`);
    $("i-step-text").textContent = `${state.step + 1} of ${count}`;
    $("i-step").setAttribute("aria-valuetext", `step ${state.step + 1} of ${count}`);
    const step = stepOf(access, state.warp, state.step);
    if (isGlobal(row)) {
        drawSectors(step, row.array);
        legend(["i-used", "used"], ["i-waste", "moved, but not used"], ["i-empty", "not moved"]);
    } else {
        drawBanks(step);
        legend(["", "One row per wavefront, one column per bank of 4 bytes. Lanes have the colour of their wavefront."]);
    }
    summarize(access, step);
    tabulate(access, step);
    $("i-left").textContent = part.left_out
        ? `Recorded: ${part.requests_of_the_run - part.left_out} of the ${part.requests_of_the_run} requests of the run.` : "";
}

/* Brings a row into view within the listing, without moving the page. */
function scrollListing(row) {
    const listing = table.parentElement;
    listing.scrollTop = Math.max(0, row.offsetTop - listing.clientHeight / 3);
}

function select(line, focus) {
    const chosen = rows.find(row => Number(row.dataset.line) === line);
    if (!chosen) return;
    const accesses = accessesOf(line), worst = Math.max(...accesses.map(({row}) => excess(row)));
    Object.assign(state, {line, access: Math.max(0, accesses.findIndex(({row}) => excess(row) === worst)), warp: 0, step: 0});
    for (const row of rows) {
        row.setAttribute("aria-selected", row === chosen);
        row.tabIndex = row === chosen ? 0 : -1;
    }
    if (focus) chosen.focus();
    else scrollListing(chosen);
    $("i-title").replaceChildren(`Line ${line}`, element("code", {}, chosen.querySelector("code").textContent.trim()));
    $("i-access").replaceChildren(...accesses.map(({row}, i) => element("option", {value: i},
        `${row.kind.replace("_", " ")} of ${row.array || "memory"}, ${row.bytes_a_lane} bytes`)));
    $("i-access").value = state.access;
    tabulateCounts(line);
    show();
}

function move(event) {
    const at = rows.findIndex(row => Number(row.dataset.line) === state.line), last = rows.length - 1;
    const to = {ArrowDown: Math.min(at + 1, last), ArrowUp: Math.max(at - 1, 0), Home: 0, End: last}[event.key];
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
        const access = accessesOf(state.line)[state.access];
        if (!access) return;
        const count = access.part.warps[state.warp].steps.length / 2;
        state.step = (state.step + (event.key === "ArrowRight" ? 1 : count - 1)) % count;
        show();
    } else if (to === undefined) return;
    else select(Number(rows[to].dataset.line), true);
    event.preventDefault();
}

for (const row of rows) {
    row.tabIndex = -1;
    row.setAttribute("aria-selected", "false");
    row.addEventListener("click", () => select(Number(row.dataset.line), true));
}
table.addEventListener("keydown", move);
$("i-access").addEventListener("change", event => { state.access = Number(event.target.value); state.warp = state.step = 0; show(); });
$("i-warp").addEventListener("input", event => { state.warp = Number(event.target.value); show(); });
$("i-step").addEventListener("input", event => { state.step = Number(event.target.value); show(); });
for (const link of document.querySelectorAll(".findings a"))
    link.addEventListener("click", () => select(Number(link.hash.slice(2)), true));
for (const type of ["pointerover", "pointerout"]) $("inspector").addEventListener(type, light);
if (trace && rows.length) {
    const recorded = trace.rows.map(part => data.lines[part.row]).filter(row => rows.some(tr => Number(tr.dataset.line) === row.line));
    const worst = recorded.reduce((best, row) => !best || excess(row) > excess(best) ? row : best, null);
    const wrong = recorded.find(row => $("L" + row.line).classList.contains("wrong")); // a race, for example
    $("inspector").hidden = false;
    select((wrong || worst || {line: Number(rows[0].dataset.line)}).line, false);
}
})();
