// What a reader unfolded or folded is so again after a reload, and back from another page, where the
// browser kept nothing of it but how far down he was.
"use strict";

{
  const NAME = `kbsite.folds:${location.pathname}`;
  const touched = new Set();
  let [due, main] = [[], null];

  // By which element with an id it stands in, and as the how many-th there.
  const home = (held) => held.parentElement.closest("[id]");
  const within = (place) => [...place?.querySelectorAll("details") ?? []].filter((held) => home(held) === place);

  const watcher = new MutationObserver(restore);

  // What scripts draw, or ask for, comes later.
  function restore() {
    due = due.filter(([id, number, open]) => {
      const held = within(document.getElementById(id))[number];
      if (!held) return true;
      held.open = open;
      touched.add(held);
      return false;
    });
    if (due.length === 0) watcher.disconnect();
  }

  function start() {
    main = document.getElementById("main");
    const [entry] = performance.getEntriesByType("navigation");
    if (!main || !["reload", "back_forward"].includes(entry?.type)) return;
    try {
      due = JSON.parse(sessionStorage.getItem(NAME)) ?? [];
    } catch {
      return; // from disk a browser may keep nothing
    }
    watcher.observe(main, { childList: true, subtree: true });
    restore();
  }

  // A click that was there before this script is told of by the page (templates/parts/boot.html).
  for (const kind of ["click", "folded"]) {
    document.addEventListener(kind, ({ target }) => {
      const held = target.closest?.("main summary")?.parentElement;
      if (held) touched.add(held);
    });
  }

  window.addEventListener("pagehide", () => {
    const folds = [...touched].filter((held) => held.isConnected)
      .map((held) => [home(held).id, within(home(held)).indexOf(held), held.open]);
    try {
      sessionStorage.setItem(NAME, JSON.stringify([...folds, ...due]));
    } catch {
      // Nothing is lost but how it was.
    }
  });

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
}
