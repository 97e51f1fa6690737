// The snapshots of a run: any state of solution.py, and what differs between any two. Without this
// file the page shows each change after the other. A page holds texts in full, and changes.
"use strict";

(() => {
  const own = read(document);
  if (window.parent !== window) {
    // Another page of this run asks for what this one holds: from disk nothing can be fetched.
    window.parent.postMessage({ snapshots: own }, "*");
    return;
  }
  const view = document.getElementById("view");
  if (!view || typeof lineDiff === "undefined") return; // the page says so
  view.hidden = false;
  document.getElementById("unscripted").remove();

  const state = document.getElementById("state");
  const since = document.getElementById("since");
  const before = document.getElementById("before");
  const asText = document.getElementById("as-text");
  const asChanges = document.getElementById("as-changes");
  const shown = document.getElementById("shown");
  const told = document.getElementById("shown-told");
  const pages = new Map([["", Promise.resolve(own)]]);
  let asked = 0;

  // What a page holds: texts in full, and changes, by the numbers of their states.
  function read(page) {
    const texts = [...page.querySelectorAll("[data-whole]")]
      .map((held) => [Number(held.dataset.whole), held.textContent]);
    const changes = [...page.querySelectorAll("section.state")].map((held) => {
      const { number, base, same } = held.dataset;
      const pre = held.querySelector(".diff pre");
      const sameText = !pre && base && !held.querySelector(".missing");
      return [Number(number), {
        base: base ? Number(base) : null,
        same: same ? Number(same) : null,
        diff: pre ? pre.textContent : sameText ? "" : null,
      }];
    });
    return { texts, changes };
  }

  async function fetched(name) {
    const answer = await fetch(name);
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
    return read(new DOMParser().parseFromString(await answer.text(), "text/html"));
  }

  function framed(name) {
    return new Promise((resolve) => {
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.src = name;
      const listen = (event) => {
        if (event.source !== frame.contentWindow || !event.data?.snapshots) return;
        window.removeEventListener("message", listen);
        frame.remove();
        resolve(event.data.snapshots);
      };
      window.addEventListener("message", listen);
      document.body.append(frame);
    });
  }

  function pageOf(number) {
    const name = document.getElementById(`state-${number}`).dataset.page ?? "";
    if (!pages.has(name)) {
      const page = location.protocol === "file:" ? framed(name) : fetched(name);
      page.catch(() => pages.delete(name)); // to be asked for again
      pages.set(name, page);
    }
    return pages.get(name);
  }

  // The lines of a state, or null where nothing tells them.
  async function linesOf(number) {
    const page = await pageOf(number);
    const texts = new Map(page.texts);
    const changes = new Map(page.changes);
    const row = [];
    let at = number;
    while (!texts.has(at)) {
      const change = changes.get(at);
      if (change?.same) return linesOf(change.same);
      if (!change || change.diff === null || change.base === null) return null;
      row.push(change.diff);
      at = change.base;
      // An earlier state with the same text may stand on another page; its own change does not.
      const again = changes.get(at)?.same;
      if (again && !texts.has(at)) return linesOf(again).then((lines) => grown(lines, row));
    }
    return grown(texts.get(at).split("\n"), row);
  }

  function grown(lines, row) {
    return row.reverse().reduce((held, diff) => held && patched(held, diff), lines);
  }

  function patched(lines, diff) {
    const made = [];
    let at = 0;
    for (const line of diff.split("\n").slice(0, -1)) {
      const jump = line.match(/^@@ -(\d+)(?:,(\d+))? /);
      if (jump) {
        // A side without lines is numbered by the line before it.
        const start = jump[2] === "0" ? Number(jump[1]) : Number(jump[1]) - 1;
        made.push(...lines.slice(at, start));
        at = start;
      } else {
        if (line[0] !== "-") made.push(line.slice(1));
        if (line[0] !== "+") at += 1;
      }
    }
    return made.concat(lines.slice(at));
  }

  function words(number) {
    const held = document.getElementById(`state-${number}`);
    const at = held.querySelector("h3, a").textContent.trim().split(/\s+/).slice(2).join(" ");
    const scores = held.querySelector(".state-scores")?.textContent.replace(/^.*?: /, "") ?? "";
    const exact = held.dataset.exact ? "exact" : "a guess";
    return [`${number} of ${state.max}`, at, scores.trim(), exact].filter(Boolean).join(", ");
  }

  function label() {
    for (const slider of [state, since]) {
      slider.setAttribute("aria-valuetext", words(slider.value));
      document.getElementById(`${slider.id}-told`).textContent = words(slider.value);
    }
  }

  async function show(remembers = true) {
    if (before.checked) since.value = String(Math.max(1, Number(state.value) - 1));
    since.disabled = before.checked;
    label();
    const [now, then] = [state.value, since.value];
    const first = before.checked && now === then; // Nothing is known of before.
    const text = first || asText.getAttribute("aria-pressed") === "true";
    const mine = (asked += 1);
    if (remembers) remember();
    const texts = Promise.all([linesOf(Number(now)), text ? null : linesOf(Number(then))]);
    const [after, earlier] = await texts.catch(() => [undefined]);
    if (mine !== asked) return;
    shown.replaceChildren();
    if (after === undefined) told.textContent = `state ${now}: the page that holds its text could not be loaded`;
    else if (!after) told.textContent = `state ${now}: its text is not known`;
    else if (text) {
      const count = after.length - Number(after.at(-1) === "");
      told.textContent = `state ${now}${first ? ", the first" : ""}, ${count} line${count === 1 ? "" : "s"}`;
      shown.textContent = after.join("\n");
    } else if (!earlier) told.textContent = `state ${then}: its text is not known`;
    else {
      const { added, removed } = lineDiff.show(shown, earlier, after);
      told.textContent = `from state ${then} to state ${now}: +${added} −${removed}`;
    }
  }

  // The address says what is shown. A state that somebody went to, by a link or by hand, can be gone
  // back to: what is looked at from there makes one entry of the history, which goes along.
  const ALONG = "along";

  function remember() {
    const asks = new URLSearchParams();
    if (!before.checked) asks.set("since", since.value);
    if (asText.getAttribute("aria-pressed") === "true") asks.set("as", "text");
    const query = asks.toString();
    const address = `${location.pathname}${query ? `?${query}` : ""}#state-${state.value}`;
    if (address === location.pathname + location.search + location.hash) return;
    const stays = location.hash && history.state !== ALONG;
    try {
      history[stays ? "pushState" : "replaceState"](ALONG, "", address);
    } catch {
      // A slider that is dragged writes too often for some browsers: the address lags behind.
    }
  }

  function numbered(text) {
    const number = Number(text);
    return Number.isInteger(number) && number >= 1 && number <= Number(state.max) ? text : null;
  }

  function press(text) {
    asText.setAttribute("aria-pressed", String(text));
    asChanges.setAttribute("aria-pressed", String(!text));
  }

  function recall() {
    const asks = new URLSearchParams(location.search);
    const wanted = numbered(location.hash.replace(/^#state-/, ""));
    if (wanted || !location.hash) state.value = wanted ?? state.max;
    const from = numbered(asks.get("since") ?? "");
    before.checked = !from;
    if (from) since.value = from;
    press(asks.get("as") === "text");
    // Lines that the audit quotes stay in the address, until the reader moves on.
    const first = location.hash.slice(1).replace(/(-L\d+)-\d+$/, "$1"); // of some lines
    const cited = first.startsWith("copy-") && document.getElementById(first);
    // An address stays as it was written: one that is put there before the page is loaded would
    // make the browser go to that state's place in the list, past the view.
    const done = show(false);
    if (wanted) requestAnimationFrame(() => toPlace(view));
    else if (cited) done.then(() => requestAnimationFrame(() => toPlace(cited)));
  }

  // Behind whatever goes to the place in the list that the address names, and after the view has
  // pushed down what stands below it.
  function toPlace(place) {
    if (document.readyState === "complete") place.scrollIntoView();
    else window.addEventListener("load", () => requestAnimationFrame(() => toPlace(place)), { once: true });
  }

  state.addEventListener("input", show);
  since.addEventListener("input", show);
  before.addEventListener("change", show);
  for (const [button, text] of [[asText, true], [asChanges, false]]) {
    button.addEventListener("click", () => {
      press(text);
      show();
    });
  }
  for (const kind of ["hashchange", "popstate"]) window.addEventListener(kind, recall);
  recall();
})();
