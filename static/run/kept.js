// What a reader chose and where he was, kept where the browser allows it: from disk it may not.
"use strict";

kbsite.kept = () => ({
  get(store, name) {
    try {
      return window[store].getItem(`kbsite.${name}`);
    } catch {
      return null;
    }
  },
  set(store, name, value) {
    try {
      window[store].setItem(`kbsite.${name}`, value);
    } catch {
      // Nothing is lost but the memory of a choice.
    }
  },
});
