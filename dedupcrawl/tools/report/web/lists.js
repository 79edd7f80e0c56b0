"use strict";
// The largest clusters with their pages, and the near misses.

const lists = (() => {
  const AT_FIRST = 20;
  const ROWS_AT_FIRST = 100;

  const compare = (place, label = tr("Compare")) =>
    place === null || place === undefined ? "" : ui.el("a", { href: panel.toPair(place) }, label);

  /** Draw the times of the pages of a cluster, from the first to the last. */
  const drawMoments = (cluster) => {
    const span = cluster.first === null ? 0 : cluster.last - cluster.first;
    if (!(span > 0)) return "";
    const times = cluster.pages.map((place) => data.pages.time[place]).filter((time) => time !== null);
    const at = (time) => 6 + Math.max(0, Math.min(1, (time - cluster.first) / span)) * 988;
    return ui.svg("svg", { class: "moments", viewBox: "0 0 1000 22", preserveAspectRatio: "none", "aria-hidden": "true" },
      ui.svg("line", { x1: 0, x2: 1000, y1: 11, y2: 11 }),
      times.map((time, place) => ui.svg("rect", { class: place ? "one" : "first", x: at(time) - 3, y: place ? 5 : 2, width: 5, height: place ? 12 : 18 })));
  };

  const clusterRow = (cluster, place) => {
    const page = (name) => data.pages[name][place];
    const since = page("time") === null || cluster.first === null ? "" : page("time") - cluster.first;
    const cell = { role: "cell" };
    return ui.el("tr", { role: "row" },
      ui.el("td", { ...cell, class: "num" }, since === "" ? "" : since > 0 ? `+${data.span(since)}` : data.moment(page("time"))),
      ui.el("td", cell, ui.words(page("host"))),
      ui.el("td", { ...cell, class: "first" }, ui.el("a", { href: panel.toRow(place) }, ui.words(page("title") || page("url")))),
      ui.el("td", cell, panel.verdict(place)),
      ui.el("td", { ...cell, class: "num", "data-name": tr("similarity") }, data.similarity(page("similarity"))),
      ui.el("td", cell, compare(page("pair"))));
  };

  const head = (names) =>
    ui.el("thead", { role: "rowgroup" }, ui.el("tr", { role: "row" },
      names.map(([name, kind]) => ui.el("th", { scope: "col", role: "columnheader", class: kind }, name))));

  const clusterForCsv = (cluster) => {
    const { time, host, title, url, status, relation, outcome, similarity } = data.pages;
    const row = (place) => [
      time[place] === null ? "" : data.moment(time[place]), host[place], title[place], url[place],
      told(relation[place] || status[place]), told(outcome[place]), similarity[place],
    ];
    const heads = [tr("Time (UTC)"), tr("Host"), tr("Title"), tr("URL"), tr("Verdict"), tr("Result"), tr("Similarity")];
    return [heads, ...cluster.pages.map(row)];
  };

  const missesForCsv = () => {
    const row = (place) => {
      const one = data.pairs[place];
      const { detector, words } = evidence.lacking(one.assessments);
      return [one.similarity, detector, words, one.newTitle, one.new, one.oldTitle, one.old];
    };
    const heads = [tr("Similarity"), tr("Detector"), tr("Failed conditions"), tr("This page"), tr("URL of this page"),
      tr("Earlier page"), tr("URL of the earlier page")];
    return [heads, ...data.misses.map(row)];
  };

  const fillCluster = (cluster) => {
    const body = ui.el("tbody", { role: "rowgroup" });
    const more = ui.el("button", { type: "button" });
    const add = (until) => {
      body.append(...cluster.pages.slice(body.rows.length, until).map((place) => clusterRow(cluster, place)));
      const left = cluster.pages.length - body.rows.length;
      more.textContent = tr("Show {n} more", { n: data.number(left) });
      more.hidden = left === 0;
    };
    more.addEventListener("click", () => add(body.rows.length + 10 * ROWS_AT_FIRST));
    add(ROWS_AT_FIRST);
    const left = cluster.size - cluster.pages.length;
    return [
      drawMoments(cluster),
      ui.el("table", { class: "cards", role: "table" },
        head([[tr("Time (UTC)"), "num"], [tr("Host")], [tr("Title")], [tr("Verdict")], [tr("Similarity"), "num"], [tr("Texts")]]), body),
      more,
      ui.el("p", { class: "saving" }, csv.button(`cluster-${cluster.name}`, () => clusterForCsv(cluster))),
      left > 0 ? ui.el("p", { class: "soft small" }, tr("{n} more pages of this cluster are not in this file.", { n: data.number(left) })) : "",
    ];
  };

  const showCluster = (cluster) => {
    const times = cluster.first !== null && cluster.last > cluster.first ? tr("over {span}", { span: data.span(cluster.last - cluster.first) }) : "";
    const box = ui.el("div");
    const hosts = cluster.hosts === 1 ? tr("1 host") : tr("{n} hosts", { n: data.number(cluster.hosts) });
    const details = ui.el("details", { class: "cluster" },
      ui.el("summary", null,
        ui.el("span", { class: "size" }, tr("{n} pages", { n: data.number(cluster.size) })),
        ui.el("span", { class: "soft" }, hosts),
        ui.words(cluster.title || tr("(no title)"), "span", { class: "title" }),
        ui.el("span", { class: "soft small" }, times)),
      box);
    details.addEventListener("toggle", () => {
      if (details.open && !box.hasChildNodes()) box.append(...fillCluster(cluster).filter(Boolean));
    });
    return details;
  };

  const showClusters = (list) => {
    const more = ui.el("button", { type: "button" });
    const shown = [];
    const add = (until) => {
      const made = data.clusters.slice(shown.length, until).map(showCluster);
      shown.push(...made);
      list.append(...made, more);
      const left = data.clusters.length - shown.length;
      more.textContent = tr("Show {n} more clusters", { n: data.number(left) });
      more.hidden = left === 0;
    };
    more.addEventListener("click", () => add(data.clusters.length));
    add(AT_FIRST);
    lists.reach = (place) => {
      if (place >= shown.length) add(place + 1);
      return shown[place];
    };
  };

  /** Open the cluster with this name; if it is not among the largest, search for its pages in the table. */
  const openCluster = (name) => {
    const place = data.clusterNames.get(name);
    if (place === undefined) return table.search(name);
    const details = lists.reach(place);
    details.open = true;
    details.scrollIntoView({ block: "start" });
    return details.querySelector("summary").focus({ preventScroll: true });
  };

  const missRow = (place) => {
    const one = data.pairs[place];
    const lacks = evidence.lacking(one.assessments);
    const cell = { role: "cell" };
    const side = (title, url) => [ui.words(title || url, "div", { class: "title" }), ui.el("div", { class: "soft small" }, ui.words(data.host(url)))];
    return ui.el("tr", { role: "row" },
      ui.el("td", { ...cell, class: "num", "data-name": tr("similarity") }, ui.el("strong", null, data.similarity(one.similarity))),
      ui.el("td", { ...cell, class: "full" }, ui.shown(lacks.detector), ui.el("div", { class: "soft small" }, lacks.words)),
      ui.el("td", { ...cell, class: "full" }, side(one.newTitle, one.new)),
      ui.el("td", { ...cell, class: "full" }, side(one.oldTitle, one.old)),
      ui.el("td", cell, ui.el("a", { class: "button", href: panel.toPair(place) }, tr("Compare"))));
  };

  const showMisses = (box) => {
    const names = [[tr("Similarity"), "num"], [tr("Detector, and failed conditions")], [tr("This page")], [tr("Earlier page")], [tr("Texts")]];
    const body = ui.el("tbody", { role: "rowgroup" });
    const more = ui.el("button", { type: "button" });
    const add = () => {
      const from = body.rows.length;
      body.append(...data.misses.slice(from, from + AT_FIRST).map(missRow));
      more.textContent = tr("Show more of the {n}", { n: data.number(data.misses.length) });
      more.hidden = body.rows.length === data.misses.length;
    };
    more.addEventListener("click", add);
    add();
    box.append(ui.el("div", { class: "card" }, ui.el("table", { class: "cards", role: "table" }, head(names), body), more,
      ui.el("p", { class: "saving" }, csv.button("near-misses", missesForCsv))));
  };

  const start = () => {
    const clusters = document.getElementById("cluster-list");
    if (clusters) showClusters(clusters);
    const misses = document.getElementById("miss-list");
    if (misses) showMisses(misses);
  };

  return { start, openCluster };
})();
