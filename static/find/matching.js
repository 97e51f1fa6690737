// How often a regular expression is found in texts. It may take for ever: where a browser lets it,
// it is held against them beside the page, by this same file in a worker.
"use strict";

self.kbsite ??= {}; // the worker's, for the files that come after this one

{
  const PACKED = /\b[\w+/]{400,}/g; // a picture as its CLI recorded it, say: no words
  const CHANCE = 6; // letters from which on a hit in what is packed is more than chance
  const LONG = 2000; // milliseconds that a part may take beside the page

  const matchesIn = (text, wanted) => {
    const all = [...text.matchAll(wanted)].filter((match) => match[0]);
    if (all.every(([held]) => held.length >= CHANCE)) return all;
    const packed = [...text.matchAll(PACKED)];
    return all.filter(({ 0: held, index }) => held.length >= CHANCE || !packed.some(
      (blob) => blob.index <= index && index < blob.index + blob[0].length));
  };

  // Null where it takes more room than there is.
  const countsIn = (texts, wanted) => {
    try {
      return texts.map((text) => matchesIn(text, wanted).length);
    } catch {
      return null;
    }
  };

  if (!self.document) {
    self.addEventListener("message", ({ data: [source, flags, texts] }) => {
      self.postMessage(countsIn(texts, new RegExp(source, flags)));
    });
  }

  const own = self.document?.currentScript?.src;

  kbsite.matching = () => {
    // From disk no worker is allowed, nor in a file by itself, which has no other.
    let works = Boolean(own) && location.protocol !== "file:";
    let worker = null;
    let counting = null; // called with what the worker has counted, or with null

    // How often each of some texts has what is wanted; null where that takes too long, or more room
    // than there is.
    function counted(texts, wanted, isRegex) {
      return isRegex && works ? beside(texts, wanted) : countsIn(texts, wanted);
    }

    function beside(texts, wanted) {
      return new Promise((resolve) => {
        const patience = setTimeout(stop, LONG);
        counting = (counts) => {
          clearTimeout(patience);
          counting = null;
          resolve(counts);
        };
        const one = (worker ??= new Worker(own));
        one.onmessage = ({ data }) => one === worker && counting?.(data);
        one.onerror = () => {
          if (one !== worker) return;
          works = false; // it may not be there
          counting?.(countsIn(texts, wanted));
        };
        one.postMessage([wanted.source, wanted.flags, texts]);
      });
    }

    function stop() {
      if (!counting) return;
      worker.terminate();
      worker = null;
      counting(null);
    }

    return { matchesIn, counted, stop };
  };
}
