// The address of a link that a reader clicked goes to the clipboard, which he is told; where there is
// none, as without https, or he lets nobody write into it, he is told where the address stands.
"use strict";

self.kbsite ??= {};

kbsite.copying = (() => {
  const PERMALINKS = "ol.steps > li > a, td.number a";
  const LONG = 4000; // milliseconds that it is told
  const SOON = 50; // until what is put into a region is told by who reads the page out
  let telling = 0;

  function region() {
    const made = Object.assign(document.createElement("output"), { id: "said", ariaLive: "polite" });
    return document.getElementById("said") ?? document.body.appendChild(made);
  }

  function tell(text) {
    const said = region();
    clearTimeout(telling);
    telling = setTimeout(() => {
      said.textContent = text;
      telling = setTimeout(() => { if (said.textContent === text) said.textContent = ""; }, LONG);
    }, SOON);
  }

  async function copy(link) {
    try {
      await navigator.clipboard.writeText(link.href);
      tell("link copied");
    } catch {
      tell("not copied: the link is the address of this page now");
    }
  }

  // A click that opens a window of its own copies nothing.
  function clicked({ target, ctrlKey, metaKey, shiftKey, altKey }) {
    const link = target.closest(PERMALINKS);
    if (link && !(ctrlKey || metaKey || shiftKey || altKey)) copy(link);
  }

  return { copy, clicked };
})();
