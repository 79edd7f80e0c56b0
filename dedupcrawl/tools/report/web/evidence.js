"use strict";
// The opinions of detectors on a pair: conditions with the values found, and a comparison of both sketches.

const evidence = (() => {
  const ACROSS = 32; // positions in a row of the grid
  const SIDE = 10; // pixels of a position, with its gap
  const MOST_PLACES = 2048;

  /** Draw a condition as a bar of the value found, with a mark at the value required. */
  const drawBar = (bar) => {
    const most = bar.value <= 1 && bar.found <= 1 ? 1 : Math.max(bar.value, bar.found) * 1.15;
    const at = (value) => (most > 0 ? Math.max(0, Math.min(1, value / most)) * 240 : 0);
    return ui.svg("svg", { class: "bullet", viewBox: "0 0 240 14", preserveAspectRatio: "none", "aria-hidden": "true" },
      ui.svg("rect", { class: "track", y: 3, width: 240, height: 8, rx: 2 }),
      ui.svg("rect", { class: bar.isMet ? "found" : "unmet", y: 3, width: at(bar.found), height: 8, rx: 2 }),
      ui.svg("line", { class: "mark", x1: at(bar.value), x2: at(bar.value), y1: 0, y2: 14 }));
  };

  const rounded = (value) => (value === null ? "–" : data.digits(value));

  const ORDER = {
    true: [tr("at least {value}"), tr("more than {value}")],
    false: [tr("at most {value}"), tr("less than {value}")],
  };

  /** A condition as text: "similarity 0.78", "at least 0.8". */
  const sayBar = (bar) => {
    // different numbers that round to the same are shown in full
    const digits = rounded(bar.found) === rounded(bar.value) ? (one) => String(one ?? "–") : rounded;
    const order = ORDER[bar.atLeast][Number(bar.isStrict)].replace("{value}", digits(bar.value));
    return [ui.shown(bar.measure ? told(bar.measure) : bar.constant || tr("condition")), digits(bar.found), order];
  };

  const showBar = (bar) => {
    const [name, found, wanted] = sayBar(bar);
    return ui.el("li", null,
      `${name} `, ui.el("strong", null, found), tr(", {limit} required ", { limit: wanted }),
      bar.constant ? ["(", ui.el("code", null, ui.shown(bar.constant)), ") "] : "",
      ui.el("span", { class: bar.isMet ? "met" : "unmet-word" }, bar.isMet ? tr("✓ met") : tr("✗ not met")),
      drawBar(bar));
  };

  const showBars = (title, bars) =>
    bars.length ? [title ? ui.el("p", { class: "small soft" }, title) : "", ui.el("ul", { class: "bars" }, bars.map(showBar))] : "";

  /** Draw the positions of two sketches as a grid: filled where they agree, framed where they differ. */
  const drawPlaces = (agreeing, label) => {
    const count = Math.min(agreeing.length, MOST_PLACES);
    const full = [];
    const empty = [];
    for (let place = 0; place < count; place += 1) {
      const x = (place % ACROSS) * SIDE;
      const y = Math.floor(place / ACROSS) * SIDE;
      if (agreeing[place] === "1") full.push(`M${x} ${y}h${SIDE - 2}v${SIDE - 2}h-${SIDE - 2}z`);
      else empty.push(`M${x + 0.5} ${y + 0.5}h${SIDE - 3}v${SIDE - 3}h-${SIDE - 3}z`);
    }
    const rows = Math.ceil(count / ACROSS);
    return ui.svg("svg", { class: "slots", viewBox: `0 0 ${ACROSS * SIDE - 2} ${rows * SIDE - 1}`, role: "img", "aria-label": label },
      ui.svg("path", { class: "agree", d: full.join("") }), ui.svg("path", { class: "differ", d: empty.join("") }));
  };

  const showPlaces = (exhibit) => {
    if (!exhibit.agreeing) return [];
    const agree = exhibit.agreeing.replaceAll("0", "").length;
    const unit = ui.shown(told(exhibit.unit));
    const label = tr("{n} of {all} {unit} agree", { n: data.number(agree), all: data.number(exhibit.agreeing.length), unit });
    const rest = exhibit.agreeing.length > MOST_PLACES ? tr("; the first {n} are drawn", { n: data.number(MOST_PLACES) }) : "";
    return [ui.el("p", null, label + rest), drawPlaces(exhibit.agreeing, label)];
  };

  const chips = (kind, title, names) => {
    if (!names.length) return [];
    return [
      ui.el("p", { class: "small soft" }, `${title} (${data.number(names.length)})`),
      ui.el("ul", { class: `chips ${kind}` }, names.map((name) => ui.el("li", null, ui.words(name)))),
    ];
  };

  const showElements = (exhibit) => {
    const unit = ui.shown(told(exhibit.unit));
    return [
      chips("shared", tr("{unit} of both pages", { unit }), exhibit.shared),
      chips("apart", tr("{unit} of the earlier page only", { unit }), exhibit.only_old),
      chips("apart", tr("{unit} of this page only", { unit }), exhibit.only_new),
    ].flat();
  };

  const value = (one) => (one !== null && typeof one === "object" ? JSON.stringify(one) : String(one));

  const showFigures = (figures) => {
    const entries = Object.entries(figures);
    if (!entries.length) return "";
    return ui.el("details", null, ui.el("summary", { class: "small soft" }, tr("All figures")),
      ui.el("dl", { class: "figures" }, entries.map(([name, one]) => [
        ui.el("dt", null, ui.words(name)), ui.el("dd", null, ui.words(value(one))),
      ]).flat()));
  };

  const said = (opinion, isDecisive) => {
    if (opinion.silent) return ui.el("span", { class: "soft small" }, tr("no opinion: {why}", { why: ui.shown(told(opinion.silent)) }));
    const words = opinion.relation ? ui.badge(opinion.relation) : ui.badge("miss", tr("no match"));
    return [words, isDecisive ? ui.el("span", { class: "small" }, tr("decided")) : ""];
  };

  /** Show the opinion of one detector. */
  const show = (opinion, isDecisive) =>
    ui.el("section", { class: `card opinion${isDecisive ? " decided" : ""}` },
      ui.el("h4", null, ui.words(opinion.detector), said(opinion, isDecisive)),
      opinion.similarity === null ? "" : ui.el("p", null, tr("Similarity"), " ", ui.el("strong", null, data.similarity(opinion.similarity))),
      showBars(opinion.partBars.length ? tr("For a near-duplicate") : "", opinion.bars),
      showBars(tr("For an excerpt or an expansion"), opinion.partBars),
      opinion.exhibits.map((exhibit) => [...showPlaces(exhibit), ...showElements(exhibit)]).flat(),
      showFigures(opinion.figures));

  /** The conditions that a near miss failed, by the detector with the highest similarity. */
  const lacking = (opinions) => {
    const nearest = opinions
      .filter((each) => each.similarity !== null)
      .reduce((best, each) => (best === null || each.similarity > best.similarity ? each : best), null);
    const unmet = (nearest?.bars ?? []).filter((bar) => !bar.isMet);
    const words = (bar) => {
      const [name, found, wanted] = sayBar(bar);
      return tr("{name} {found}, {limit} required", { name, found, limit: wanted });
    };
    return { detector: nearest?.detector ?? "", words: unmet.map(words).join(tr("; ")) };
  };

  return { show, lacking };
})();
