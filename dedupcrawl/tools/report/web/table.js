"use strict";
// The table of pages with search, filters and sorting; it shows fifty rows at a time.

const table = (() => {
  const ROWS = 50;
  const FIRST_DOWN = new Set(["similarity", "bytes"]);
  const COLUMNS = [
    ["time", tr("Time")], ["title", tr("Page")], ["host", tr("Host")], ["relation", tr("Verdict")],
    ["of", tr("Why")], ["similarity", tr("Similarity")], ["bytes", tr("Size")],
  ];

  const state = { query: "", kind: "", host: "", sort: "", down: false, at: 0, rows: [] };
  const parts = {};
  let haystacks = null;

  const kindOf = (place) => data.pages.relation[place] || data.pages.status[place];

  /** The names of a verdict, as they are and in the language of the page. */
  const names = (columns, place) => columns.flatMap((column) => [column[place], told(column[place])]);

  /** The searchable text of each page, in lower case; built at the first search. */
  const haystack = () => {
    const { title, url, host, relation, status, outcome, cluster, reason } = data.pages;
    haystacks ??= title.map((one, place) =>
      [one, url[place], host[place], ...names([relation, status, outcome, reason], place), cluster[place]].join("\n").toLowerCase());
    return haystacks;
  };

  const wanted = () => {
    const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    const texts = words.length ? haystack() : null;
    const { host, outcome } = data.pages;
    const rows = [];
    for (let place = 0; place < data.count; place += 1) {
      if (state.host && host[place] !== state.host) continue;
      if (state.kind && kindOf(place) !== state.kind && outcome[place] !== state.kind) continue;
      if (texts && !words.every((word) => texts[place].includes(word))) continue;
      rows.push(place);
    }
    return rows;
  };

  const values = (name) => (name === "relation" ? data.pages.relation.map((_, place) => kindOf(place)) : data.pages[name]);

  const isNothing = (value) => value === null || value === "";

  /** Sort rows; rows without a value come last in both directions. */
  const order = (rows) => {
    if (!state.sort) return rows;
    const column = values(state.sort);
    const sign = state.down ? -1 : 1;
    return rows.sort((left, right) => {
      const [one, other] = [column[left], column[right]];
      if (isNothing(one) || isNothing(other)) return isNothing(one) - isNothing(other) || left - right;
      return one < other ? -sign : one > other ? sign : left - right;
    });
  };

  const row = (place) => {
    const page = (name) => data.pages[name][place];
    const cell = (kind, ...content) => ui.el("td", { role: "cell", class: kind }, content);
    const figure = (name, value) => ui.el("td", { role: "cell", class: "num", "data-name": name }, value);
    const [day, clock] = page("time") === null ? [] : data.moment(page("time")).split(" ");
    const compare = page("pair") === null ? "" : ui.el("div", null, ui.el("a", { href: panel.toPair(page("pair")) }, tr("compare texts")));
    return ui.el("tr", { role: "row" },
      cell("", day ? [ui.el("span", { class: "date" }, day), " ", clock ?? ""] : ""),
      cell("first", ui.el("a", { class: "headline", href: panel.toRow(place) }, ui.words(page("title") || tr("(no title)"))),
        ui.el("span", { class: "url" }, ui.link(page("url")))),
      cell("", ui.words(page("host"))),
      cell("", panel.verdict(place)),
      cell("full", page("why") || page("of") ? ui.el("div", null, panel.because(place)) : "", compare),
      figure(tr("similarity"), data.similarity(page("similarity"))),
      figure(tr("size"), data.size(page("bytes"))));
  };

  const show = () => {
    const shown = state.rows.slice(state.at, state.at + ROWS);
    parts.body.replaceChildren(...shown.map(row));
    const many = state.rows.length;
    const values = { first: data.number(state.at + 1), last: data.number(state.at + shown.length), n: data.number(many) };
    const found = many === 0 ? tr("0 pages") : many === 1
      ? tr("{first} to {last} of {n} page", values) : tr("{first} to {last} of {n} pages", values);
    parts.count.textContent =
      found + (many === data.count ? "" : tr(", found among {n}", { n: data.number(data.count) }));
    parts.before.disabled = state.at === 0;
    parts.after.disabled = state.at + ROWS >= many;
  };

  const update = () => {
    state.rows = order(wanted());
    state.at = 0;
    show();
  };

  const sortBy = (name, down) => {
    Object.assign(state, { sort: name, down });
    for (const [each, head] of Object.entries(parts.heads)) {
      if (each === name) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    parts.sorting.value = name ? `${name} ${down ? "down" : "up"}` : "";
    update();
  };

  const head = ([name, label]) => {
    const toggle = () => sortBy(name, state.sort === name ? !state.down : FIRST_DOWN.has(name));
    const button = ui.el("button", { type: "button", onclick: toggle }, label);
    return ui.el("th", { scope: "col", role: "columnheader", class: `c-${name === "relation" ? "verdict" : name}` }, button);
  };

  const counts = (column) => {
    const found = new Map();
    for (const one of column) if (one) found.set(one, (found.get(one) ?? 0) + 1);
    return [...found].sort((one, other) => other[1] - one[1]);
  };

  const LONGEST_LABEL = 60;
  let choices = 0;

  const choice = (value, label, count) =>
    ui.el("option", { value }, count ? `${ui.shown(label.slice(0, LONGEST_LABEL))} (${data.number(count)})` : label);

  const select = (label, kind, options, onchange) => {
    const id = `choice-${choices += 1}`;
    const made = ui.el("select", { id, onchange: () => onchange(made.value) }, options);
    return [made, ui.el("div", { class: kind }, ui.el("label", { for: id }, label), made)];
  };

  /** Debounce: call after the last keystroke, since up to 50,000 pages are searched. */
  const debounced = (call) => {
    let timer = 0;
    return () => {
      clearTimeout(timer);
      timer = setTimeout(call, 120);
    };
  };

  const tools = () => {
    parts.query = ui.el("input", { type: "search", placeholder: tr("Title, URL, host, relation…"), autocomplete: "off", spellcheck: "false" });
    parts.query.addEventListener("input", debounced(() => { state.query = parts.query.value; update(); }));
    const kinds = [...counts(data.pages.outcome), ...counts(values("relation"))];
    const [kind, kindLabel] = select(tr("Verdict"), "", [choice("", tr("all")), kinds.map(([name, count]) => choice(name, told(name), count))].flat(),
      (value) => { state.kind = value; update(); });
    const hosts = counts(data.pages.host).slice(0, 500);
    const [host, hostLabel] = select(tr("Host"), "", [choice("", tr("all")), hosts.map(([name, count]) => choice(name, name, count))].flat(),
      (value) => { state.host = value; update(); });
    const orders = COLUMNS.flatMap(([name, label]) => [choice(`${name} up`, `${label} ↑`), choice(`${name} down`, `${label} ↓`)]);
    const [sorting, sortLabel] = select(tr("Sort by"), "sorting", [choice("", tr("original order")), ...orders], (value) => {
      const [name, direction] = value.split(" ");
      sortBy(name, direction === "down");
    });
    Object.assign(parts, { kind, host, sorting });
    return ui.el("div", { class: "tools" },
      ui.el("label", { class: "searching" }, tr("Search"), parts.query), kindLabel, hostLabel, sortLabel);
  };

  const turn = (pages) => {
    state.at += pages * ROWS;
    show();
    parts.count.scrollIntoView({ block: "nearest" });
  };

  /** All rows that were found, in the order of the table. */
  const rowsForCsv = () => {
    const page = data.pages;
    const heads = [
      tr("Time (UTC)"), tr("Title"), tr("URL"), tr("Host"), tr("Status"), tr("Relation"), tr("Result"), tr("Reason"),
      tr("Why"), tr("Related page"), tr("Similarity"), tr("Bytes"), tr("Detector"), tr("Cluster"),
    ];
    const row = (place) => [
      page.time[place] === null ? "" : data.moment(page.time[place]), page.title[place], page.url[place], page.host[place],
      told(page.status[place]), told(page.relation[place]), told(page.outcome[place]), told(page.reason[place]),
      told(page.why[place]).replaceAll(data.OF, page.of[place]), page.of[place], page.similarity[place], page.bytes[place],
      page.detector[place], page.cluster[place],
    ];
    return [heads, ...state.rows.map(row)];
  };

  const pager = () => {
    parts.count = ui.el("span", { role: "status" });
    parts.before = ui.el("button", { type: "button", onclick: () => turn(-1) }, tr("‹ Previous"));
    parts.after = ui.el("button", { type: "button", onclick: () => turn(1) }, tr("Next ›"));
    return ui.el("div", { class: "found" }, parts.count, ui.el("div", { class: "pager" }, csv.button("pages", rowsForCsv), parts.before, parts.after));
  };

  /** Search for words, and scroll to the results. */
  const search = (words) => {
    parts.query.value = words;
    state.query = words;
    update();
    document.getElementById("pages").scrollIntoView();
    parts.query.focus({ preventScroll: true });
  };

  const start = () => {
    const heads = COLUMNS.map(head);
    parts.heads = Object.fromEntries(COLUMNS.map(([name], place) => [name, heads[place]]));
    parts.body = ui.el("tbody", { role: "rowgroup" });
    const kind = data.pages.time.some((time) => time !== null) ? "" : " timeless";
    const whole = ui.el("table", { class: `pages cards${kind}`, role: "table", "aria-labelledby": "pages-title" },
      ui.el("thead", { role: "rowgroup" }, ui.el("tr", { role: "row" }, heads)), parts.body);
    document.getElementById("page-table").append(ui.el("div", { class: "card" }, tools(), pager(), whole));
    update();
  };

  return { start, search };
})();
