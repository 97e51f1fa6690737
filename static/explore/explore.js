// The page that draws all runs as a reader asks. Without this file it is its tables.
"use strict";

(() => {
  const { least, score } = kbsite.figures; // figures are written as on all other pages
  const runs = window.kbsiteExplored;
  const chart = document.getElementById("chart");
  if (!runs?.length || !chart || !window.Plotly) return;

  const MEASURES = {
    score: { name: "score", told: score },
    time: { name: "time", told: duration },
    output: { name: "output tokens", told: (value) => value.toLocaleString("en-US") },
    tokens: { name: "all tokens", told: (value) => value.toLocaleString("en-US") },
    cost: { name: "cost", told: money },
  };
  // What is drawn at first is what there are figures of: runs that nobody graded have no score.
  const known = (names) => names.find((name) => runs.some((run) => run[name] != null)) ?? names[0];
  // So many points are drawn at once; of more, those of the first board are drawn at first.
  const MANY = 2500;
  const board = runs.length > MANY ? runs[0].board : "";
  const DEFAULTS = { chart: "against", x: known(["time", "cost"]), y: known(["score", "output"]), by: "harness", board, problem: "" };
  const FLAGS = ["logx", "logy"];
  const COLOURS = ["green", "yellow", "cyan", "magenta", "blue", "red", "white", "warn"];
  const SIGNS = ["circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star", "pentagon"];
  const AT_ONCE = 500;
  const BESIDE = { finger: 12, mouse: 3 }; // pixels within which nobody can tell points apart
  const asking = document.getElementById("asking");
  const asks = Object.fromEntries([...asking.querySelectorAll("[name]")].map((held) => [held.name, held]));
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // A finger that scrolls the page must not draw a frame to zoom into.
  const touched = matchMedia("(pointer: coarse)").matches;

  function money(value) {
    if (value > 0 && value < 0.00095) return `$${least(value)}`;
    if (value > 0 && value < 0.99995) return `$${value.toFixed(4)}`;
    return `$${value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  }

  function brief(seconds) {
    const found = [[1e-3, "ms"], [1e-6, "µs"]].find(([size]) => seconds >= 0.95 * size);
    return found ? `${Number((seconds / found[0]).toPrecision(1))} ${found[1]}` : "< 1 µs";
  }

  function duration(seconds) {
    if (seconds > 0 && seconds < 0.0095) return brief(seconds);
    if (Math.round(seconds * 100) < 1000) return `${seconds.toFixed(2)} s`;
    const whole = Math.round(seconds);
    const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
    const [hours, minutes, rest] = parts.map((part) => String(part).padStart(2, "0"));
    return parts[0] ? `${parts[0]}:${minutes}:${rest}` : `${minutes}:${rest}`;
  }

  // The drawing's program reads a little HTML in all text that it is given.
  function plain(text) {
    return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  }

  // What is asked -----------------------------------------------------------------------------------

  function fill() {
    for (const name of ["board", "problem"]) {
      for (const value of [...new Set(runs.map((run) => run[name]))].sort()) {
        asks[name].append(new Option(value, value));
      }
    }
  }

  function recall() {
    const state = new URLSearchParams(location.search);
    for (const [name, usual] of Object.entries(DEFAULTS)) {
      const value = state.get(name) ?? usual;
      asks[name].value = [...asks[name].options].some((held) => held.value === value) ? value : usual;
    }
    for (const name of FLAGS) asks[name].checked = state.has(name);
  }

  function asked() {
    const named = Object.keys(DEFAULTS).map((name) => [name, asks[name].value]);
    return { ...Object.fromEntries(named), ...Object.fromEntries(FLAGS.map((name) => [name, asks[name].checked])) };
  }

  function remember(state) {
    const held = new URLSearchParams();
    for (const [name, usual] of Object.entries(DEFAULTS)) if (state[name] !== usual) held.set(name, state[name]);
    for (const name of FLAGS) if (state[name]) held.set(name, "1");
    const end = held.toString();
    history.replaceState(null, "", `${location.pathname}${end ? `?${end}` : ""}${location.hash}`);
  }

  // What is drawn -----------------------------------------------------------------------------------

  // On an axis of powers of ten there is no place for 0.
  const placed = (value, powers) => value !== undefined && (!powers || value > 0);

  function chosen(state) {
    const fits = (run) => ["board", "problem"].every((name) => !state[name] || run[name] === state[name]);
    const across = state.chart === "against" ? (run) => placed(run[state.x], state.logx) : () => true;
    // How scores are spread is told of those that count: no verdict takes them out of the ranking.
    const counts = (run) => !(run.out && state.chart === "spread" && state.y === "score");
    return runs.filter((run) => fits(run) && counts(run) && across(run) && placed(run[state.y], state.logy));
  }

  function grouped(held, by) {
    const groups = new Map();
    for (const run of held) {
      if (!groups.has(run[by])) groups.set(run[by], []);
      groups.get(run[by]).push(run);
    }
    return [...groups].sort(([one], [other]) => (one < other ? -1 : 1));
  }

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  }

  // What is said beside a figure: whether a cost is an estimate, and whether a score counts.
  const REMARKS = {
    cost: ({ estimated }) => (estimated ? ` (${estimated})` : ""),
    score: ({ out }) => (out ? " (does not count)" : ""),
  };

  function told(run, name) {
    return MEASURES[name].told(run[name]) + (REMARKS[name]?.(run) ?? "");
  }

  function hovered(run, names) {
    const figures = names.map((name) => `${MEASURES[name].name} ${told(run, name)}`);
    return [plain(run.contender), plain(`${run.problem}, ${run.verdict}`), ...figures].join("<br>");
  }

  function points(state, held) {
    const across = state.chart === "problem" ? (run) => plain(run.problem) : (run) => run[state.x];
    const names = state.chart === "problem" ? [state.y] : [...new Set([state.y, state.x])];
    return grouped(held, state.by).map(([name, own], number) => ({
      type: "scatter",
      mode: "markers",
      name: plain(name),
      x: own.map(across),
      y: own.map((run) => run[state.y]),
      customdata: own.map((run) => run.page),
      hovertext: own.map((run) => hovered(run, names)),
      hoverinfo: "text",
      marker: { color: colour(COLOURS[number % COLOURS.length]), symbol: SIGNS[number % SIGNS.length], size: 10, opacity: 0.85 },
    }));
  }

  function curves(state, held) {
    return grouped(held, state.by).map(([name, own], number) => {
      const sorted = [...own].sort((one, other) => one[state.y] - other[state.y]);
      return {
        type: "scatter",
        mode: "lines+markers",
        name: plain(name),
        x: sorted.map((run) => run[state.y]),
        y: sorted.map((_, at) => (at + 1) / sorted.length),
        customdata: sorted.map((run) => run.page),
        hovertext: sorted.map((run) => hovered(run, [state.y])),
        hoverinfo: "text",
        line: { shape: "hv", width: 2, color: colour(COLOURS[number % COLOURS.length]) },
        marker: { symbol: SIGNS[number % SIGNS.length], size: 7, color: colour(COLOURS[number % COLOURS.length]) },
      };
    });
  }

  function axis(title, powers, more = {}) {
    return {
      title: { text: title, standoff: 12 }, type: powers ? "log" : "linear", color: colour("text"),
      gridcolor: colour("border"), zerolinecolor: colour("rule"), linecolor: colour("rule"),
      automargin: true, fixedrange: touched, exponentformat: "SI", rangemode: powers ? "normal" : "tozero", ...more,
    };
  }

  function layout(state) {
    const figure = MEASURES[state.y].name;
    const letter = parseFloat(getComputedStyle(document.documentElement).fontSize); // as the reader has it
    const narrow = chart.clientWidth < 37.5 * letter;
    const family = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
    const axes = {
      against: [axis(titled(state.x), state.logx), axis(titled(state.y), state.logy)],
      problem: [axis("", false, { type: "category", categoryorder: "category ascending" }), axis(titled(state.y), state.logy)],
      spread: [axis(titled(state.y), state.logy), axis(narrow ? "share of runs" : `share of runs with no more ${figure}`, false, { tickformat: ".0%" })],
    }[state.chart];
    return {
      xaxis: axes[0], yaxis: axes[1], paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family, size: 0.8125 * letter, color: colour("text") },
      hoverlabel: { bgcolor: colour("raised"), bordercolor: colour("rule"), font: { family, color: colour("bright") }, align: "left" },
      legend: narrow ? { orientation: "h", y: -0.25 } : {}, showlegend: true, hovermode: "closest",
      margin: { l: 50, r: 15, t: 15, b: 50 }, dragmode: touched ? false : "zoom", separators: ".,",
    };
  }

  const titled = (name) => ({ time: "time, seconds", cost: "cost, US dollars" })[name] ?? MEASURES[name].name;

  // The same as a table -----------------------------------------------------------------------------

  function row(cells, heads) {
    const made = document.createElement("tr");
    for (const [at, cell] of cells.entries()) {
      const held = document.createElement(heads ? "td" : "th");
      // On a telephone each cell stands in a line of its own, behind its label.
      if (heads) held.dataset.label = heads[at];
      else held.scope = "col";
      held.append(cell);
      made.append(held);
    }
    return made;
  }

  function linked(run, text) {
    const link = document.createElement("a");
    link.href = run.page;
    link.textContent = text;
    return link;
  }

  function ofRuns(state, held) {
    const names = state.chart === "problem" ? [state.y] : [...new Set([state.x, state.y])];
    const heads = ["run", "contender", "problem", "verdict", ...names.map((name) => MEASURES[name].name)];
    const rows = held.slice(0, AT_ONCE).map((run) => [
      linked(run, run.run), run.contender, run.problem, run.verdict, ...names.map((name) => told(run, name)),
    ]);
    return [heads, rows];
  }

  function ofGroups(state, held) {
    const heads = [asks.by.selectedOptions[0].text, "runs", "lowest", "a quarter up to", "half up to", "three quarters up to", "highest"];
    const rows = grouped(held, state.by).map(([name, own]) => {
      const sorted = own.map((run) => run[state.y]).sort((one, other) => one - other);
      const shares = [0, 0.25, 0.5, 0.75, 1].map((share) => MEASURES[state.y].told(quantile(sorted, share)));
      return [name, String(own.length), ...shares];
    });
    return [heads, rows];
  }

  function quantile(sorted, share) {
    const at = (sorted.length - 1) * share;
    const low = sorted[Math.floor(at)];
    return low + (sorted[Math.ceil(at)] - low) * (at - Math.floor(at));
  }

  // Nobody waits for rows that are folded away.
  const folded = document.getElementById("drawn-data");
  let tabled = () => {};

  folded.addEventListener("toggle", () => tabled());
  window.addEventListener("beforeprint", () => tabled());

  function table(state, held) {
    tabled = () => {};
    const [heads, rows] = (state.chart === "spread" ? ofGroups : ofRuns)(state, held);
    const head = document.createElement("thead");
    const body = document.createElement("tbody");
    head.append(row(heads));
    body.append(...rows.map((cells) => row(cells, heads)));
    const caption = document.createElement("caption");
    const left = held.length > rows.length && state.chart !== "spread" ? `; the first ${rows.length}` : "";
    caption.textContent = `${held.length} run${held.length === 1 ? "" : "s"}${left}`;
    document.getElementById("drawn-table").replaceChildren(caption, head, body);
  }

  // All of it ---------------------------------------------------------------------------------------

  function described(state, held) {
    const against = `${MEASURES[state.y].name} against ${MEASURES[state.x].name}`;
    const what = {
      against, problem: `${MEASURES[state.y].name} by problem`, spread: `how ${MEASURES[state.y].name} is spread`,
    }[state.chart];
    const without = runs.length - held.length;
    return `${what}: ${held.length} run${held.length === 1 ? "" : "s"}${without ? `; ${without} ${without === 1 ? "has no such figures on record, or is" : "have no such figures on record, or are"} not asked for` : ""}`;
  }

  function show() {
    const state = asked();
    remember(state);
    for (const name of ["x", "logx"]) asks[name].disabled = state.chart !== "against";
    const held = chosen(state);
    const words = described(state, held);
    document.getElementById("told").textContent = words;
    among([]);
    chart.setAttribute("aria-label", `chart: ${words}; the table below says the same`);
    tabled = () => table(state, held);
    if (folded.open) tabled();
    const traces = (state.chart === "spread" ? curves : points)(state, held);
    Plotly.react(chart, traces, layout(state), { displayModeBar: false, responsive: true, showTips: false });
  }

  document.getElementById("drawn").hidden = false;
  document.getElementById("unscripted").remove();
  fill();
  recall();
  show();
  // What the drawing's program measures texts with is for nobody to hear.
  document.getElementById("js-plotly-tester").setAttribute("aria-hidden", "true");
  // The pages of runs whose points lie upon one, or so near that nobody can choose between them.
  function upon({ x, y }, apart) {
    const { xaxis, yaxis } = chart._fullLayout;
    const [left, top] = [xaxis.d2p(x), yaxis.d2p(y)];
    const near = (trace) => trace.customdata.filter((_, at) =>
      Math.hypot(xaxis.d2p(trace.x[at]) - left, yaxis.d2p(trace.y[at]) - top) <= apart);
    return chart.data.filter(({ visible }) => visible !== "legendonly").flatMap(near);
  }

  function among(pages) {
    const list = document.getElementById("upon");
    const held = pages.map((page) => runs.find((run) => run.page === page));
    list.replaceChildren(...held.map((run) => {
      const made = document.createElement("li");
      made.append(linked(run, run.run), ` ${run.contender}, ${run.problem}, ${run.verdict}`);
      return made;
    }));
    list.parentElement.hidden = pages.length === 0;
    if (pages.length) list.parentElement.scrollIntoView({ block: "nearest" });
  }

  // A finger cannot point without a tap: the first one tells what stands there, another opens it.
  // Browsers tell of each tap as a click of a mouse, too, before which no pointer comes down. Of
  // several points that lie upon each other only one can be told of so: all of them are listed then,
  // to choose from.
  let [tapped, heard] = [null, false];
  chart.addEventListener("pointerdown", () => { heard = false; }, true);
  chart.on("plotly_click", ({ event, points: [{ customdata: page, curveNumber, pointNumber, x, y }] }) => {
    if (heard) return;
    const byFinger = event.type === "touchstart";
    const several = upon({ x, y }, byFinger ? BESIDE.finger : BESIDE.mouse);
    if (several.length < 2 && (!byFinger || tapped === page)) location.href = page;
    among(several.length < 2 ? [] : several);
    [tapped, heard] = [page, byFinger];
    if (byFinger) Plotly.Fx.hover(chart, [{ curveNumber, pointNumber }]);
  });
  asking.addEventListener("change", show);
  dark.addEventListener("change", show);
  window.addEventListener("popstate", () => { recall(); show(); });
})();
