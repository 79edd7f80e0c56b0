"use strict";
// The views. On a wide screen, the main text is shown beside the page and has no tab.

const panel = { toRow: () => "" }; // stands in for the panel of the report, which `pair.js` uses

const tabs = (() => {
  const all = [...document.querySelectorAll("[role=tab]")];
  const isNarrow = matchMedia("(max-width: 60rem)");
  let now = "page";
  let onChange = () => {};

  const nameOf = (tab) => tab.getAttribute("aria-controls");
  const offered = () => all.filter((tab) => isNarrow.matches || nameOf(tab) !== "text");

  const draw = () => {
    if (!isNarrow.matches && now === "text") now = "page";
    for (const tab of all) {
      const isOn = nameOf(tab) === now;
      tab.setAttribute("aria-selected", String(isOn));
      tab.tabIndex = isOn ? 0 : -1;
      tab.hidden = !offered().includes(tab);
    }
    document.querySelector("[role=tablist]").hidden = offered().length < 2;
    const isPages = now === "page" || now === "text";
    document.querySelector(".blocks-view").hidden = !isPages;
    for (const tab of all) {
      const name = nameOf(tab);
      const beside = !isNarrow.matches && isPages && (name === "text" || name === "page");
      document.getElementById(name).hidden = name !== now && !beside;
    }
    onChange();
  };

  /** Show a view; with `isEither`, do nothing if the page is shown already. */
  const show = (name, isEither = false) => {
    if (isEither && !isNarrow.matches && now === "page") return;
    if (now === name) return;
    now = name;
    draw();
  };

  const turn = (event) => {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!way) return;
    const tabsNow = offered();
    const next = tabsNow[(tabsNow.indexOf(event.currentTarget) + way + tabsNow.length) % tabsNow.length];
    show(nameOf(next));
    next.focus();
  };

  const start = (callback) => {
    onChange = callback;
    for (const tab of all) {
      tab.addEventListener("click", () => show(nameOf(tab)));
      tab.addEventListener("keydown", turn);
    }
    isNarrow.addEventListener("change", draw);
    draw();
  };

  return { start, show, current: () => now };
})();
