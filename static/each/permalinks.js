// Everything works without this file. With it: a permalink opens what it points into, and a click on
// a permalink copies its address.
"use strict";

function openTarget() {
  const id = kbsite.anchored();
  const target = id && document.getElementById(id);
  if (!target) return;
  for (let at = target; at; at = at.parentElement) {
    if (at instanceof HTMLDetailsElement) at.open = true;
  }
  target.scrollIntoView();
}

window.addEventListener("hashchange", openTarget);
window.addEventListener("DOMContentLoaded", openTarget);

document.addEventListener("click", kbsite.copying.clicked);
