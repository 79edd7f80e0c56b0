"use strict";
// The blocks of the page: their figures, and how these are shown.

const blocks = (() => {
  let all = [];
  let rules = [];
  let bounds = {};

  const load = (page) => {
    ({ rules, bounds } = page);
    all = page.blocks.map(([rule, length, linkLength, links, run, tag, why], place) =>
      ({ place, rule: rules[rule], number: rule, length, linkLength, links, run, tag, why: told(page.whys[why]), density: length ? linkLength / length : 0 }));
    for (const each of all) each.label = label(each);
  };

  const outcome = (block) => (block.rule.kept ? tr("kept") : tr("cut"));

  const label = (block) => {
    const links = block.links === 1 ? tr("1 link") : tr("{n} links", { n: block.links });
    const run = bounds ? tr(", longest run {n}", { n: block.run }) : "";
    const values = {
      n: block.place + 1, outcome: outcome(block), reason: told(block.rule.reason), density: block.density.toFixed(2),
      bytes: data.number(block.length), links,
    };
    return tr("Block {n}, {outcome}, {reason}. R {density}, {bytes} bytes, {links}", values) + run + tr(". {why}", { why: block.why });
  };

  const mark = (at, className, name) => {
    const made = ui.el("span", { class: className }, name);
    made.style.insetInlineStart = `${at * 100}%`;
    return made;
  };

  /** R on a scale from 0 to 1, with the bounds of the link rules. */
  const scale = (block) => {
    const track = ui.el("div", { class: "scale", "aria-hidden": "true" });
    if (bounds) track.append(mark(bounds.content, "bound first", `R2 ${bounds.content}`), mark(bounds.noise, "bound", `R1 ${bounds.noise}`));
    track.append(mark(block.density, "at", ""));
    return track;
  };

  const figure = (name, value) => ui.el("span", null, `${name} `, ui.el("b", null, value));

  /** The elements that describe a block. */
  const describe = (block) => [
    ui.el("p", { class: "verdict-line" },
      ui.el("span", { class: `rule f-${block.rule.family}` }, ui.el("span", { class: "sign", "aria-hidden": "true" }, told(block.rule.sign)),
        tr("{outcome}: {reason}", { outcome: outcome(block), reason: told(block.rule.reason) })),
      ui.el("span", { class: "soft small" }, tr("block {n} of {all}, <{tag}>", { n: block.place + 1, all: all.length, tag: block.tag }))),
    ui.el("div", { class: "measures" },
      figure("R", block.density.toFixed(2)), scale(block),
      figure(tr("bytes"), data.number(block.length)), figure(tr("of links"), data.number(block.linkLength)),
      figure(tr("links"), block.links), bounds ? figure(tr("longest run"), block.run) : ""),
    ui.el("p", { class: "because" }, block.why),
  ];

  return { load, describe, of: (place) => all[place], every: () => all, outcome };
})();
