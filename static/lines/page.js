// A page that shows files line by line: links to some of these lines. That of a run with a transcript
// has find.js.
"use strict";

(() => {
  const RESTED = 150; // milliseconds without a change of what is selected
  const { tables } = kbsite;
  const bar = kbsite.bar(show);
  let lit = null;

  function show(text, low, high, block = "nearest") {
    const start = tables.fit(low, text.count);
    const range = text.range(start, Math.max(start, tables.fit(high, text.count)));
    const row = range.startContainer.childNodes[range.startOffset];
    if (window.Highlight) {
      lit?.classList.remove("lit");
      lit = row.closest("table");
      lit.classList.add("lit");
      CSS.highlights.set("lines", new Highlight(range));
    } else if (!document.getElementById("lines").contains(document.activeElement)) {
      getSelection().removeAllRanges();
      getSelection().addRange(range);
    }
    row.scrollIntoView({ block });
  }

  // One line is a place that browsers know; what is left out is not.
  function toLines() {
    const lines = tables.meant(anchored());
    if (lines?.page) location.replace(lines.page);
    else if (lines?.high > lines?.low) show(lines.text, lines.low, lines.high, "start");
    else if (window.Highlight) CSS.highlights.delete("lines");
  }
  for (const kind of ["DOMContentLoaded", "hashchange"]) window.addEventListener(kind, toLines);

  let resting = 0;
  document.addEventListener("selectionchange", ({ target }) => {
    if (target !== document) return; // a field of the bar, which was filled
    clearTimeout(resting);
    resting = setTimeout(() => {
      const selection = getSelection();
      if (selection.isCollapsed || !selection.rangeCount) return;
      const { startContainer, endContainer } = selection.getRangeAt(0);
      const lines = tables.around(startContainer, endContainer);
      if (lines) bar.offer([lines.text], lines.text, lines.low, lines.high);
    }, RESTED);
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "l" || event.ctrlKey || event.metaKey || event.altKey) return;
    const lines = tables.around(document.activeElement);
    if (!lines) return;
    event.preventDefault(); // the letter would be written into the field
    bar.offer([lines.text], lines.text, lines.low, lines.high);
    bar.enter(document.activeElement);
  });

  document.querySelector(".lines-told").hidden = false;
})();
