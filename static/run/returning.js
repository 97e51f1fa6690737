// Where the reader was, over a reload and back from another page.
"use strict";

kbsite.returning = (places, kept) => {
  const [PLACE, FOLDS] = ["place", "folds"].map((what) => `${what}:${location.pathname}`);
  const { settle } = places;

  window.addEventListener("pagehide", () => {
    const step = places.lookedAt();
    // Before the steps and behind them the browser knows the place, but for an address with a step,
    // and where something will be unfolded again.
    const folds = kept.get("sessionStorage", FOLDS) ?? "[]";
    const beside = places.isInside() ? "footer" : "main";
    const [held, name] = step ? [step, { anchor: step.id }] : [document.querySelector(beside), { beside }];
    const place = step || location.hash || folds !== "[]" ? { ...name, top: held.getBoundingClientRect().top } : null;
    kept.set("sessionStorage", PLACE, JSON.stringify(place));
  });

  function placeBefore() {
    const place = JSON.parse(kept.get("sessionStorage", PLACE) ?? "null");
    const [entry] = place ? performance.getEntriesByType("navigation") : [];
    return ["reload", "back_forward"].includes(entry?.type) ? place : null;
  }

  // Until the reader is there; what he goes back to from then on is the browser's to find.
  function takeOver() {
    history.scrollRestoration = "manual";
    setTimeout(() => {
      history.scrollRestoration = "auto";
      // It writes down where he is as he scrolls.
      for (const way of [1, -1]) requestAnimationFrame(() => scrollBy(0, way));
    }, places.SETTLED + 300);
  }

  async function goBack({ beside, anchor, top }) {
    if (beside) settle(document.querySelector(beside), top);
    else await places.goTo(anchor, top);
  }

  return { placeBefore, takeOver, goBack };
};
