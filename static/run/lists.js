// Lists of parts: a page of a very long transcript tells of its first parts only, and lists of the
// others are pages of their own. What they tell is brought here before anybody asks for a part.
"use strict";

kbsite.lists = async (read) => {
  const { first, after } = kbsite.patience;

  const pause = (time) => new Promise((over) => { setTimeout(over, time); });

  // Without all of them nobody could find all: until then the page is what it is without scripts.
  async function had(page) {
    for (let patience = first; ; patience = after(patience)) {
      try {
        return await read(page);
      } catch {
        await pause(patience);
      }
    }
  }

  async function bring(list) {
    const text = await had(list.dataset.page);
    const { documentElement } = new DOMParser().parseFromString(text, "text/html");
    return { list, sections: documentElement.querySelectorAll("section.part"), lines: documentElement.dataset.parts };
  }

  const { dataset } = document.documentElement;
  for (const { list, sections, lines } of await Promise.all([...document.querySelectorAll("section.parts")].map(bring))) {
    list.replaceWith(...sections);
    dataset.parts += `|${lines}`;
  }
};
