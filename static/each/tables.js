// Lines of a file that a page shows as a table, each with a place of its own: #solution-L3-5.
"use strict";

self.kbsite ??= {};

kbsite.tables = (() => {
  const LINES = /^(.+-L)(\d+)(?:-(\d+))?$/;
  const ROW = "table.source tr[id]";

  const span = (low, high) => (high > low ? `${low}-${high}` : String(low));
  const fit = (value, count) => Math.min(Math.max(1, Math.floor(Number(value)) || 1), count);
  const numberOf = (row) => Number(row.id.match(/\d+$/));
  const rowOf = (node) => (node instanceof Element ? node : node.parentElement).closest(ROW);

  // A file as lines can be asked of it: `name` is how an address calls it. Of a long one some lines
  // are left out.
  function tableAt(row) {
    const rows = [...row.closest("table").querySelectorAll("tr[id]")];
    const prefix = row.id.replace(/\d+$/, "");
    return {
      name: prefix.replace(/-L$/, ""), count: numberOf(rows.at(-1)),
      address: (low, high) => `${prefix}${span(low, high)}`,
      range(low, high) {
        const range = new Range();
        range.setStartBefore(rows.find((one) => numberOf(one) >= low));
        range.setEndAfter(rows.findLast((one) => numberOf(one) <= high));
        return range;
      },
    };
  }

  // Lines that are left out here stand on another page.
  function elsewhere(prefix, low, high) {
    for (const gap of document.querySelectorAll("table.source tr.gap")) {
      const [, page, first] = gap.querySelector("a")?.getAttribute("href").match(/^(.*?)(\d+)$/) ?? [];
      const after = gap.nextElementSibling;
      if (!page?.endsWith(prefix) || first > low || (after && numberOf(after) <= low)) continue;
      return `${page}${span(low, high)}`;
    }
    return null;
  }

  // What an address means: lines of a table here, or the address of the page that has them.
  function meant(anchor) {
    const match = anchor.match(LINES);
    if (!match) return null;
    const [prefix, low, high] = [match[1], Number(match[2]), Number(match[3] ?? match[2])];
    const row = document.getElementById(prefix + low);
    if (row?.matches(ROW)) return { text: tableAt(row), low, high };
    const page = elsewhere(prefix, low, high);
    return page && { page };
  }

  // The lines that hold what is selected, or the line that something stands in.
  function around(first, last = first) {
    const [from, to] = [rowOf(first), rowOf(last)];
    if (!from || from.closest("table") !== to?.closest("table")) return null;
    return { text: tableAt(from), low: numberOf(from), high: numberOf(to) };
  }

  return { span, fit, meant, around };
})();
