// Ranges of text in colour, each by a name. Where a browser has none they are selected, unless a reader
// is in some fields.
"use strict";

kbsite.highlighting = (fields) => {
  // Only where something stands out its colours are worked out: a browser does that for each element.
  const lit = new Map();

  function light(name, node) {
    const before = lit.get(name);
    lit.set(name, node instanceof Element ? node : node.parentElement);
    if (before && ![...lit.values()].includes(before)) before.classList.remove("lit");
    lit.get(name).classList.add("lit");
  }

  return (name, range) => {
    if (window.Highlight) {
      light(name, range.commonAncestorContainer);
      CSS.highlights.set(name, new Highlight(range));
    }
    else if (!fields.contains(document.activeElement)) {
      getSelection().removeAllRanges();
      getSelection().addRange(range);
    }
  };
};
