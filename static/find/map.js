// The map of a transcript, by steps, time or tokens: a path for each kind of mark.
"use strict";

kbsite.map = ({ address, keys }) => {

  const rest = window.requestIdleCallback ?? setTimeout;
  const SOON = { timeout: 1000 }; // a browser may have no rest for long
  const map = document.querySelector("#minimap svg");
  const ticks = document.getElementById("ticks");
  const axis = document.getElementById("axis");
  const GRAIN = 1000; // what the ends of a stretch are told in, of the whole axis
  const THIN = 0.4; // columns that a mark has at least
  const REACH = 12; // pixels beside a mark that still mean it: marks are thin, and fingers are not
  let hits = []; // each with the number of its step
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

  // How far a place is from a stretch.
  const beside = (from, length, place) => Math.max(from - place, place - from - length, 0);

  // The mark of some that is nearest to a place; of several there the one that is seen.
  function nearest(marks, place) {
    const off = ({ x, width }) => beside(x, width, place);
    return marks.reduce((best, mark) => {
      const nearer = off(best) - off(mark) || mark.over - best.over;
      return nearer >= 0 ? mark : best;
    });
  }

  // The nearest mark of the nearest lane that has one within reach.
  function pointed(event) {
    const { left, top, width, height } = map.getBoundingClientRect();
    const { width: columns, height: rows } = map.viewBox.baseVal;
    const [wide, tall] = [width / columns, height / rows];
    const [x, y] = [(event.clientX - left) / wide, (event.clientY - top) / tall];
    let [found, least] = [null, REACH];
    for (const { marks } of laid()) {
      const mark = nearest(marks, x);
      const off = Math.hypot(beside(mark.x, mark.width, x) * wide, beside(mark.top, mark.height, y) * tall);
      if (off < least) [found, least] = [mark, off];
    }
    return found;
  }

  function walk(event) {
    const [aside, below] = {
      ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
    }[event.key] ?? [];
    if (aside === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const row = lanes.findIndex(({ lane }) => lane === cursor.mark.lane);
    const { marks } = lanes[row];
    const there = lanes[row + below]?.marks;
    const next = below ? there && nearest(there, cursor.mark.x) : marks[marks.indexOf(cursor.mark) + aside];
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
    tick(hits);
  }

  // What a search has found.
  function tick(found) {
    hits = found;
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
      address.remember();
    });
    address.memory.push({
      save: (state) => axisNow() !== "steps" && state.set("axis", axisNow()),
      load(state) {
        const wanted = axis.querySelector(`[value="${CSS.escape(state.get("axis") ?? "steps")}"]`);
        if (!wanted) return;
        wanted.checked = true;
        if (drawnBy !== wanted.value) draw();
      },
    });
    keys.m = () => {
      const choices = [...axis.querySelectorAll("input")];
      const next = choices[(choices.findIndex((choice) => choice.checked) + 1) % choices.length];
      next.checked = true;
      next.dispatchEvent(new Event("change", { bubbles: true }));
    };
  }

  // What a reader chose before this file was there.
  function catchUp() {
    if (axisNow() === "steps") return;
    draw();
    address.remember();
  }

  return { tick, catchUp };
};
