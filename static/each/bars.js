// What sticks below the links of the site starts where they end, also where they take several lines;
// and what a browser leads to starts where both of them end (kbsite.css).
"use strict";

{
  const ONE_LINE = 50; // pixels; the theme knows how high that is

  function start() {
    const { style } = document.documentElement;
    function measure(bar, name, known) {
      if (!bar) return;
      new ResizeObserver(() => {
        const high = bar.offsetHeight;
        if (high > known) style.setProperty(name, `${high}px`);
        else style.removeProperty(name);
      }).observe(bar);
    }

    measure(document.querySelector("header.top"), "--top", ONE_LINE);
    measure(document.getElementById("tools"), "--tools", 0);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
}
