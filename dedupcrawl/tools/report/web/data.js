"use strict";
// Decodes the data of the page, which `html_report.py` encodes.

const data = (() => {
  const OF = "\u0001"; // replaces the URL of the related page in a sentence
  const COLUMNS = ["status", "outcome", "relation", "detector", "reason", "cluster"];

  const spread = (column) => column.at.map((number) => column.values[number]);

  const sums = (differences) => {
    let last = 0;
    return differences.map((each) => (each === null ? null : (last += each) / 10));
  };

  /** Decode the table of pages: an array for each column, all of the same length. */
  const unpack = (table) => {
    const origins = spread(table.origin);
    const url = table.path.map((path, place) => origins[place] + path);
    const of = table.of.map((one) => (typeof one === "number" ? url[one] : one));
    return {
      url,
      of,
      host: table.host.byOrigin ? table.origin.at.map((number) => table.host.byOrigin[number]) : spread(table.host),
      title: table.title.map((one) => (typeof one === "number" ? table.title[one] : one)),
      time: sums(table.time),
      why: table.why,
      bytes: table.bytes,
      similarity: table.similarity,
      pair: table.pair,
      ...Object.fromEntries(COLUMNS.map((name) => [name, spread(table[name])])),
    };
  };

  /** Read all data; rejects if the browser is too old to decompress them. */
  const load = async () => {
    const [all, pairs] = await Promise.all([ui.read("page-data"), ui.read("pair-data")]);
    const pages = unpack(all.pages);
    Object.assign(data, {
      pages,
      count: pages.url.length,
      clusters: all.clusters,
      clusterNames: new Map(all.clusters.map((each, place) => [whole(each.name), place])),
      pairs: pairs.pairs,
      misses: pairs.misses,
      places: placesByUrl(pages),
      members: members(pages.cluster),
    });
  };

  /** Replace lone surrogates, which an address cannot contain. */
  const whole = (text) => text.toWellFormed?.() ?? text;

  /** The rows of each URL: kept pages first, then by time. */
  const placesByUrl = ({ url, outcome, time }) => {
    const found = new Map();
    url.forEach((one, place) => {
      const name = whole(one);
      if (found.has(name)) found.get(name).push(place);
      else found.set(name, [place]);
    });
    const isDropped = (place) => Number(outcome[place] === "dropped");
    const before = (one, other) => isDropped(one) - isDropped(other) || (time[one] ?? 0) - (time[other] ?? 0);
    found.forEach((places) => places.length > 1 && places.sort(before));
    return found;
  };

  /** The rows of this URL; versions of a page, and items of a page, share a URL. */
  const placesOf = (url) => data.places.get(whole(url)) ?? [];

  /** The first of them, which others are duplicates of; undefined if there is none. */
  const placeOf = (url) => placesOf(url)[0];

  /** The row of the new page of a pair. */
  const placeOfNew = (pair) =>
    placesOf(pair.new).find((place) => data.pairs[data.pages.pair[place]] === pair) ?? placeOf(pair.new);

  /** The rows of each cluster, by its name. */
  const members = (clusters) => {
    const found = new Map();
    clusters.forEach((name, place) => {
      if (!name) return;
      if (found.has(name)) found.get(name).push(place);
      else found.set(name, [place]);
    });
    return found;
  };

  const number = (value) => value.toLocaleString("en");

  /** A Unix time as "2026-11-20 17:40:12", in UTC; "–" if it is unknown. */
  const moment = (time) => {
    const date = new Date((time ?? NaN) * 1000);
    return Number.isNaN(date.getTime()) ? "–" : date.toISOString().slice(0, 19).replace("T", " ");
  };

  /** A duration in its two largest units. */
  const span = (seconds) => {
    const units = [[86400, tr("d")], [3600, tr("h")], [60, tr("min")], [1, tr("s")]];
    const at = units.findIndex(([length]) => Math.abs(seconds) >= length);
    if (at < 0 || at === 3) return `${Math.round(seconds * 10) / 10} ${tr("s")}`;
    const [[large, name], [small, rest]] = units.slice(at);
    const left = Math.floor((seconds % large) / small);
    return `${Math.floor(seconds / large)} ${name}${left ? ` ${left} ${rest}` : ""}`;
  };

  const size = (bytes) => {
    const units = ["B", "kB", "MB", "GB", "TB"];
    let at = 0;
    for (; bytes >= 999.5 && at < units.length - 1; at += 1) bytes /= 1000;
    return `${at && bytes < 99.95 ? bytes.toFixed(1) : Math.round(bytes)} ${units[at]}`;
  };

  /** A number with up to three digits, rounded down, so that it never appears to reach 1 or a threshold. */
  const digits = (value) => String(Math.floor(value * 1000 + 1e-9) / 1000);

  const similarity = (value) => (value === null || value === undefined ? "" : digits(value));

  const host = (url) => {
    try { return new URL(url).host || url; } catch { return url; }
  };

  return { load, OF, whole, placesOf, placeOf, placeOfNew, number, moment, span, size, digits, similarity, host };
})();
