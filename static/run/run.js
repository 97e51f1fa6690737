// The page of a run as it opens: what its address and what was kept ask for, and what waits for a
// reader to do something. Here the other files beside this one are put together.
"use strict";

(async () => {
  const EXACT = /[:-]\d+$/; // lines of a text
  const OF_FILE = /^(.+-L)\d+$/; // a line of a file, or a step of a sub-agent
  const SOON = { timeout: 1000 }; // a browser may have no rest for long
  const rest = window.requestIdleCallback ?? setTimeout;

  const { src, dataset: { sought } } = document.currentScript;
  const pages = kbsite.pages(src);
  const address = kbsite.address();
  const kept = kbsite.kept();

  // The part that the address names is asked for before the page is all there; until it comes
  // nothing may be drawn (templates/parts/boot.html).
  const unveil = () => document.documentElement.classList.remove("veiled");
  const early = Boolean(location.search) || EXACT.test(address.anchored());
  if (early) pages.finding().catch(() => {});
  if (sought) pages.read(sought).catch(unveil);

  const parsed = new Promise((tell) => {
    document.addEventListener("DOMContentLoaded", tell, { once: true });
  });
  if (document.readyState === "loading") await parsed;

  // What is folded away and long stands in the page as the text that it has for readers without
  // scripts: a browser takes it apart when somebody is there.
  function unpack() {
    for (const held of document.querySelectorAll("details > noscript")) {
      held.replaceWith(document.createRange().createContextualFragment(held.textContent));
    }
  }
  window.addEventListener("beforeprint", unpack, { once: true });
  if (matchMedia("print").matches) unpack();

  if (document.querySelector("section.parts")) await kbsite.lists(pages.read);
  const parts = kbsite.parts(pages.read, unveil);
  const places = kbsite.places(parts);
  const returning = kbsite.returning(places, kept);

  // Places that addresses name ----------------------------------------------------------------------

  const guides = []; // each may take an anchor that it knows, and lead there

  // A line that is left out here of a file that is not.
  function isLeftOut(anchor) {
    const file = !document.getElementById(anchor) && anchor.match(OF_FILE)?.[1];
    return Boolean(file && document.querySelector(`tr[id^="${CSS.escape(file)}"]`));
  }

  async function toHash(top = null) {
    places.setOut();
    const anchor = address.anchored();
    if (EXACT.test(anchor) || isLeftOut(anchor)) await found();
    for (const lead of guides) if (await lead(anchor, top)) return;
    const target = document.getElementById(anchor);
    const step = EXACT.test(anchor) ? address.lineOf(anchor) : anchor;
    if (target && !target.closest("ol.steps")) {
      places.unfold(target);
      places.settle(target, top);
    }
    else if (parts.LINE.test(step)) await places.goTo(step, top); // without find.js
  }
  window.addEventListener("hashchange", () => toHash());

  // What waits until there is somebody --------------------------------------------------------------

  // Finding, links to lines and the marks of the map come with find.js. What was done before is seen
  // by it: fields are read, keys wait, and the map is clicked again.
  const LATER = ["n", "p", "l", "m"];
  let run = null; // what find.js is given
  let there = false;
  let recalled = false;

  function hands() {
    if (run) return;
    rest(unpack, SOON);
    const filters = kbsite.filters(parts, places, address);
    const choices = kbsite.choices(parts, places, kept);
    const keys = kbsite.hands(parts, places, address, filters, choices);
    for (const key of LATER) keys[key] = () => found().then(() => there && keys[key]?.());
    run = {
      parts, places, address, keys, guides, kept, read: pages.read,
      get late() { return recalled; }, // whether fields may be filled before find.js is there
    };
  }

  async function found() {
    hands();
    await pages.finding().catch(() => {});
    if (there || !kbsite.find) return;
    there = true;
    for (const key of LATER) delete run.keys[key];
    kbsite.find(run);
  }

  // A field may change without any of the others: from a program that fills it for its reader.
  const ACTS = [
    "pointermove", "pointerdown", "keydown", "click", "focusin", "selectionchange", "input", "change",
  ];
  const HEARD = { capture: true, passive: true };

  // Browsers tell of a pointer at rest, too, when a page comes to lie below it: nobody moved it.
  function acted({ type, movementX, movementY }) {
    if (type === "pointermove" && !movementX && !movementY) return;
    document.removeEventListener(type, acted, HEARD);
    found().then(() => there || document.addEventListener(type, acted, HEARD));
  }

  for (const kind of ACTS) document.addEventListener(kind, acted, HEARD);
  const map = document.getElementById("minimap");
  map?.addEventListener("click", async (event) => {
    if (there || !event.target.closest("svg")) return;
    await found();
    if (there) event.target.dispatchEvent(new MouseEvent("click", event));
  });

  // What the address says, and what was kept --------------------------------------------------------

  // Back and forth: what is looked for and shown is what the address says, as after a reload.
  window.addEventListener("popstate", async () => {
    if (location.search) await found();
    if (!recalled || address.isTold()) return;
    address.takeUp();
    if (location.hash) await toHash();
  });

  async function recall() {
    if (early) await found();
    else if (["fold", "clock", "keys"].some((name) => kept.get("localStorage", name))) hands();
    address.takeUp();
    recalled = true;
    const before = returning.placeBefore();
    if (before) returning.takeOver();
    if (location.hash) await toHash();
    if (before) await returning.goBack(before);
  }

  document.documentElement.classList.add("tooled");
  recall();
  document.dispatchEvent(new CustomEvent("reading", { detail: { found } })); // parts/boot.html
})();
