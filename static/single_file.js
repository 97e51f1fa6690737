// What a single file carries of its run's other pages: unpacked when they are asked for, parts of the
// transcript by run.js, others shown over the page. src/kbsite/single_file/packed.py packs them.
"use strict";

(() => {
  const SEPARATOR = "\b";
  // The characters that start a code: they, and the separator, are the first words.
  const FIRST = String.fromCharCode(1, 2, 3, 4, 5, 6, 7, ...Array.from({ length: 18 }, (_, at) => at + 14));
  const CODE = new RegExp(`([${FIRST}])([!-~])`, "g");
  const SECONDS = 94;
  // Blocks that are kept unpacked: those around the reader.
  const KEPT = 4;

  const parsed = new Promise((resolve) => {
    if (document.readyState !== "loading") resolve();
    else document.addEventListener("DOMContentLoaded", resolve, { once: true });
  });

  const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;.=>?@^_`{|}~";
  const digits = new Uint8Array(128);
  [...DIGITS].forEach((digit, value) => { digits[digit.charCodeAt(0)] = value; });

  function bytesOf(text) {
    const missing = (5 - (text.length % 5)) % 5;
    const whole = text + "~".repeat(missing);
    const bytes = new Uint8Array((whole.length / 5) * 4);
    const view = new DataView(bytes.buffer);
    for (let from = 0, to = 0; from < whole.length; from += 5, to += 4) {
      let group = 0;
      for (let at = from; at < from + 5; at++) group = group * 85 + digits[whole.charCodeAt(at)];
      view.setUint32(to, group);
    }
    return bytes.subarray(0, bytes.length - missing);
  }

  async function inflated(element) {
    const bytes = bytesOf(element.textContent);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const plain = await new Response(stream).arrayBuffer();
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(plain);
  }

  let held = null;

  async function contents() {
    await parsed;
    const blocks = new Map();
    for (const element of document.querySelectorAll("script[data-pages]")) {
      JSON.parse(element.dataset.pages).forEach((page, at) => blocks.set(page, { element, at }));
    }
    const told = document.getElementById("words");
    const words = told ? [...FIRST, SEPARATOR, ...(await inflated(told)).split(SEPARATOR)] : [];
    return { blocks, words };
  }

  const unpacked = new Map();

  function pagesOf(element, words) {
    const word = (_, first, second) =>
      words[FIRST.indexOf(first) * SECONDS + second.charCodeAt(0) - 33];
    const pages = unpacked.get(element) ?? inflated(element).then(
      (coded) => coded.split(SEPARATOR).map((page) => page.replace(CODE, word)));
    unpacked.delete(element);
    unpacked.set(element, pages);
    if (unpacked.size > KEPT) unpacked.delete(unpacked.keys().next().value);
    return pages;
  }

  async function carried(address) {
    const page = address.startsWith("#") ? decodeURIComponent(address.slice(1)) : address;
    held ??= contents();
    const { blocks, words } = await held;
    const place = blocks.get(page);
    return place && (await pagesOf(place.element, words))[place.at];
  }

  // What run.js asks before it asks for a page of the site.
  window.kbsiteCarried = carried;

  // Other pages of the run, over the page: long texts, and what else the run's page links ---------

  // The address of a page within this file: its name, and a place in it.
  const OVER = /^((?:text-(.*)-\d+|.+)\.html)(?::(.*))?$/;

  const dialog = document.createElement("dialog");
  const close = document.createElement("button");
  const content = document.createElement("div");
  dialog.className = "over";
  close.type = "button";
  close.className = "chip";
  close.textContent = "close";
  content.tabIndex = 0;
  content.setAttribute("role", "document");
  dialog.append(close, content);

  function asked() {
    try {
      return decodeURIComponent(location.hash.slice(1)).match(OVER) ?? [];
    } catch {
      return []; // bytes that are no UTF-8
    }
  }

  async function show() {
    const [, page, , place] = asked();
    const whole = page && await carried(page);
    if (!whole) return dialog.close();
    content.innerHTML = whole;
    dialog.setAttribute("aria-label", content.querySelector("h1")?.textContent ?? page);
    if (!dialog.isConnected) document.body.append(dialog);
    if (!dialog.open) dialog.showModal();
    content.focus();
    content.scrollTop = 0;
    const first = place?.replace(/(-L\d+)-\d+$/, "$1"); // of some lines
    return place && [...content.querySelectorAll("[id]")].find(({ id }) => id === first)?.scrollIntoView();
  }

  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("keydown", (event) => event.stopPropagation());
  dialog.addEventListener("close", () => {
    content.textContent = "";
    const [over, , anchor] = asked();
    if (anchor) location.replace(`#${encodeURIComponent(anchor)}`);
    else if (over) history.replaceState(null, "", location.pathname + location.search);
  });
  window.addEventListener("hashchange", show);
  show();
})();
