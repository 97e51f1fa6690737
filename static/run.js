// The transcript of a run, part by part. Without this file every part is an ordinary page.
"use strict";

(async () => {
  const NEAR = "1500px 0px";
  const FAR = "9000px 0px";
  const STEP_HEIGHT = 110;
  const SETTLED = 700; // milliseconds that parts may still come in
  const GAP = 4; // pixels between the bars and what is gone to
  const LINE = /^(.*?)L(\d+)(-\d+)?$/;
  const EXACT = /[:-]\d+$/; // lines of a text
  const rest = window.requestIdleCallback ?? setTimeout;
  const SOON = { timeout: 1000 }; // a browser may have no rest for long
  const AGAIN = 1000; // milliseconds until what could not be had is asked for again
  const SELDOM = 60_000;
  const SOME = "some steps";

  // Pages of a run's parts ------------------------------------------------------------------------

  // From disk nothing can be fetched. But each page of a run is a script as well, which hands this
  // function another one, whose text holds the page.
  window.kbsite = (page) => { document.currentScript.page = String(page); };

  function asScript(address) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.onload = () => {
        script.remove();
        resolve(script.page);
      };
      script.onerror = () => {
        script.remove();
        reject(new Error(address));
      };
      script.src = address;
      document.head.append(script);
    });
  }

  // find.js is loaded when there is somebody, or an address that wants it. In a file by itself it
  // stands beside this one.
  const own = document.currentScript.src;
  let finder = null;

  function finding() {
    finder ??= own ? asScript(new URL("find.js", own).href) : Promise.resolve();
    finder.catch(() => { finder = null; }); // to be asked for again
    return finder;
  }

  async function asText(page) {
    const answer = await fetch(page);
    if (!answer.ok) throw new Error(`${page}: ${answer.status}`);
    return answer.text();
  }

  async function received(page) {
    const carried = await window.kbsiteCarried?.(page); // single_file.js
    if (carried !== undefined) return carried;
    return location.protocol === "file:" ? asScript(page) : asText(page);
  }

  const pages = new Map();

  function read(page) {
    if (!pages.has(page)) {
      const text = received(page);
      text.catch(() => pages.delete(page)); // to be asked for again
      pages.set(page, text);
    }
    return pages.get(page);
  }

  function rangesOf(words) {
    return words.filter(Boolean).map((range) => {
      const [, file, low, high] = range.match(/^(.*?)(\d+)-(\d+)$/);
      return { file, low: Number(low), high: Number(high) };
    });
  }

  function anchored() {
    const said = location.hash.slice(1);
    try {
      return decodeURIComponent(said);
    } catch {
      return said; // bytes that are no UTF-8
    }
  }

  const lineOf = (anchor) => anchor.replace(/(\.\d+)?:[\d-]*$/, "");

  const linesOf = new Map((document.documentElement.dataset.parts ?? "").split("|").map((part) => {
    const [page, ...lines] = part.split(" ");
    return [page, lines];
  }));

  function holds(ranges, anchor) {
    const [, file, line] = anchor.match(LINE) ?? [];
    return ranges.some((range) => range.file === file && range.low <= line && line <= range.high);
  }

  // The part that the address names is asked for before the page is all there; until it comes
  // nothing may be drawn (templates/parts/boot.html).
  const unveil = () => document.documentElement.classList.remove("veiled");
  const { sought } = document.currentScript.dataset;
  const early = Boolean(location.search) || EXACT.test(anchored());
  if (early) finding().catch(() => {});
  if (sought) read(sought).catch(unveil);

  const parsed = new Promise((tell) => {
    document.addEventListener("DOMContentLoaded", tell, { once: true });
  });
  if (document.readyState === "loading") await parsed;

  const steps = document.querySelector("ol.steps");

  const main = document.getElementById("main");
  const tools = document.getElementById("tools");
  const said = document.getElementById("said");
  const arrived = []; // called with each list of steps that comes into the page

  // What is folded away and long stands in the page as the text that it has for readers without
  // scripts: a browser takes it apart when somebody is there.
  function unpack() {
    for (const held of document.querySelectorAll("details > noscript")) {
      held.replaceWith(document.createRange().createContextualFragment(held.textContent));
    }
  }
  window.addEventListener("beforeprint", unpack, { once: true });
  if (matchMedia("print").matches) unpack();

  // What a reader chose, kept where the browser allows it: from disk it may not -----------------

  const kept = {
    get(store, name) {
      try {
        return window[store].getItem(`kbsite.${name}`);
      } catch {
        return null;
      }
    },
    set(store, name, value) {
      try {
        window[store].setItem(`kbsite.${name}`, value);
      } catch {
        // Nothing is lost but the memory of a choice.
      }
    },
  };

  // Parts ---------------------------------------------------------------------------------------

  const pairs = (text) => new Map((text ?? "").split(" ").filter(Boolean).map((pair) => {
    const at = pair.lastIndexOf(":");
    return [pair.slice(0, at), Number(pair.slice(at + 1))];
  }));

  // What a page says of its parts is read when it is asked for: few readers ask for all of it.
  class Part {
    list = null;
    wait = null;
    sought = 0; // by how many a step is sought in it
    #ranges = null;
    #marks = null;
    #tools = null;
    #agents = null;

    constructor(section) {
      this.section = section;
      this.page = section.dataset.page;
      this.items = Number(section.dataset.items);
    }

    get ranges() { return (this.#ranges ??= rangesOf(linesOf.get(this.page) ?? [])); }
    get marks() { return (this.#marks ??= pairs(this.section.dataset.marks)); }
    get tools() { return (this.#tools ??= pairs(this.section.dataset.tools)); }
    get agents() { return (this.#agents ??= pairs(this.section.dataset.agents)); }
    get inside() { return (this.section.dataset.inside ?? "").split(" ").filter(Boolean); }
  }

  const parts = [{ list: steps, items: steps.children.length }];
  for (const section of document.querySelectorAll("section.part")) {
    const part = new Part(section);
    section.style.minHeight = `${part.items * STEP_HEIGHT}px`;
    parts.push(part);
  }

  // What cannot be had is told to whoever reads it.
  const ask = ({ page }) => page && read(page);

  async function htmlOf(part) {
    if (!part.page) return steps.innerHTML;
    const text = await read(part.page);
    const list = text.indexOf('<ol class="steps"');
    return list < 0 ? text : text.slice(text.indexOf(">", list) + 1, text.lastIndexOf("</ol>"));
  }

  function load(part) {
    if (part.list) return Promise.resolve(part);
    part.wait ??= htmlOf(part).then((html) => {
      const list = document.createElement("ol");
      list.className = "steps";
      list.innerHTML = html;
      part.placeholder ??= [...part.section.childNodes];
      part.section.replaceChildren(list);
      part.section.style.minHeight = "";
      part.list = list;
      for (const dress of arrived) dress(part);
      return part;
    }).finally(() => { part.wait = null; });
    return part.wait;
  }

  function drop(part) {
    if (!part.list || part.sought || part.section.contains(document.activeElement)) return;
    part.section.style.minHeight = `${part.section.offsetHeight}px`;
    part.section.replaceChildren(...part.placeholder);
    part.list = null;
  }

  const bySection = new Map(parts.slice(1).map((part) => [part.section, part]));
  const watch = (rootMargin, act) => {
    const watcher = new IntersectionObserver((entries) => entries.forEach(act), { rootMargin });
    for (const section of bySection.keys()) watcher.observe(section);
    return watcher;
  };
  const nearby = watch(NEAR, ({ isIntersecting, target }) => {
    if (isIntersecting) load(bySection.get(target)).then(had, () => missed(target));
  });
  watch(FAR, (entry) => entry.isIntersecting || drop(bySection.get(entry.target)));

  // A part that could not be had, as while a server starts anew, is asked for again as long as it is
  // near: ever more seldom, and at once when the network is back.
  const due = new Set();
  let patience = AGAIN;
  let asking = 0;

  const lost = (what) => { said.textContent = `${what} could not be loaded`; };

  function had() {
    patience = AGAIN;
    if (said.textContent.startsWith(SOME)) said.textContent = "";
  }

  function missed(section) {
    due.add(section);
    lost(SOME);
    clearTimeout(asking);
    asking = setTimeout(askAgain, patience);
    patience = Math.min(2 * patience, SELDOM);
  }

  function askAgain() {
    for (const section of due) {
      nearby.unobserve(section);
      nearby.observe(section); // which tells whether it is near
    }
    due.clear();
  }
  window.addEventListener("online", askAgain);

  // Long texts: whole in their place -------------------------------------------------------------

  const LEFT_OUT = /<p class="left-out"><a href="([^"]+)">[^<]*<\/a><\/p>/;
  const SIGNED = /(?:^\+.*\n?)+|(?:^-.*\n?)+/gm;
  const SIGNS = { "+": "ins", "-": "del" };

  async function whole(html) {
    for (let match = html.match(LEFT_OUT); match; match = html.match(LEFT_OUT)) {
      const page = await read(match[1]);
      let text = page.slice(page.indexOf(">", page.indexOf("<pre")) + 1, page.lastIndexOf("</pre>"));
      const start = html.lastIndexOf("<pre", match.index);
      const body = html.indexOf(">", start) + 1;
      const after = match.index + match[0].length;
      const tail = /^\s*<pre/.test(html.slice(after, after + 20));
      if (!tail) text = text.replace(/^\n/, "").replace(SIGNED, (run) => `<${SIGNS[run[0]]}>${run}</${SIGNS[run[0]]}>`);
      const end = tail ? html.indexOf("</pre>", after) + 6 : after;
      html = `${html.slice(0, body)}${text}</pre>${html.slice(end)}`;
    }
    return html;
  }

  async function expand(step) {
    if (!step.querySelector(".left-out")) return;
    const html = await whole(step.innerHTML).catch(() => lost("the whole text"));
    if (html) step.innerHTML = html;
  }

  // Text, by its characters ----------------------------------------------------------------------

  const BLOCK = /^(?:blockquote|details|div|fig(?:caption|ure)|h[1-6r]|li|[ou]l|p|pre|small|summary|t(?:able|body|[dhr]|head))$/;

  // Each text node, and where it starts: a line end stands between what blocks keep apart, as in
  // what find.js makes of a step that is not here.
  function textNodes(element) {
    const time = element.matches("ol.steps > li") ? element.querySelector(":scope > a") : null;
    const nodes = [];
    let length = 0;
    let apart = 0;
    const take = (within) => {
      for (const child of within.childNodes) {
        if (child === time) continue;
        if (child instanceof Text) {
          nodes.push({ node: child, start: length + apart });
          length += apart + child.length;
          apart = 0;
        } else {
          const block = BLOCK.test(child.localName);
          if (block && length) apart = 1;
          take(child);
          if (block && length) apart = 1;
        }
      }
    };
    take(element);
    return nodes;
  }

  function rangeOf(nodes, from, to) {
    const place = (offset) => {
      const held = nodes.findLast(({ start }) => start <= offset);
      return [held.node, Math.min(offset - held.start, held.node.length)];
    };
    const range = new Range();
    range.setStart(...place(from));
    range.setEnd(...place(to));
    return range;
  }

  function unfold(node, within = null) {
    for (let at = node; at && at !== within; at = at.parentElement) {
      if (at instanceof HTMLDetailsElement) at.open = true;
    }
  }

  // Only where something stands out its colours are worked out: a browser does that for each element.
  const lit = new Map();

  function light(name, node) {
    const before = lit.get(name);
    lit.set(name, node instanceof Element ? node : node.parentElement);
    if (before && ![...lit.values()].includes(before)) before.classList.remove("lit");
    lit.get(name).classList.add("lit");
  }

  function highlight(name, range) {
    if (window.Highlight) {
      light(name, range.commonAncestorContainer);
      CSS.highlights.set(name, new Highlight(range));
    }
    else if (!tools.contains(document.activeElement)) {
      getSelection().removeAllRanges();
      getSelection().addRange(range);
    }
  }

  // Places --------------------------------------------------------------------------------------

  let here = null;
  let bared = null; // the part, left out by the filters, in which somebody stands
  let led = 0; // how often the reader was led somewhere: who is overtaken leads nowhere
  let settling = 0;
  let closeHelp = () => {};

  // Down to where the bars cover the window once they stick. Higher up on the page they stand lower:
  // what is brought below them there moves with them.
  const header = document.querySelector("header.top");
  const edge = () => Math.max(...[header, tools].map((bar) => {
    const { position, top } = getComputedStyle(bar);
    return position === "sticky" ? parseFloat(top) + bar.offsetHeight : 0;
  }));

  function settle(place, top = null, until = performance.now() + SETTLED) {
    // Parts above may still be loading: stay with the target for a while, unless the reader scrolls.
    cancelAnimationFrame(settling);
    closeHelp();
    const wanted = top ?? edge() + GAP;
    const off = place.getBoundingClientRect().top - wanted;
    if (Math.abs(off) > 4) window.scrollBy(0, off);
    if (performance.now() < until) settling = requestAnimationFrame(() => settle(place, top, until));
  }
  for (const kind of ["wheel", "touchmove", "pointerdown", "keydown", "popstate"]) {
    window.addEventListener(kind, () => {
      cancelAnimationFrame(settling);
      said.textContent = "";
    }, { passive: true, capture: true });
  }

  // Who types goes on typing.
  function stand(step, typing = false) {
    if (here !== step) here?.classList.remove("here");
    here = step;
    const part = step?.closest("section.part");
    if (bared && bared !== part) {
      bared.hidden = true;
      bared = null;
    }
    if (!step) return;
    step.classList.add("here");
    // What one goes to is seen, also where the filters leave it out.
    if (part?.hidden) {
      part.hidden = false;
      bared = part;
    }
    if (typing) return;
    step.tabIndex = -1;
    step.focus({ preventScroll: true });
  }

  function reveal(element, top = null) {
    unfold(element);
    stand(element.closest("ol.steps > li"));
    settle(element, top);
  }

  function candidates(anchor) {
    return parts.filter((part) => part.ranges && holds(part.ranges, anchor));
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

  async function elementOf(anchor) {
    const held = document.getElementById(anchor);
    if (held) {
      unveil(); // parts may share lines: the one that was waited for is not the one that is asked for
      return held;
    }
    // Several may hold the line, and none of them goes away while another is waited for.
    const asked = candidates(anchor);
    for (const part of asked) part.sought += 1;
    const loads = await Promise.allSettled(asked.map(load));
    unveil();
    for (const part of asked) part.sought -= 1;
    const found = document.getElementById(anchor);
    if (found) return found;
    if (loads.some(({ status }) => status === "rejected")) return lost("that step");
    return nearest(anchor, [steps, ...asked.map((part) => part.list)]);
  }

  async function goTo(anchor, top = null) {
    led += 1;
    const target = await elementOf(anchor);
    if (target) reveal(target, top);
    return target;
  }

  async function toHash(top = null) {
    led += 1;
    const anchor = anchored();
    if (EXACT.test(anchor)) await found();
    for (const lead of places) if (await lead(anchor, top)) return;
    const target = document.getElementById(anchor);
    if (target && !target.closest("ol.steps")) {
      unfold(target);
      settle(target, top);
    }
    else if (LINE.test(lineOf(anchor))) await goTo(lineOf(anchor), top); // the step, without find.js
  }
  window.addEventListener("hashchange", () => toHash());

  // A place that somebody went to, by a link or by hand, can be gone back to: what a reader does
  // there makes an entry of the history of its own, which goes along from then on.
  const ALONG = "along";

  function write(address) {
    const stays = location.hash && history.state !== ALONG;
    try {
      history[stays ? "pushState" : "replaceState"](ALONG, "", address);
    } catch {
      // Who holds a key down is written down too often for some browsers: the address lags behind.
    }
  }

  const note = (anchor) => `#${anchor}` === location.hash || write(`#${anchor}`);

  function follow(event) {
    const link = event.target.closest("a")?.getAttribute("href") ?? "";
    const [page, place] = link.split("#");
    const anchor = event.target.closest("[data-anchor]")?.dataset.anchor ?? place;
    if (!LINE.test(decodeURIComponent(anchor ?? ""))) return;
    if (page && !parts.some((part) => part.page === page)) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return; // a window of its own
    event.preventDefault();
    // A link that was followed can be gone back from.
    if (`#${anchor}` !== location.hash) history.pushState(null, "", `#${anchor}`);
    goTo(decodeURIComponent(anchor));
  }
  // Verdict, alarms, trajectory, map and steps name steps by pages that are parts of this one.
  main.addEventListener("click", follow);

  // A click on a permalink copies its address.
  document.addEventListener("click", (event) => {
    const permalink = event.target.closest("ol.steps > li > a, td.number a");
    if (permalink) navigator.clipboard?.writeText(permalink.href).catch(() => {});
  });

  // Where the reader was, over a reload ------------------------------------------------------------

  const PLACE = `place:${location.pathname}`;

  function topmost() {
    return [...document.querySelectorAll("ol.steps > li")]
      .find((step) => step.getBoundingClientRect().bottom > edge() + GAP + 1) ?? null;
  }

  function inSight(step) {
    const { top, bottom } = step.getBoundingClientRect();
    return bottom > edge() && top < innerHeight;
  }

  window.addEventListener("pagehide", () => {
    const inside = steps.getBoundingClientRect().top < edge();
    const step = here?.isConnected && inSight(here) ? here : inside && topmost();
    // Before the steps and behind them the browser knows the place, but for an address with a step.
    const beside = inside ? "footer" : "main";
    const [held, name] = step ? [step, { anchor: step.id }] : [document.querySelector(beside), { beside }];
    const place = step || location.hash ? { ...name, top: held.getBoundingClientRect().top } : null;
    kept.set("sessionStorage", PLACE, JSON.stringify(place));
  });

  function placeBefore() {
    const place = JSON.parse(kept.get("sessionStorage", PLACE) ?? "null");
    const [entry] = place ? performance.getEntriesByType("navigation") : [];
    return ["reload", "back_forward"].includes(entry?.type) ? place : null;
  }

  // Hands: what waits until there is somebody -------------------------------------------------------

  const memory = []; // what the address says of what is looked for and shown
  const places = []; // each may take an anchor that it knows, and lead there
  let run = null;
  let recalling = false;
  let recalled = false;

  function hands() {
    if (run) return;
    rest(unpack, SOON);

    // Steps, one by one or by what they are ---------------------------------------------------------

    const current = () => (here?.isConnected ? here : topmost());
    const marksOf = (step) => step.dataset.marks?.split(" ") ?? [...step.classList];
    const has = (step, mark) => !mark || marksOf(step).includes(mark);
    const shown = (step) => !narrowed() || step.classList.contains("kept");

    const WHAT = { "is-error": "error", "is-solution": "edit of solution.py" };

    function tellNone(direction, mark) {
      const which = direction > 0 ? "next" : "previous";
      said.textContent = `no ${which} ${WHAT[mark] ?? "step"}${narrowed() ? " among those shown" : ""}`;
    }

    function besides(direction) {
      const inSight = parts.findIndex(
        ({ section }) => (section ?? steps).getBoundingClientRect().bottom > edge());
      return (inSight < 0 ? parts.length : inSight) - (direction > 0 ? 1 : 0);
    }

    async function move(direction, mark) {
      const mine = (led += 1);
      const from = current();
      // Who is behind all steps, or where none is there yet, goes on from the part that is in sight.
      let index = from ? parts.findIndex((part) => part.list?.contains(from)) : besides(direction);
      let row = from ? [...parts[index].list.children] : [];
      let at = row.indexOf(from) + (here ? direction : 0);
      for (;;) {
        for (; at >= 0 && at < row.length; at += direction) {
          if (has(row[at], mark) && shown(row[at])) {
            note(row[at].id);
            return reveal(row[at]);
          }
        }
        do index += direction;
        while (parts[index]?.section && !wanted(parts[index], mark));
        if (!parts[index]) return tellNone(direction, mark);
        const part = await load(parts[index]).catch(() => null);
        if (mine !== led) return;
        if (!part) return lost("the next of them");
        row = [...part.list.children];
        at = direction > 0 ? 0 : row.length - 1;
      }
    }

    // Filters: any of the marks, of one tool, of one agent --------------------------------------------

    const active = new Set();
    const tool = document.getElementById("tool");
    const agent = document.getElementById("agent");
    const agentOf = new WeakMap();
    const narrowed = () => Boolean(active.size || tool?.value || agent?.value);

    const toolOf = (step) => step.querySelector(":scope > p > b:first-child + i")?.textContent ?? "";

    function left(part) {
      const counts = [part.items];
      if (active.size) counts.push([...active].reduce((sum, mark) => sum + (part.marks.get(mark) ?? 0), 0));
      if (tool?.value) counts.push(part.tools.get(String(tool.selectedIndex)) ?? 0);
      if (agent?.value) counts.push(part.agents.get(agent.value) ?? 0);
      return Math.min(...counts);
    }

    const wanted = (part, mark) => (!mark || part.marks.has(mark)) && left(part) > 0;

    function keep(step) {
      step.classList.toggle("kept",
        (!active.size || marksOf(step).some((mark) => active.has(mark)))
        && (!tool?.value || toolOf(step) === tool.value)
        && (!agent?.value || agentOf.get(step) === agent.value));
    }

    function tellAgents({ list, inside }) {
      const stack = ["main", ...(inside ?? [])];
      for (const step of list.children) {
        const depth = Number(step.className.match(/depth-(\d)/)?.[1] ?? 0);
        if (step.classList.contains("opens")) stack[depth] = step.id;
        agentOf.set(step, stack[depth]);
      }
    }

    function narrow() {
      main.classList.toggle("narrowed", narrowed());
      for (const part of parts) {
        if (part.list) for (const step of part.list.children) keep(step);
        if (!part.section) continue;
        part.section.hidden = !wanted(part);
        if (!part.list) part.section.style.minHeight = `${left(part) * STEP_HEIGHT}px`;
      }
      bared = null;
      if (here) stand(here, true);
      for (const chip of document.querySelectorAll(".chip[data-mark]")) {
        chip.setAttribute("aria-pressed", String(active.has(chip.dataset.mark)));
      }
      remember();
    }

    arrived.push(tellAgents, ({ list }) => narrowed() && [...list.children].forEach(keep));
    parts.filter((part) => part.list).forEach(tellAgents);
    for (const choice of [tool, agent]) choice?.addEventListener("change", narrow);
    for (const chip of document.querySelectorAll(".chip[data-mark]")) {
      chip.addEventListener("click", () => {
        const { mark } = chip.dataset;
        if (!active.delete(mark)) active.add(mark);
        narrow();
      });
    }

    // Folding and the clock --------------------------------------------------------------------------

    const fold = document.getElementById("fold");
    const clock = document.getElementById("clock");
    const started = Date.parse(tools.dataset.first ?? "");

    function foldAs({ list }) {
      for (const details of list.querySelectorAll("details")) {
        details.dataset.open ??= String(details.open);
        details.open = fold.value ? fold.value === "open" : details.dataset.open === "true";
      }
    }

    function tellTime({ list }) {
      for (const link of list.querySelectorAll(":scope > li > a")) {
        link.dataset.elapsed ??= link.textContent;
        const { elapsed } = link.dataset;
        if (!/^-?[\d:]+$/.test(elapsed)) continue;
        const seconds = elapsed.replace("-", "").split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
        const at = new Date(started + (elapsed.startsWith("-") ? -seconds : seconds) * 1000);
        link.textContent = clock.checked ? at.toISOString().slice(11, 19) : elapsed;
      }
    }

    function chosen(field, dress, name) {
      const said = kept.get("localStorage", name);
      if (field.type === "checkbox") field.checked = said === null ? field.checked : said === "true";
      else if (said !== null) field.value = said;
      const all = () => parts.filter((part) => part.list).forEach(dress);
      field.addEventListener("change", () => {
        kept.set("localStorage", name, String(field.type === "checkbox" ? field.checked : field.value));
        all();
      });
      if (field.type === "checkbox" ? field.checked : field.value) all();
      arrived.push((part) => (field.type === "checkbox" ? field.checked : field.value) && dress(part));
    }

    // The address says what is looked for and what is shown ------------------------------------------

    memory.push({
      save(state) {
        if (active.size) state.set("show", [...active].join(","));
        if (tool?.value) state.set("tool", tool.value);
        if (agent?.value) state.set("agent", agent.value);
      },
      load(state) {
        active.clear();
        for (const mark of (state.get("show") ?? "").split(",").filter(Boolean)) active.add(mark);
        if (tool) tool.value = state.get("tool") ?? "";
        if (agent) agent.value = state.get("agent") ?? "";
        if (tool && !tool.value) tool.selectedIndex = 0;
        if (agent && !agent.value) agent.selectedIndex = 0;
        if (narrowed() || main.matches(".narrowed")) narrow();
      },
    });

    function remember() {
      const text = told();
      if (recalling || text === asked().toString()) return;
      write(`${location.pathname}${text ? `?${text}` : ""}${location.hash}`);
    }

    // Hands ---------------------------------------------------------------------------------------

    const help = document.getElementById("help");
    const helpButton = document.getElementById("help-button");
    const keys = document.getElementById("keys");

    // The table hangs below the bar, wherever the reader is, and moves nothing.
    function toggleHelp() {
      const opens = help.hidden;
      if (!opens && help.contains(document.activeElement)) helpButton.focus();
      help.hidden = !opens;
      helpButton.setAttribute("aria-expanded", String(opens));
      if (!opens) return;
      help.style.maxHeight = `${Math.max(200, innerHeight - edge())}px`;
      const { top, bottom } = help.getBoundingClientRect();
      if (top < 0 || bottom > innerHeight) help.scrollIntoView({ block: "nearest" });
    }

    // It would cover what is gone to.
    closeHelp = () => {
      if (!help.hidden) toggleHelp();
    };
    tools.addEventListener("focusout", ({ relatedTarget }) => {
      if (relatedTarget?.closest("ol.steps")) closeHelp();
    });

    function toggle(field) {
      if (field.type === "checkbox") field.checked = !field.checked;
      else field.selectedIndex = (field.selectedIndex + 1) % field.options.length;
      field.dispatchEvent(new Event("change"));
    }

    const KEYS = {
      j: () => move(1),
      k: () => move(-1),
      e: () => move(1, "is-error"),
      E: () => move(-1, "is-error"),
      s: () => move(1, "is-solution"),
      S: () => move(-1, "is-solution"),
      f: () => toggle(fold),
      t: () => clock && toggle(clock),
      "/": () => document.getElementById("query").focus(),
      "?": toggleHelp,
      "[": () => document.querySelector('[data-key="["]')?.click(),
      "]": () => document.querySelector('[data-key="]"]')?.click(),
    };

    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape" && help.contains(event.target)) return closeHelp();
      if (event.target.closest("input:not([type=checkbox], [type=radio]), textarea, select")) {
        if (event.key !== "Escape") return;
        if (event.target.type === "search") event.preventDefault(); // Firefox would empty it
        event.target.blur();
        return;
      }
      if (event.key === "Escape") closeHelp();
      // Pressed before this file was there: the parts have taken their room since then.
      if (event.key === "End" && !event.isTrusted) scrollTo(0, document.documentElement.scrollHeight);
      const act = KEYS[event.key];
      if (!act || !keys.checked) return;
      event.preventDefault();
      act();
    });
    helpButton.addEventListener("click", toggleHelp);

    run = {
      parts, steps, tools, edge, KEYS, memory, remember, ask, htmlOf, whole, expand, BLOCK, textNodes,
      rangeOf, unfold, highlight, elementOf, goTo, reveal, stand, settle, note, current, places,
      get late() { return recalled; }, // whether fields may be filled before find.js is there
    };
    for (const key of LATER) KEYS[key] = () => found().then(() => there && KEYS[key]?.());
    chosen(fold, foldAs, "fold");
    if (clock) chosen(clock, tellTime, "clock");
    chosen(keys, () => {}, "keys");
  }

  // Finding, links to lines and the marks of the map come with find.js. What was done before is seen
  // by it: fields are read, keys wait, and the map is clicked again.
  const LATER = ["n", "p", "l", "m"];
  let there = false;

  async function found() {
    hands();
    await finding().catch(() => {});
    if (there || !finder) return;
    there = true;
    for (const key of LATER) delete run.KEYS[key];
    document.dispatchEvent(new CustomEvent("transcript", { detail: run }));
  }

  // A field may change without any of the others: from a program that fills it for its reader.
  const ACTS = [
    "pointermove", "pointerdown", "keydown", "click", "focusin", "selectionchange", "input", "change",
  ];
  const HEARD = { capture: true, passive: true };

  // Browsers tell of a pointer at rest, too, when a page comes to lie below it: nobody moved it.
  function acted({ type, movementX, movementY }) {
    if (type === "pointermove" && !movementX && !movementY) return;
    document.removeEventListener(type, acted, HEARD);
    found().then(() => there || document.addEventListener(type, acted, HEARD));
  }

  for (const kind of ACTS) document.addEventListener(kind, acted, HEARD);
  const map = document.getElementById("minimap");
  map?.addEventListener("click", async (event) => {
    if (there || !event.target.closest("svg")) return;
    await found();
    if (there) event.target.dispatchEvent(new MouseEvent("click", event));
  });

  const asked = () => new URLSearchParams(location.search);

  function told() {
    const state = new URLSearchParams();
    for (const held of memory) held.save(state);
    return state.toString();
  }

  function takeUp() {
    const state = asked();
    recalling = true;
    for (const held of memory) held.load(state);
    recalling = false;
  }

  // Back and forth: what is looked for and shown is what the address says, as after a reload.
  window.addEventListener("popstate", async () => {
    if (location.search) await found();
    if (!recalled || told() === asked().toString()) return;
    takeUp();
    if (location.hash) await toHash();
  });

  async function recall() {
    if (early) await found();
    else if (["fold", "clock", "keys"].some((name) => kept.get("localStorage", name))) hands();
    takeUp();
    recalled = true;
    const before = placeBefore();
    if (before) {
      // Until the reader is there; what he goes back to from then on is the browser's to find.
      history.scrollRestoration = "manual";
      setTimeout(() => {
        history.scrollRestoration = "auto";
        // It writes down where he is as he scrolls.
        for (const way of [1, -1]) requestAnimationFrame(() => scrollBy(0, way));
      }, SETTLED + 300);
    }
    if (location.hash) await toHash();
    if (before?.beside) settle(document.querySelector(before.beside), before.top);
    else if (before) await goTo(before.anchor, before.top);
  }

  document.documentElement.classList.add("tooled");
  recall();
  document.dispatchEvent(new CustomEvent("reading", { detail: { found } })); // parts/boot.html
})();
