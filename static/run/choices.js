// How all steps are shown, folded or not, by the clock or by the time since the beginning, and
// whether keys act: what a reader chose is kept.
"use strict";

kbsite.choices = (parts, places, kept) => {
  const fold = document.getElementById("fold");
  const clock = document.getElementById("clock");
  const keys = document.getElementById("keys");
  const started = Date.parse(document.getElementById("tools").dataset.first ?? "");

  function foldAs({ list }) {
    for (const details of list.querySelectorAll("details")) {
      details.dataset.open ??= String(details.open);
      details.open = fold.value ? fold.value === "open" : details.dataset.open === "true";
    }
  }

  function tellTime({ list }) {
    for (const link of list.querySelectorAll(":scope > li > a")) {
      link.dataset.elapsed ??= link.textContent;
      const { elapsed } = link.dataset;
      if (!/^-?[\d:]+$/.test(elapsed)) continue;
      const seconds = elapsed.replace("-", "").split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
      const at = new Date(started + (elapsed.startsWith("-") ? -seconds : seconds) * 1000);
      link.textContent = clock.checked ? at.toISOString().slice(11, 19) : elapsed;
    }
  }

  function chosen(field, dress, name) {
    const said = kept.get("localStorage", name);
    if (field.type === "checkbox") field.checked = said === null ? field.checked : said === "true";
    else if (said !== null) field.value = said;
    const value = () => (field.type === "checkbox" ? field.checked : field.value);
    const all = () => parts.present().forEach(dress);
    field.addEventListener("change", () => {
      kept.set("localStorage", name, String(value()));
      places.keep(all);
    });
    if (value()) all();
    parts.arrived.push((part) => value() && dress(part));
  }

  chosen(fold, foldAs, "fold");
  if (clock) chosen(clock, tellTime, "clock");
  chosen(keys, () => {}, "keys");

  return { fold, clock, keys };
};
