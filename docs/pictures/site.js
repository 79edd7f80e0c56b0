"use strict";
// What scrolls sideways cannot be reached by keyboard otherwise. The theme wraps tables after the page is loaded.
const reach = () => {
  for (const each of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) {
    if (each.tabIndex !== 0) each.tabIndex = 0;
  }
};
reach();
new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
// An overview page has an anchor for each section that was once its own: a link from elsewhere leads on to the section.
const lead = () => {
  const entry = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const link = entry && entry.matches("a[id]:empty:not([href])") && entry.nextElementSibling;
  if (link && link.matches("a[href*='#']")) location.replace(link.href);
};
lead();
addEventListener("hashchange", lead);
