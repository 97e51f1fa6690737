// Texts of a run: finding in all of them, links to some of their lines, and where they stand on the
// map of the transcript. run.js asks for this when a reader does something, and hands over what the
// transcript can be asked for. Here the files beside this one are put together.
"use strict";

kbsite.find = (run) => {
  const texts = kbsite.texts(run.read, run.parts.lost);
  const map = kbsite.map(run);
  const finding = kbsite.finding(run, texts, map.tick);
  const lines = kbsite.lines(run, texts);

  // What a reader did before this file was there.
  if (run.late) for (const { catchUp } of [finding, map, lines]) catchUp();
};
