// Where the reader stands in a transcript, and how he is led somewhere: by links, keys and addresses.
"use strict";

kbsite.places = (parts) => {
  const SETTLED = 700; // milliseconds that parts may still come in
  const AT_REST = 12; // pictures in which nothing moves any more, however long a slow machine draws one
  const GAP = 4; // pixels between the bars and what is gone to
  const REACH = 12; // pixels beside a mark of a chart that still mean it: marks are thin lines

  const { steps, LINE, elementOf } = parts;
  const header = document.querySelector("header.top");
  const tools = document.getElementById("tools");
  const said = document.getElementById("said");
  const going = []; // called when the reader is led somewhere
  const revealed = []; // called with the step, where that is one that he or an address asks for
  let here = null;
  let pieces = []; // of the passage that he was led to
  let bared = null; // the part, left out by the filters, in which somebody stands
  let led = 0; // how often the reader was led somewhere
  let settling = 0;

  // Whether who set out now has not been overtaken: he leads nowhere then.
  function setOut() {
    const mine = (led += 1);
    return () => mine === led;
  }

  // Down to where the bars cover the window once they stick. Higher up on the page they stand lower:
  // what is brought below them there moves with them.
  const edge = () => Math.max(...[header, tools].map((bar) => {
    const { position, top } = getComputedStyle(bar);
    return position === "sticky" ? parseFloat(top) + bar.offsetHeight : 0;
  }));

  // Parts above may still be loading: stay with the target for a while, unless the reader scrolls.
  function hold(place, top, until = performance.now() + SETTLED, still = 0) {
    cancelAnimationFrame(settling);
    const wanted = top ?? edge() + GAP;
    const off = place.getBoundingClientRect().top - wanted;
    const before = scrollY;
    if (Math.abs(off) > 4) window.scrollBy(0, off);
    const rest = scrollY === before ? still + 1 : 0;
    const gone = !place.getClientRects().length;
    if (performance.now() >= until && (gone || rest >= AT_REST)) return;
    settling = requestAnimationFrame(() => hold(place, top, until, rest));
  }

  function settle(place, top = null) {
    for (const act of going) act();
    hold(place, top);
  }

  // A browser may still be on its way to where the end was.
  function settleAtEnd() {
    const footer = document.querySelector("footer");
    const { scrollHeight, scrollTop } = document.documentElement;
    const toEnd = scrollHeight - scrollTop - footer.getBoundingClientRect().top;
    settle(footer, innerHeight - toEnd);
  }

  for (const kind of ["wheel", "touchmove", "pointerdown", "keydown", "popstate"]) {
    window.addEventListener(kind, () => {
      cancelAnimationFrame(settling);
      said.textContent = "";
    }, { passive: true, capture: true });
  }

  // Who types what he looks for goes on typing.
  function stand(step, quietly = false) {
    if (here !== step) here?.classList.remove("here");
    here = step;
    const part = step?.closest("section.part");
    if (bared && bared !== part) {
      bared.hidden = true;
      bared = null;
    }
    if (!step) return;
    step.classList.add("here");
    // What one goes to is seen, also where the filters leave it out.
    if (part?.hidden) {
      part.hidden = false;
      bared = part;
    }
    if (quietly || document.activeElement?.id === "query") return;
    step.tabIndex = -1;
    step.focus({ preventScroll: true });
  }

  // When the filters have shown and hidden parts.
  function stay() {
    bared = null;
    if (here) stand(here, true);
  }

  function unfold(node, within = null) {
    for (let at = node; at && at !== within; at = at.parentElement) {
      if (!(at instanceof HTMLDetailsElement) || at.open) continue;
      at.open = true;
      // As if it were done by hand: it is kept (each/unfolded.js).
      at.querySelector(":scope > summary")?.dispatchEvent(new Event("folded", { bubbles: true }));
    }
  }

  // Of what is quoted: from its beginning to the link to its quote.
  function piecesOf(mark, step) {
    const row = [...step.querySelectorAll("mark, .cite")];
    const from = row.indexOf(mark);
    const quote = `#quote-${mark.id.match(/\d+$/)}`;
    const end = row.findIndex((one, at) => at > from && one.getAttribute("href")?.endsWith(quote));
    return row.slice(from, end).filter((one) => one.matches("mark"));
  }

  // What is quoted is seen below the head of its step, where there is room for both.
  function reveal(element, top = null) {
    unfold(element);
    const step = element.closest("ol.steps > li");
    stand(step);
    for (const tell of step ? revealed : []) tell(step);
    for (const piece of pieces) piece.classList.remove("led");
    pieces = step && element.matches("mark") ? piecesOf(element, step) : [];
    for (const piece of pieces) piece.classList.add("led");
    if (!pieces.length) return settle(element, top);
    const lower = element.getBoundingClientRect().top - step.getBoundingClientRect().top;
    return lower < innerHeight / 2 ? settle(step, top) : settle(element, top ?? innerHeight / 3);
  }

  async function goTo(anchor, top = null) {
    setOut();
    const target = await elementOf(anchor);
    if (target) reveal(target, top);
    return target;
  }

  // The mark of a chart that is pointed at: else the nearest one beside it.
  function markOf({ target, clientX: x, clientY: y }) {
    const own = target.closest("[data-anchor]");
    let [best, least] = [own, own ? 0 : REACH];
    for (const mark of target.closest("#trajectory svg")?.querySelectorAll("[data-anchor]") ?? []) {
      const { left, top, right, bottom } = mark.getBoundingClientRect();
      const off = Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));
      if (off < least) [best, least] = [mark, off];
    }
    return best;
  }

  // From what is quoted to the quote.
  function backTo(quote) {
    setOut();
    stand(null);
    quote.tabIndex = -1;
    quote.focus({ preventScroll: true });
    settle(quote);
  }

  function follow(event) {
    const link = event.target.closest("a")?.getAttribute("href") ?? "";
    const [page, place] = link.split("#");
    const quote = (!page || page === "index.html") && /^quote-\d+$/.test(place) && document.getElementById(place);
    const anchor = markOf(event)?.dataset.anchor ?? place;
    if (!quote && !LINE.test(decodeURIComponent(anchor ?? ""))) return;
    if (!quote && page && !parts.all.some((part) => part.page === page)) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return; // a window of its own
    event.preventDefault();
    // A link that was followed can be gone back from.
    if (`#${anchor}` !== location.hash) history.pushState(null, "", `#${anchor}`);
    if (quote) backTo(quote);
    else goTo(decodeURIComponent(anchor));
  }
  // Verdict, alarms, trajectory, map and steps name steps by pages that are parts of this one.
  document.getElementById("main").addEventListener("click", follow);

  // A click on a permalink copies its address.
  document.addEventListener("click", kbsite.copying.clicked);

  function topmost() {
    return [...document.querySelectorAll("ol.steps > li")]
      .find((step) => step.getBoundingClientRect().bottom > edge() + GAP + 1) ?? null;
  }

  const standing = () => (here?.isConnected ? here : null);
  const isInside = () => steps.getBoundingClientRect().top < edge();

  function inSight(step) {
    const { top, bottom } = step.getBoundingClientRect();
    return bottom > edge() && top < innerHeight;
  }

  // The step that the reader looks at: where he stands, unless that is out of sight.
  function lookedAt() {
    const own = standing();
    return own && inSight(own) ? own : isInside() ? topmost() : null;
  }

  // The step that keys start from. Who has read on, past where he stands, goes on from what he sees;
  // who looks at what is above all steps, from where he stands. Behind them there is none.
  const current = () => lookedAt() ?? (isInside() ? null : standing() ?? topmost());

  // Who changes what is shown stays with the step that he looks at, or with what is left below it:
  // parts that come in on the way, and what unfolds, would take him along.
  function keep(change) {
    const seen = lookedAt();
    const top = seen && seen.getBoundingClientRect().top;
    change();
    const row = [...document.querySelectorAll("ol.steps > li")];
    const left = seen && row.slice(row.indexOf(seen)).find((step) => step.getClientRects().length);
    if (left) hold(left, top);
  }

  return {
    SETTLED, going, revealed, setOut, edge, settle, settleAtEnd, stand, stay, unfold, reveal, goTo, topmost, standing, current,
    isInside, lookedAt, keep,
  };
};
