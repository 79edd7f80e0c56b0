"use strict";
// What scrolls sideways cannot be reached by keyboard otherwise.
for (const each of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) {
  each.tabIndex = 0;
}
