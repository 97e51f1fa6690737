// What the address of the page that compares runs says: which runs stand beside each other, which are
// chosen where these are others, and which board and problem are listed.
"use strict";

const addressed = (() => {
  function plain(written) {
    try {
      return decodeURIComponent(written);
    } catch {
      return written; // An id that is no UTF-8.
    }
  }

  const named = (name) => new RegExp(`[?&]${name}=([^&]*)`).exec(location.search)?.[1] ?? null;

  // The runs under a name, by their ids: `known` has those that there are.
  function runs(name, known) {
    const keys = (named(name) ?? "").split(",").filter(Boolean).map(plain);
    // What passes a link on may write its commas as numbers; that of an id is written so here.
    return [...new Set(keys.flatMap((key) => (known.has(key) ? key : key.split(",").filter(Boolean))))];
  }

  function write(shown, chosen, fields, way) {
    const parts = [
      ...(shown ? [`runs=${shown}`] : []),
      ...(chosen === null ? [] : [`choose=${chosen}`]),
      ...fields.filter(({ value }) => value).map(({ id, value }) => `${id}=${encodeURIComponent(value)}`),
    ];
    const address = parts.length ? `?${parts.join("&")}` : location.pathname;
    try {
      if (`${location.search}` !== (parts.length ? address : "")) history[way](null, "", address);
    } catch {
      // Some browsers refuse who changes it too often: the address lags behind.
    }
  }

  function fill(fields) {
    for (const field of fields) {
      field.value = plain(named(field.id) ?? "");
      if (field.selectedIndex < 0) field.selectedIndex = 0; // none that there is
    }
  }

  return { plain, named, runs, write, fill };
})();
