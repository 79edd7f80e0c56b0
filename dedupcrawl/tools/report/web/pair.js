"use strict";
// Two texts side by side: differences are marked, long equal passages are folded.

const pair = (() => {
  const FOLD_FROM = 320; // equal characters within a line
  const KEPT = 90; // characters that stay visible at each end
  const ROWS_FROM = 4; // consecutive equal lines

  /** Whether a change is only a difference in whitespace. */
  const isBlank = (change) => typeof change !== "string" && change.every((text) => !text.trim());

  /** Split changes into rows at common line ends; a row has equal pieces (strings) and changes ([old, new]). */
  const rowsOf = (changes) => {
    const rows = [];
    let row = { pieces: [], isEqual: true };
    const end = () => {
      if (row.pieces.length) rows.push(row);
      row = { pieces: [], isEqual: true };
    };
    for (const change of changes) {
      if (isBlank(change)) {
        if (change.join("").includes("\n")) end();
        else row.pieces.push(" ");
        continue;
      }
      if (typeof change !== "string") {
        row.pieces.push(change);
        row.isEqual = false;
        if (change.every((text) => text.endsWith("\n"))) end();
        continue;
      }
      change.split("\n").forEach((line, place) => {
        if (place) end();
        if (line) row.pieces.push(line);
      });
    }
    end();
    return rows;
  };

  /** Fold a passage within a line: a button in each column; either of them unfolds both. */
  const foldPiece = (text, cells) => {
    const buttons = cells.map(() =>
      ui.el("button", { type: "button", class: "fold", "aria-label": tr("Show {n} equal characters", { n: data.number(text.length) }) },
        tr("⋯ {n} equal characters ⋯", { n: data.number(text.length) })));
    const open = (event) => {
      buttons.forEach((button) => button.replaceWith(ui.shown(text)));
      event.target.closest?.(".row")?.focus?.();
    };
    buttons.forEach((button, place) => {
      button.addEventListener("click", open);
      cells[place].append(button);
    });
  };

  const addEqual = (text, cells, isFirst, isLast, isWhole) => {
    const start = isFirst ? 0 : KEPT;
    const end = isLast ? text.length : text.length - KEPT;
    if (isWhole || text.length < FOLD_FROM || (isFirst && isLast)) {
      cells.forEach((cell) => cell.append(ui.shown(text)));
      return;
    }
    cells.forEach((cell) => cell.append(ui.shown(text.slice(0, start))));
    foldPiece(text.slice(start, end), cells);
    cells.forEach((cell) => cell.append(ui.shown(text.slice(end))));
  };

  const showRow = (row, isWhole) => {
    const cells = [ui.el("div", { dir: "auto" }), ui.el("div", { dir: "auto" })];
    row.pieces.forEach((piece, place) => {
      if (typeof piece === "string") {
        addEqual(piece, cells, place === 0, place === row.pieces.length - 1, isWhole);
        return;
      }
      if (piece[0]) cells[0].append(ui.el("del", null, ui.shown(piece[0])));
      if (piece[1]) cells[1].append(ui.el("ins", null, ui.shown(piece[1])));
    });
    cells.forEach((cell) => ui.languageOf(cell.textContent) && (cell.lang = ui.languageOf(cell.textContent)));
    return ui.el("div", { class: `row ${row.isEqual ? "equal" : "changed"}` }, cells);
  };

  const foldRows = (rows) => {
    const length = rows.reduce((sum, row) => sum + row.pieces.reduce((all, piece) => all + piece.length, 0), 0);
    const label = tr("⋯ {lines} equal lines, {n} characters ⋯", { lines: data.number(rows.length), n: data.number(length) });
    const open = (event) => {
      const made = rows.map((row) => showRow(row, false));
      made[0].tabIndex = -1;
      event.target.replaceWith(...made);
      made[0].focus();
    };
    return ui.el("button", { type: "button", class: "fold", onclick: open }, label);
  };

  /** Show all rows; runs of equal rows are folded, except one on each side of a change. */
  const showRows = (rows, isWhole) => {
    const made = [];
    for (let at = 0; at < rows.length; ) {
      let end = at;
      while (end < rows.length && rows[end].isEqual) end += 1;
      const from = at === 0 && end < rows.length ? at : at + 1;
      const until = end === rows.length && at > 0 ? end : end - 1;
      if (isWhole || until - from < ROWS_FROM - 1) {
        made.push(...rows.slice(at, end).map((row) => showRow(row, isWhole)));
      } else {
        made.push(...rows.slice(at, from).map((row) => showRow(row, isWhole)), foldRows(rows.slice(from, until)));
        made.push(...rows.slice(until, end).map((row) => showRow(row, isWhole)));
      }
      if (end < rows.length) made.push(showRow(rows[end], isWhole));
      at = end + 1;
    }
    return made;
  };

  const amount = (changes) => {
    const blank = changes.filter(isBlank).length;
    const differ = changes.filter((each) => typeof each !== "string" && !isBlank(each));
    if (!differ.length) return blank ? tr("The texts differ only in whitespace.") : tr("The texts are equal.");
    const count = (side) => differ.reduce((sum, each) => sum + each[side].length, 0);
    const values = { n: data.number(differ.length), old: data.number(count(0)), new: data.number(count(1)) };
    return differ.length === 1
      ? tr("{n} change: {old} characters of the earlier page, {new} of this one.", values)
      : tr("{n} changes: {old} characters of the earlier page, {new} of this one.", values);
  };

  /** Where the common part of both texts is, as a sentence. */
  const position = (one) => ({
    whole: tr(" The common part is the whole text."),
    beginning: tr(" The common part is at the beginning."),
    middle: tr(" The common part is in the middle."),
    end: tr(" The common part is at the end."),
    "both ends": tr(" The common parts are at the beginning and at the end."),
    moved: tr(" The common part has moved."),
    scattered: tr(" The common parts are scattered."),
  })[one.position] || "";

  /** Show both texts of a pair. */
  const showTexts = (one) => {
    if (!one.changes.length) return ui.el("p", { class: "card soft" }, tr("The texts of this pair are not in this file."));
    const rows = rowsOf(one.changes);
    const box = ui.el("div", null, showRows(rows, false));
    const toggle = ui.el("button", { type: "button", "aria-pressed": "false" }, tr("Show full texts"));
    toggle.addEventListener("click", () => {
      const isWhole = toggle.getAttribute("aria-pressed") === "false";
      toggle.setAttribute("aria-pressed", String(isWhole));
      box.replaceChildren(...showRows(rows, isWhole));
    });
    const cut = one.isCut ? tr(" The texts are longer than the part that is compared.") : "";
    return ui.el("section", { class: "card texts", "aria-label": tr("Both texts") },
      ui.el("div", { class: "texts-head" }, ui.el("span", null, amount(one.changes) + position(one) + cut), toggle),
      ui.el("div", { class: "row sidenames", "aria-hidden": "true" },
        ui.el("div", null, tr("Earlier page")), ui.el("div", null, tr("This page"))),
      box);
  };

  /** Which lines of each page are not compared, and why. */
  const leftOut = (one) => {
    if (!one.notes.some((notes) => notes.length)) return "";
    const names = [tr("Earlier page"), tr("This page")];
    const column = (notes, place) =>
      ui.el("div", null, ui.el("h4", null, names[place]),
        notes.length
          ? ui.el("ul", { class: "small" }, notes.map((note) => ui.el("li", { dir: "auto" }, ui.shown(told(note)))))
          : ui.el("p", { class: "small soft" }, tr("All of its main text is compared.")));
    return ui.el("section", { class: "card leftout", "aria-label": tr("Text that is not compared") },
      ui.el("h3", null, tr("Text that is not compared")), ui.el("div", { class: "row" }, one.notes.map(column)));
  };

  const side = (name, title, url, place) =>
    ui.el("section", { class: "card side" },
      ui.el("p", { class: "small soft" }, name),
      title ? ui.words(told(title), "h3") : ui.el("h3", { class: "soft" }, tr("(no title)")),
      ui.el("p", { class: "small" }, ui.link(url)),
      place !== undefined ? ui.el("p", { class: "small" }, ui.el("a", { href: panel.toRow(place) }, tr("Its verdict"))) : "");

  const sentence = (one) => {
    if (!one.relation) return tr("compared, no match");
    return one.decided ? tr("decided by {detector}", { detector: ui.shown(one.decided) }) : "";
  };

  /** Why two pages of one site are no copies, and the words that each title has for itself. */
  const siblings = (one) => {
    if (!one.siblings) return "";
    const [own, other] = one.ownWords;
    const words = (label, text) => (text ? [ui.el("dt", null, label), ui.el("dd", { dir: "auto" }, ui.shown(text))] : "");
    return ui.el("div", { class: "card siblings" },
      ui.el("p", null, tr("Siblings: two pages with nearly the same text, about different things. They differ by {what}.", { what: ui.shown(told(one.siblings)) })),
      ui.el("dl", { class: "small" }, words(tr("Only in the earlier title"), other), words(tr("Only in this title"), own)));
  };

  /** Show a pair: verdict, both pages, texts, and the assessments of the detectors. */
  const show = (one) => {
    const decisive = (assessment) => assessment.detector === one.decided;
    const assessments = [...one.assessments].sort((left, right) => decisive(right) - decisive(left));
    const heading = ui.el("h3", { class: "evidence-head", tabindex: -1 }, tr("Evidence of the detectors"));
    const toEvidence = () => {
      heading.focus({ preventScroll: true });
      heading.scrollIntoView({ block: "start" });
    };
    return [
      ui.el("div", { class: "verdict" },
        one.relation ? ui.badge(one.relation) : ui.badge("miss", tr("near miss")),
        one.similarity === null ? "" : ui.el("strong", null, data.similarity(one.similarity)),
        ui.el("span", { class: "soft" }, sentence(one)),
        assessments.length ? ui.el("button", { type: "button", onclick: toEvidence }, tr("Go to the evidence")) : ""),
      siblings(one),
      ui.el("div", { class: "sides" },
        side(tr("Earlier page"), one.oldTitle, one.old, data.placeOf(one.old)),
        side(tr("This page"), one.newTitle, one.new, data.placeOfNew(one))),
      showTexts(one),
      leftOut(one),
      assessments.length ? heading : "",
      ui.el("div", { class: "assessments" }, assessments.map((each) => evidence.show(each, decisive(each)))),
    ];
  };

  return { show };
})();
