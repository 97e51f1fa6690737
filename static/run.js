// The transcript of a run, part by part. Without this file every part is an ordinary page.
"use strict";

(() => {
  // Other pages of a run hand what they hold to the run's page that frames them: from disk nothing
  // can be fetched.
  const given = document.querySelector(".page-part ol.steps, .page-long pre.text");
  if (given) {
    if (window.parent !== window) window.parent.postMessage({ kbsite: given.innerHTML }, "*");
    return;
  }
  const steps = document.querySelector("ol.steps");
  if (!steps) return;

  const main = document.getElementById("main");
  const NEAR = "1500px 0px";
  const FAR = "9000px 0px";
  const STEP_HEIGHT = 110;
  const LINE = /^(.*?)L(\d+)(-\d+)?$/;

  // Parts ---------------------------------------------------------------------------------------

  const parts = [{ list: steps, html: null, marks: null, items: steps.children.length }];
  for (const section of document.querySelectorAll("section.part")) {
    const ranges = section.dataset.lines.split(" ").filter(Boolean).map((range) => {
      const [, file, low, high] = range.match(/^(.*?)(\d+)-(\d+)$/);
      return { file, low: Number(low), high: Number(high) };
    });
    const marks = new Map(section.dataset.marks.split(" ").filter(Boolean).map((mark) => {
      const [name, count] = mark.split(":");
      return [name, Number(count)];
    }));
    const items = Number(section.dataset.items);
    const part = { section, page: section.dataset.page, ranges, marks, items, list: null, wait: null };
    part.placeholder = section.innerHTML;
    section.style.minHeight = `${items * STEP_HEIGHT}px`;
    parts.push(part);
  }

  async function fetched(page) {
    const carried = await window.kbsiteCarried?.(page);  // single_file.js
    if (carried !== undefined) return carried;
    if (location.protocol !== "file:") {
      const answer = await fetch(page);
      if (!answer.ok) throw new Error(`${page}: ${answer.status}`);
      const text = await answer.text();
      const start = text.indexOf(">", text.indexOf('<ol class="steps"')) + 1;
      return text.slice(start, text.lastIndexOf("</ol>"));
    }
    return framed(page);
  }

  function framed(page) {
    return new Promise((resolve) => {
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.src = page;
      const listen = (event) => {
        if (event.source !== frame.contentWindow || typeof event.data?.kbsite !== "string") return;
        window.removeEventListener("message", listen);
        frame.remove();
        resolve(event.data.kbsite);
      };
      window.addEventListener("message", listen);
      document.body.append(frame);
    });
  }

  function load(part) {
    if (part.list || !part.section) return Promise.resolve(part);
    part.wait ??= fetched(part.page).then((html) => {
      const list = document.createElement("ol");
      list.className = "steps";
      list.innerHTML = html;
      for (const step of list.children) keep(step);
      part.section.replaceChildren(list);
      part.section.style.minHeight = "";
      part.list = list;
      part.wait = null;
      return part;
    });
    return part.wait;
  }

  function drop(part) {
    if (!part.list || !part.section || part.section.contains(document.activeElement)) return;
    part.section.style.minHeight = `${part.section.offsetHeight}px`;
    part.section.innerHTML = part.placeholder;
    part.list = null;
  }

  const bySection = new Map(parts.slice(1).map((part) => [part.section, part]));
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) load(bySection.get(entry.target));
  }, { rootMargin: NEAR });
  const far = new IntersectionObserver((entries) => {
    for (const entry of entries) if (!entry.isIntersecting) drop(bySection.get(entry.target));
  }, { rootMargin: FAR });
  for (const section of bySection.keys()) {
    near.observe(section);
    far.observe(section);
  }

  // Places --------------------------------------------------------------------------------------

  let here = null;

  let settling = 0;

  function settle(element, until = performance.now() + 700) {
    // Parts above may still be loading: stay with the target for a while, unless the reader scrolls.
    cancelAnimationFrame(settling);
    const top = element.getBoundingClientRect().top;
    const wanted = Math.max(70, document.getElementById("tools").getBoundingClientRect().bottom + 8);
    if (Math.abs(top - wanted) > 4) window.scrollBy(0, top - wanted);
    if (performance.now() < until) settling = requestAnimationFrame(() => settle(element, until));
  }
  for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"]) {
    window.addEventListener(kind, () => cancelAnimationFrame(settling), { passive: true, capture: true });
  }

  function reveal(element) {
    for (let at = element; at; at = at.parentElement) if (at instanceof HTMLDetailsElement) at.open = true;
    const step = element.closest(".step");
    here?.classList.remove("here");
    here = step;
    if (step) {
      step.classList.add("here");
      step.tabIndex = -1;
      step.focus({ preventScroll: true });
    }
    settle(element);
  }

  function candidates(anchor) {
    const found = anchor.match(LINE);
    if (!found) return [];
    const [, file, line] = found;
    return parts.filter((part) => part.ranges?.some(
      (range) => range.file === file && range.low <= Number(line) && Number(line) <= range.high));
  }

  function nearest(anchor, lists) {
    const [, file, line] = anchor.match(LINE) ?? [];
    let best = null;
    for (const list of lists) {
      for (const step of list.querySelectorAll("[id]")) {
        const [, its, number] = step.id.match(LINE) ?? [];
        if (its === file && Number(number) <= Number(line)) best = step;
      }
    }
    return best;
  }

  async function goTo(anchor) {
    let target = document.getElementById(anchor);
    if (!target) {
      const loaded = await Promise.all(candidates(anchor).map(load));
      target = document.getElementById(anchor)
        ?? nearest(anchor, [steps, ...loaded.map((part) => part.list)]);
    }
    if (target) reveal(target);
  }

  function toHash() {
    const anchor = decodeURIComponent(location.hash.slice(1));
    const target = document.getElementById(anchor);
    if (target && !target.closest("ol.steps")) settle(target);
    else if (LINE.test(anchor)) goTo(anchor);
  }
  window.addEventListener("hashchange", toHash);

  function note(anchor) {
    history.replaceState(null, "", `#${anchor}`);
  }

  // Steps, one by one or by what they are ---------------------------------------------------------

  function current() {
    if (here?.isConnected) return here;
    const top = document.getElementById("tools").getBoundingClientRect().bottom;
    return [...document.querySelectorAll("ol.steps > .step")]
      .find((step) => step.getBoundingClientRect().bottom > top) ?? null;
  }

  const has = (step, mark) => !mark || step.classList.contains(mark);
  const shown = (step) => !active.size || step.classList.contains("kept");

  async function move(direction, mark) {
    const from = current();
    let index = from ? parts.findIndex((part) => part.list?.contains(from)) : 0;
    let row = [...parts[index].list.children];
    let at = from ? row.indexOf(from) + direction : 0;
    if (from && !here) at -= direction;
    for (;;) {
      for (; at >= 0 && at < row.length; at += direction) {
        if (has(row[at], mark) && shown(row[at])) {
          note(row[at].id);
          return reveal(row[at]);
        }
      }
      do index += direction;
      while (parts[index] && parts[index].marks && !wanted(parts[index], mark));
      if (!parts[index]) return undefined;
      row = [...(await load(parts[index])).list.children];
      at = direction > 0 ? 0 : row.length - 1;
    }
  }

  // Filters ---------------------------------------------------------------------------------------

  const active = new Set();

  function wanted(part, mark) {
    return (!mark || part.marks.has(mark)) && (!active.size || [...active].some((m) => part.marks.has(m)));
  }

  function keep(step) {
    const marks = [...step.classList];
    step.classList.toggle("kept", marks.some((mark) => active.has(mark)));
  }

  function narrow() {
    main.classList.toggle("narrowed", active.size > 0);
    for (const part of parts) {
      if (part.list) for (const step of part.list.children) keep(step);
      if (!part.section) continue;
      part.section.hidden = !wanted(part);
      if (!part.list) {
        const left = [...active].reduce((sum, mark) => sum + (part.marks.get(mark) ?? 0), 0);
        part.section.style.minHeight = `${(active.size ? left : part.items) * STEP_HEIGHT}px`;
      }
    }
    for (const chip of document.querySelectorAll(".chip[data-mark]")) {
      chip.setAttribute("aria-pressed", String(active.has(chip.dataset.mark)));
    }
    remember();
  }

  // Find: one search over all text, also what is folded, not loaded, or on a page of its own -------

  const query = document.getElementById("query");
  const regex = document.getElementById("regex");
  const cased = document.getElementById("case");
  const found = document.getElementById("found");
  let texts = null;
  let hits = [];
  let hit = -1;

  async function textsOf(part) {
    let list = part.list;
    if (!list) {
      list = document.implementation.createHTMLDocument("").createElement("ol");
      list.innerHTML = await fetched(part.page);
    }
    return Promise.all([...list.children].map(async (step) => {
      const whole = [...step.querySelectorAll(".left-out a")].map((link) => link.getAttribute("href"));
      const longer = await Promise.all(whole.map(longText));
      return { anchor: step.id, text: [step.textContent, ...longer].join("\n"), own: step.textContent.length };
    }));
  }

  async function longText(page) {
    const text = await window.kbsiteCarried?.(page)
      ?? (location.protocol === "file:" ? await framed(page) : await (await fetch(page)).text());
    const made = document.implementation.createHTMLDocument("");
    made.body.innerHTML = text;
    return (made.querySelector("pre.text") ?? made.body).textContent;
  }

  async function allTexts() {
    texts ??= Promise.all(parts.map(textsOf)).then((held) => held.flat());
    return texts;
  }

  function pattern() {
    const source = regex.checked ? query.value : query.value.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return new RegExp(source, cased.checked ? "gu" : "giu");
  }

  async function search() {
    remember();
    hits = [];
    hit = -1;
    CSS.highlights?.clear();
    document.getElementById("ticks")?.replaceChildren();
    if (!query.value) {
      found.textContent = "";
      return;
    }
    let wantedText;
    try {
      wantedText = pattern();
    } catch (error) {
      found.textContent = "not a regular expression";
      return;
    }
    found.textContent = "…";
    const asked = query.value;
    const held = await allTexts();
    if (asked !== query.value) return;
    for (const { anchor, text, own } of held) {
      let nth = 0;
      for (const match of text.matchAll(wantedText)) {
        if (match[0]) hits.push({ anchor, nth: nth++, long: match.index >= own });
      }
    }
    tick(held);
    found.textContent = hits.length ? `${hits.length} found` : "nothing found";
    if (hits.length) await toHit(0);
  }

  async function toHit(number) {
    if (!hits.length) return;
    hit = (number + hits.length) % hits.length;
    const { anchor, nth, long } = hits[hit];
    found.textContent = `${hit + 1} of ${hits.length}${long ? ", in the text on a page of its own" : ""}`;
    const typing = document.activeElement === query;
    await goTo(anchor);
    const step = document.getElementById(anchor);
    if (step && !long) highlight(step, nth);
    if (typing) query.focus({ preventScroll: true });
    note(anchor);
  }

  function highlight(step, nth) {
    const walker = document.createTreeWalker(step, NodeFilter.SHOW_TEXT);
    const nodes = [];
    for (let length = 0; walker.nextNode(); length += walker.currentNode.length) {
      nodes.push({ node: walker.currentNode, start: length });
    }
    const place = (offset) => {
      const held = nodes.findLast(({ start }) => start <= offset);
      return [held.node, Math.min(offset - held.start, held.node.length)];
    };
    const match = [...step.textContent.matchAll(pattern())].filter((m) => m[0])[nth];
    if (!match) return;
    const range = new Range();
    range.setStart(...place(match.index));
    range.setEnd(...place(match.index + match[0].length));
    for (let at = range.startContainer.parentElement; at && at !== step; at = at.parentElement) {
      if (at instanceof HTMLDetailsElement) at.open = true;
    }
    if (window.Highlight) CSS.highlights.set("found", new Highlight(range));
    const { top } = range.getBoundingClientRect();
    if (top < 120 || top > innerHeight - 40) window.scrollBy(0, top - innerHeight / 3);
  }

  // The address says what is looked for and what is shown ------------------------------------------

  function remember() {
    const state = new URLSearchParams();
    if (query.value) state.set("q", query.value);
    if (regex.checked) state.set("regex", "1");
    if (cased.checked) state.set("case", "1");
    if (active.size) state.set("show", [...active].join(","));
    const text = state.toString();
    history.replaceState(null, "", `${location.pathname}${text ? `?${text}` : ""}${location.hash}`);
  }

  function recall() {
    const state = new URLSearchParams(location.search);
    query.value = state.get("q") ?? "";
    regex.checked = state.has("regex");
    cased.checked = state.has("case");
    for (const mark of (state.get("show") ?? "").split(",").filter(Boolean)) active.add(mark);
    if (active.size) narrow();
    if (query.value && !location.hash) search();
    else toHash();
  }

  // The map --------------------------------------------------------------------------------------

  const map = document.getElementById("minimap");
  map?.addEventListener("click", (event) => {
    const anchor = event.target.closest("a")?.getAttribute("href")?.split("#")[1];
    if (!anchor) return;
    event.preventDefault();
    note(decodeURIComponent(anchor));
    goTo(decodeURIComponent(anchor));
  });

  document.getElementById("trajectory")?.addEventListener("click", (event) => {
    const link = event.target.closest("a")?.getAttribute("href") ?? "";
    const anchor = event.target.closest("[data-anchor]")?.dataset.anchor ?? link.split("#")[1];
    if (!anchor || link.startsWith("snapshots")) return;
    event.preventDefault();
    note(decodeURIComponent(anchor));
    goTo(decodeURIComponent(anchor));
  });

  function tick(held) {
    const ticks = document.getElementById("ticks");
    if (!ticks) return;
    const { columns, steps: count } = ticks.ownerSVGElement.dataset;
    const order = new Map(held.map(({ anchor }, index) => [anchor, index]));
    const marked = new Set(hits.map(({ anchor }) => Math.floor((order.get(anchor) * columns) / count)));
    ticks.replaceChildren(...[...marked].map((column) => {
      const rect = document.createElementNS(ticks.namespaceURI, "rect");
      for (const [name, value] of Object.entries({ class: "tick", x: column, y: 0, width: 1, height: 3 })) {
        rect.setAttribute(name, value);
      }
      return rect;
    }));
  }

  // Hands ---------------------------------------------------------------------------------------

  const help = document.getElementById("help");
  const helpButton = document.getElementById("help-button");
  const keys = document.getElementById("keys");

  function toggleHelp() {
    help.hidden = !help.hidden;
    helpButton.setAttribute("aria-expanded", String(!help.hidden));
  }

  const KEYS = {
    j: () => move(1),
    k: () => move(-1),
    e: () => move(1, "is-error"),
    E: () => move(-1, "is-error"),
    s: () => move(1, "is-solution"),
    S: () => move(-1, "is-solution"),
    n: () => toHit(hit + 1),
    p: () => toHit(hit - 1),
    "/": () => query.focus(),
    "?": toggleHelp,
    "[": () => document.querySelector('[data-key="["]')?.click(),
    "]": () => document.querySelector('[data-key="]"]')?.click(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const act = KEYS[event.key];
    if (!act || !keys.checked) return;
    event.preventDefault();
    act();
  });

  query.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (hits.length) toHit(hit + (event.shiftKey ? -1 : 1));
    else search();
  });
  let pause = 0;
  query.addEventListener("input", () => {
    hits = [];
    clearTimeout(pause);
    pause = setTimeout(search, 120);
  });
  query.addEventListener("focus", allTexts, { once: true });
  for (const box of [regex, cased]) box.addEventListener("change", search);
  document.getElementById("next").addEventListener("click", () => toHit(hit + 1));
  document.getElementById("previous").addEventListener("click", () => toHit(hit - 1));
  helpButton.addEventListener("click", toggleHelp);
  for (const chip of document.querySelectorAll(".chip[data-mark]")) {
    chip.addEventListener("click", () => {
      const { mark } = chip.dataset;
      if (!active.delete(mark)) active.add(mark);
      narrow();
    });
  }

  document.getElementById("tools").hidden = false;
  recall();
})();
