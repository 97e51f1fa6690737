// Searching in the texts of all runs, with the index that `kbsite build --search` makes: that of
// Pagefind, and in large sites that of words (static/words.js). The same question also narrows the
// list of runs: static/runs.js asks it.
"use strict";

(() => {
  const section = document.getElementById("texts");
  const asking = document.getElementById("asking");
  if (!section || !asking) return;

  const PAGES = 10;
  const HITS = 3;
  const BEFORE = 8;
  const WORDS = 32;
  const LINE = /^(.*?)L(\d+)(?:-\d+)?$/;
  const FILES = { "solution-": "solution.py", "reference-": "reference.py" };
  // As src/kbsite/search.py takes the words of code apart.
  const JOINT = /(?<=[\p{L}\p{N}_])(?=['-]*[^\p{L}\p{N}_\s'-])[^\p{L}\p{N}_\s]+(?=[\p{L}\p{N}_])/gu;
  const JOINER = "\u2060";
  const told = document.getElementById("texts-told");
  const list = document.getElementById("texts-found");
  const more = document.getElementById("texts-more");
  const byName = document.getElementById("runs-title");
  const root = asking.dataset.root;
  const fromDisk = location.protocol === "file:";
  let engine = null;
  let question = null;
  let results = [];
  let drawn = 0;
  const handing = new WeakMap();

  function load() {
    engine ??= script(section.dataset.index, "kbsiteIndex").then((told) => {
      const folder = new URL("./", new URL(section.dataset.index, document.baseURI));
      return told.kind === "words" ? byWord(told, folder) : pagefind(folder);
    });
    engine.catch(() => { engine = null; }); // to be asked for again
    return engine;
  }

  // What a script of data hands over to the function of this name.
  function script(address, name) {
    return new Promise((resolve, reject) => {
      const made = document.createElement("script");
      let given = null;
      made.src = address;
      made.addEventListener("load", () => resolve(given));
      made.addEventListener("error", () => reject(new Error(made.src)));
      handing.set(made, (value) => { given = value; });
      window[name] = (value) => handing.get(document.currentScript)?.(value);
      document.head.append(made);
    });
  }

  function byWord(told, folder) {
    const index = window.kbsiteByWord(told, folder, script, () => question.list());
    const counted = (count) => (count === 1 ? "1 run or page holds" : `${count} runs and pages hold`);
    return { search: index.search, counted: (count) => `${counted(count)} these words, the best first` };
  }

  async function pagefind(folder) {
    if (fromDisk) return { lacks: "From disk the texts cannot be searched: put the site behind a web server." };
    const { createInstance } = await import(new URL("pagefind.js", folder));
    const index = createInstance(); // One of its own: what it could not load it would not ask for again.
    let alike = false;
    const found = async (asked, filters) => (await index.search(asked, { filters: indexed(filters) })).results;
    const search = async (query, filters) => {
      const results = await found(terms(query), filters);
      // A single word that no text holds finds those that begin as it does, be it with one letter.
      const asked = /^[^\s"]+$/.test(query) ? `"${terms(query).replaceAll('"', "")}"` : "";
      alike = asked !== "" && results.length > 0 && !(await found(asked, filters)).length;
      return results;
    };
    const pages = (count) => `${count} page${count === 1 ? "" : "s"}`;
    return {
      search,
      counted: (count) => (alike
        ? `no text holds this word; ${pages(count)} with words that begin alike`
        : `${pages(count)} of transcripts and problems, the best first`),
    };
  }

  // Whoever is about to ask waits for less: the index is on its way before the first letter.
  document.getElementById("query").addEventListener("focus", () => load().catch(() => {}), { once: true });

  document.addEventListener("kbsite:asked", (event) => {
    event.preventDefault(); // runs.js is told that somebody heard
    ask(event.detail);
  });

  async function ask({ query, filters, list: ofRuns }) {
    question = { query, filters, list: ofRuns };
    const mine = question;
    section.hidden = !query;
    byName.hidden = !query;
    if (!query) return;
    told.textContent = "…";
    more.hidden = true;
    let found = [];
    let asked;
    try {
      asked = await load();
      if (!asked.lacks) found = await asked.search(query, filters);
    } catch (error) {
      engine = null;
      asked = { lacks: `The texts cannot be searched here (${error.message}).` };
    }
    if (question !== mine) return;
    results = found;
    drawn = 0;
    if (asked.lacks) await draw(mine, `${asked.lacks} The list below is of runs whose names fit.`);
    else await draw(mine, found.length ? asked.counted(found.length) : "nothing found in the texts");
  }

  function terms(query) {
    const apart = query.replace(JOINT, " ");
    // One word of code is a row of words in the index.
    return apart === query || /\s/.test(query) ? apart : `"${apart}"`;
  }

  // In the index each value is a filter of its own, as src/kbsite/search.py says.
  function indexed(filters) {
    const named = Object.entries(filters).map(([name, value]) => `${name}-${encodeURIComponent(value)}`);
    return Object.fromEntries(named.map((name) => [name, "1"]));
  }

  function held(data, name) {
    const found = Object.keys(data.filters).find((one) => one.startsWith(`${name}-`));
    return found ? decodeURIComponent(found.slice(name.length + 1)) : "";
  }

  // The next pages; `anew`, said above the list, the first ones: what stood there stays until then.
  async function draw(mine, anew = null) {
    const next = results.slice(drawn, drawn + PAGES);
    const pages = await Promise.all(next.map((result) => result.data?.() ?? result));
    if (question !== mine) return null;
    if (anew !== null) {
      told.textContent = anew;
      list.replaceChildren();
    }
    drawn += next.length;
    const before = list.children.length;
    for (const data of pages) add(data);
    more.hidden = drawn >= results.length;
    more.textContent = `${Math.min(PAGES, results.length - drawn)} more of ${results.length - drawn}`;
    return list.children[before] ?? list.lastElementChild;
  }

  more.addEventListener("click", async () => {
    const first = await draw(question);
    first?.querySelector("a").focus();
  });

  // One page --------------------------------------------------------------------------------------

  function element(name, attributes = {}, ...inside) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  }

  // Pages of one run that follow each other stand together.
  function add(data) {
    if (data.words) {
      list.append(item(data, [whole(data)]));
      return;
    }
    const hits = places(data).map((place) => hit(data, place));
    const open = list.lastElementChild;
    const values = { status: held(data, "status"), verdict: held(data, "verdict") };
    if (open?.dataset.at === data.meta.at) open.querySelector(".hits").append(...hits);
    else list.append(item({ ...data.meta, values }, hits));
  }

  function item({ at, title, values }, hits) {
    const marks = [values.status, values.verdict].filter((mark) => mark && mark !== "none");
    const about = [decoded(at.split("/").at(-2)), ...marks].join(" · ");
    return element("li", { "data-at": at }, element("a", { href: root + at }, title), " ",
      element("span", { class: "dim" }, about), element("ul", { class: "plain hits" }, ...hits));
  }

  // What is known of words that stand somewhere in a run: its page finds them.
  function whole({ at, words }) {
    const marks = words.flatMap((word) => [element("mark", {}, word), " "]);
    return element("li", {}, element("a", { href: linked(at) }, at.startsWith("runs/") ? "find them" : "the page"), " ",
      element("span", { class: "excerpt" }, ...marks));
  }

  function linked(at) {
    return `${root}${at}${at.startsWith("runs/") ? `?${looked()}` : ""}`;
  }

  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;  // bytes that are no UTF-8
    }
  }

  function places(data) {
    // The best words of a page, each with the last anchor before it; one of each anchor, in order.
    const best = [...data.weighted_locations].sort((one, other) => other.balanced_score - one.balanced_score);
    const byAnchor = new Map();
    for (const { location: word } of best) {
      const { id, from } = data.meta.anchor ? { id: data.meta.anchor, from: 0 } : anchor(data.anchors, word);
      if (!byAnchor.has(id)) byAnchor.set(id, { id, from, word });
      if (byAnchor.size === HITS) break;
    }
    return [...byAnchor.values()].sort((one, other) => one.word - other.word);
  }

  function anchor(anchors, word) {
    let last = { id: "", from: 0 };
    for (const { id, location: from } of anchors) {
      if (from <= word && from >= last.from) last = { id, from };
    }
    return last;
  }

  function hit(data, { id, from, word }) {
    const href = `${linked(data.meta.at)}${id ? `#${encodeURIComponent(decoded(id))}` : ""}`;
    const made = element("li", {}, element("a", { href }, named(id)), " ", excerpt(data, from, word));
    if (data.meta.whole) {
      made.append(" ", element("a", { href: root + data.meta.whole }, "the whole text"));
    }
    return made;
  }

  function named(id) {
    const [, before, line] = id.match(LINE) ?? [];
    if (!line) return id.replace(/-title$/, "") || "the page";
    return before ? `${FILES[before] ?? "another file"}, line ${line}` : `line ${line}`;
  }

  function looked() {
    // As the page of a run takes it: a word as it is, several as a regular expression.
    const words = question.query.replaceAll('"', " ").split(/\s+/).filter(Boolean);
    if (words.length === 1 || question.query.startsWith('"')) {
      return new URLSearchParams({ q: words.join(" ") });
    }
    const q = words.map((word) => word.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&")).join("|");
    return new URLSearchParams({ q, regex: "1" });
  }

  function excerpt(data, from, word) {
    // The words as the index counts them. Its own excerpt is HTML, and these are texts of runs.
    data.words ??= data.content.split(/[\r\n\s]+/g);
    data.marked ??= new Set(data.locations);
    const start = Math.max(from, word - BEFORE);
    const made = element("span", { class: "excerpt" });
    for (let at = start; at < Math.min(start + WORDS, data.words.length); at += 1) {
      const text = data.words[at].length > 120 ? `${data.words[at].slice(0, 120)}…` : data.words[at];
      const whole = text.replace(JOINER, "");
      made.append(data.marked.has(at) ? element("mark", {}, whole) : whole, text.endsWith(JOINER) ? "" : " ");
    }
    return made;
  }
})();
