"use strict";
// The assessments of detectors on a pair: conditions with the values found, and a comparison of both sketches.

const evidence = (() => {
  const ACROSS = 32; // positions in a row of the grid
  const SIDE = 10; // pixels of a position, with its gap
  const MOST_PLACES = 2048;

  /** Draw a condition as a bar of the value found, with a mark at the value required. */
  const drawThreshold = (threshold) => {
    const most = threshold.value <= 1 && threshold.found <= 1 ? 1 : Math.max(threshold.value, threshold.found) * 1.15;
    const at = (value) => (most > 0 ? Math.max(0, Math.min(1, value / most)) * 240 : 0);
    return ui.svg("svg", { class: "bullet", viewBox: "0 0 240 14", preserveAspectRatio: "none", "aria-hidden": "true" },
      ui.svg("rect", { class: "track", y: 3, width: 240, height: 8, rx: 2 }),
      ui.svg("rect", { class: threshold.isMet ? "found" : "unmet", y: 3, width: at(threshold.found), height: 8, rx: 2 }),
      ui.svg("line", { class: "mark", x1: at(threshold.value), x2: at(threshold.value), y1: 0, y2: 14 }));
  };

  const rounded = (value) => (value === null ? "–" : data.digits(value));

  const ORDER = {
    true: [tr("at least {value}"), tr("more than {value}")],
    false: [tr("at most {value}"), tr("less than {value}")],
  };

  /** A condition as text: "similarity 0.78", "at least 0.8". */
  const sayThreshold = (threshold) => {
    // different numbers that round to the same are shown in full
    const digits = rounded(threshold.found) === rounded(threshold.value) ? (one) => String(one ?? "–") : rounded;
    const order = ORDER[threshold.atLeast][Number(threshold.isStrict)].replace("{value}", digits(threshold.value));
    return [ui.shown(threshold.measure ? told(threshold.measure) : threshold.constant || tr("condition")), digits(threshold.found), order];
  };

  const showThreshold = (threshold) => {
    const [name, found, wanted] = sayThreshold(threshold);
    return ui.el("li", null,
      `${name} `, ui.el("strong", null, found), tr(", {limit} required ", { limit: wanted }),
      threshold.constant ? ["(", ui.el("code", null, ui.shown(threshold.constant)), ") "] : "",
      ui.el("span", { class: threshold.isMet ? "met" : "unmet-word" }, threshold.isMet ? tr("✓ met") : tr("✗ not met")),
      drawThreshold(threshold));
  };

  const showThresholds = (title, thresholds) =>
    thresholds.length ? [title ? ui.el("p", { class: "small soft" }, title) : "", ui.el("ul", { class: "thresholds" }, thresholds.map(showThreshold))] : "";

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

  const showPlaces = (piece) => {
    if (!piece.agreeing) return [];
    const agree = piece.agreeing.replaceAll("0", "").length;
    const unit = ui.shown(told(piece.unit));
    const label = tr("{n} of {all} {unit} agree", { n: data.number(agree), all: data.number(piece.agreeing.length), unit });
    const rest = piece.agreeing.length > MOST_PLACES ? tr("; the first {n} are drawn", { n: data.number(MOST_PLACES) }) : "";
    return [ui.el("p", null, label + rest), drawPlaces(piece.agreeing, label)];
  };

  const chips = (kind, title, names) => {
    if (!names.length) return [];
    return [
      ui.el("p", { class: "small soft" }, `${title} (${data.number(names.length)})`),
      ui.el("ul", { class: `chips ${kind}` }, names.map((name) => ui.el("li", null, ui.words(name)))),
    ];
  };

  const showElements = (piece) => {
    const unit = ui.shown(told(piece.unit));
    return [
      chips("shared", tr("{unit} of both pages", { unit }), piece.shared),
      chips("apart", tr("{unit} of the earlier page only", { unit }), piece.only_old),
      chips("apart", tr("{unit} of this page only", { unit }), piece.only_new),
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

  const said = (assessment, isDecisive) => {
    if (assessment.silent) return ui.el("span", { class: "soft small" }, tr("no assessment: {why}", { why: ui.shown(told(assessment.silent)) }));
    const words = assessment.relation ? ui.badge(assessment.relation) : ui.badge("miss", tr("no match"));
    return [words, isDecisive ? ui.el("span", { class: "small" }, tr("decided")) : ""];
  };

  /** Show the assessment of one detector. */
  const show = (assessment, isDecisive) =>
    ui.el("section", { class: `card assessment${isDecisive ? " decided" : ""}` },
      ui.el("h4", null, ui.words(assessment.detector), said(assessment, isDecisive)),
      assessment.similarity === null ? "" : ui.el("p", null, tr("Similarity"), " ", ui.el("strong", null, data.similarity(assessment.similarity))),
      showThresholds(assessment.partThresholds.length ? tr("For a near-duplicate") : "", assessment.thresholds),
      showThresholds(tr("For an excerpt or an expansion"), assessment.partThresholds),
      assessment.evidence.map((piece) => [...showPlaces(piece), ...showElements(piece)]).flat(),
      showFigures(assessment.figures));

  /** The conditions that a near miss failed, by the detector with the highest similarity. */
  const lacking = (assessments) => {
    const nearest = assessments
      .filter((each) => each.similarity !== null)
      .reduce((best, each) => (best === null || each.similarity > best.similarity ? each : best), null);
    const unmet = (nearest?.thresholds ?? []).filter((threshold) => !threshold.isMet);
    const words = (threshold) => {
      const [name, found, wanted] = sayThreshold(threshold);
      return tr("{name} {found}, {limit} required", { name, found, limit: wanted });
    };
    return { detector: nearest?.detector ?? "", words: unmet.map(words).join(tr("; ")) };
  };

  return { show, lacking };
})();
