// Who goes to the end of a page, or to its start, comes there: the end of a long text moves on, since
// what comes into sight takes the room that it needs, be it when the reader is there already; and in
// Safari what comes in stops a glide.
"use strict";

{
  const LATE = 1000; // milliseconds that something may come in after the reader
  const RESTED = 150; // without a step of a glide
  const FIELDS = "input, select, textarea"; // where these keys mean the text
  const { documentElement: page } = document;
  const ENDS = { End: () => page.scrollHeight - page.clientHeight, Home: () => 0 };
  let end = null;
  let waiting = 0;

  for (const kind of ["keydown", "wheel", "touchmove", "pointerdown"]) {
    window.addEventListener(kind, ({ key, target }) => {
      end = (!target.closest?.(FIELDS) && ENDS[key]) || null;
      if (end && Math.abs(end() - page.scrollTop) <= 1) end = null;
    }, { passive: true });
  }

  function follow() {
    if (!end) return;
    page.scrollTop = end();
    clearTimeout(waiting);
    waiting = setTimeout(() => { end = null; }, LATE);
  }

  new ResizeObserver(follow).observe(page);
  if ("onscrollend" in window) window.addEventListener("scrollend", follow);
  else {
    // Safari before 26.2 does not tell when it has come to rest.
    let resting = 0;
    window.addEventListener("scroll", () => {
      clearTimeout(resting);
      resting = setTimeout(follow, RESTED);
    }, { passive: true });
  }
}
