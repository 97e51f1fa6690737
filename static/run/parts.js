// The parts of a transcript: asked for when the reader comes near, and dropped when he is far; and
// the step that an anchor names, whatever part it is in.
"use strict";

kbsite.parts = (read, unveil) => {
  const NEAR = "1500px 0px";
  const FAR = "9000px 0px";
  const STEP_HEIGHT = 110;
  // Of a step, or of what an audit quotes of it; not of a page that a single file lays over itself.
  const LINE = /^([^:]*?)L(\d+)(-\d+)?(\.q\d+)?$/;
  const SOME = "some steps";

  const steps = document.querySelector("ol.steps");
  const said = document.getElementById("said");
  const arrived = []; // called with each part that comes into the page

  function rangesOf(words) {
    return words.filter(Boolean).map((range) => {
      const [, file, low, high] = range.match(/^(.*?)(\d+)-(\d+)$/);
      return { file, low: Number(low), high: Number(high) };
    });
  }

  const linesOf = new Map((document.documentElement.dataset.parts ?? "").split("|").map((part) => {
    const [page, ...lines] = part.split(" ");
    return [page, lines];
  }));

  const pairs = (text) => new Map((text ?? "").split(" ").filter(Boolean).map((pair) => {
    const at = pair.lastIndexOf(":");
    return [pair.slice(0, at), Number(pair.slice(at + 1))];
  }));

  // What a page says of its parts is read when it is asked for: few readers ask for all of it.
  class Part {
    list = null;
    wait = null;
    sought = 0; // by how many a step is sought in it
    #ranges = null;
    #marks = null;
    #tools = null;
    #agents = null;

    constructor(section) {
      this.section = section;
      this.page = section.dataset.page;
      this.items = Number(section.dataset.items);
    }

    get ranges() { return (this.#ranges ??= rangesOf(linesOf.get(this.page) ?? [])); }
    get marks() { return (this.#marks ??= pairs(this.section.dataset.marks)); }
    get tools() { return (this.#tools ??= pairs(this.section.dataset.tools)); }
    get agents() { return (this.#agents ??= pairs(this.section.dataset.agents)); }
    get inside() { return (this.section.dataset.inside ?? "").split(" ").filter(Boolean); }
  }

  // Room for steps that are not there.
  const room = ({ section }, count) => { section.style.minHeight = `${count * STEP_HEIGHT}px`; };

  const all = [{ list: steps, items: steps.children.length }];
  for (const section of document.querySelectorAll("section.part")) {
    const part = new Part(section);
    room(part, part.items);
    all.push(part);
  }
  const present = () => all.filter((part) => part.list);

  // Where what stands above the reader takes another room than it had, most browsers stay with what
  // he sees. For those that do not, as Safari, it is done here.
  const stays = CSS.supports("overflow-anchor", "auto");

  function inPlace({ section }, change) {
    if (stays) return change();
    const { top, bottom, height } = section.getBoundingClientRect();
    change();
    if (top < 0 && bottom <= innerHeight) scrollBy(0, section.offsetHeight - height);
    return undefined;
  }

  // What cannot be had is told to whoever reads it.
  const ask = ({ page }) => page && read(page);

  async function htmlOf(part) {
    if (!part.page) return steps.innerHTML;
    const text = await read(part.page);
    const list = text.indexOf('<ol class="steps"');
    return list < 0 ? text : text.slice(text.indexOf(">", list) + 1, text.lastIndexOf("</ol>"));
  }

  function load(part) {
    if (part.list) return Promise.resolve(part);
    part.wait ??= htmlOf(part).then((html) => {
      const list = document.createElement("ol");
      list.className = "steps";
      list.innerHTML = html;
      part.placeholder ??= [...part.section.childNodes];
      inPlace(part, () => {
        part.section.replaceChildren(list);
        part.section.style.minHeight = "";
        part.list = list;
        for (const dress of arrived) dress(part);
      });
      return part;
    }).finally(() => { part.wait = null; });
    return part.wait;
  }

  function drop(part) {
    if (!part.list || part.sought || part.section.contains(document.activeElement)) return;
    part.section.style.minHeight = `${part.section.offsetHeight}px`;
    part.section.replaceChildren(...part.placeholder);
    part.list = null;
  }

  const bySection = new Map(all.slice(1).map((part) => [part.section, part]));
  const watch = (rootMargin, act) => {
    const watcher = new IntersectionObserver((entries) => entries.forEach(act), { rootMargin });
    for (const section of bySection.keys()) watcher.observe(section);
    return watcher;
  };
  const nearby = watch(NEAR, ({ isIntersecting, target }) => {
    if (isIntersecting) load(bySection.get(target)).then(had, () => missed(target));
  });
  watch(FAR, (entry) => entry.isIntersecting || drop(bySection.get(entry.target)));

  // A part that could not be had, as while a server starts anew, is asked for again as long as it is
  // near: ever more seldom, and at once when the network is back.
  const due = new Set();
  const { first, after } = kbsite.patience;
  let patience = first;
  let asking = 0;

  const lost = (what) => { said.textContent = `${what} could not be loaded`; };

  function had() {
    patience = first;
    if (said.textContent.startsWith(SOME)) said.textContent = "";
  }

  function missed(section) {
    due.add(section);
    lost(SOME);
    clearTimeout(asking);
    asking = setTimeout(askAgain, patience);
    patience = after(patience);
  }

  function askAgain() {
    for (const section of due) {
      nearby.unobserve(section);
      nearby.observe(section); // which tells whether it is near
    }
    due.clear();
  }
  window.addEventListener("online", askAgain);

  // The step of an anchor ------------------------------------------------------------------------

  function holds(ranges, anchor) {
    const [, file, line] = anchor.match(LINE) ?? [];
    return ranges.some((range) => range.file === file && range.low <= line && line <= range.high);
  }

  function nearest(anchor, lists) {
    const [, file, line] = anchor.match(LINE) ?? [];
    let best = null;
    for (const list of lists) {
      for (const step of list.querySelectorAll("[id]:not(mark)")) {
        const [, its, number] = step.id.match(LINE) ?? [];
        if (its === file && Number(number) <= Number(line)) best = step;
      }
    }
    return best;
  }

  // The part with what stands last before a line that no part has.
  function before(anchor) {
    const [, file, line] = anchor.match(LINE) ?? [];
    let [last, most] = [null, 0];
    for (const part of all) {
      for (const { file: of, high } of part.ranges ?? []) {
        if (of === file && line > high && high > most) [last, most] = [part, high];
      }
    }
    return last;
  }

  // What an audit quoted once, and does not any more, leads to its step.
  const placed = (anchor) => document.getElementById(anchor)
    ?? document.getElementById(anchor.replace(/\.q\d+$/, ""));

  async function elementOf(anchor) {
    const held = placed(anchor);
    if (held) {
      unveil(); // parts may share lines: the one that was waited for is not the one that is asked for
      return held;
    }
    // Several may hold the line, and none of them goes away while another is waited for.
    const asked = all.filter((part) => part.ranges && holds(part.ranges, anchor));
    const last = asked.length === 0 && before(anchor);
    if (last) asked.push(last);
    for (const part of asked) part.sought += 1;
    const tried = () => Promise.allSettled(asked.map(load));
    const failed = (loads) => loads.some(({ status }) => status === "rejected");
    let loads = await tried();
    // Who follows a link to here comes to it though one answer was lost, as phones lose some.
    if (failed(loads)) loads = await tried();
    unveil();
    for (const part of asked) part.sought -= 1;
    const found = placed(anchor);
    if (found) return found;
    if (failed(loads)) return lost("that step");
    const near = nearest(anchor, [steps, ...asked.map((part) => part.list)]);
    if (!near) said.textContent = "that step is not in this transcript";
    else if (last) said.textContent = "that line is in no step: this is the last one before it";
    return near;
  }

  return { all, steps, arrived, LINE, present, room, ask, htmlOf, load, lost, elementOf };
};
