// The address of the page: it names a place, and says what is looked for and what is shown.
"use strict";

kbsite.address = () => {
  const memory = []; // each saves what it has into what the address says, and loads it from there
  let recalling = false;

  // The line of a step, of an address of lines of its text, or of what is quoted of it.
  const lineOf = (anchor) => anchor.replace(/(\.\d+)?:[\d-]*$|\.q\d+$/, "");

  const asked = () => new URLSearchParams(location.search);

  function told() {
    const state = new URLSearchParams();
    for (const held of memory) held.save(state);
    return state.toString();
  }

  const isTold = () => told() === asked().toString();

  function takeUp() {
    const state = asked();
    recalling = true;
    for (const held of memory) held.load(state);
    recalling = false;
  }

  // A place that somebody went to, by a link or by hand, can be gone back to: what a reader does
  // there makes an entry of the history of its own, which goes along from then on.
  const ALONG = "along";

  function write(address) {
    const stays = location.hash && history.state !== ALONG;
    try {
      history[stays ? "pushState" : "replaceState"](ALONG, "", address);
    } catch {
      // Who holds a key down is written down too often for some browsers: the address lags behind.
    }
  }

  const note = (anchor) => `#${anchor}` === location.hash || write(`#${anchor}`);

  function remember() {
    if (recalling || isTold()) return;
    const text = told();
    write(`${location.pathname}${text ? `?${text}` : ""}${location.hash}`);
  }

  return { memory, anchored: kbsite.anchored, lineOf, isTold, takeUp, note, remember };
};
