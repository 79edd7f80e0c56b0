"use strict";
// What scrolls sideways cannot be reached by keyboard otherwise. The theme wraps tables after the page is loaded.
const reach = () => {
  for (const each of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) {
    if (each.tabIndex !== 0) each.tabIndex = 0;
  }
};
reach();
new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
