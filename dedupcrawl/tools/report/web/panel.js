"use strict";
// The panel over the page shows a pair (#pair-12) or a page (#page=…), as the address says.

const panel = (() => {
  const dialog = document.getElementById("panel");
  const MOST_SHOWN = 50;

  const toPair = (place) => `#pair-${place}`;
  const toPage = (url) => `#page=${encodeURIComponent(data.whole(url))}`;

  /** The address of a row; if several rows have its URL, with its number among them. */
  const toRow = (place) => {
    const url = data.pages.url[place];
    const at = data.placesOf(url).indexOf(place);
    return at > 0 ? toPage(url).replace("=", `.${at + 1}=`) : toPage(url);
  };

  const toCluster = (name) => `#cluster=${encodeURIComponent(data.whole(name))}`;

  const step = (label, sign, target) =>
    target === undefined ? "" : ui.el("a", { class: "button step", href: toPair(target), "aria-label": label, title: label }, sign);

  const open = (title, steps, content) => {
    const heading = ui.el("h2", { id: "panel-title", tabindex: -1 }, title);
    const close = ui.el("button", { type: "button", onclick: () => dialog.close() }, tr("Close"));
    const body = ui.el("div", { class: "panel-body", tabindex: 0, role: "region", "aria-labelledby": "panel-title" }, content);
    dialog.replaceChildren(ui.el("div", { class: "panel-head" }, heading, steps, close), body);
    if (!dialog.open) dialog.showModal();
    heading.focus();
  };

  /** The pairs before and after this one; for a near miss, among near misses. */
  const around = (place) => {
    const isMiss = data.misses.includes(place);
    const order = isMiss ? data.misses : data.pairs.map((_, at) => at).filter((at) => data.pairs[at].relation);
    const at = order.indexOf(place);
    return { at: at + 1, of: order.length, before: order[at - 1], after: order[at + 1], isMiss };
  };

  const showPair = (place) => {
    const { at, of, before, after, isMiss } = around(place);
    const steps = [step(tr("Previous"), "‹", before), step(tr("Next"), "›", after)];
    const values = { at: data.number(at), of: data.number(of) };
    open(isMiss ? tr("Near miss {at} of {of}", values) : tr("Pair {at} of {of}", values), steps, pair.show(data.pairs[place]));
  };

  const fact = (name, value) => (value ? [ui.el("dt", null, name), ui.el("dd", null, value)] : []);

  const verdict = (place) => {
    const { status, relation, reason, outcome } = data.pages;
    const kind = relation[place] || status[place];
    const because = reason[place] ? tr(" ({reason})", { reason: ui.shown(told(reason[place])) }) : "";
    return [ui.badge(kind, told(kind) + because), " ", ui.el("span", { class: "outcome" }, told(outcome[place]))];
  };

  /** The verdict as a sentence with a link to the related page. */
  const because = (place) => {
    const of = data.pages.of[place];
    const target = () => (data.placeOf(of) !== undefined ? ui.el("a", { href: toPage(of) }, ui.words(of)) : ui.link(of));
    const parts = told(data.pages.why[place]).split(data.OF).map((words) => ui.shown(words));
    const linked = parts.flatMap((words, at) => (at ? [target(), words] : [words]));
    return parts.length > 1 || !of ? linked : [linked, " ", target()];
  };

  const others = (place) => {
    const name = data.pages.cluster[place];
    const rest = (data.members.get(name) ?? []).filter((one) => one !== place);
    if (!rest.length) return "";
    const items = rest.slice(0, MOST_SHOWN).map((one) =>
      ui.el("li", null, ui.el("a", { href: toRow(one) }, ui.words(data.pages.title[one] || data.pages.url[one])),
        " ", ui.el("span", { class: "soft" }, ui.words(data.pages.host[one])), " ", verdict(one)));
    const more = rest.length > MOST_SHOWN ? ui.el("li", { class: "soft" }, tr("and {n} more", { n: data.number(rest.length - MOST_SHOWN) })) : "";
    return ui.el("section", { class: "card" }, ui.el("h3", null, tr("Other pages with this content")), ui.el("ul", null, items, more));
  };

  const showPage = (place) => {
    const page = (name) => data.pages[name][place];
    const compare = page("pair") === null ? "" : ui.el("p", null, ui.el("a", { class: "button", href: toPair(page("pair")) }, tr("Compare both texts")));
    open(tr("A page and its verdict"), "", [
      ui.el("section", { class: "card" },
        page("title") ? ui.words(page("title"), "h3") : "",
        ui.el("p", null, ui.link(page("url"))),
        ui.el("div", { class: "verdict" }, verdict(place)),
        page("why") ? ui.el("p", null, because(place)) : "",
        compare,
        ui.el("dl", { class: "figures" },
          fact(tr("Duplicate of, or related to"), page("of") && ui.link(page("of"))),
          fact(tr("Seen"), page("time") === null ? "" : `${data.moment(page("time"))} UTC`),
          fact(tr("Size"), data.size(page("bytes"))),
          fact(tr("Similarity"), data.similarity(page("similarity"))),
          fact(tr("Detector"), ui.shown(page("detector"))),
          fact(tr("Cluster"), page("cluster") && ui.el("a", { href: toCluster(page("cluster")) }, ui.shown(page("cluster")))))),
      others(place),
    ]);
  };

  const decode = (text) => {
    try { return decodeURIComponent(text); } catch { return text; }
  };

  const forget = () => {
    try { history.replaceState(null, "", location.href.split("#")[0]); } catch { location.hash = ""; }
  };

  /** Show the pair, page or cluster of the address. */
  const follow = () => {
    const [, place] = /^#pair-(\d{1,9})$/.exec(location.hash) ?? [];
    if (place !== undefined && data.pairs[place]) return showPair(Number(place));
    const [, nth, url] = /^#page(?:\.(\d{1,9}))?=(.*)$/s.exec(location.hash) ?? [];
    const found = url === undefined ? undefined : data.placesOf(decode(url))[Number(nth ?? 1) - 1];
    if (found !== undefined) return showPage(found);
    if (dialog.open) dialog.close("kept");
    if (location.hash.startsWith("#cluster=")) lists.openCluster(decode(location.hash.slice(9)));
    return undefined;
  };

  const start = () => {
    addEventListener("hashchange", follow);
    dialog.addEventListener("close", () => {
      if (dialog.returnValue !== "kept") forget();
      dialog.returnValue = "";
    });
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    dialog.addEventListener("keydown", (event) => {
      const sign = { ArrowLeft: "‹", ArrowRight: "›" }[event.key];
      if (sign && !event.altKey && !event.metaKey && !event.ctrlKey) {
        [...dialog.querySelectorAll("a.step")].find((each) => each.textContent === sign)?.click();
      }
    });
    follow();
  };

  return { start, toPair, toPage, toRow, verdict, because };
})();
