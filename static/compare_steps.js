// The steps of some runs beside each other, phase by phase, on the page that compares runs.
"use strict";

const stepByStep = (() => {
  const { element, unseen, clock, framed, step, letter, section, beside, sign } = draw;
  const UNFOLDED = 60;
  const LONGEST_MATCH = 4e6;

  const NAMES = new Map([
    ["solution", "edits solution.py"], ["passed", "check ✓ passed"], ["failed", "check ✗ failed"], ["more", "…"],
  ]);
  const sort = (call) => (["passed", "failed"].includes(call.kind) ? "check" : call.kind);

  const PAIR = 4096; // a pair of one kind counts for more than any number of pairs that say the same

  // What a call counts for in a row: nothing where it is of another kind.
  const worth = (line, call) =>
    (line.sort === sort(call) ? PAIR + Number(line.summary === call.summary) : 0);

  // Rows of calls of the same kind, in the order of every run: the longest common sequence, and of
  // equals the one with the most calls that say the same.
  function matched(lines, calls) {
    const [n, m] = [lines.length, calls.length];
    if (n * m > LONGEST_MATCH) return null;
    const width = m + 1;
    const longest = new Uint32Array((n + 1) * width);
    for (let i = n - 1; i >= 0; i -= 1) {
      for (let j = m - 1; j >= 0; j -= 1) {
        const together = worth(lines[i], calls[j]);
        longest[i * width + j] = Math.max(
          together && longest[(i + 1) * width + j + 1] + together,
          longest[(i + 1) * width + j], longest[i * width + j + 1]);
      }
    }
    return (i, j) => longest[i * width + j];
  }

  function joined(lines, calls, index, count) {
    const longest = matched(lines, calls);
    const made = [];
    let [i, j] = [0, 0];
    const alone = (call) => {
      const cells = Array(count).fill(null);
      cells[index] = call;
      return { sort: sort(call), summary: call.summary, cells };
    };
    const together = () => {
      const both = i < lines.length && j < calls.length && worth(lines[i], calls[j]);
      return both && (!longest || longest(i, j) === longest(i + 1, j + 1) + both);
    };
    while (i < lines.length || j < calls.length) {
      if (together()) {
        lines[i].cells[index] = calls[j];
        made.push(lines[i]);
        [i, j] = [i + 1, j + 1];
      } else if (j === calls.length || (i < lines.length && (!longest || longest(i + 1, j) >= longest(i, j + 1)))) {
        made.push(lines[i]);
        i += 1;
      } else {
        made.push(alone(calls[j]));
        j += 1;
      }
    }
    return made;
  }

  const aligned = (runs, phase) => runs.reduce((lines, run, index) =>
    joined(lines, run.calls.filter((call) => call.phase === phase), index, runs.length), []);

  function cell(run, call) {
    if (!call) return element("td", { class: "absent" }, unseen(`nothing in ${run.letter}`));
    if (call.kind === "more") return element("td", { class: "absent" }, `… ${call.summary} more calls`);
    const name = NAMES.get(call.kind) ?? call.kind;
    const when = step(run, call.anchor, call.at === null ? call.anchor : clock(call.at));
    const failed = call.failed ? [element("span", { class: "tone-bad" }, " ✗ failed")] : [];
    return element("td", {}, when, ` ${name}`, ...failed, " ", element("code", {}, call.summary));
  }

  function line(runs, { cells }) {
    const who = runs.filter((run, index) => cells[index]).map((run) => run.letter).join(" ");
    const all = cells.every(Boolean);
    return element("tr", { class: all ? "same" : "differs" },
      element("th", { scope: "row" }, ...sign(!all), all ? "all" : `${who} only`),
      ...runs.map((run, index) => cell(run, cells[index])));
  }

  function summary(runs, name, index) {
    const reached = runs.map((run) => {
      const found = run.phases[index];
      const calls = run.calls.filter((call) => call.phase === index)
        .reduce((count, call) => count + (call.kind === "more" ? Number(call.summary) : 1), 0);
      const when = found ? clock(found.at) || found.anchor : "not seen";
      const after = index === runs[0].phases.length - 1 ? "" : `, then ${calls} ${calls === 1 ? "call" : "calls"}`;
      return element("span", { class: "reached" }, letter(run), `${when}${after}`);
    });
    return element("summary", {}, element("b", {}, name), ...reached);
  }

  function columns(runs, name, index) {
    const cells = runs.map((run) => {
      const found = run.phases[index];
      const where = found ? step(run, found.anchor, `${name} ${clock(found.at)}`) : `no ${name}`;
      return element("th", { scope: "col" }, letter(run), where);
    });
    return element("thead", {}, element("tr", {}, element("td"), ...cells));
  }

  function phase(runs, name, index) {
    const lines = aligned(runs, index);
    const made = element("details", { class: "phase" }, summary(runs, name, index));
    const build = () => made.append(framed(`calls from ${name} on`,
      element("table", { class: beside(runs, "marked") }, columns(runs, name, index),
        element("tbody", {}, ...lines.map((held) => line(runs, held))))));
    if (lines.length <= UNFOLDED) {
      build();
      made.open = true;
    } else made.addEventListener("toggle", build, { once: true });
    return made;
  }

  return (runs, phases) => {
    const explained = element("p", { class: "dim" },
      "Rows stand in phases, and within them calls of the same kind stand beside each other, each run in its own order. = where all did it, ≠ where not. Times lead to the step.");
    const none = element("p", { class: "dim" }, "There is no transcript of these runs.");
    const there = runs.some((run) => run.calls.length || run.phases.some(Boolean));
    return section("steps", "step by step",
      ...(there ? [explained, ...phases.map((name, index) => phase(runs, name, index))] : [none]));
  };
})();
