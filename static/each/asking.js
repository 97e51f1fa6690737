// What a table is narrowed and sorted by: the fields that ask for it, and the address that says so.
"use strict";

self.kbsite ??= {};

kbsite.asking = (asking) => {
  const fields = Object.fromEntries([...asking.querySelectorAll("select")].map((one) => [one.name, one]));
  const filters = Object.keys(fields).filter((name) => name !== "sort");

  const offers = (name, value) => [...fields[name].options].some((option) => option.value === value);

  // From an address, which may ask for what there is not.
  function recall(state) {
    for (const name of filters) {
      const value = state.get(name) ?? "";
      fields[name].value = offers(name, value) ? value : "";
    }
  }

  function remember(state) {
    const end = state.toString();
    history.replaceState(null, "", `${location.pathname}${end ? `?${end}` : ""}${location.hash}`);
  }

  function clear() {
    for (const select of Object.values(fields)) select.value = "";
  }

  // What is sorted by, whichever way; and what by next: one way, the other, and back to the order as
  // it was written.
  const by = (sort) => sort.replace(/^-/, "");
  const after = (sort, name) => (sort === name ? `-${name}` : sort === `-${name}` ? "" : name);

  return { fields, filters, offers, recall, remember, clear, by, after };
};
