"use strict";
// What scrolls sideways cannot be reached by keyboard otherwise. The theme wraps tables after the page is loaded.
const reach = () => {
  for (const each of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) {
    if (each.tabIndex !== 0) each.tabIndex = 0;
  }
};
// Landmarks with the same role need names, and the theme makes one of the buttons of each code block. An empty cell is no heading.
const code = document.documentElement.lang === "zh" ? "代码" : "Code";
const tidy = () => {
  document.querySelectorAll("nav.md-code__nav").forEach((each, n) => {
    if (!each.ariaLabel) each.ariaLabel = `${code} ${n + 1}`;
  });
  for (const each of document.querySelectorAll(".md-typeset th:empty")) each.replaceWith(document.createElement("td"));
};
const mend = () => (reach(), tidy());
mend();
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
// An overview page has an anchor for each section that was once its own: a link from elsewhere leads on to the section.
const lead = () => {
  const entry = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const link = entry && entry.matches("a[id]:empty:not([href])") && entry.nextElementSibling;
  if (link && link.matches("a[href*='#']")) location.replace(link.href);
};
lead();
addEventListener("hashchange", lead);
