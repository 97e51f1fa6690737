// A page that shows files line by line: links to some of these lines. That of a run with a transcript
// has find.js.
"use strict";

(() => {
  const { tables } = kbsite;
  const bar = kbsite.bar(show, offerSelected);
  const highlight = kbsite.highlighting(document.getElementById("lines"));

  function show(text, low, high, block = "nearest") {
    const start = tables.fit(low, text.count);
    const range = text.range(start, Math.max(start, tables.fit(high, text.count)));
    highlight("lines", range);
    range.startContainer.childNodes[range.startOffset].scrollIntoView({ block });
  }

  // One line is a place that browsers know; what is left out is not.
  function toLines() {
    const lines = tables.meant(kbsite.anchored());
    if (lines?.page) location.replace(lines.page);
    else if (lines?.high > lines?.low) show(lines.text, lines.low, lines.high, "start");
    else if (window.Highlight) CSS.highlights.delete("lines");
  }
  for (const kind of ["DOMContentLoaded", "hashchange"]) window.addEventListener(kind, toLines);

  function offerSelected({ startContainer, endContainer }) {
    const lines = tables.around(startContainer, endContainer);
    if (lines) bar.offer(lines);
  }

  document.addEventListener("keydown", (event) => {
    if (event.key !== "l" || event.ctrlKey || event.metaKey || event.altKey) return;
    const lines = tables.around(document.activeElement);
    if (!lines) return;
    event.preventDefault(); // the letter would be written into the field
    bar.offer(lines);
    bar.enter(document.activeElement);
  });

  document.querySelector(".lines-told").hidden = false;
})();
