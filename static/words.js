// The index of words that large sites have: which runs hold a word. Its blocks are scripts, so that
// texts are found from disk, too. static/search.js asks it.
"use strict";

window.kbsiteByWord = (told, folder, script, list) => {
  const LONGEST = 64;
  const BLOCKS = 5;
  const WEIGHTS = 8;
  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  // As src/kbsite/search/words.py takes texts apart.
  const IDEOGRAPHS = "\\u3040-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}";
  const ONE = `(?:(?![${IDEOGRAPHS}])[\\p{L}\\p{N}_])+`;
  const WORD = new RegExp(ONE, "gu");
  const CHAIN = new RegExp(`[${IDEOGRAPHS}]+|${ONE}(?:[-.:/@'>]{1,3}${ONE})*`, "gu");
  const firsts = told.firsts.split(" ");
  const names = told.names.split(" ");
  const held = new Map();
  let runs = null;

  // What is asked ---------------------------------------------------------------------------------

  function terms(query) {
    const text = query.normalize("NFC").toLowerCase().replaceAll("ς", "σ");
    return [...new Set((text.match(CHAIN) ?? []).flatMap(apart))];
  }

  // A word; of words that hang together each two, as the index has them.
  function apart(chain) {
    const found = [...chain.matchAll(WORD)];
    if (!found.length) {
      const signs = [...chain];
      return signs.length > 1 ? signs.slice(1).map((sign, at) => signs[at] + sign) : signs;
    }
    const words = found.map((one) => [...one[0]].slice(0, LONGEST).join(""));
    if (words.length === 1) return words;
    return words.slice(1).map((word, at) => {
      const end = found[at].index + found[at][0].length;
      return words[at] + chain.slice(end, found[at + 1].index) + word;
    });
  }

  // Where words stand -----------------------------------------------------------------------------

  function block(name) {
    if (!held.has(name)) {
      const wait = script(new URL(`words/${name}.js`, folder), "kbsiteWords")
        .then(([, words, places]) => ({ words: words.split(" "), places: places.split(" ") }));
      wait.catch(() => held.delete(name));
      held.set(name, wait);
    }
    return held.get(name);
  }

  // In the order of code points, which is not that of JavaScript's strings.
  function follows(one, other) {
    const [these, those] = [[...one], [...other]];
    const at = these.findIndex((sign, number) => sign !== those[number]);
    return at >= 0 && (at >= those.length || these[at].codePointAt(0) > those[at].codePointAt(0));
  }

  function blockOf(word) {
    let [low, high] = [0, firsts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (follows(firsts[middle], word)) high = middle;
      else low = middle;
    }
    return low;
  }

  // The texts that hold a word, or one that begins so, unless half the index does: by number.
  async function find(term) {
    const from = blockOf(term);
    const to = blockOf(`${term}\u{10ffff}`);
    const only = to - from >= BLOCKS;
    const blocks = await Promise.all(names.slice(from, only ? from + 1 : to + 1).map(block));
    const texts = new Map();
    for (const { words, places } of blocks) {
      words.forEach((word, at) => {
        const same = word === term;
        if (!same && (only || !word.startsWith(term))) return;
        for (const [number, weight] of read(places[at])) {
          const counts = (weight + 1) * (same ? 2 : 1);
          if (!(texts.get(number)?.counts >= counts)) texts.set(number, { word, counts });
        }
      });
    }
    return texts;
  }

  // As src/kbsite/search/blocks.py writes them.
  function* read(places) {
    let [last, number, shift] = [0, 0, 0];
    for (const digit of places) {
      const value = DIGITS.indexOf(digit);
      number += (value % 32) << shift;
      shift += 5;
      if (value >= 32) continue;
      last += Math.floor(number / WEIGHTS);
      yield [last, number % WEIGHTS];
      number = shift = 0;
    }
  }

  // What is found ---------------------------------------------------------------------------------

  async function known() {
    runs ??= list().then((data) => new Map(data.runs.map((run) => [run.key, { run, data }])));
    return runs;
  }

  function text(number, byKey) {
    const about = told.texts[number];
    if (typeof about !== "string") return { at: about[0], title: about[1], values: about[2] };
    const { run, data } = byKey.get(about);
    const more = [run.effort && `[${run.effort}]`, run.variant && `(${run.variant})`].filter(Boolean);
    const who = [`${run.harness} · ${run.model}`, ...more].join(" ");
    return { at: `runs/${about}/index.html`, title: `${data.problems[run.problem]} by ${who}`, values: run };
  }

  // Whatever holds all words, the best first: rare words count for more than others.
  async function search(query, filters) {
    const asked = terms(query);
    const [byKey, found] = await Promise.all([known(), Promise.all(asked.map(find))]);
    const rare = found.map((texts) => Math.log(1 + told.texts.length / (1 + texts.size)));
    const results = [];
    for (const number of found[0]?.keys() ?? []) {
      if (!found.every((texts) => texts.has(number))) continue;
      const about = text(number, byKey);
      if (!Object.entries(filters).every(([name, value]) => about.values[name] === value)) continue;
      const hits = found.map((texts) => texts.get(number));
      const score = hits.reduce((sum, { counts }, at) => sum + counts * rare[at], 0);
      results.push({ ...about, score, number, words: [...new Set(hits.map(({ word }) => word))] });
    }
    return results.sort((one, other) => other.score - one.score || one.number - other.number);
  }

  return { search };
};
