// What a reader's hands do: go from step to step, and press keys; the table of keys.
"use strict";

kbsite.hands = (parts, places, address, filters, choices) => {
  const tools = document.getElementById("tools");
  const said = document.getElementById("said");
  const help = document.getElementById("help");
  const helpButton = document.getElementById("help-button");

  // Steps, one by one or by what they are ---------------------------------------------------------

  const WHAT = { "is-error": "error", "is-solution": "edit of solution.py" };

  function tellNone(direction, mark) {
    const which = direction > 0 ? "next" : "previous";
    const among = filters.narrowed() ? " among those shown" : "";
    said.textContent = `no ${which} ${WHAT[mark] ?? "step"}${among}`;
  }

  const isInSight = ({ section }) => (section ?? parts.steps).getBoundingClientRect().bottom > places.edge();

  function besides(direction) {
    const inSight = parts.all.findIndex(isInSight);
    return (inSight < 0 ? parts.all.length : inSight) - (direction > 0 ? 1 : 0);
  }

  async function move(direction, mark) {
    const isLed = places.setOut();
    let from = places.current();
    const stands = Boolean(from) && from === places.standing();
    // Who is behind all steps, or where none is there yet, goes on from the part that is in sight.
    let index = from ? parts.all.findIndex((part) => part.list?.contains(from)) : besides(direction);
    // So does who stands nowhere, of a part that is still to come above the steps that are there.
    const late = direction > 0 && !stands ? parts.all.findIndex((part) => !part.list && isInSight(part)) : -1;
    if (late >= 0 && late < index) [from, index] = [null, late - 1];
    let row = from ? [...parts.all[index].list.children] : [];
    let at = row.indexOf(from) + (stands ? direction : 0);
    for (;;) {
      for (; at >= 0 && at < row.length; at += direction) {
        if (filters.has(row[at], mark) && filters.shown(row[at])) {
          address.note(row[at].id);
          return places.reveal(row[at]);
        }
      }
      do index += direction;
      while (parts.all[index]?.section && !filters.wanted(parts.all[index], mark));
      if (!parts.all[index]) return tellNone(direction, mark);
      const part = await parts.load(parts.all[index]).catch(() => null);
      if (!isLed()) return;
      if (!part) return parts.lost("the next of them");
      row = [...part.list.children];
      at = direction > 0 ? 0 : row.length - 1;
    }
  }

  // The table of keys hangs below the bar, wherever the reader is, and moves nothing ----------------

  function toggleHelp() {
    const opens = help.hidden;
    if (!opens && help.contains(document.activeElement)) helpButton.focus();
    help.hidden = !opens;
    helpButton.setAttribute("aria-expanded", String(opens));
    if (!opens) return;
    help.style.maxHeight = `${Math.max(200, innerHeight - places.edge())}px`;
    const { top, bottom } = help.getBoundingClientRect();
    if (top < 0 || bottom > innerHeight) help.scrollIntoView({ block: "nearest" });
  }

  function closeHelp() {
    if (!help.hidden) toggleHelp();
  }

  helpButton.addEventListener("click", toggleHelp);
  places.going.push(closeHelp); // it would cover what is gone to
  tools.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget?.closest("ol.steps")) closeHelp();
  });

  // Keys ------------------------------------------------------------------------------------------

  function toggle(field) {
    if (field.type === "checkbox") field.checked = !field.checked;
    else field.selectedIndex = (field.selectedIndex + 1) % field.options.length;
    field.dispatchEvent(new Event("change"));
  }

  const keys = {
    j: () => move(1),
    k: () => move(-1),
    e: () => move(1, "is-error"),
    E: () => move(-1, "is-error"),
    s: () => move(1, "is-solution"),
    S: () => move(-1, "is-solution"),
    f: () => toggle(choices.fold),
    t: () => choices.clock && toggle(choices.clock),
    "/": () => document.getElementById("query").focus(),
    "?": toggleHelp,
    "[": () => document.querySelector('[data-key="["]')?.click(),
    "]": () => document.querySelector('[data-key="]"]')?.click(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && help.contains(event.target)) return closeHelp();
    if (event.target.closest("input:not([type=checkbox], [type=radio]), textarea, select")) {
      if (event.key !== "Escape") return;
      if (event.target.type === "search") event.preventDefault(); // Firefox would empty it
      event.target.blur();
      return;
    }
    if (event.key === "Escape") closeHelp();
    // Pressed before this file was there: the parts have taken their room since then.
    if (event.key === "End" && !event.isTrusted) places.settleAtEnd();
    const act = keys[event.key];
    if (!act || !choices.keys.checked) return;
    event.preventDefault();
    act();
  });

  return keys;
};
