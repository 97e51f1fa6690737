// Figures as all pages write them, as pages/facts.py has them.
"use strict";

self.kbsite ??= {};

kbsite.figures = (() => {
  // What is small is not nothing, and what is less than one is not one.
  const least = (value) => (value < 1e-9 ? value.toExponential(1) : value.toFixed(1 - Math.floor(Math.log10(value))));

  function score(value) {
    if (value >= 999.9995 && value < 1e9) return value.toFixed(0);
    const text = value.toFixed(3);
    const short = () => [4, 5, 6].map((count) => value.toFixed(count)).find((held) => held < 1) ?? "0.999999";
    const told = text === "0.000" && value > 0 ? least(value) : text === "1.000" && value < 1 ? short() : text;
    return told.replace(/^0\./, ".");
  }

  return { least, score };
})();
