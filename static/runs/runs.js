// The index of runs, and that of their verdicts: filters, sorting and finding, all of it in the
// address. Without this file an index is a table on plain pages.
"use strict";

(() => {
  const asking = document.getElementById("asking");
  const table = document.getElementById("runs");
  if (!asking || !table) return;

  const AT_ONCE = 100;
  const NO_LEAK = "none";
  const root = asking.dataset.root;
  const told = document.getElementById("told");
  const more = document.getElementById("more");
  const pages = document.getElementById("pages");
  const query = document.getElementById("query");
  const texts = document.getElementById("texts");
  const asks = kbsite.asking(asking);
  const { fields, filters: FILTERS } = asks;
  const headers = [...table.tHead.rows[0].cells];
  const COLUMNS = headers.map((th) => th.textContent);
  const asWritten = [...table.tBodies];
  let known = null;
  let sort = "";
  let rows = [];
  let drawn = 0;

  // What there is: a script, since nothing can be fetched from disk ---------------------------------

  function load() {
    known ??= new Promise((resolve, reject) => {
      window.kbsiteRuns = (data) => {
        data.runs = data.runs.map((row) => Object.fromEntries(data.fields.map((name, at) => [name, row[at]])));
        for (const run of data.runs) run.words = wordsOf(run, data);
        resolve(data);
      };
      const script = document.createElement("script");
      script.src = asking.dataset.runs;
      script.addEventListener("error", () => {
        known = null; // to be asked for again
        reject(new Error(script.src));
      });
      document.head.append(script);
    });
    return known;
  }

  function wordsOf(run, data) {
    return [
      run.run, run.board, data.boards[run.board] ?? "", run.problem, data.problems[run.problem],
      run.harness, run.model, run.effort, run.variant, data.statuses[run.status][1], run.status,
      data.verdicts[run.verdict]?.[1] ?? "", run.cut === "yes" ? "cut" : "",
      run.summary ?? "", run.auditor ?? "", run.leak ?? "", run.date ?? "",
    ].join(" ").toLowerCase();
  }

  // What is asked ---------------------------------------------------------------------------------

  function asked() {
    const filters = {};
    for (const name of FILTERS) if (fields[name].value) filters[name] = fields[name].value;
    return { query: query.value.trim(), filters, sort };
  }

  function recall() {
    const state = new URLSearchParams(location.search);
    query.value = state.get("q") ?? "";
    asks.recall(state);
    const wanted = state.get("sort") ?? "";
    sort = asks.by(wanted) && asks.offers("sort", asks.by(wanted)) ? wanted : "";
    const narrow = matchMedia("(max-width: 44rem)").matches;
    document.getElementById("filters").open = !narrow || sort !== "" || Object.keys(asked().filters).length > 0;
  }

  function remember({ query: text, filters }) {
    const state = new URLSearchParams();
    if (text) state.set("q", text);
    for (const [name, value] of Object.entries(filters)) state.set(name, value);
    if (sort) state.set("sort", sort);
    asks.remember(state);
  }

  function fits(run, words, filters, but = "") {
    return words.every((word) => run.words.includes(word))
      && Object.entries(filters).every(([name, value]) => name === but || run[name] === value);
  }

  const last = (value) => (value === null ? -Infinity : value);
  const byText = (name) => (one, other) => (one[name] < other[name] ? -1 : Number(one[name] > other[name]));
  const named = (run) => `${run.harness} ${run.model} ${run.effort} ${run.variant}`;
  const COMPARE = {
    run: byText("run"),
    problem: byText("problem"),
    contender: (one, other) => (named(one) < named(other) ? -1 : Number(named(one) > named(other))),
    result: (one, other) => last(other.score) - last(one.score) || byText("status")(one, other),
    verdict: byText("verdict"),
    time: (one, other) => last(other.seconds) - last(one.seconds),
    attempt: (one, other) => other.attempts - one.attempts || one.attempt - other.attempt,
    date: (one, other) => byText("date")(other, one),
    judged: (one, other) => COMPARE.contender(one, other) || COMPARE.problem(one, other),
    score: (one, other) => last(other.score) - last(one.score) || byText("status")(one, other),
    quotes: (one, other) => other.quotes - one.quotes || other.proven - one.proven,
    auditor: byText("auditor"),
  };

  function sorted(held) {
    const compare = COMPARE[asks.by(sort)];
    if (!compare) return held;
    const turned = sort.startsWith("-") ? -1 : 1;
    // Infinity less Infinity is no number: both are unknown, and stay in their order.
    return [...held].sort((one, other) => (compare(one, other) || 0) * turned);
  }

  // What is shown ---------------------------------------------------------------------------------

  async function show() {
    const state = asked();
    remember(state);
    headings();
    const event = new CustomEvent("kbsite:asked", { cancelable: true, detail: { ...state, list: load } });
    const heard = !document.dispatchEvent(event); // by search.js, which may be lost
    const lacks = texts && state.query && !heard ? "; texts are not searched: their script could not be loaded" : "";
    const plain = !state.query && !sort && !Object.keys(state.filters).length;
    pages.hidden = !plain;
    if (plain) {
      counts([], {}, null);
      told.textContent = "";
      more.hidden = true;
      for (const body of [...table.tBodies]) body.remove();
      table.append(...asWritten);
      return;
    }
    const data = await load().catch(() => null);
    if (JSON.stringify(asked()) !== JSON.stringify(state)) return;
    if (!data) {
      told.textContent = "the list could not be loaded: what stands here is neither filtered nor sorted";
      return;
    }
    const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    counts(words, state.filters, data);
    rows = sorted(data.runs.filter((run) => fits(run, words, state.filters)));
    told.textContent = `${rows.length} of ${data.runs.length} ${table.dataset.rows}${lacks}`;
    for (const body of [...table.tBodies]) body.remove();
    drawn = 0;
    draw(data);
  }

  function counts(words, filters, data) {
    for (const name of FILTERS) {
      const select = fields[name];
      const held = new Map();
      for (const run of data?.runs ?? []) {
        if (fits(run, words, filters, name)) held.set(run[name], (held.get(run[name]) ?? 0) + 1);
      }
      for (const option of select.options) {
        if (!option.value) continue;
        option.dataset.all ??= option.textContent;
        option.textContent = data ? `${option.dataset.label} (${held.get(option.value) ?? 0})` : option.dataset.all;
      }
    }
  }

  function draw(data) {
    // Sorted, runs of all boards stand in one row; else below their boards, if the table has them so.
    const byBoard = !sort && table.dataset.rows === "runs";
    for (const run of rows.slice(drawn, drawn + AT_ONCE)) {
      let body = table.tBodies[table.tBodies.length - 1];
      if (!body || (byBoard && body.dataset.board !== run.board)) {
        body = table.createTBody();
        body.dataset.board = run.board;
        if (byBoard) body.append(heading(run, data));
      }
      body.append(row(run, data));
    }
    drawn = Math.min(drawn + AT_ONCE, rows.length);
    more.hidden = drawn === rows.length;
    more.textContent = `${Math.min(AT_ONCE, rows.length - drawn)} more of ${rows.length - drawn}`;
  }

  function element(name, attributes = {}, ...inside) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  }

  const part = (name, text) => element("span", { class: name }, text);
  const dim = (text) => part("dim", text);

  function link(path, text) {
    return element("a", { href: root + path }, text);
  }

  function heading(run, data) {
    const title = data.boards[run.board] ?? run.board;
    const inside = run.board in data.boards
      ? [link(`${encodeURIComponent(run.board)}/index.html`, title)]
      : [title];
    return element("tr", { class: "board" }, element("th", { scope: "rowgroup", colspan: "7" }, ...inside));
  }

  // What each column shows of a run, as src/kbsite/pages/runs.py and verdicts.py write it.
  const SHOWS = {
    run: (run) => [page(run, run.run), ...(run.shown ? [] : [" ", dim("(on no board)")])],
    problem: (run) => [link(`problems/${encodeURIComponent(run.problem)}/index.html`, run.problem)],
    contender: (run) => [contender(run)],
    result: outcome,
    verdict: (run, data) => [
      data.verdicts[run.verdict] ? mark(data.verdicts[run.verdict], "verdict") : dim("–"),
      ...(run.card ? [" ", link(run.card, run.leak)] : run.leak && run.leak !== NO_LEAK ? [" ", dim(run.leak)] : []),
    ],
    time,
    attempt: (run) => [`${run.attempt} of ${run.attempts}`],
    date: (run) => [run.date || dim("–")],
    judged: (run, data) => [
      page(run, contender(run)), " ", dim(`${data.problems[run.problem]} · ${data.boards[run.board] ?? run.board}`),
    ],
    score: outcome,
    summary: (run) => [run.summary],
    quotes: (run) => [run.quoted],
    auditor: (run) => [run.auditor],
  };

  function row(run, data) {
    return element("tr", {}, ...COLUMNS.map(
      (name) => element("td", { "data-label": name }, ...SHOWS[name](run, data))));
  }

  const page = (run, inside) => link(`runs/${run.key}/index.html`, inside);

  function outcome(run, data) {
    const inside = run.told ? score(run) : [mark(data.statuses[run.status], "status")];
    if (run.counts === "yes") return inside;
    const why = `taken out of the ranking by its verdict, ${run.verdict}`;
    return [element("s", { title: why }, ...inside), part("hidden", " does not count")];
  }

  function contender(run) {
    const made = element("span", { class: "contender" }, part("harness", run.harness), " · ", part("model", run.model));
    if (run.effort) made.append(" ", part("effort", `[${run.effort}]`));
    if (run.variant) made.append(" ", part("variant", `(${run.variant})`));
    return made;
  }

  function score(run) {
    const made = [part("score", run.told)];
    if (run.half) made.push(part("interval", `±${run.half}`));
    return made;
  }

  function mark([glyph, label, tone, sentence], kind) {
    return element("span", { class: `${kind} tone-${tone}`, title: sentence },
      element("span", { "aria-hidden": "true" }, glyph), ` ${label}`);
  }

  function time(run) {
    if (run.cut !== "yes") return [run.time];
    return [`${run.time} `, element("span", { class: "tone-warn", title: "the wall-clock budget stopped the agent" }, "✂")];
  }

  // Headings sort -----------------------------------------------------------------------------------

  // What is best or most stands first; texts go from a to z.
  const DOWN = new Set(["result", "time", "attempt", "date", "score", "quotes"]);

  function headings() {
    const by = asks.by(sort);
    fields.sort.value = by;
    for (const th of headers) {
      const down = DOWN.has(by) !== sort.startsWith("-");
      if (th.textContent === by) th.setAttribute("aria-sort", down ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    }
  }

  for (const th of headers) {
    if (!COMPARE[th.textContent]) continue;
    const button = element("button", { type: "button", class: "sort" }, th.textContent);
    th.replaceChildren(button);
    button.addEventListener("click", () => {
      sort = asks.after(sort, button.textContent);
      show();
    });
  }

  // What a reader does --------------------------------------------------------------------------------

  let waiting = 0;
  query.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 150);
  });
  query.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    clearTimeout(waiting);
    show();
  });
  asking.addEventListener("change", (event) => {
    if (event.target === query) return;
    if (event.target === fields.sort) sort = event.target.value;
    show();
  });
  document.getElementById("clear").addEventListener("click", () => {
    query.value = "";
    sort = "";
    asks.clear();
    show();
    query.focus();
  });
  more.addEventListener("click", async () => {
    const first = drawn;
    draw(await load());
    // The button may be gone: the reader goes on at the first of the new rows.
    table.querySelectorAll("tbody tr:not(.board)")[first]?.querySelector("a").focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea")) return;
    event.preventDefault();
    query.focus();
    query.select();
  });
  window.addEventListener("popstate", () => {
    recall();
    show();
  });

  recall();
  asking.hidden = false;
  document.getElementById("unscripted").remove();
  // search.js, the next script, has to be there to hear what is asked.
  window.addEventListener("DOMContentLoaded", show);
})();
