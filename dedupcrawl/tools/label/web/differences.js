"use strict";
// Shows the differences of two texts. A change is [equal] or [older, newer].

const differences = (() => {
  const LONG = 700; // characters; longer equal parts are folded
  const EDGE = 260; // characters shown at each end of a folded part

  /** Return the end of a line or a word near `at`. */
  const cutAt = (text, at) => {
    const line = text.lastIndexOf("\n", at);
    if (line > at / 2) return line + 1;
    const blank = text.lastIndexOf(" ", at);
    return blank > at / 2 ? blank + 1 : at;
  };

  const fold = (hidden) => {
    const label = tr("{n} identical characters", { n: hidden.length.toLocaleString("en") });
    const button = ui.el("button", { type: "button", class: "fold", "aria-expanded": "false" }, `⋯ ${label} ⋯`);
    button.addEventListener("click", () => {
      const text = ui.el("span", { tabindex: "-1" }, ui.shown(hidden));
      button.replaceWith(text);
      text.focus({ preventScroll: true });
    });
    return button;
  };

  /** Equal text: a long part is folded, except at its ends next to a difference. */
  const equal = (text, isFirst, isLast) => {
    if (text.length <= LONG) return [ui.el("span", {}, ui.shown(text))];
    const start = isFirst && !isLast ? 0 : cutAt(text, EDGE);
    const end = isLast && !isFirst ? text.length : cutAt(text, text.length - EDGE);
    if (end - start < LONG / 2) return [ui.el("span", {}, ui.shown(text))];
    return [
      start ? ui.el("span", {}, ui.shown(text.slice(0, start))) : null,
      fold(text.slice(start, end)),
      end < text.length ? ui.el("span", {}, ui.shown(text.slice(end))) : null,
    ];
  };

  const mark = (tag, text, place, kind) =>
    text ? ui.el(tag, { "data-change": place }, ui.el("span", { class: "unseen" }, tr("{name}: ", { name: kind })), ui.shown(text)) : null;

  /** The elements for `sides`: "old", "new" or both. */
  const pieces = (changes, sides) =>
    changes.flatMap((change, place) =>
      change.length === 1
        ? equal(change[0], place === 0, place === changes.length - 1)
        : [
            sides.includes("old") ? mark("del", change[0], place, tr("only older")) : null,
            sides.includes("new") ? mark("ins", change[1], place, tr("only newer")) : null,
          ],
    );

  const text = (changes, sides) => {
    const all = changes.map((change) => change[0]).join("").slice(0, 400);
    return ui.el("div", { class: "text", dir: "auto", lang: ui.languageOf(all) || null }, pieces(changes, sides));
  };

  return { text };
})();
