// Which steps are shown: those with any of some marks, of one tool, of one agent.
"use strict";

kbsite.filters = (parts, places, address) => {
  const main = document.getElementById("main");
  const chips = document.querySelectorAll(".chip[data-mark]");
  const tool = document.getElementById("tool");
  const agent = document.getElementById("agent");
  const active = new Set();
  const agentOf = new WeakMap();

  const narrowed = () => Boolean(active.size || tool?.value || agent?.value);
  const marksOf = (step) => step.dataset.marks?.split(" ") ?? [...step.classList];
  const toolOf = (step) => step.querySelector(":scope > p > b:first-child + i")?.textContent ?? "";
  const has = (step, mark) => !mark || marksOf(step).includes(mark);
  const shown = (step) => !narrowed() || step.classList.contains("kept");

  function left(part) {
    const counts = [part.items];
    if (active.size) counts.push([...active].reduce((sum, mark) => sum + (part.marks.get(mark) ?? 0), 0));
    if (tool?.value) counts.push(part.tools.get(String(tool.selectedIndex)) ?? 0);
    if (agent?.value) counts.push(part.agents.get(agent.value) ?? 0);
    return Math.min(...counts);
  }

  // Whether a part has steps that are shown, and one with a mark, if any is given.
  const wanted = (part, mark) => (!mark || part.marks.has(mark)) && left(part) > 0;

  function keep(step) {
    step.classList.toggle("kept",
      (!active.size || marksOf(step).some((mark) => active.has(mark)))
      && (!tool?.value || toolOf(step) === tool.value)
      && (!agent?.value || agentOf.get(step) === agent.value));
  }

  function tellAgents({ list, inside }) {
    const stack = ["main", ...(inside ?? [])];
    for (const step of list.children) {
      const depth = Number(step.className.match(/depth-(\d)/)?.[1] ?? 0);
      if (step.classList.contains("opens")) stack[depth] = step.id;
      agentOf.set(step, stack[depth]);
    }
  }

  function narrow() {
    main.classList.toggle("narrowed", narrowed());
    for (const part of parts.all) {
      if (part.list) for (const step of part.list.children) keep(step);
      if (!part.section) continue;
      part.section.hidden = !wanted(part);
      if (!part.list) parts.room(part, left(part));
    }
    places.stay();
    for (const chip of chips) chip.setAttribute("aria-pressed", String(active.has(chip.dataset.mark)));
    address.remember();
  }

  const choose = () => places.keep(narrow);

  parts.arrived.push(tellAgents, ({ list }) => narrowed() && [...list.children].forEach(keep));
  parts.present().forEach(tellAgents);
  for (const choice of [tool, agent]) choice?.addEventListener("change", choose);
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      const { mark } = chip.dataset;
      if (!active.delete(mark)) active.add(mark);
      choose();
    });
  }

  address.memory.push({
    save(state) {
      if (active.size) state.set("show", [...active].join(","));
      if (tool?.value) state.set("tool", tool.value);
      if (agent?.value) state.set("agent", agent.value);
    },
    load(state) {
      active.clear();
      for (const mark of (state.get("show") ?? "").split(",").filter(Boolean)) active.add(mark);
      if (tool) tool.value = state.get("tool") ?? "";
      if (agent) agent.value = state.get("agent") ?? "";
      if (tool && !tool.value) tool.selectedIndex = 0;
      if (agent && !agent.value) agent.selectedIndex = 0;
      if (narrowed() || main.matches(".narrowed")) narrow();
    },
  });

  return { narrowed, has, shown, wanted };
};
