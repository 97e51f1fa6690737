// Find: one search over all text, also what is folded, not loaded, or on a page of its own.
"use strict";

kbsite.finding = ({ parts, places, address, keys, kept }, texts, tick) => {
  const rest = window.requestIdleCallback ?? setTimeout;
  const query = document.getElementById("query");
  const regex = document.getElementById("regex");
  const cased = document.getElementById("case");
  const found = document.getElementById("found");
  const textsByPart = new Map(); // those of its steps
  const matching = kbsite.matching();
  const PAUSE = 40; // milliseconds, as OFTEN
  const OFTEN = 50;
  const AHEAD = 4; // texts that are asked for at a time
  const TRIES = 3; // parts that may take so long
  let hits = [];
  let hit = -1;
  let away = false; // whether the reader stands behind that hit, at none
  let marked = null; // the hit that was gone to last
  let left = null; // the step that the reader went to since then, by keys and links
  let searches = 0;
  let searching = false;
  let unread = 0; // parts that could not be had
  let slow = 0; // parts in which it took too long

  async function stepText(html) {
    const complete = html.includes('class="left-out"') ? await texts.whole(html) : html;
    const id = complete.match(/ id="?([^"\s>]*)/)[1];
    const body = complete.slice(complete.indexOf(">") + 1);
    return { anchor: texts.textOf(id), text: texts.textOf(body.replace(/^(\s*)<a [^>]*>[^<]*<\/a>/, "$1")) };
  }

  function textsOf(part) {
    if (!textsByPart.has(part)) {
      const held = parts.htmlOf(part)
        .then((html) => Promise.all(html.split("<li class=").slice(1).map(stepText)));
      held.catch(() => textsByPart.delete(part)); // to be asked for again
      textsByPart.set(part, held);
    }
    return textsByPart.get(part);
  }

  // Blanks mean blanks of any kind, line ends too: what is read in one line, or copied into the field,
  // may stand in several. Not in rows where they begin: a long row would be gone through again and again.
  function plainly(text) {
    const escaped = text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\P{M}\p{M}*/gu, eachWay);
    return escaped.replace(/\s+/g, (_, at) => (at > 0 ? "\\s+" : "\\s"));
  }

  // A letter with marks may be written as one or as several: macOS has names of files in the latter way.
  function eachWay(letter) {
    const ways = new Set([letter, letter.normalize("NFC"), letter.normalize("NFD")]);
    return ways.size > 1 ? `(?:${[...ways].join("|")})` : letter;
  }

  function pattern() {
    const source = regex.checked ? query.value : plainly(query.value);
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

  // While a search goes on, who hears the page is not told of each count, but of the last.
  function tell() {
    found.setAttribute("aria-busy", String(searching));
    const more = searching ? "…" : "";
    const of = (number, what) => (number ? ` (${number} of ${parts.all.length} parts ${what})` : "");
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
    matching.stop();
    found.setAttribute("aria-busy", "false");
    found.textContent = "";
  }

  // Which of all steps it is; -1 for none.
  function orderOf(step) {
    const at = step ? parts.all.findIndex(({ list }) => list?.contains(step)) : -1;
    if (at < 0) return -1;
    const before = parts.all.slice(0, at).reduce((sum, { items }) => sum + items, 0);
    return before + [...parts.all[at].list.children].indexOf(step);
  }

  const lastAbove = (here) => hits.findLastIndex(({ order }) => order < here);

  // Who goes to another step is at no hit there until he asks for one: next is the first from there.
  function place() {
    if (!left || !hits.length) return;
    away = left.id !== marked?.anchor;
    hit = away ? lastAbove(orderOf(left)) : hits.indexOf(marked);
    tell();
  }

  places.revealed.push((step) => {
    left = step;
    if (!searching) place();
  });

  // From an address that leads to a step the reader stays there, and goes on from it.
  async function search(from = "") {
    forget();
    const mine = searches;
    address.remember();
    [hit, away, left, marked] = [-1, Boolean(from), null, null];
    CSS.highlights?.delete("found");
    tick(hits);
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

  const counted = (steps, wanted) =>
    matching.counted(steps.map(({ text }) => text), wanted, regex.checked);

  async function collect(wanted, mine, from) {
    let order = 0;
    let going = null;
    let told = performance.now();
    for (const part of parts.all) {
      // What is here already is searched before the rest is asked for.
      if (part === parts.all[1]) parts.all.forEach(parts.ask);
      const steps = await textsOf(part).catch(() => null);
      if (mine !== searches) return;
      if (!steps) {
        unread += 1;
        order += part.items;
        continue;
      }
      const counts = slow < TRIES ? await counted(steps, wanted) : null;
      if (mine !== searches) return;
      if (!counts) slow += 1;
      steps.forEach(({ anchor }, at) => {
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
    tick(hits);
    if (from) await stay(from, mine);
    place();
    tell();
    await going;
  }

  // The hit is that of the step where the reader is; else the reader stands behind the last one above.
  async function stay(anchor, mine) {
    const step = (await parts.elementOf(anchor))?.closest("ol.steps > li");
    if (hit >= 0 || mine !== searches) return; // the reader went on meanwhile
    const here = orderOf(step);
    const own = hits.findIndex(({ order }) => order === here);
    away = own < 0;
    hit = away ? lastAbove(here) : own;
    if (away) return;
    const nth = stoodAt(step.id);
    if (hits[own + nth]?.order === here) hit += nth;
    marked = hits[hit];
    await texts.expand(step);
    if (mine === searches) mark(step, marked.nth, true);
  }

  // Which of the hits in his step the reader stood at before the page was loaded anew; the address
  // names the step alone.
  const STOOD = `hit:${location.pathname}`;
  const { href } = location;
  window.addEventListener("pagehide", () => {
    const { anchor, nth } = (!away && hits[hit]) || {};
    kept.set("sessionStorage", STOOD, JSON.stringify([location.href, anchor, nth]));
  });

  function stoodAt(step) {
    const [of, anchor, nth] = JSON.parse(kept.get("sessionStorage", STOOD) ?? "[]");
    kept.set("sessionStorage", STOOD, "[]"); // once
    return of === href && anchor === step ? nth : 0;
  }

  async function toHit(number) {
    if (!hits.length) return;
    hit = (number + hits.length) % hits.length;
    [away, left, marked] = [false, null, hits[hit]];
    const { anchor, nth } = marked;
    tell();
    const step = (await parts.elementOf(anchor))?.closest("ol.steps > li");
    if (!step) return;
    await texts.expand(step);
    places.stand(step);
    mark(step, nth);
    address.note(anchor);
  }

  function mark(step, nth, still = false) {
    const nodes = texts.textNodes(step);
    let text = "";
    for (const { node, start } of nodes) text += (start > text.length ? "\n" : "") + node.data;
    const match = matching.matchesIn(text, pattern())[nth];
    if (!match) return still || places.settle(step);
    const range = texts.rangeOf(nodes, match.index, match.index + match[0].length);
    places.unfold(range.startContainer.parentElement, step.parentElement);
    texts.highlight("found", range);
    if (still) return undefined;
    const inView = step.getBoundingClientRect().top - places.edge();
    const start = texts.startOf(range);
    const lower = start.getBoundingClientRect().top - step.getBoundingClientRect().top;
    // The step's head stays in view where the hit is not too far below it.
    if (lower < innerHeight / 2 || inView > innerHeight) places.settle(step);
    return lower < innerHeight / 2 ? undefined : places.settle(start, innerHeight / 3);
  }

  keys.n = () => toHit(hit + 1);
  keys.p = () => toHit(away ? hit : hit - 1);
  query.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (hits.length) keys[event.shiftKey ? "p" : "n"]();
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
    for (const [number, part] of parts.all.entries()) {
      await new Promise((go) => { rest(go); });
      parts.all.slice(number, number + AHEAD).forEach(parts.ask);
      await textsOf(part).catch(() => []);
    }
  }
  if (document.activeElement === query) ahead();
  else query.addEventListener("focus", ahead, { once: true });
  for (const box of [regex, cased]) box.addEventListener("change", () => search());
  document.getElementById("next").addEventListener("click", keys.n);
  document.getElementById("previous").addEventListener("click", keys.p);
  address.memory.push({
    save(state) {
      if (query.value) state.set("q", query.value);
      if (regex.checked) state.set("regex", "1");
      if (cased.checked) state.set("case", "1");
    },
    load(state) {
      query.value = state.get("q") ?? "";
      regex.checked = state.has("regex");
      cased.checked = state.has("case");
      search(address.lineOf(location.hash.slice(1)));
    },
  });

  // What a reader looked for before this file was there.
  function catchUp() {
    if (query.value) search();
    else address.remember();
  }

  return { catchUp };
};
