"use strict";
// The page, rebuilt from its steps inside a shadow root. Its elements have no ids, addresses or styles of their own, and
// the style sheet used for them does not reach beyond the shadow root.

const canvas = (() => {
  const TABLE = new Set(["table", "caption", "colgroup", "col", "thead", "tbody", "tfoot", "tr", "td", "th"]);
  const INLINE = new Set(["a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins",
    "kbd", "label", "mark", "nobr", "q", "rb", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup",
    "time", "tt", "u", "var"]);
  const FULL = new Set(["br", "hr", "frame", "td", "th", "col"]); // elements that are shown when empty
  const pieces = new Map(); // block → its elements on the page
  const signs = new Map(); // block → the button before it

  const nameOf = (tag) => (TABLE.has(tag) ? tag : INLINE.has(tag) ? "span" : "div");

  const frame = (step) => {
    const size = step.width && step.height ? ` ${step.width}×${step.height}` : "";
    const made = ui.el("span", { class: step.name.length > 1 ? "frame" : "frame tiny" }, `${told(step.name)}${size}`, step.label ? ui.words(`“${step.label}”`) : "");
    if (step.width >= 100 && step.height >= 60) {
      made.style.width = `${step.width}px`;
      made.style.height = `${step.height}px`;
    }
    return made;
  };

  const begin = (step) => {
    if (step.is === "br") return document.createElement("br");
    if (step.is === "frame") return frame(step);
    const made = document.createElement(nameOf(step.is));
    made.dataset.is = step.is;
    if (step.is === "table") made.setAttribute("role", "presentation");
    for (const name of ["colspan", "rowspan", "lang", "dir"]) if (step[name]) made.setAttribute(name, String(step[name]));
    if (step.hidden) {
      made.classList.add("hidden");
      made.title = tr("hidden on the page, but read");
    }
    return made;
  };

  const sign = (block) => {
    const { rule, label } = blocks.of(block);
    const made = ui.el("button", { type: "button", class: `sign f-${rule.family}`, "data-block": block, tabindex: -1, "aria-label": label, title: `${told(rule.reason)}: ${told(rule.meaning)}` }, told(rule.sign));
    signs.set(block, made);
    return made;
  };

  const piece = ([block, text, isUnseen]) => {
    const { rule } = blocks.of(block);
    const made = ui.el("span", { class: `piece f-${rule.family}${isUnseen ? " unseen" : ""}`, "data-block": block }, text);
    if (pieces.has(block)) {
      pieces.get(block).push(made);
      return [made];
    }
    pieces.set(block, [made]);
    return [sign(block), made];
  };

  /** End an element; remove it if it shows nothing. */
  const end = (open) => {
    const { element, isFull } = open.pop();
    if (isFull) open[open.length - 1].isFull = true;
    else element.remove();
  };

  /** Build the page in a host element; `style` is the text of its style sheet. */
  const build = (host, steps, style) => {
    const root = host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    root.adoptedStyleSheets = [sheet];
    const page = document.createElement("div");
    const open = [{ element: page, isFull: false }];
    for (const step of steps) {
      const around = open[open.length - 1];
      if (step === 0) end(open);
      else if (typeof step === "string") {
        around.element.append(step);
        around.isFull ||= step !== " ";
      } else if (Array.isArray(step)) {
        around.element.append(...piece(step));
        around.isFull = true;
      } else {
        const made = begin(step);
        around.element.append(made);
        open.push({ element: made, isFull: FULL.has(step.is) });
      }
    }
    root.append(page);
    return root;
  };

  const each = (block, change) => {
    (pieces.get(block) ?? []).forEach(change);
    const button = signs.get(block);
    if (button) change(button);
  };

  return { build, each, signs, has: (block) => pieces.has(block) };
})();
