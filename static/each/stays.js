// What is out of sight is laid out when it comes into sight, and takes another room than was thought.
// Most browsers stay with what the reader sees then; for those that do not, as Safari, it is done here.
"use strict";

if (!CSS.supports("overflow-anchor", "auto") && CSS.supports("content-visibility", "auto")) {
  const LATER = ":is(.text, .steps pre) > span, section.state"; // as the styles say
  const heights = new WeakMap(); // zero until they are told

  // To be asked where it is, what is out of sight would be laid out.
  const watcher = new ResizeObserver((entries) => {
    let by = 0;
    for (const { target, borderBoxSize: [{ blockSize: height }] } of entries) {
      const more = height - (heights.get(target) || height);
      if (more && target.getBoundingClientRect().top < 0) by += more;
      heights.set(target, height);
    }
    if (by) scrollBy(0, by);
  });

  const watch = () => {
    for (const one of document.querySelectorAll(LATER)) {
      if (heights.has(one)) continue;
      heights.set(one, 0);
      watcher.observe(one);
    }
  };

  const start = () => {
    watch();
    // Parts and long texts come later.
    new MutationObserver(watch).observe(document.getElementById("main"), { childList: true, subtree: true });
  };

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
}
