// The bar that makes an address of lines of a text: from which one, to which one, of which text. It is
// told of what a reader selects, once that rests.
"use strict";

kbsite.bar = (show, selected) => {
  const RESTED = 150; // milliseconds without a change of what is selected
  const { fit } = kbsite.tables;
  const bar = document.getElementById("lines");
  const choice = document.getElementById("lines-text");
  const from = document.getElementById("lines-from");
  const to = document.getElementById("lines-to");
  const link = document.getElementById("lines-link");
  let offered = []; // the texts that the bar offers lines of
  let back = null; // where the keyboard was before

  function told({ name, count }) {
    return Number.isFinite(count) ? `${name}, ${count} line${count === 1 ? "" : "s"}` : name;
  }

  function offer({ text, low, high }, held = [text]) {
    offered = held;
    choice.replaceChildren(...held.map((one) => new Option(told(one))));
    choice.selectedIndex = Math.max(0, held.indexOf(text));
    [from.value, to.value] = [low, high];
    bar.hidden = false;
    address();
  }

  // From the keyboard, which goes back to where it was when the bar is closed.
  function enter(before) {
    back = before;
    from.focus();
    from.select();
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

  for (const field of [choice, from, to]) {
    field.addEventListener("input", () => {
      if (field === from && Number(to.value) < Number(from.value)) to.value = from.value;
      const [text, low, high] = address();
      if (Number.isFinite(text.count)) show(text, low, high);
    });
  }
  bar.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    if (event.key !== "Enter" || event.target === link || event.target.tagName === "BUTTON") return;
    event.preventDefault(); // Firefox would follow the link that gets the keyboard back, too
    link.click();
  });
  link.addEventListener("click", () => {
    kbsite.copying.copy(link);
    close();
  });
  document.getElementById("lines-close").addEventListener("click", close);

  function select() {
    const selection = getSelection();
    if (!selection.isCollapsed && selection.rangeCount) selected(selection.getRangeAt(0));
  }

  let resting = 0;
  document.addEventListener("selectionchange", ({ target }) => {
    if (target !== document) return; // a field of the bar, which was filled
    clearTimeout(resting);
    resting = setTimeout(select, RESTED);
  });

  return { offer, enter, select };
};
