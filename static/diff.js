// The lines in which two texts differ. For the pages that compare texts in the browser.
//
// lineDiff.changes(before, after): every line of both lists, in order, as { sign, text, old, now },
//   with the sign " ", "-" or "+" and the line's numbers, from 1, in each list. A list that ends with
//   an empty text is one whose last line ends.
// lineDiff.hunks(changes, context): the same without lines far from a change; where some are left
//   out stands { sign: "@", text }.
// lineDiff.show(element, before, after, context): that as the children of an element, as the
//   pages' own diffs look; returns { added, removed }.
"use strict";

const lineDiff = (() => {
  const MOST = 3000; // Lines removed and added from which two texts count as wholly different.

  function ends(before, after) {
    const least = Math.min(before.length, after.length);
    let start = 0;
    while (start < least && before[start] === after[start]) start += 1;
    let end = 0;
    while (end < least - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
    return [start, end];
  }

  // Myers' greedy algorithm: how far one gets on each diagonal with ever more changes.
  function reached(before, after) {
    const [n, m] = [before.length, after.length];
    const most = Math.min(MOST, n + m);
    const held = [];
    let far = new Int32Array(2 * most + 3);
    const middle = most + 1;
    for (let count = 0; count <= most; count += 1) {
      for (let k = -count; k <= count; k += 2) {
        const down = k === -count || (k !== count && far[middle + k - 1] < far[middle + k + 1]);
        let x = down ? far[middle + k + 1] : far[middle + k - 1] + 1;
        while (x < n && x - k < m && before[x] === after[x - k]) x += 1;
        far[middle + k] = x;
        if (x >= n && x - k >= m) return { held, count, k };
      }
      held.push(far.slice(middle - count, middle + count + 1));
    }
    return null;
  }

  function pairs(before, after) {
    const found = reached(before, after);
    if (!found) return [];
    const same = [];
    let { count, k } = found;
    let x = before.length;
    for (; count > 0; count -= 1) {
      const far = found.held[count - 1];
      const at = (diagonal) => far[diagonal + count - 1] ?? -1;
      const down = k === -count || (k !== count && at(k - 1) < at(k + 1));
      const from = down ? k + 1 : k - 1;
      const start = down ? at(from) : at(from) + 1;
      while (x > start) same.push([(x -= 1), x - k]);
      x = at(from);
      k = from;
    }
    while (x > 0) same.push([(x -= 1), x]);
    return same.reverse();
  }

  function changes(one, other) {
    // What stands behind the last line end of both is no line.
    const isEnded = one.at(-1) === "" && other.at(-1) === "";
    const [before, after] = isEnded ? [one.slice(0, -1), other.slice(0, -1)] : [one, other];
    const [start, end] = ends(before, after);
    const numbers = new Map();
    const known = (line) => numbers.get(line) ?? numbers.set(line, numbers.size).get(line);
    const inner = [before, after].map((lines) => lines.slice(start, lines.length - end).map(known));
    const made = [];
    let [old, now] = [0, 0];
    const upTo = (x, y) => {
      while (old < x) made.push({ sign: "-", text: before[old], old: (old += 1), now });
      while (now < y) made.push({ sign: "+", text: after[now], old, now: (now += 1) });
    };
    const keep = () => made.push({ sign: " ", text: after[now], old: (old += 1), now: (now += 1) });
    while (old < start) keep();
    for (const [x, y] of pairs(...inner)) {
      upTo(start + x, start + y);
      keep();
    }
    upTo(before.length - end, after.length - end);
    while (now < after.length) keep();
    return made;
  }

  function span(lines) {
    const side = (sign, key) => {
      const own = lines.filter((line) => line.sign !== sign);
      const first = own[0]?.[key] ?? lines[0][key];
      return own.length === 1 ? `${first}` : `${first},${own.length}`;
    };
    return `@@ -${side("+", "old")} +${side("-", "now")} @@`;
  }

  function hunks(all, context = 3) {
    const near = new Set();
    all.forEach((line, index) => {
      if (line.sign === " ") return;
      for (let at = index - context; at <= index + context; at += 1) near.add(at);
    });
    const groups = [];
    all.forEach((line, index) => {
      if (!near.has(index)) return;
      if (!near.has(index - 1) || !groups.length) groups.push([]);
      groups.at(-1).push(line);
    });
    return groups.flatMap((lines) => [{ sign: "@", text: span(lines) }, ...lines]);
  }

  const TAGS = { "+": "ins", "-": "del", "@": "i" };

  function show(element, before, after, context = 3) {
    const all = changes(before, after);
    const shown = hunks(all, context);
    element.replaceChildren();
    for (let at = 0; at < shown.length;) {
      const { sign } = shown[at];
      const run = sign === " " ? new DocumentFragment() : document.createElement(TAGS[sign]);
      for (; at < shown.length && shown[at].sign === sign; at += 1) {
        run.append(`${sign === "@" ? "" : sign}${shown[at].text}\n`);
      }
      element.append(run);
    }
    const count = (sign) => all.filter((line) => line.sign === sign).length;
    return { added: count("+"), removed: count("-") };
  }

  return { changes, hunks, show };
})();
