// Links to lines: #L12:3-5 of the first text of step L12, #L12.2:3 of its second, #solution-L3-5 of
// a file.
"use strict";

kbsite.lines = ({ parts, places, keys, guides }, texts) => {
  const TEXT_LINES = /^(.+?)(?:\.(\d+))?:(\d+)(?:-(\d+))?$/;
  const FILE_LINES = /^(.+-L)(\d+)-(\d+)$/;
  const bar = document.getElementById("lines");
  const choice = document.getElementById("lines-text");
  const from = document.getElementById("lines-from");
  const to = document.getElementById("lines-to");
  const link = document.getElementById("lines-link");
  let offered = []; // the texts that the bar offers lines of
  let back = null; // where the keyboard was before

  const isFirst = (pre) => !pre.previousElementSibling?.matches(".left-out");
  const isWhole = (pre) => isFirst(pre) && !pre.nextElementSibling?.matches(".left-out");
  const textsIn = (element) => [...element.querySelectorAll("pre")].filter(
    (pre) => isFirst(pre) && pre.closest("[id]") === element);
  const lineCount = (text) => text.split("\n").length - (text.endsWith("\n") ? 1 : 0);

  // A text as lines can be asked of it: `name` is how an address calls it.
  function textAt(pre) {
    const owner = pre.closest("[id]");
    const number = textsIn(owner).indexOf(pre) + 1;
    const name = number > 1 ? `${owner.id}.${number}` : owner.id;
    return {
      name, count: lineCount(pre.textContent), address: (low, high) => `${name}:${span(low, high)}`,
      range(low, high) {
        const starts = [0];
        for (const line of pre.textContent.split("\n")) starts.push(starts.at(-1) + line.length + 1);
        const end = Math.min(starts[Math.min(high, starts.length - 1)], pre.textContent.length);
        return texts.rangeOf(texts.textNodes(pre), starts[low - 1], end);
      },
    };
  }

  const numberOf = (row) => Number(row.id.match(/\d+$/));

  // Of a long file some lines are left out.
  function tableAt(table) {
    const rows = [...table.querySelectorAll("tr[id]")];
    const prefix = rows[0].id.replace(/\d+$/, "");
    return {
      name: prefix.replace(/-L$/, ""), count: numberOf(rows.at(-1)),
      address: (low, high) => `${prefix}${span(low, high)}`,
      range(low, high) {
        const range = new Range();
        range.setStartBefore(rows.find((row) => numberOf(row) >= low));
        range.setEndAfter(rows.findLast((row) => numberOf(row) <= high));
        return range;
      },
    };
  }

  const span = (low, high) => (high > low ? `${low}-${high}` : String(low));
  const fit = (value, count) => Math.min(Math.max(1, Math.floor(Number(value)) || 1), count);

  function show(text, low, high, top) {
    low = fit(low, text.count);
    const range = text.range(low, Math.max(low, fit(high, text.count)));
    places.unfold(range.startContainer.parentElement);
    texts.highlight("lines", range);
    places.settle(texts.startOf(range), top);
  }

  async function leadToText(anchor, top) {
    const match = anchor.match(TEXT_LINES);
    if (!match) return false;
    const [, owner, number, low, high] = match;
    const step = (await parts.elementOf(owner))?.closest("ol.steps > li");
    if (!step) return false;
    // A part that nobody stands in may be dropped while its text is waited for.
    places.stand(step);
    await texts.expand(step);
    const element = document.getElementById(owner) ?? step;
    const pre = textsIn(element)[(number ?? 1) - 1];
    places.reveal(element, top);
    if (pre) show(textAt(pre), low, high ?? low, top);
    return true;
  }

  async function leadToFile(anchor, top) {
    const match = anchor.match(FILE_LINES);
    const row = match && document.getElementById(match[1] + match[2]);
    if (!row?.closest("table.source")) return false;
    show(tableAt(row.closest("table")), match[2], match[3], top);
    return true;
  }
  guides.push(leadToFile, leadToText);

  function told({ name, count }) {
    return Number.isFinite(count) ? `${name}, ${count} line${count === 1 ? "" : "s"}` : name;
  }

  function offer(held, text, low, high) {
    offered = held;
    choice.replaceChildren(...held.map((one) => new Option(told(one))));
    choice.selectedIndex = Math.max(0, held.indexOf(text));
    [from.value, to.value] = [low, high];
    bar.hidden = false;
    address();
  }

  function address() {
    const text = offered[choice.selectedIndex];
    from.max = to.max = text.count;
    const low = fit(from.value, text.count);
    const high = Math.max(low, fit(to.value, text.count));
    link.href = `#${text.address(low, high)}`;
    link.textContent = link.getAttribute("href");
    return [text, low, high];
  }

  function close() {
    bar.hidden = true;
    back?.focus({ preventScroll: true });
    back = null;
  }

  // From the keyboard: the texts of the step that one stands at, or the file that has the focus.
  keys.l = async () => {
    back = document.activeElement;
    const row = back.closest("table.source tr[id]");
    if (row) {
      const text = tableAt(row.closest("table"));
      offer([text], text, numberOf(row), numberOf(row));
    } else {
      const step = places.current();
      if (!step?.querySelector("pre")) return; // the reader is behind all steps, or there are none
      // A part that nobody stands in may be dropped while its text is waited for.
      places.stand(step);
      await texts.expand(step);
      const held = [...step.querySelectorAll("pre")].filter(isFirst).map(textAt);
      if (!held.length) return;
      back = step;
      offer(held, held[0], 1, 1);
    }
    from.focus();
    from.select();
  };

  // From a selection.
  async function offerSelected() {
    const selection = getSelection();
    if (selection.isCollapsed || !selection.rangeCount) return;
    const range = selection.getRangeAt(0);
    const [first, last] = [range.startContainer, range.endContainer].map(
      (node) => (node instanceof Element ? node : node.parentElement));
    const rows = [first, last].map((node) => node.closest("table.source tr[id]"));
    if (rows[0] && rows[1]) {
      const text = tableAt(first.closest("table"));
      offer([text], text, ...rows.map(numberOf));
      return;
    }
    const pre = first.closest("ol.steps > li pre");
    if (!pre || pre !== last.closest("pre") || !pre.closest("ol.steps")) return;
    const before = new Range();
    before.setStart(pre, 0);
    before.setEnd(range.startContainer, range.startOffset);
    const skipped = await leftOut(pre).catch(() => null);
    if (!skipped) return;
    const low = skipped.lines + before.toString().split("\n").length;
    // How many lines a text has that is not all here, nobody has counted.
    const text = isWhole(pre) ? textAt(pre) : { ...textAt(skipped.head), count: Infinity };
    offer([text], text, low, low + lineCount(range.toString()) - 1);
  }

  // Lines of a long text that stand before its tail, which is shown below a link.
  async function leftOut(pre) {
    if (isFirst(pre)) return { head: pre, lines: 0 };
    const gap = pre.previousElementSibling;
    const head = gap.previousElementSibling;
    const whole = await texts.whole(`${head.outerHTML}${gap.outerHTML}${pre.outerHTML}`);
    const text = texts.textOf(whole);
    const lines = text.slice(0, text.length - pre.textContent.length).split("\n").length - 1;
    return { head, lines };
  }

  let resting = 0;
  document.addEventListener("selectionchange", () => {
    clearTimeout(resting);
    resting = setTimeout(offerSelected, 150);
  });

  for (const field of [choice, from, to]) {
    field.addEventListener("input", () => {
      if (field === from && Number(to.value) < Number(from.value)) to.value = from.value;
      const [text, low, high] = address();
      if (Number.isFinite(text.count)) show(text, low, high);
    });
  }
  bar.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && event.target !== link && event.target.tagName !== "BUTTON") link.click();
  });
  link.addEventListener("click", () => {
    navigator.clipboard?.writeText(link.href).catch(() => {});
    close();
  });
  document.getElementById("lines-close").addEventListener("click", close);

  // What a reader selected before this file was there.
  function catchUp() {
    if (!getSelection().isCollapsed) offerSelected();
  }

  return { catchUp };
};
