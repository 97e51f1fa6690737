// The page that compares runs. Without this file it lists the runs that can be compared.
//
// What a run is compared by comes from a script beside the run's page, which hands it to kbsiteRun:
// from disk a page can load nothing else. Only scripts of runs that this page lists, or the list of
// runs where that is longer, are loaded, and whatever they hold is checked, and shown as text.
"use strict";

(() => {
  if (typeof draw === "undefined" || typeof lineDiff === "undefined") return; // the page says so

  const { element, clock, table, row, framed, step, letter, section, beside, sign, short, best, sum } = draw;
  const MOST = 4;
  const LETTERS = ["A", "B", "C", "D"];

  const told = document.getElementById("told");
  const place = document.getElementById("comparison");
  const choosing = document.getElementById("choice");
  const TITLE = document.title;
  const NOT_LISTED = "The list of all runs could not be loaded.";
  const PHASES = place.dataset.phases.split("|");

  // Which runs there are, by their id, and how it stands in addresses -------------------------------

  const { plain } = addressed;
  const written = (link) => link.getAttribute("href").split("/").at(-2);
  const idOf = (link) => plain(written(link));

  const known = new Map();
  for (const link of document.querySelectorAll(".contest a.run")) known.set(idOf(link), link);

  // The page lists the best runs of a problem; a script has them all, for whoever asks for others.
  const placeOf = (board, problem) => `${board}/${problem}`;
  const longer = new Map([...document.querySelectorAll(".contest[data-all-of]")].map(
    (contest) => [placeOf(contest.dataset.allOf, contest.dataset.problem), contest]));
  const others = new Map();
  let listed = null;

  function listAll() {
    listed ??= new Promise((resolve) => {
      window.kbsiteRuns = (data) => {
        for (const held of data.runs) addRun(Object.fromEntries(data.fields.map((name, at) => [name, held[at]])), data);
      };
      const script = document.createElement("script");
      script.addEventListener("load", () => resolve(true));
      script.addEventListener("error", () => {
        listed = null; // to be asked for again
        resolve(false);
      });
      script.src = choosing.dataset.runs;
      document.head.append(script);
    });
    return listed;
  }

  function addRun(run, data) {
    const contest = longer.get(placeOf(run.board, run.problem));
    if (!contest || !run.shown || known.has(plain(run.key))) return;
    const who = `${run.harness} · ${run.model}${run.effort && ` [${run.effort}]`}${run.variant && ` (${run.variant})`}`;
    const label = run.attempts > 1 ? `${who}, attempt ${run.attempt} of ${run.attempts}` : who;
    const link = element("a", { class: "run", href: `${choosing.dataset.root}runs/${run.key}/index.html` }, label);
    const marks = [run.told || data.statuses[run.status][1], data.verdicts[run.verdict]?.slice(0, 2).join(" ") ?? ""];
    known.set(plain(run.key), link);
    if (!others.has(contest)) others.set(contest, []);
    others.get(contest).push(element("li", {}, link, ` ${marks.join(" ")}`));
  }

  async function unfold(contest) {
    if (!await listAll()) {
      told.textContent = NOT_LISTED;
      return undefined;
    }
    const found = others.get(contest) ?? [];
    others.delete(contest);
    contest.querySelector("ul").append(...found);
    contest.querySelector(".rest")?.remove();
    arm(contest);
    return found[0];
  }

  function offerAll(contest) {
    const made = element("button", { type: "button" }, "list all of them here");
    made.addEventListener("click", async () => (await unfold(contest))?.querySelector("input").focus());
    contest.querySelector(".rest").append(" ", made);
  }

  const fields = ["board", "problem"].map((id) => document.getElementById(id));
  let chosen = [];
  const asked = (name = "runs") => addressed.runs(name, known);
  const there = (name) => asked(name).filter((key) => known.has(key)).slice(0, MOST);

  // What is chosen stands in the address, so that it can be linked and outlives a reload.
  function remember() {
    const same = String(chosen) === String(there("runs"));
    addressed.write(addressed.named("runs"), same ? null : inAddress(chosen), fields, "replaceState");
  }

  const inAddress = (keys) => keys.map((key) => written(known.get(key))).join(",");
  function recall() {
    addressed.fill(fields);
    narrow();
    chosen = there(addressed.named("choose") === null ? "runs" : "choose");
    tick();
  }

  // What a run hands over ---------------------------------------------------------------------------

  const waiting = new Map();
  const held = new Map();
  window.kbsiteRun = (data) => waiting.get(plain(data?.id))?.(data);

  function load(key) {
    if (!held.has(key)) {
      held.set(key, new Promise((resolve) => {
        const script = document.createElement("script");
        const done = (data) => {
          script.remove();
          if (!data) held.delete(key);
          resolve(data ? accepted(key, data) : null);
        };
        waiting.set(key, done);
        script.addEventListener("load", () => done(null));
        script.addEventListener("error", () => done(null));
        script.src = new URL("compare.js", known.get(key).href).href;
        document.head.append(script);
      }));
    }
    return held.get(key);
  }

  const words = (value) => (typeof value === "string" ? value : "");
  const number = (value) => (Number.isFinite(value) ? value : null);
  const rows = (value) => (Array.isArray(value) ? value.filter(Array.isArray) : []);

  function accepted(key, data) {
    const curves = data.curves ?? {};
    const pairs = (value) => rows(value)
      .map(([at, amount, anchor, graded]) => (
        { at: number(at), value: number(amount), anchor: words(anchor), graded: graded === 1 }))
      .filter((point) => point.at !== null && point.value !== null)
      .sort((one, other) => one.at - other.at);
    return {
      page: known.get(key).href,
      label: words(data.label),
      problem: words(data.problem),
      facts: rows(data.facts).map(([name, value]) => [words(name), words(value)]),
      solution: typeof data.solution === "string" ? data.solution : null,
      phases: PHASES.map((name, index) => {
        const found = Array.isArray(data.phases) ? data.phases[index] : null;
        return Array.isArray(found) ? { anchor: words(found[0]), at: number(found[1]) } : null;
      }),
      calls: rows(data.calls).map(([phase, kind, anchor, at, summary, failed]) => (
        { phase, kind: words(kind), anchor: words(anchor), at: number(at), summary: words(summary), failed: failed === 1 })),
      score: pairs(curves.score), tokens: pairs(curves.tokens),
      edits: pairs(curves.edits), checks: pairs(curves.checks),
    };
  }

  // Facts -------------------------------------------------------------------------------------------

  const heads = (runs) => runs.map((run) =>
    element("th", { scope: "col" }, letter(run), element("a", { href: run.page }, run.label)));

  function facts(runs) {
    const lines = runs[0].facts.map(([name], index) => {
      const values = runs.map((run) => run.facts[index]?.[1] ?? "");
      const differs = values.some((value) => value !== values[0]);
      return element("tr", { class: differs ? "differs" : "same" },
        element("th", { scope: "row" }, ...sign(differs), name),
        ...values.map((value) => element("td", {}, value)));
    });
    const head = element("tr", {}, element("td"), ...heads(runs));
    return section("facts", "facts and grades", framed("facts and grades",
      element("table", { class: beside(runs, "named") },
        element("caption", {}, "≠ where the runs differ, = where they are the same"),
        element("thead", {}, head), element("tbody", {}, ...lines))));
  }

  // Curves ------------------------------------------------------------------------------------------

  const KINDS = [
    ["score", "score, as the agent saw it", (run) => best(run.score), kbsite.figures.score],
    ["tokens", "tokens of the main agent's messages", (run) => sum(run.tokens), short],
    ["edits", "edits of solution.py", (run) => sum(run.edits), short],
    ["checks", "checks", (run) => sum(run.checks), short],
  ];

  function curves(runs) {
    const drawn = KINDS.filter(([kind]) => runs.some((run) => run[kind].length))
      .map((kind) => plot(runs, ...kind));
    const legend = element("p", { class: "legend" }, ...runs.flatMap((run) => [letter(run), `${run.label} `]));
    const none = element("p", { class: "dim" }, "The transcripts tell nothing over time.");
    return section("curves", "over time", ...(drawn.length ? [legend, element("div", { class: "curves" }, ...drawn)] : [none]));
  }

  // What the agent saw, and beside it what the grade came to, which it did not see.
  function highest(points, told) {
    const most = (own) => (own.length ? told(Math.max(...own.map(({ value }) => value))) : "none");
    const graded = points.filter((point) => point.graded);
    const seen = most(points.filter((point) => !point.graded));
    return graded.length ? `${seen} (graded ${most(graded)})` : seen;
  }

  function plot(runs, kind, title, line, figure) {
    const series = runs.map((run) => ({
      letter: run.letter,
      points: line(run),
      end: Math.max(run.phases.at(-1)?.at ?? 0, run[kind].at(-1)?.at ?? 0),
      marks: kind !== "score" ? [] : run.score.map(({ at, value, graded }) => (
        { at, value, graded, told: `${run.letter} ${clock(at)}: ${figure(value)}${graded ? ", graded" : ""}` })),
    }));
    const ends = runs.map((run) => `${run.letter}: ${highest(run[kind], figure)}`);
    const lines = runs.flatMap((run) => run[kind].map(({ at, value, anchor, graded }) => row(
      `${run.letter}${graded ? ", graded" : ""}`, clock(at), figure(value),
      anchor ? step(run, anchor, anchor) : "")));
    const names = ["run", "when", title, "step"];
    return element("figure", {},
      element("figcaption", {}, `${title}. Highest: ${ends.join(", ")}`),
      element("div", { class: "chart-frame", role: "region", "aria-label": title, tabindex: 0 },
        draw.chart(title, `The highest: ${ends.join(", ")}. The table below has every point.`, series, short, kind !== "score")),
      element("details", {}, element("summary", {}, `${title}, as a table`),
        table(title, names, lines, { class: "chart-table" })));
  }

  // Solutions ---------------------------------------------------------------------------------------

  function solutions(runs) {
    const figure = element("figure", { class: "diff" });
    const select = (name, index) => {
      const options = runs.map((run, at) =>
        element("option", { value: at, selected: at === index }, `${run.letter} ${run.label}`));
      const made = element("select", { id: name }, ...options);
      made.addEventListener("change", show);
      return made;
    };
    const [from, to] = [select("from", 0), select("to", 1)];
    const choice = [from, to].flatMap((made) => [element("label", { for: made.id }, made.id), made]);
    function show() {
      figure.replaceChildren(...difference(runs[from.value], runs[to.value]));
    }
    show();
    return section("solutions", "solution.py", element("p", { class: "between" }, ...choice), figure);
  }

  function difference(from, to) {
    const missing = [from, to].filter((run) => run.solution === null);
    if (missing.length) {
      const who = [...new Set(missing.map((run) => run.letter))].join(" and ");
      return [element("figcaption", {}, `${who} left no solution.py, or one that is too long for this page`)];
    }
    const { added, removed, lines } = draw.diff(from.solution, to.solution);
    const same = added + removed === 0;
    const caption = element("figcaption", {}, same
      ? `the solutions of ${from.letter} and ${to.letter} are the same, line by line`
      : `from ${from.letter} to ${to.letter}: ${added} line${added === 1 ? "" : "s"} added, ${removed} removed`);
    if (same) return [caption];
    const name = `changes of solution.py from ${from.letter} to ${to.letter}`;
    return [caption, element("pre", { role: "region", "aria-label": name, tabindex: 0 }, ...lines)];
  }

  // The whole -----------------------------------------------------------------------------------------

  function remarks(runs, lacks) {
    const problems = new Set(runs.map((run) => run.problem));
    const tooMany = Math.max(0, asked().filter((key) => known.has(key)).length - MOST);
    const unknown = asked().length - runs.length - tooMany;
    return [
      ...(lacks ? [NOT_LISTED] : []),
      ...(unknown ? [`${unknown} of the runs asked for cannot be compared here.`] : []),
      ...(tooMany ? [`${MOST} runs are the most: ${tooMany} of those asked for ${tooMany === 1 ? "is" : "are"} left out.`] : []),
      ...(problems.size > 1 ? ["These runs are of different problems: their scores do not compare."] : []),
      ...(runs.length === 1 ? ["Choose one more run to compare this one with."] : []),
    ].join(" ");
  }

  const ROOMS = [["facts", "facts"], ["curves", "over time"], ["solutions", "solution.py"],
    ["steps", "step by step"], ["choose", "choose other runs"]];

  function tabs() {
    const links = ROOMS.flatMap(([id, name]) => [element("a", { href: `#${id}` }, name), " "]);
    return element("nav", { class: "tabs", "aria-label": "on this page" }, ...links);
  }

  let turns = 0;
  let shown = null;

  async function show() {
    // A step to a place in the page is no new comparison.
    const named = addressed.named("runs") ?? "";
    if (named === shown) {
      recall();
      return;
    }
    shown = named;
    const turn = (turns += 1);
    let lacks = false;
    if (longer.size && [...asked(), ...asked("choose")].some((key) => !known.has(key))) {
      told.textContent = "loading …";
      lacks = !await listAll();
      if (turn !== turns) return;
    }
    recall();
    const sought = there("runs");
    told.textContent = sought.length ? "loading …" : "";
    const loaded = await Promise.all(sought.map(load));
    if (turn !== turns) return;
    const runs = loaded.filter(Boolean).map((run, index) => ({ ...run, letter: LETTERS[index] }));
    told.textContent = remarks(runs, lacks);
    const steps = () => stepByStep(runs, PHASES);
    const parts = runs.length < 2 ? [] : [tabs, facts, curves, solutions, steps];
    place.replaceChildren(...parts.map((part) => part(runs)));
    const names = runs.map((run) => run.label).join(" | ");
    document.title = runs.length < 2 ? TITLE : `${names} · ${TITLE}`;
    if (runs.length < 2 || addressed.named("choose") !== null) open(chosen);
  }

  // Choosing ------------------------------------------------------------------------------------------

  async function open(keys) {
    for (const key of keys) {
      const link = known.get(key);
      const folded = [...others].find(([, items]) => items.some((item) => item.contains(link)));
      if (folded) await unfold(folded[0]);
      link.closest("details").open = true;
    }
  }

  function box(link) {
    const key = idOf(link);
    const made = element("input", { type: "checkbox", value: key, "aria-label": `choose ${link.textContent}` });
    made.addEventListener("change", () => {
      chosen = chosen.filter((other) => other !== key);
      if (made.checked) chosen.push(key);
      tick();
      remember();
    });
    link.before(made);
  }

  function arm(contest) {
    for (const link of contest.querySelectorAll("li > a.run:first-child")) box(link);
    tick();
  }

  function tick() {
    for (const input of document.querySelectorAll(".contest input")) {
      input.checked = chosen.includes(input.value);
      input.disabled = !input.checked && chosen.length >= MOST;
    }
    const button = document.getElementById("show");
    button.disabled = chosen.length < 2;
    button.textContent = `compare ${chosen.length} of at most ${MOST}`;
  }

  function narrow() {
    const [board, problem] = fields.map(({ value }) => value);
    for (const contest of document.querySelectorAll(".contest")) {
      const { board: its, problem: own } = contest.dataset;
      contest.hidden = Boolean((board && its !== board) || (problem && own !== problem));
    }
  }

  for (const select of fields) {
    const values = new Set([...document.querySelectorAll(".contest")].map(({ dataset }) => dataset[select.id]));
    select.append(...[...values].map((value) => element("option", { value }, value)));
    select.addEventListener("change", () => {
      narrow();
      remember();
    });
  }
  for (const contest of document.querySelectorAll(".contest")) {
    if (contest.open) arm(contest);
    contest.addEventListener("toggle", () => contest.open && arm(contest));
    if (contest.dataset.allOf) offerAll(contest);
  }
  document.getElementById("show").addEventListener("click", () => {
    addressed.write(inAddress(chosen), null, fields, "pushState");
    show().then(() => {
      const heading = document.getElementById("facts");
      if (!heading) return;
      heading.tabIndex = -1;
      heading.focus();
    });
  });
  document.getElementById("clear").addEventListener("click", () => {
    chosen = [];
    tick();
    remember();
  });
  window.addEventListener("popstate", show);
  choosing.hidden = known.size < 2;
  document.getElementById("unscripted").remove();
  show();
})();
