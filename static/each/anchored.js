// The place that the address of the page names.
"use strict";

self.kbsite ??= {};

kbsite.anchored = () => {
  const said = location.hash.slice(1);
  try {
    return decodeURIComponent(said);
  } catch {
    return said; // bytes that are no UTF-8
  }
};
