// The transcript of a run, part by part. Without its scripts every part is an ordinary page.
//
// Here: what a run's page asks for as it is read, other pages of the run and the script that finds.
"use strict";

// From disk nothing can be fetched. But each page of a run is a script as well, which hands this
// function another one, whose text holds the page.
//
// And each of the run's own scripts hands over one here, by its name: it takes what it needs, and
// returns what others may ask it for. run.js puts them together.
window.kbsite = (page) => { document.currentScript.page = String(page); };

// Milliseconds until what could not be had is asked for again, ever more seldom.
kbsite.patience = { first: 1000, after: (time) => Math.min(2 * time, 60_000) };

// `own` is the address of this script; none in a file by itself.
kbsite.pages = (own) => {
  const pages = new Map();
  let finder = null;

  function asScript(address) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.onload = () => {
        script.remove();
        resolve(script.page);
      };
      script.onerror = () => {
        script.remove();
        reject(new Error(address));
      };
      script.src = address;
      document.head.append(script);
    });
  }

  async function asText(page) {
    const answer = await fetch(page);
    if (!answer.ok) throw new Error(`${page}: ${answer.status}`);
    return answer.text();
  }

  async function received(page) {
    const carried = await window.kbsiteCarried?.(page); // single_file.js
    if (carried !== undefined) return carried;
    return location.protocol === "file:" ? asScript(page) : asText(page);
  }

  function read(page) {
    if (!pages.has(page)) {
      const text = received(page);
      text.catch(() => pages.delete(page)); // to be asked for again
      pages.set(page, text);
    }
    return pages.get(page);
  }

  // find.js is loaded when there is somebody, or an address that wants it. In a file by itself it
  // stands beside this one.
  function finding() {
    finder ??= own ? asScript(new URL("find.js", own).href) : Promise.resolve();
    finder.catch(() => { finder = null; }); // to be asked for again
    return finder;
  }

  return { read, finding };
};
