"use strict";
// The table of pages with search, filters and sorting; it shows fifty rows at a time.

const table = (() => {
  const ROWS = 50;
  const FIRST_DOWN = new Set(["similarity", "bytes"]);
  const COLUMNS = [
    ["time", "Time"], ["title", "Page"], ["host", "Host"], ["relation", "Verdict"],
    ["of", "Why"], ["similarity", "Similarity"], ["bytes", "Size"],
  ];

  const state = { query: "", kind: "", host: "", sort: "", down: false, at: 0, rows: [] };
  const parts = {};
  let haystacks = null;

  const kindOf = (place) => data.pages.relation[place] || data.pages.status[place];

  /** The searchable text of each page, in lower case; built at the first search. */
  const haystack = () => {
    const { title, url, host, relation, status, fate, cluster, reason } = data.pages;
    haystacks ??= title.map((one, place) =>
      [one, url[place], host[place], relation[place], status[place], fate[place], cluster[place], reason[place]].join("\n").toLowerCase());
    return haystacks;
  };

  const wanted = () => {
    const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    const texts = words.length ? haystack() : null;
    const { host, fate } = data.pages;
    const rows = [];
    for (let place = 0; place < data.count; place += 1) {
      if (state.host && host[place] !== state.host) continue;
      if (state.kind && kindOf(place) !== state.kind && fate[place] !== state.kind) continue;
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
    const compare = page("pair") === null ? "" : ui.el("div", null, ui.el("a", { href: panel.toPair(page("pair")) }, "compare texts"));
    return ui.el("tr", { role: "row" },
      cell("", day ? [ui.el("span", { class: "date" }, day), " ", clock ?? ""] : ""),
      cell("first", ui.el("a", { class: "headline", href: panel.toRow(place) }, ui.words(page("title") || "(no title)")),
        ui.el("span", { class: "url" }, ui.link(page("url")))),
      cell("", ui.words(page("host"))),
      cell("", panel.verdict(place)),
      cell("full", page("why") || page("of") ? ui.el("div", null, panel.because(place)) : "", compare),
      figure("similarity", data.similarity(page("similarity"))),
      figure("size", data.size(page("bytes"))));
  };

  const show = () => {
    const shown = state.rows.slice(state.at, state.at + ROWS);
    parts.body.replaceChildren(...shown.map(row));
    const many = state.rows.length;
    const range = many ? `${data.number(state.at + 1)} to ${data.number(state.at + shown.length)} of ` : "";
    parts.count.textContent = `${range}${data.number(many)} ${many === 1 ? "page" : "pages"}` +
      (many === data.count ? "" : `, found among ${data.number(data.count)}`);
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

  const choice = (value, label, count) =>
    ui.el("option", { value }, count ? `${ui.shown(label.slice(0, LONGEST_LABEL))} (${data.number(count)})` : label);

  const select = (label, kind, options, onchange) => {
    const id = `choice-${label.replace(" ", "-").toLowerCase()}`;
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
    parts.query = ui.el("input", { type: "search", placeholder: "Title, URL, host, relation…", autocomplete: "off", spellcheck: "false" });
    parts.query.addEventListener("input", debounced(() => { state.query = parts.query.value; update(); }));
    const kinds = [...counts(data.pages.fate), ...counts(values("relation"))];
    const [kind, kindLabel] = select("Verdict", "", [choice("", "all"), kinds.map(([name, count]) => choice(name, name, count))].flat(),
      (value) => { state.kind = value; update(); });
    const hosts = counts(data.pages.host).slice(0, 500);
    const [host, hostLabel] = select("Host", "", [choice("", "all"), hosts.map(([name, count]) => choice(name, name, count))].flat(),
      (value) => { state.host = value; update(); });
    const orders = COLUMNS.flatMap(([name, label]) => [choice(`${name} up`, `${label} ↑`), choice(`${name} down`, `${label} ↓`)]);
    const [sorting, sortLabel] = select("Sort by", "sorting", [choice("", "original order"), ...orders], (value) => {
      const [name, direction] = value.split(" ");
      sortBy(name, direction === "down");
    });
    Object.assign(parts, { kind, host, sorting });
    return ui.el("div", { class: "tools" },
      ui.el("label", { class: "searching" }, "Search", parts.query), kindLabel, hostLabel, sortLabel);
  };

  const turn = (pages) => {
    state.at += pages * ROWS;
    show();
    parts.count.scrollIntoView({ block: "nearest" });
  };

  const pager = () => {
    parts.count = ui.el("span", { role: "status" });
    parts.before = ui.el("button", { type: "button", onclick: () => turn(-1) }, "‹ Previous");
    parts.after = ui.el("button", { type: "button", onclick: () => turn(1) }, "Next ›");
    return ui.el("div", { class: "found" }, parts.count, ui.el("div", { class: "pager" }, parts.before, parts.after));
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
