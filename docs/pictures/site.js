"use strict";
// The theme's search is a dialog without a name, and what scrolls sideways cannot be reached by keyboard.
document.querySelector(".md-search[role=dialog]")?.setAttribute("aria-label", "Search");
for (const each of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) {
  each.tabIndex = 0;
}
