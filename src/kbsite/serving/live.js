// Added to pages by `kbsite serve --watch`, to no file of the site: a page that is open shows what
// has changed without a reload by hand, at the place where its reader was, and what is wrong.
(() => {
  "use strict";
  const { since } = document.currentScript.dataset;
  let { serial } = document.currentScript.dataset;
  const key = `kbsite-live ${location.pathname}`;
  const QUIET = 1000; // milliseconds since a letter was typed
  let source = null;
  let typed = -Infinity; // when that was

  // The element at the top of the window, and how far below the top it stands.
  function place() {
    const ids = [...document.querySelectorAll("main [id]")].filter((one) => one.offsetParent);
    const first = ids.find((one) => one.getBoundingClientRect().bottom > 0);
    const top = first ? first.getBoundingClientRect().top : 0;
    const open = [...document.querySelectorAll("details")].map((one) => one.open);
    const at = document.activeElement;
    const field = at && at.matches("input, select, textarea") ? at.id : "";
    return { id: first ? first.id : "", top, left: scrollX, y: scrollY, open, field };
  }

  function goTo(held) {
    const first = held.id && document.getElementById(held.id);
    if (first) scrollBy(0, first.getBoundingClientRect().top - held.top);
    else scrollTo(held.left, held.y);
  }

  // Parts of a page come while it is read: its place is kept until its reader moves.
  function restore() {
    const text = sessionStorage.getItem(key);
    sessionStorage.removeItem(key);
    if (!text) return;
    const held = JSON.parse(text);
    const details = document.querySelectorAll("details");
    if (details.length === held.open.length) details.forEach((one, n) => (one.open = held.open[n]));
    const field = held.field && document.getElementById(held.field);
    if (field) field.focus({ preventScroll: true });
    goTo(held);
    const grown = new ResizeObserver(() => goTo(held));
    grown.observe(document.body);
    const end = () => grown.disconnect();
    for (const moved of ["wheel", "keydown", "pointerdown", "touchstart"]) {
      addEventListener(moved, end, { once: true, passive: true });
    }
    setTimeout(end, 3000);
  }

  async function isNewer(url) {
    const answer = await fetch(url, { method: "HEAD", cache: "no-store" });
    return !answer.ok || Number(answer.headers.get("X-Written")) >= Number(since);
  }

  // Whether anything that this page is made of was written after it was sent.
  async function isStale() {
    const own = performance.getEntriesByType("resource").map((one) => one.name.split("#")[0]);
    const urls = new Set([location.href.split("#")[0], ...own]);
    const asked = [...urls].filter((url) => {
      const parts = new URL(url);
      return parts.origin === location.origin && !parts.pathname.startsWith("/-/");
    });
    return (await Promise.all(asked.map(isNewer))).some(Boolean);
  }

  function show(news) {
    let box = document.getElementById("kbsite-live");
    if (!box) {
      box = document.createElement("pre");
      box.id = "kbsite-live";
      box.setAttribute("role", "status");
      document.body.append(box);
    }
    const lines = news.failed ? [`The site could not be built: ${news.failed}`] : news.errors;
    box.textContent = lines.join("\n");
    box.hidden = !lines.length;
  }

  // Who types is not interrupted, and goes on in the same field.
  async function rested() {
    for (let left = 1; left > 0; ) {
      left = typed + QUIET - performance.now();
      if (left > 0) await new Promise((over) => setTimeout(over, left));
    }
  }

  async function hear(event) {
    const news = JSON.parse(event.data);
    const known = serial;
    serial = String(news.serial);
    show(news);
    if (known === serial || !(await isStale())) return;
    await rested();
    sessionStorage.setItem(key, JSON.stringify(place()));
    location.reload();
  }

  function leave() {
    if (source) source.close();
    source = null;
  }

  // A browser opens six connections to a server: pages that nobody looks at leave theirs to others.
  function listen() {
    if (document.hidden) {
      leave();
    } else if (!document.hidden && !source) {
      source = new EventSource("/-/events");
      source.addEventListener("message", hear);
    }
  }

  addEventListener("input", () => { typed = performance.now(); }, { capture: true, passive: true });
  document.addEventListener("visibilitychange", listen);
  addEventListener("pagehide", leave);
  addEventListener("pageshow", listen);
  restore();
  listen();
})();
