// Texts of a transcript: whole, as pages hold them, by their characters, and some of it in colour.
"use strict";

kbsite.texts = (read, lost) => {
  const LEFT_OUT = /<p class="left-out"><a href="([^"]+)">[^<]*<\/a><\/p>/;
  const SIGNED = /(?:^\+.*\n?)+|(?:^-.*\n?)+/gm;
  const SIGNS = { "+": "ins", "-": "del" };
  const BLOCK = /^(?:blockquote|details|div|fig(?:caption|ure)|h[1-6r]|li|[ou]l|p|pre|small|summary|t(?:able|body|[dhr]|head))$/;
  const TAG = new RegExp(`</?${BLOCK.source.slice(1, -1)}(?=[\\s>])[^>]*>`, "g");
  const APART = "\x01"; // what no text of a page holds
  const NAMED = { lt: "<", gt: ">", amp: "&", quot: '"', nbsp: "\u00a0" };

  const tools = document.getElementById("tools");

  // Long texts: whole in their place -------------------------------------------------------------

  async function whole(html) {
    for (let match = html.match(LEFT_OUT); match; match = html.match(LEFT_OUT)) {
      const page = await read(match[1]);
      let text = page.slice(page.indexOf(">", page.indexOf("<pre")) + 1, page.lastIndexOf("</pre>"));
      const start = html.lastIndexOf("<pre", match.index);
      const body = html.indexOf(">", start) + 1;
      const after = match.index + match[0].length;
      const tail = /^\s*<pre/.test(html.slice(after, after + 20));
      if (!tail) {
        const lines = text.replace(/^\n|<\/?span[^>]*>/g, "");
        text = lines.replace(SIGNED, (run) => `<${SIGNS[run[0]]}>${run}</${SIGNS[run[0]]}>`);
      }
      const end = tail ? html.indexOf("</pre>", after) + 6 : after;
      html = `${html.slice(0, body)}${text}</pre>${html.slice(end)}`;
    }
    return html;
  }

  async function expand(step) {
    if (!step.querySelector(".left-out")) return;
    const html = await whole(step.innerHTML).catch(() => lost("the whole text"));
    if (html) step.innerHTML = html;
  }

  // Of a step that is not in the page.
  function textOf(html) {
    const lines = html.replace(/\r\n?/g, "\n").replace(/(<pre[^>]*>)\n/g, "$1"); // as browsers read it
    const plain = lines.replace(TAG, APART).replace(/<[^>]*>/g, "");
    return plain.replace(/^\x01+|\x01+$/g, "").replace(/\x01+/g, "\n").replace(
      /&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi,
      (whole, decimal, hex, name) => {
        if (name) return NAMED[name] ?? whole;
        return String.fromCodePoint(decimal ? Number(decimal) : Number.parseInt(hex, 16));
      },
    );
  }

  // Text in the page, by its characters ------------------------------------------------------------

  // Each text node, and where it starts: a line end stands between what blocks keep apart, as in
  // what textOf makes of a step that is not here.
  function textNodes(element) {
    const time = element.matches("ol.steps > li") ? element.querySelector(":scope > a") : null;
    const nodes = [];
    let length = 0;
    let apart = 0;
    const take = (within) => {
      for (const child of within.childNodes) {
        if (child === time) continue;
        if (child instanceof Text) {
          nodes.push({ node: child, start: length + apart });
          length += apart + child.length;
          apart = 0;
        } else {
          const block = BLOCK.test(child.localName);
          if (block && length) apart = 1;
          take(child);
          if (block && length) apart = 1;
        }
      }
    };
    take(element);
    return nodes;
  }

  function rangeOf(nodes, from, to) {
    const place = (offset) => {
      const held = nodes.findLast(({ start }) => start <= offset);
      return [held.node, Math.min(offset - held.start, held.node.length)];
    };
    const range = new Range();
    range.setStart(...place(from));
    range.setEnd(...place(to));
    return range;
  }

  // The first sign of a range of text. To tell where a range lies a browser lays out all of it. Safari
  // tells of no place in what is not laid out: that piece of the text is, then.
  function startOf(range) {
    const { startContainer: node, startOffset: at } = range;
    if (!(at < node.length)) return range;
    const first = new Range();
    first.setStart(node, at);
    first.setEnd(node, at + 1);
    const piece = node.parentElement.closest("pre > span");
    if (piece && !first.getClientRects().length) piece.style.contentVisibility = "visible";
    return first;
  }

  return { whole, expand, textOf, textNodes, rangeOf, startOf, highlight: kbsite.highlighting(tools) };
};
