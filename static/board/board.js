// A board's grid: sorted by any column and narrowed, all of it in the address. Without this file it
// is a table in the order of the ranking.
"use strict";

(() => {
  const asking = document.getElementById("asking");
  const grid = document.querySelector("table.grid");
  if (!asking || !grid) return;

  const OF_CONTENDERS = ["harness", "model", "effort", "variant"];
  const UNAUDITED = "none";
  const OWN = 4; // columns behind those of the problems
  const told = document.getElementById("told");
  const clear = document.getElementById("clear");
  const asks = kbsite.asking(asking);
  const { fields, filters: FILTERS } = asks;
  // Above the names of columns may stand those of their groups.
  const headers = [...grid.tHead.rows[grid.tHead.rows.length - 1].cells];
  const FIRST = 1 + headers.filter((th) => th.classList.contains("count")).length; // of the problems
  const names = headers.map((th) => th.textContent.trim());
  const totals = grid.querySelector("tbody.totals");
  let sort = "";

  // What the grid says, read once ---------------------------------------------------------------

  function said(body) {
    const [row, audits] = body.rows;
    const part = (name) => row.querySelector(`.${name}`)?.textContent ?? "";
    const cells = [...row.cells];
    const notes = audits ? [...audits.querySelectorAll(":scope ul.plain > li")] : [];
    const judged = cells.filter((cell) => cell.dataset.verdict);
    return {
      body, cells, audits,
      // A note stands for a cell that has a verdict: both are in the order of the columns.
      notes: new Map(judged.map((cell, at) => [cell, notes[at]])),
      harness: part("harness"),
      model: part("model"),
      effort: part("effort").slice(1, -1),
      variant: part("variant").slice(1, -1),
    };
  }

  const rows = [...grid.querySelectorAll("tbody.contenders")].map(said);

  const OF_CELLS = {
    status: (cell) => cell.dataset.status,
    verdict: (cell) => cell.dataset.verdict ?? UNAUDITED,
    attempts: (cell) => cell.dataset.attempts ?? "1",
  };

  // What counts in a column: more is better, but for times. Null where there is nothing to count.
  function figure(cell, name) {
    if (name === "contender") return cell.textContent.trim();
    if (name === "group") {
      // After z come a1, b1 and so on.
      const [, letter, again] = /([a-z])(\d*)/.exec(cell.textContent) ?? [];
      return letter ? -(again * 26 + letter.charCodeAt(0)) : null;
    }
    const text = cell.dataset.status ? cell.querySelector(".score:not(s .score)")?.textContent : cell.textContent;
    const number = Number.parseFloat((text ?? "").replaceAll(",", ""));
    if (Number.isNaN(number)) return null;
    return / ms$/.test(text) ? -number : number;
  }

  // What is asked -------------------------------------------------------------------------------

  const filters = () => FILTERS.filter((name) => fields[name].value);

  function recall() {
    const state = new URLSearchParams(location.search);
    asks.recall(state);
    const wanted = state.get("sort") ?? "";
    sort = names.includes(asks.by(wanted)) ? wanted : "";
    document.getElementById("filters").open = sort !== "" || filters().length > 0;
  }

  function remember() {
    const state = new URLSearchParams();
    for (const name of filters()) state.set(name, fields[name].value);
    if (sort) state.set("sort", sort);
    asks.remember(state);
  }

  const fitsRow = (row, but = "") => OF_CONTENDERS.every(
    (name) => name === but || !fields[name]?.value || row[name] === fields[name].value);
  const fitsCell = (cell, but = "") => Object.entries(OF_CELLS).every(
    ([name, of]) => name === but || !fields[name]?.value || of(cell) === fields[name].value);
  const shownOf = (row, but = "") => row.cells.filter((cell) => cell.dataset.status && fitsCell(cell, but));
  const ofCells = () => Object.keys(OF_CELLS).some((name) => fields[name]?.value);

  // What is shown -------------------------------------------------------------------------------

  function sorted() {
    const at = names.indexOf(asks.by(sort));
    if (at < 0) return rows;
    const turned = sort.startsWith("-") ? -1 : 1;
    const held = rows.map((row) => [figure(row.cells[at], names[at]), row]);
    return held.sort(([one], [other]) => {
      // Where nothing counts there is nothing to be first or last with.
      if (one === null || other === null) return Number(one === null) - Number(other === null);
      const order = typeof one === "string" ? Number(one > other) - Number(one < other) : other - one;
      return order * turned;
    }).map(([, row]) => row);
  }

  function show() {
    remember();
    headings();
    counts();
    const narrowed = filters().length > 0;
    const byCell = ofCells();
    let contenders = 0;
    let runs = 0;
    for (const row of sorted()) {
      const fits = fitsRow(row);
      const held = new Set(fits ? shownOf(row) : []);
      row.body.hidden = !fits || (byCell && !held.size);
      contenders += Number(!row.body.hidden);
      runs += held.size;
      for (const cell of row.cells.slice(FIRST, -OWN)) {
        cell.classList.toggle("aside", byCell && !held.has(cell));
      }
      for (const [cell, note] of row.notes) if (note) note.hidden = !held.has(cell);
      if (row.audits) row.audits.hidden = ![...row.notes.keys()].some((cell) => held.has(cell));
      totals.before(row.body);
    }
    // Totals are of all contenders.
    totals.hidden = narrowed;
    told.textContent = narrowed ? `${contenders} of ${rows.length} contenders, ${runs} runs` : "";
    clear.hidden = !narrowed && !sort;
  }

  function counts() {
    for (const name of FILTERS) {
      const held = new Map();
      const add = (value) => held.set(value, (held.get(value) ?? 0) + 1);
      for (const row of rows) {
        if (!fitsRow(row, name)) continue;
        const cells = shownOf(row, name);
        if (OF_CELLS[name]) cells.forEach((cell) => add(OF_CELLS[name](cell)));
        else if (!ofCells() || cells.length) add(row[name]);
      }
      for (const option of fields[name].options) {
        if (option.value) option.textContent = `${option.dataset.label} (${held.get(option.value) ?? 0})`;
      }
    }
  }

  function headings() {
    const by = asks.by(sort);
    fields.sort.value = by;
    headers.forEach((th, at) => {
      if (names[at] !== by) return th.removeAttribute("aria-sort");
      const down = !["contender", "group"].includes(by) !== sort.startsWith("-");
      return th.setAttribute("aria-sort", down ? "descending" : "ascending");
    });
  }

  headers.forEach((th, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.setAttribute("aria-label", `sort by ${names[at]}`);
    th.append(" ", button);
    button.addEventListener("click", () => {
      sort = asks.after(sort, names[at]);
      show();
    });
  });

  asking.addEventListener("change", (event) => {
    if (event.target === fields.sort) sort = event.target.value;
    show();
  });
  clear.addEventListener("click", () => {
    sort = "";
    asks.clear();
    show();
    document.querySelector("#filters summary").focus();
  });
  window.addEventListener("popstate", () => {
    recall();
    show();
  });

  // The box scrolls sideways only, if the browser knows how; else the head would stick to the box.
  grid.classList.toggle("sticks", getComputedStyle(grid.parentElement).overflowY === "clip");

  // What has the focus stays below the head, however long the names in it are.
  new ResizeObserver(() => {
    grid.style.setProperty("--head", `${grid.tHead.offsetHeight}px`);
  }).observe(grid.tHead);

  recall();
  asking.hidden = false;
  show();
})();
