// Texts of a run: finding in all of them, links to some of their lines, and where they stand on the
// map of the transcript. run.js asks for this file when a reader does something, and tells it when
// the transcript is there, and what of it can be asked for.
"use strict";

const PACKED = /\b[\w+/]{400,}/g; // a picture as its CLI recorded it, say: no words
const CHANCE = 6; // letters from which on a hit in what is packed is more than chance

function matchesIn(text, wanted) {
  const all = [...text.matchAll(wanted)].filter((match) => match[0]);
  if (all.every(([held]) => held.length >= CHANCE)) return all;
  const packed = [...text.matchAll(PACKED)];
  return all.filter(({ 0: held, index }) => held.length >= CHANCE || !packed.some(
    (blob) => blob.index <= index && index < blob.index + blob[0].length));
}

// A regular expression may take for ever. Where a browser lets it, it is held against texts beside
// the page, by this same file.
if (!self.document) {
  self.addEventListener("message", ({ data: [source, flags, texts] }) => {
    const wanted = new RegExp(source, flags);
    let counts = null;
    try {
      counts = texts.map((text) => matchesIn(text, wanted).length);
    } catch {
      // It takes more room than there is.
    }
    self.postMessage(counts);
  });
}

const own = self.document?.currentScript?.src;
const rest = self.requestIdleCallback ?? setTimeout;
const SOON = { timeout: 1000 }; // a browser may have no rest for long

self.document?.addEventListener("transcript", ({ detail: run }) => {
  const { parts, tools, KEYS } = run;

  // The map, by steps, time or tokens: a path for each kind of mark -------------------------------

  const map = document.querySelector("#minimap svg");
  const ticks = document.getElementById("ticks");
  const axis = document.getElementById("axis");
  const GRAIN = 1000; // what the ends of a stretch are told in, of the whole axis
  const THIN = 0.4; // columns that a mark has at least
  const NEAR = 0.5; // columns beside a mark that still mean it
  let lanes = null;
  let drawnBy = "steps";
  let cursor = null; // the link to the mark that is pointed at, or stood on

  const axisNow = () => axis?.querySelector("input:checked")?.value ?? "steps";
  const spans = (text) => text.split(" ").filter(Boolean).map((span) => span.split("-").map(Number));
  const box = ({ x, width }, y, height) => `M${x} ${y}h${width}v${height}h${-width}z`;

  function drawn(name, attributes) {
    const shape = document.createElementNS(map.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, value);
    return shape;
  }

  function spread([from, to]) {
    const grain = Number(map.dataset.columns) / GRAIN;
    return { x: from * grain, width: Math.max(THIN, (to - from) * grain) };
  }

  // What the page says for readers without scripts: in each lane a link for each mark.
  function laid() {
    if (lanes) return lanes;
    const told = map.parentElement.querySelector("noscript").textContent;
    const links = new DOMParser().parseFromString(told, "text/html");
    const shapes = map.querySelectorAll("g[data-time]");
    lanes = [...links.querySelectorAll("g")].map((group, number) => {
      const lane = shapes[number];
      const paths = new Map([...lane.querySelectorAll("path")].map((path) => [path.getAttribute("class"), path]));
      const kinds = [...paths.keys()];
      const marks = [...group.querySelectorAll("a")].map((one) => {
        const [column, top, height] = ["x", "y", "height"].map(
          (name) => Number(one.firstElementChild.getAttribute(name)));
        const kind = one.firstElementChild.getAttribute("class");
        return {
          lane, kind, over: kinds.indexOf(kind), column, top, height, x: column, width: 1,
          to: { href: one.getAttribute("href"), "aria-label": one.getAttribute("aria-label") },
        };
      });
      return { lane, paths, marks };
    });
    cursor = drawn("a", { tabindex: -1 });
    cursor.append(drawn("rect", { class: "at" }));
    map.setAttribute("tabindex", 0); // a mark is too small to be gone to by Tab
    map.addEventListener("keydown", walk);
    lead(lanes[0].marks[0]);
    return lanes;
  }

  function lead(mark) {
    if (!mark) return;
    if (cursor.parentElement !== mark.lane) mark.lane.append(cursor);
    for (const [name, value] of Object.entries(mark.to)) cursor.setAttribute(name, value);
    const { x, width, top: y, height } = mark;
    for (const [name, value] of Object.entries({ x, width, y, height })) {
      cursor.firstElementChild.setAttribute(name, value);
    }
    cursor.mark = mark;
  }

  // The mark of some that is nearest to a place; of several there the one that is seen.
  function nearest(marks, place) {
    const off = ({ x, width }) => Math.max(x - place, place - x - width, 0);
    return marks.reduce((best, mark) => {
      const nearer = off(best) - off(mark) || mark.over - best.over;
      return nearer >= 0 ? mark : best;
    });
  }

  function pointed(event) {
    const { left, top, width, height } = map.getBoundingClientRect();
    const { width: columns, height: rows } = map.viewBox.baseVal;
    const x = ((event.clientX - left) * columns) / width;
    const y = ((event.clientY - top) * rows) / height;
    const row = laid().find(({ marks: [{ top: from, height: tall }] }) => y >= from && y < from + tall);
    const mark = row && nearest(row.marks, x);
    return mark && x > mark.x - NEAR && x < mark.x + mark.width + NEAR ? mark : null;
  }

  function walk(event) {
    const [beside, below] = {
      ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
    }[event.key] ?? [];
    if (beside === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const row = lanes.findIndex(({ lane }) => lane === cursor.mark.lane);
    const { marks } = lanes[row];
    const there = lanes[row + below]?.marks;
    const next = below ? there && nearest(there, cursor.mark.x) : marks[marks.indexOf(cursor.mark) + beside];
    if (document.activeElement === cursor) lead(next);
    cursor.focus();
  }

  function draw() {
    const now = axisNow();
    drawnBy = now;
    map.querySelectorAll(".m-pause").forEach((path) => path.remove());
    for (const { lane, paths, marks } of laid()) {
      const told = spans(lane.dataset[now] ?? "");
      marks.forEach((mark, index) => {
        Object.assign(mark, told.length ? spread(told[index]) : { x: mark.column, width: 1 });
      });
      for (const [kind, path] of paths) {
        path.dataset.steps ??= path.getAttribute("d");
        const own = marks.filter((mark) => mark.kind === kind);
        path.setAttribute("d", told.length ? own.map((mark) => box(mark, mark.top, mark.height)).join("") : path.dataset.steps);
      }
      if (now !== "time" || !lane.dataset.pauses) continue;
      const [{ top, height }] = marks;
      const d = spans(lane.dataset.pauses).map((span) => box(spread(span), top, height)).join("");
      lane.append(drawn("path", { class: "m-pause", d }));
    }
    lead(cursor.mark);
    document.getElementById("axis-ends").textContent =
      { time: map.dataset.timeEnd, tokens: map.dataset.tokensEnd }[now] ?? map.dataset.stepsEnd;
    tick();
  }

  function tick() {
    if (!ticks) return;
    const { columns, steps: count } = map.dataset;
    const marked = new Set(hits.map(({ order }) => Math.floor((order * columns) / count)));
    const moved = axisNow() === "steps" ? [] : laid().flatMap(({ marks }) => marks);
    const places = new Map(moved.map(({ column, x }) => [column, x]));
    ticks.setAttribute("d", [...marked].map(
      (column) => box({ x: places.get(column) ?? column, width: 1 }, 0, 3)).join(""));
  }

  if (map) {
    for (const kind of ["pointermove", "pointerdown"]) {
      map.addEventListener(kind, (event) => lead(pointed(event)), { passive: true });
    }
    // A finger points only as it taps: its link was not there before.
    map.addEventListener("click", (event) => {
      if (event.target.closest("a") || !pointed(event)) return;
      lead(pointed(event));
      cursor.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
    });
    rest(laid, SOON);
  }

  if (axis) {
    axis.addEventListener("change", () => {
      draw();
      run.remember();
    });
    run.memory.push({
      save: (state) => axisNow() !== "steps" && state.set("axis", axisNow()),
      load(state) {
        const wanted = axis.querySelector(`[value="${CSS.escape(state.get("axis") ?? "steps")}"]`);
        if (!wanted) return;
        wanted.checked = true;
        if (drawnBy !== wanted.value) draw();
      },
    });
    KEYS.m = () => {
      const choices = [...axis.querySelectorAll("input")];
      const next = choices[(choices.findIndex((choice) => choice.checked) + 1) % choices.length];
      next.checked = true;
      next.dispatchEvent(new Event("change", { bubbles: true }));
    };
  }

  // Find: one search over all text, also what is folded, not loaded, or on a page of its own -------

  const query = document.getElementById("query");
  const regex = document.getElementById("regex");
  const cased = document.getElementById("case");
  const found = document.getElementById("found");
  const texts = new Map();
  const PAUSE = 40; // milliseconds, as OFTEN
  const OFTEN = 50;
  const AHEAD = 4; // texts that are asked for at a time
  const NAMED = { lt: "<", gt: ">", amp: "&", quot: '"', nbsp: "\u00a0" };
  const APART = "\x01"; // what no text of a page holds
  const TAG = new RegExp(`</?${run.BLOCK.source.slice(1, -1)}(?=[\\s>])[^>]*>`, "g");
  const LONG = 2000; // milliseconds that a part may take beside the page
  const TRIES = 3; // parts that may take so long
  let hits = [];
  let hit = -1;
  let away = false; // whether the reader stands behind that hit, at none
  let searches = 0;
  let searching = false;
  let unread = 0; // parts that could not be had
  let slow = 0; // parts in which it took too long

  function textOf(html) {
    const lines = html.replace(/\r\n?/g, "\n").replace(/(<pre[^>]*>)\n/g, "$1"); // as browsers read it
    const plain = lines.replace(TAG, APART).replace(/<[^>]*>/g, "");
    return plain.replace(/^\x01+|\x01+$/g, "").replace(/\x01+/g, "\n").replace(
      /&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi,
      (whole, decimal, hex, name) => {
        if (name) return NAMED[name] ?? whole;
        return String.fromCodePoint(decimal ? Number(decimal) : Number.parseInt(hex, 16));
      },
    );
  }

  // From disk no worker is allowed, nor in a file by itself, which has no other.
  let worker = null;
  let works = Boolean(own) && location.protocol !== "file:";
  let counting = null; // called with what the worker has counted, or with null

  // How often each of some texts has what is wanted; null where that takes too long, or more room
  // than there is.
  function counted(texts, wanted) {
    return regex.checked && works ? beside(texts, wanted) : here(texts, wanted);
  }

  function here(texts, wanted) {
    try {
      return texts.map((text) => matchesIn(text, wanted).length);
    } catch {
      return null;
    }
  }

  function beside(texts, wanted) {
    return new Promise((resolve) => {
      const patience = setTimeout(stop, LONG);
      counting = (counts) => {
        clearTimeout(patience);
        counting = null;
        resolve(counts);
      };
      const one = (worker ??= new Worker(own));
      one.onmessage = ({ data }) => one === worker && counting?.(data);
      one.onerror = () => {
        if (one !== worker) return;
        works = false; // it may not be there
        counting?.(here(texts, wanted));
      };
      one.postMessage([wanted.source, wanted.flags, texts]);
    });
  }

  function stop() {
    if (!counting) return;
    worker.terminate();
    worker = null;
    counting(null);
  }

  async function stepText(html) {
    const complete = html.includes('class="left-out"') ? await run.whole(html) : html;
    const id = complete.match(/ id="?([^"\s>]*)/)[1];
    const body = complete.slice(complete.indexOf(">") + 1);
    return { anchor: textOf(id), text: textOf(body.replace(/^(\s*)<a [^>]*>[^<]*<\/a>/, "$1")) };
  }

  function textsOf(part) {
    if (!texts.has(part)) {
      const held = run.htmlOf(part)
        .then((html) => Promise.all(html.split("<li class=").slice(1).map(stepText)));
      held.catch(() => texts.delete(part)); // to be asked for again
      texts.set(part, held);
    }
    return texts.get(part);
  }

  function pattern() {
    const source = regex.checked ? query.value : query.value.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const flags = cased.checked ? "gm" : "gim";
    try {
      return new RegExp(source, `${flags}u`);
    } catch {
      return new RegExp(source, flags); // signs may be escaped that need not be: \" \- \<
    }
  }

  function wantedText() {
    try {
      return pattern();
    } catch {
      return null;
    }
  }

  function tell() {
    const more = searching ? "…" : "";
    const of = (number, what) => (number ? ` (${number} of ${parts.length} parts ${what})` : "");
    const less = of(unread, "could not be read") + of(slow, "took too long");
    const told = hits.length ? `${away ? "–" : hit + 1} of ${hits.length}${more}` : more || "nothing found";
    found.textContent = told + less;
  }

  // What was found is not what is asked for any more, nor what a search still finds.
  function forget() {
    searches += 1;
    searching = false;
    hits = [];
    unread = 0;
    slow = 0;
    stop();
    found.textContent = "";
  }

  // From an address that leads to a step the reader stays there, and goes on from it.
  async function search(from = "") {
    forget();
    const mine = searches;
    run.remember();
    [hit, away] = [-1, Boolean(from)];
    CSS.highlights?.delete("found");
    tick();
    if (!query.value) return;
    const wanted = wantedText();
    if (!wanted) {
      found.textContent = "not a regular expression";
      return;
    }
    searching = true;
    tell();
    await collect(wanted, mine, from);
  }

  async function collect(wanted, mine, from) {
    let order = 0;
    let going = null;
    const orders = new Map();
    let told = performance.now();
    for (const part of parts) {
      // What is here already is searched before the rest is asked for.
      if (part === parts[1]) parts.forEach(run.ask);
      const steps = await textsOf(part).catch(() => null);
      if (mine !== searches) return;
      if (!steps) {
        unread += 1;
        order += part.items;
        continue;
      }
      const counts = slow < TRIES ? await counted(steps.map(({ text }) => text), wanted) : null;
      if (mine !== searches) return;
      if (!counts) slow += 1;
      steps.forEach(({ anchor }, at) => {
        if (from) orders.set(anchor, order);
        for (let nth = 0; nth < (counts?.[at] ?? 0); nth += 1) hits.push({ anchor, order, nth });
        order += 1;
      });
      const first = hits.length && !going && !from;
      if (first) going = toHit(0);
      // The first hit is seen before the next is looked for.
      if (!first && performance.now() - told < OFTEN) continue;
      told = performance.now();
      tell();
      // Whoever goes on typing, or to the next hit, does not wait for the rest.
      await new Promise((go) => { setTimeout(go); });
      if (mine !== searches) return;
    }
    searching = false;
    tick();
    if (from) await stay(from, orders, mine);
    tell();
    await going;
  }

  // The hit is that of the step where the reader is; else the reader stands behind the last one above.
  async function stay(anchor, orders, mine) {
    const step = (await run.elementOf(anchor))?.closest("ol.steps > li");
    if (hit >= 0 || mine !== searches) return; // the reader went on meanwhile
    const place = orders.get(step?.id) ?? -1;
    const own = hits.findIndex(({ order }) => order === place);
    away = own < 0;
    hit = away ? hits.findLastIndex(({ order }) => order < place) : own;
    if (!away && !step.querySelector(".left-out")) mark(step, 0, true);
  }

  async function toHit(number) {
    if (!hits.length) return;
    hit = (number + hits.length) % hits.length;
    away = false;
    const { anchor, nth } = hits[hit];
    tell();
    const typing = document.activeElement === query;
    const step = (await run.elementOf(anchor))?.closest("ol.steps > li");
    if (!step) return;
    await run.expand(step);
    run.stand(step, typing);
    mark(step, nth);
    run.note(anchor);
  }

  function mark(step, nth, still = false) {
    const nodes = run.textNodes(step);
    let text = "";
    for (const { node, start } of nodes) text += (start > text.length ? "\n" : "") + node.data;
    const match = matchesIn(text, pattern())[nth];
    if (!match) return still || run.settle(step);
    const range = run.rangeOf(nodes, match.index, match.index + match[0].length);
    run.unfold(range.startContainer.parentElement, step.parentElement);
    run.highlight("found", range);
    if (still) return undefined;
    const inView = step.getBoundingClientRect().top - run.edge();
    const lower = range.getBoundingClientRect().top - step.getBoundingClientRect().top;
    // The step's head stays in view where the hit is not too far below it.
    if (lower < innerHeight / 2 || inView > innerHeight) run.settle(step);
    return lower < innerHeight / 2 ? undefined : run.settle(range, innerHeight / 3);
  }

  KEYS.n = () => toHit(hit + 1);
  KEYS.p = () => toHit(away ? hit : hit - 1);
  query.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (hits.length) KEYS[event.shiftKey ? "p" : "n"]();
    else search();
  });
  let pause = 0;
  query.addEventListener("input", () => {
    forget();
    clearTimeout(pause);
    pause = setTimeout(search, PAUSE);
  });
  // Texts come while the reader thinks and types, a few at a time, and are taken apart when there is
  // nothing else to do. A search asks for all that are not there yet.
  async function ahead() {
    for (const [number, part] of parts.entries()) {
      await new Promise((go) => { rest(go); });
      parts.slice(number, number + AHEAD).forEach(run.ask);
      await textsOf(part).catch(() => []);
    }
  }
  if (document.activeElement === query) ahead();
  else query.addEventListener("focus", ahead, { once: true });
  for (const box of [regex, cased]) box.addEventListener("change", () => search());
  document.getElementById("next").addEventListener("click", KEYS.n);
  document.getElementById("previous").addEventListener("click", KEYS.p);
  run.memory.push({
    save(state) {
      if (query.value) state.set("q", query.value);
      if (regex.checked) state.set("regex", "1");
      if (cased.checked) state.set("case", "1");
    },
    load(state) {
      query.value = state.get("q") ?? "";
      regex.checked = state.has("regex");
      cased.checked = state.has("case");
      search(location.hash.slice(1).replace(LINES, ""));
    },
  });

  // Links to lines: #L12:3-5 of the first text of step L12, #L12.2:3 of its second, --------------
  // #solution-L3-5 of a file ----------------------------------------------------------------------

  const LINES = /(\.\d+)?:[\d-]*$/;
  const TEXT_LINES = /^(.+?)(?:\.(\d+))?:(\d+)(?:-(\d+))?$/;
  const FILE_LINES = /^(.+-L)(\d+)-(\d+)$/;
  const bar = document.getElementById("lines");
  const choice = document.getElementById("lines-text");
  const from = document.getElementById("lines-from");
  const to = document.getElementById("lines-to");
  const link = document.getElementById("lines-link");
  let offered = []; // the texts that the bar offers lines of
  let back = null; // where the keyboard was before

  const isFirst = (pre) => !pre.previousElementSibling?.matches(".left-out");
  const textsIn = (element) => [...element.querySelectorAll("pre")].filter(
    (pre) => isFirst(pre) && pre.closest("[id]") === element);
  const lineCount = (text) => text.split("\n").length - (text.endsWith("\n") ? 1 : 0);

  // A text as lines can be asked of it: `name` is how an address calls it.
  function textAt(pre) {
    const owner = pre.closest("[id]");
    const number = textsIn(owner).indexOf(pre) + 1;
    const name = number > 1 ? `${owner.id}.${number}` : owner.id;
    return {
      name, count: lineCount(pre.textContent), address: (low, high) => `${name}:${span(low, high)}`,
      range(low, high) {
        const starts = [0];
        for (const line of pre.textContent.split("\n")) starts.push(starts.at(-1) + line.length + 1);
        const end = Math.min(starts[Math.min(high, starts.length - 1)], pre.textContent.length);
        return run.rangeOf(run.textNodes(pre), starts[low - 1], end);
      },
    };
  }

  function tableAt(table) {
    const prefix = table.querySelector("tr[id]").id.replace(/\d+$/, "");
    return {
      name: prefix.replace(/-L$/, ""), count: table.rows.length,
      address: (low, high) => `${prefix}${span(low, high)}`,
      range(low, high) {
        const range = new Range();
        range.setStartBefore(document.getElementById(`${prefix}${low}`));
        range.setEndAfter(document.getElementById(`${prefix}${high}`));
        return range;
      },
    };
  }

  const span = (low, high) => (high > low ? `${low}-${high}` : String(low));
  const fit = (value, count) => Math.min(Math.max(1, Math.floor(Number(value)) || 1), count);

  function show(text, low, high, top) {
    low = fit(low, text.count);
    const range = text.range(low, Math.max(low, fit(high, text.count)));
    run.unfold(range.startContainer.parentElement);
    run.highlight("lines", range);
    run.settle(range, top);
  }

  async function leadToText(anchor, top) {
    const match = anchor.match(TEXT_LINES);
    if (!match) return false;
    const [, owner, number, low, high] = match;
    const step = (await run.elementOf(owner))?.closest("ol.steps > li");
    if (!step) return false;
    // A part that nobody stands in may be dropped while its text is waited for.
    run.stand(step);
    await run.expand(step);
    const element = document.getElementById(owner) ?? step;
    const pre = textsIn(element)[(number ?? 1) - 1];
    run.reveal(element, top);
    if (pre) show(textAt(pre), low, high ?? low, top);
    return true;
  }

  async function leadToFile(anchor, top) {
    const match = anchor.match(FILE_LINES);
    const row = match && document.getElementById(match[1] + match[2]);
    if (!row?.closest("table.source")) return false;
    show(tableAt(row.closest("table")), match[2], match[3], top);
    return true;
  }
  run.places.push(leadToFile, leadToText);

  function offer(held, text, low, high) {
    offered = held;
    choice.replaceChildren(...held.map(({ name, count }) => new Option(`${name}, ${count} lines`)));
    choice.selectedIndex = Math.max(0, held.indexOf(text));
    [from.value, to.value] = [low, high];
    bar.hidden = false;
    address();
  }

  function address() {
    const text = offered[choice.selectedIndex];
    from.max = to.max = text.count;
    const low = fit(from.value, text.count);
    const high = Math.max(low, fit(to.value, text.count));
    link.href = `#${text.address(low, high)}`;
    link.textContent = link.getAttribute("href");
    return [text, low, high];
  }

  function close() {
    bar.hidden = true;
    back?.focus({ preventScroll: true });
    back = null;
  }

  // From the keyboard: the texts of the step that one stands at, or the file that has the focus.
  KEYS.l = async () => {
    back = document.activeElement;
    const row = back.closest("table.source tr[id]");
    if (row) {
      const text = tableAt(row.closest("table"));
      offer([text], text, row.rowIndex + 1, row.rowIndex + 1);
    } else {
      const step = run.current();
      if (!step?.querySelector("pre")) return; // the reader is behind all steps, or there are none
      // A part that nobody stands in may be dropped while its text is waited for.
      run.stand(step);
      await run.expand(step);
      const held = [...step.querySelectorAll("pre")].filter(isFirst).map(textAt);
      if (!held.length) return;
      back = step;
      offer(held, held[0], 1, 1);
    }
    from.focus();
    from.select();
  };

  // From a selection.
  async function offerSelected() {
    const selection = getSelection();
    if (selection.isCollapsed || !selection.rangeCount) return;
    const range = selection.getRangeAt(0);
    const [first, last] = [range.startContainer, range.endContainer].map(
      (node) => (node instanceof Element ? node : node.parentElement));
    const rows = [first, last].map((node) => node.closest("table.source tr[id]")?.rowIndex);
    if (rows[0] !== undefined && rows[1] !== undefined) {
      const text = tableAt(first.closest("table"));
      offer([text], text, rows[0] + 1, rows[1] + 1);
      return;
    }
    const pre = first.closest("ol.steps > li pre");
    if (!pre || pre !== last.closest("pre") || !pre.closest("ol.steps")) return;
    const before = new Range();
    before.setStart(pre, 0);
    before.setEnd(range.startContainer, range.startOffset);
    const skipped = await leftOut(pre).catch(() => null);
    if (!skipped) return;
    const low = skipped.lines + before.toString().split("\n").length;
    const text = { ...textAt(skipped.head), count: Infinity };
    offer([text], text, low, low + lineCount(range.toString()) - 1);
  }

  // Lines of a long text that stand before its tail, which is shown below a link.
  async function leftOut(pre) {
    if (isFirst(pre)) return { head: pre, lines: 0 };
    const gap = pre.previousElementSibling;
    const head = gap.previousElementSibling;
    const whole = await run.whole(`${head.outerHTML}${gap.outerHTML}${pre.outerHTML}`);
    const text = textOf(whole);
    const lines = text.slice(0, text.length - pre.textContent.length).split("\n").length - 1;
    return { head, lines };
  }

  let resting = 0;
  document.addEventListener("selectionchange", () => {
    clearTimeout(resting);
    resting = setTimeout(offerSelected, 150);
  });

  for (const field of [choice, from, to]) {
    field.addEventListener("input", () => {
      if (field === from && Number(to.value) < Number(from.value)) to.value = from.value;
      const [text, low, high] = address();
      if (Number.isFinite(text.count)) show(text, low, high);
    });
  }
  bar.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && event.target !== link && event.target.tagName !== "BUTTON") link.click();
  });
  link.addEventListener("click", () => {
    navigator.clipboard?.writeText(link.href).catch(() => {});
    close();
  });
  document.getElementById("lines-close").addEventListener("click", close);

  // What a reader did before this file was there.
  if (run.late && query.value) search();
  if (run.late && axisNow() !== "steps") {
    draw();
    run.remember();
  }
  if (run.late && !getSelection().isCollapsed) offerSelected();
}, { once: true });
