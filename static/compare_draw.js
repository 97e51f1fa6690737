// Pieces that the page that compares runs is made of: elements, tables, curves, diffs, and steps
// beside each other. Whatever they hold goes in as text.
"use strict";

const draw = (() => {
  const SVG = new DOMParser().parseFromString("<svg></svg>", "text/html").body.firstChild.namespaceURI;
  const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [760, 260, 64, 40, 16, 44];
  const WIDTHS = ["", "", "two", "three", "four"];
  const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];

  function filled(made, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children);
    return made;
  }
  const element = (name, attributes = {}, ...children) =>
    filled(document.createElement(name), attributes, children);
  const shape = (name, attributes = {}, ...children) =>
    filled(document.createElementNS(SVG, name), attributes, children);
  function short(value) {
    // As charts/drawing.py has it: 999,600 is a million.
    for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
      if (value >= 0.9995 * size) return `${Number((value / size).toPrecision(3))}${unit}`;
    }
    const told = Number(value.toPrecision(3));
    const small = told >= 1e-9 && told < 1e-6; // as all pages write it, without an exponent
    return small ? told.toFixed(2 - Math.floor(Math.log10(told))).replace(/0+$/, "") : String(told);
  }

  const unseen = (text) => element("span", { class: "hidden" }, text);

  function clock(seconds) {
    if (seconds === null) return "";
    const whole = Math.floor(Math.abs(seconds));
    const two = (number) => String(number).padStart(2, "0");
    const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
    const told = hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${two(minutes)}:${two(whole % 60)}`;
    return seconds <= -1 ? `-${told}` : told;
  }

  function table(caption, heads, rows, attributes = {}) {
    const head = heads.map((held) => element("th", { scope: "col" }, held));
    return element("table", attributes,
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, ...head)),
      element("tbody", {}, ...rows));
  }
  const row = (...cells) => element("tr", {}, ...cells.map((held) => element("td", {}, held)));
  const framed = (name, ...children) =>
    element("div", { class: "scroll", role: "region", "aria-label": name, tabindex: 0 }, ...children);

  // What all of the page's parts say of a run ------------------------------------------------------

  const step = (run, anchor, text) =>
    element("a", { href: `${run.page}#${encodeURIComponent(anchor)}` }, text);
  const letter = (run) =>
    element("span", { class: `letter run-${run.letter.toLowerCase()}` }, run.letter);
  const section = (id, title, ...children) => element("section", { "aria-labelledby": id },
    element("h2", { id, class: "hash" }, title), ...children);
  const beside = (runs, style) => `beside ${style} ${WIDTHS[runs.length]}`;

  function sign(differs) {
    return [element("span", { class: "sign", "aria-hidden": "true" }, differs ? "≠" : "="),
      unseen(differs ? "differs: " : "the same: ")];
  }

  // Curves --------------------------------------------------------------------------------------

  function stepsOf(high, whole) {
    if (!(high > 0) || (whole && high <= 5)) return [1, Math.max(1, high)];
    const power = 10 ** Math.floor(Math.log10(high / 4));
    const width = [1, 2, 5, 10].map((n) => n * power).find((n) => n * 5 >= high);
    return [width, Math.max(1, Math.ceil(high / width - 1e-9))];
  }

  function stepsOfTime(high) {
    const width = TIMES.find((n) => n * 6 >= high) ?? 86400 * Math.ceil(high / 86400 / 6);
    return [width, Math.max(1, Math.ceil(high / width))];
  }

  // What a curve goes through: the best so far, and what adds up.
  const best = (points) => points.reduce((line, { at, value, graded }) => {
    const last = line.at(-1);
    if (!graded && (!last || value > last[1])) line.push([at, value]);
    return line;
  }, []);

  const sum = (points) =>
    (points.length ? [[0, 0], ...points.map(({ at, value }) => [at, value])] : []);

  const scale = (high, from, to) => (value) =>
    Math.round((from + Math.min(1, Math.max(0, value / high)) * (to - from)) * 10) / 10;

  function axes(x, y, [across, columns], [up, lines], told) {
    const drawn = [];
    for (let n = 0; n <= columns; n += 1) {
      const at = x(across * n);
      drawn.push(shape("line", { x1: at, x2: at, y1: y(0), y2: y(0) + 4, class: "chart-axis" }));
      drawn.push(label(clock(across * n), at, y(0) + 18, "middle"));
    }
    for (let n = 0; n <= lines; n += 1) {
      const at = y(up * n);
      const style = n ? "chart-grid" : "chart-axis";
      drawn.push(shape("line", { x1: x(0), x2: WIDTH - RIGHT, y1: at, y2: at, class: style }));
      drawn.push(label(told(up * n), LEFT - 6, at + 4, "end"));
    }
    return drawn;
  }

  const label = (text, x, y, anchor) =>
    shape("text", { x, y, "text-anchor": anchor, class: "chart-label" }, text);

  // Each run has a mark of its own, beside its letter and the dashes of its line.
  const MARKS = {
    A: "m-4 0 a4 4 0 1 0 8 0 a4 4 0 1 0 -8 0",
    B: "m-4 -4 h8 v8 h-8 z",
    C: "m0 -5 l5 9 h-10 z",
    D: "m0 -5 l5 5 l-5 5 l-5 -5 z",
  };

  function curve({ letter, points, marks, end }, x, y) {
    const path = points.map(([at, value], index) =>
      (index ? `H${x(at)} V${y(value)}` : `M${x(at)} ${y(value)}`)).join(" ");
    const style = `curve curve-${letter.toLowerCase()}`;
    const drawn = path ? [shape("path", { d: `${path} H${x(end)}`, class: style })] : [];
    for (const { at, value, graded, told } of marks) {
      const d = `M${x(at)} ${y(value)} ${MARKS[letter]}`;
      drawn.push(shape("path", { d, class: `${style} mark${graded ? " graded" : ""}` }, shape("title", {}, told)));
    }
    return drawn;
  }

  function letters(series, x, y) {
    const ends = series.filter(({ points }) => points.length)
      .map(({ letter, points, end }) => ({ letter, x: x(end), y: y(points.at(-1)[1]) }))
      .sort((one, other) => one.y - other.y);
    ends.forEach((held, index) => {
      if (index) held.y = Math.max(held.y, ends[index - 1].y + 13);
    });
    return ends.map((held) => label(held.letter, held.x + 8, held.y + 4, "start"));
  }

  function chart(title, description, series, told, whole) {
    const every = series.flatMap(({ points, marks }) => [...points, ...marks.map(({ at, value }) => [at, value])]);
    const across = stepsOfTime(Math.max(1, ...series.map(({ end }) => end)));
    const up = stepsOf(every.reduce((most, [, value]) => Math.max(most, value), 0), whole);
    const x = scale(across[0] * across[1], LEFT, WIDTH - RIGHT);
    const y = scale(up[0] * up[1], HEIGHT - BOTTOM, TOP);
    return shape("svg", { class: "chart", role: "img", viewBox: `0 0 ${WIDTH} ${HEIGHT}` },
      shape("title", {}, title), shape("desc", {}, description),
      ...axes(x, y, across, up, told),
      ...series.flatMap((held) => curve(held, x, y)), ...letters(series, x, y));
  }

  // Diffs ---------------------------------------------------------------------------------------

  // The part of two lines between what both start and end with; null where they have little alike.
  function changed(old, now) {
    const least = Math.min(old.length, now.length);
    let start = 0;
    while (start < least && old[start] === now[start]) start += 1;
    let end = 0;
    while (end < least - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
    if (start + end < Math.max(old.length, now.length) / 3) return null;
    // Whole words are marked.
    while (start && /\w/.test(old[start - 1])) start -= 1;
    while (end && /\w/.test(old.at(-end))) end -= 1;
    return [start, end];
  }

  function partners(lines) {
    const found = new Map();
    for (let at = 0; at < lines.length;) {
      const run = (sign, from) => {
        let to = from;
        while (lines[to]?.sign === sign) to += 1;
        return to;
      };
      const middle = run("-", at);
      const end = run("+", middle);
      if (middle > at && end - middle === middle - at) {
        for (let n = 0; at + n < middle; n += 1) {
          const parts = changed(lines[at + n].text, lines[middle + n].text);
          if (parts) for (const line of [lines[at + n], lines[middle + n]]) found.set(line, parts);
        }
      }
      at = Math.max(end, at + 1);
    }
    return found;
  }

  const TAGS = { "+": "ins", "-": "del", "@": "i", " ": "span" };

  function line(held, parts, width) {
    if (held.sign === "@") return element(TAGS["@"], {}, `${held.text}\n`);
    const number = (shown, value) => String(shown ? value : "").padStart(width);
    const gutter = `${number(held.sign !== "+", held.old)} ${number(held.sign !== "-", held.now)} `;
    const text = held.text;
    const pieces = [text];
    if (parts) {
      const [start, end] = [parts[0], text.length - parts[1]];
      pieces.splice(0, 1, text.slice(0, start));
      if (end > start) pieces.push(element("b", {}, text.slice(start, end)));
      pieces.push(text.slice(end));
    }
    return element(TAGS[held.sign], { class: "line" },
      element("span", { class: "gutter" }, gutter), `${held.sign} `, ...pieces, "\n");
  }

  function diff(before, after) {
    const all = lineDiff.changes(before.split("\n"), after.split("\n"));
    const shown = lineDiff.hunks(all, 3);
    const parts = partners(shown);
    const width = String(Math.max(...all.map(({ old, now }) => Math.max(old, now)))).length;
    const count = (sign) => all.filter((held) => held.sign === sign).length;
    return {
      added: count("+"), removed: count("-"),
      lines: shown.map((held) => line(held, parts.get(held), width)),
    };
  }

  return {
    element, unseen, clock, table, row, framed, step, letter, section, beside, sign, short, best, sum, chart, diff,
  };
})();

// The steps of some runs beside each other, phase by phase.
const stepByStep = (() => {
  const { element, unseen, clock, framed, step, letter, section, beside, sign } = draw;
  const UNFOLDED = 60;
  const [SLICE, PAUSE] = [200, 50];
  const LONGEST_MATCH = 4e6;

  const NAMES = new Map([
    ["solution", "edits solution.py"], ["passed", "check ✓ passed"], ["failed", "check ✗ failed"], ["more", "…"],
  ]);
  const sort = (call) => (["passed", "failed"].includes(call.kind) ? "check" : call.kind);

  const PAIR = 4096; // a pair of one kind counts for more than any number of pairs that say the same

  // What a call counts for in a row: nothing where it is of another kind.
  const worth = (line, call) =>
    (line.sort === sort(call) ? PAIR + Number(line.summary === call.summary) : 0);

  // Rows of calls of the same kind, in the order of every run: the longest common sequence, and of
  // equals the one with the most calls that say the same.
  function matched(lines, calls) {
    const [n, m] = [lines.length, calls.length];
    if (n * m > LONGEST_MATCH) return null;
    const width = m + 1;
    const longest = new Uint32Array((n + 1) * width);
    for (let i = n - 1; i >= 0; i -= 1) {
      for (let j = m - 1; j >= 0; j -= 1) {
        const together = worth(lines[i], calls[j]);
        longest[i * width + j] = Math.max(
          together && longest[(i + 1) * width + j + 1] + together,
          longest[(i + 1) * width + j], longest[i * width + j + 1]);
      }
    }
    return (i, j) => longest[i * width + j];
  }

  function joined(lines, calls, index, count) {
    const longest = matched(lines, calls);
    const made = [];
    let [i, j] = [0, 0];
    const alone = (call) => {
      const cells = Array(count).fill(null);
      cells[index] = call;
      return { sort: sort(call), summary: call.summary, cells };
    };
    const together = () => {
      const both = i < lines.length && j < calls.length && worth(lines[i], calls[j]);
      return both && (!longest || longest(i, j) === longest(i + 1, j + 1) + both);
    };
    while (i < lines.length || j < calls.length) {
      if (together()) {
        lines[i].cells[index] = calls[j];
        made.push(lines[i]);
        [i, j] = [i + 1, j + 1];
      } else if (j === calls.length || (i < lines.length && (!longest || longest(i + 1, j) >= longest(i, j + 1)))) {
        made.push(lines[i]);
        i += 1;
      } else {
        made.push(alone(calls[j]));
        j += 1;
      }
    }
    return made;
  }

  const aligned = (runs, phase) => runs.reduce((lines, run, index) =>
    joined(lines, run.calls.filter((call) => call.phase === phase), index, runs.length), []);

  function cell(run, call) {
    if (!call) return element("td", { class: "absent" }, unseen(`nothing in ${run.letter}`));
    if (call.kind === "more") return element("td", { class: "absent" }, `… ${call.summary} more calls`);
    const name = NAMES.get(call.kind) ?? call.kind;
    const when = step(run, call.anchor, call.at === null ? call.anchor : clock(call.at));
    const failed = call.failed ? [element("span", { class: "tone-bad" }, " ✗ failed")] : [];
    return element("td", {}, when, ` ${name}`, ...failed, " ", element("code", {}, call.summary));
  }

  function line(runs, { sort: what, cells }) {
    const shown = runs.map((run, index) => cell(run, cells[index]));
    if (what === "more") return element("tr", {}, element("th", { scope: "row" }, "left out"), ...shown);
    const who = runs.filter((run, index) => cells[index]).map((run) => run.letter).join(" ");
    const all = cells.every(Boolean);
    return element("tr", { class: all ? "same" : "differs" },
      element("th", { scope: "row" }, ...sign(!all), all ? "all" : `${who} only`),
      ...shown);
  }

  function summary(runs, name, index) {
    const reached = runs.map((run) => {
      const found = run.phases[index];
      const calls = run.calls.filter((call) => call.phase === index)
        .reduce((count, call) => count + (call.kind === "more" ? Number(call.summary) : 1), 0);
      const when = found ? clock(found.at) || found.anchor : "not seen";
      const goesOn = index < runs[0].phases.length - 1 && (found || calls);
      const after = goesOn ? `, then ${calls.toLocaleString("en")} ${calls === 1 ? "call" : "calls"}` : "";
      return element("span", { class: "reached" }, letter(run), `${when}${after}`);
    });
    return element("summary", {}, element("b", {}, name), ...reached);
  }

  function columns(runs, name, index) {
    const cells = runs.map((run) => {
      const found = run.phases[index];
      const where = found ? step(run, found.anchor, `${name} ${clock(found.at)}`) : `no ${name}`;
      return element("th", { scope: "col" }, letter(run), where);
    });
    return element("thead", {}, element("tr", {}, element("td"), ...cells));
  }

  // A browser lays a table of thousands of rows out for seconds: the first rows are there at once,
  // and the others come while one reads them.
  function fill(table, runs, lines) {
    table.append(element("tbody", {}, ...lines.slice(0, SLICE).map((held) => line(runs, held))));
    const rest = lines.slice(SLICE);
    table.ariaBusy = rest.length ? "true" : null;
    if (rest.length) setTimeout(() => table.isConnected && fill(table, runs, rest), PAUSE);
  }

  function phase(runs, name, index) {
    const lines = aligned(runs, index);
    const made = element("details", { class: "phase" }, summary(runs, name, index));
    const build = () => {
      const table = element("table", { class: beside(runs, "marked") }, columns(runs, name, index));
      made.append(framed(`calls from ${name} on`, table));
      fill(table, runs, lines);
    };
    if (lines.length <= UNFOLDED) {
      build();
      made.open = true;
    } else made.addEventListener("toggle", build, { once: true });
    return made;
  }

  return (runs, phases) => {
    const explained = element("p", { class: "dim" },
      "Rows stand in phases, and within them calls of the same kind stand beside each other, each run in its own order. = where all did it, ≠ where not. Times lead to the step.");
    const none = element("p", { class: "dim" }, "There is no transcript of these runs.");
    const there = runs.some((run) => run.calls.length || run.phases.some(Boolean));
    return section("steps", "step by step",
      ...(there ? [explained, ...phases.map((name, index) => phase(runs, name, index))] : [none]));
  };
})();
