// Links to lines: #L12:3-5 of the first text of step L12, #L12.2:3 of its second, and those of files.
"use strict";

kbsite.lines = ({ parts, places, keys, guides }, texts) => {
  const TEXT_LINES = /^(.+?)(?:\.(\d+))?:(\d+)(?:-(\d+))?$/;
  const { tables } = kbsite;
  const { fit, span } = tables;
  const bar = kbsite.bar(show, offerSelected);

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
    const lines = tables.meant(anchor);
    if (lines?.page) location.replace(lines.page);
    else if (lines?.high > lines?.low) show(lines.text, lines.low, lines.high, top);
    else return false;
    return true;
  }
  guides.push(leadToFile, leadToText);

  // From the keyboard: the texts of the step that one stands at, or the file that has the focus.
  keys.l = async () => {
    const before = document.activeElement;
    const lines = tables.around(before);
    if (lines) {
      bar.offer(lines);
      bar.enter(before);
      return;
    }
    const step = places.current();
    if (!step?.querySelector("pre")) return; // the reader is behind all steps, or there are none
    // A part that nobody stands in may be dropped while its text is waited for.
    places.stand(step);
    await texts.expand(step);
    const held = [...step.querySelectorAll("pre")].filter(isFirst).map(textAt);
    if (!held.length) return;
    bar.offer({ text: held[0], low: 1, high: 1 }, held);
    bar.enter(step);
  };

  // From a selection.
  async function offerSelected(range) {
    const [first, last] = [range.startContainer, range.endContainer].map(
      (node) => (node instanceof Element ? node : node.parentElement));
    const lines = tables.around(first, last);
    if (lines) {
      bar.offer(lines);
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
    bar.offer({ text, low, high: low + lineCount(range.toString()) - 1 });
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

  // What a reader selected before this file was there.
  return { catchUp: bar.select };
};
