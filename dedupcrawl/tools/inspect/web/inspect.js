"use strict";
// The inspector: pointing at blocks, picking, filtering and stepping through them.

(async () => {
  data.places = new Map(); // `pair.js` looks up pages that have a row of their own: there are none
  const page = await ui.read("inspected");
  blocks.load(page);
  const main = document.querySelector(".views");
  const root = canvas.build(document.getElementById("canvas"), page.steps, page.style);
  const passages = new Map();
  for (const each of document.querySelectorAll(".passage[data-block]")) {
    const block = Number(each.dataset.block);
    passages.set(block, [...(passages.get(block) ?? []), each]);
  }
  const said = document.getElementById("said");
  const jumps = document.querySelector(".jumps");
  const why = document.getElementById("why");
  const close = document.getElementById("close");
  const idle = [...said.childNodes];
  const isNarrow = matchMedia("(max-width: 60rem)");
  let picked = null;
  let pointed = null;
  let shown = () => true;

  const change = (block, name, isOn) => {
    if (block === null) return;
    canvas.each(block, (each) => each.classList.toggle(name, isOn));
    (passages.get(block) ?? []).forEach((each) => each.classList.toggle(name, isOn));
  };

  const describe = (block) => {
    said.replaceChildren(...(block === null ? idle : blocks.describe(blocks.of(block))));
    if (block !== null) why.classList.add("used");
    why.classList.toggle("open", picked !== null);
    close.hidden = picked === null;
    jumps.replaceChildren(...(picked === null ? [] : links(picked)));
  };

  const point = (block) => {
    if (block === pointed) return;
    change(pointed, "on", false);
    change(block, "on", true);
    pointed = block;
    describe(block ?? picked);
  };

  /** Scroll a pane, but not the window, until an element is in the middle. */
  const intoView = (element) => {
    if (!element) return;
    const box = (element.getRootNode().host ?? element).closest(".scrolled");
    if (isNarrow.matches || !box) {
      element.scrollIntoView({ block: "center", inline: "nearest" });
      return;
    }
    const [inner, outer] = [element.getBoundingClientRect(), box.getBoundingClientRect()];
    box.scrollTop += inner.top + inner.height / 2 - outer.top - outer.height / 2;
  };
  const onPage = (block) => canvas.signs.get(block);

  const jump = (label, tab, element) =>
    ui.el("button", { type: "button", class: "jump", onclick: () => { tabs.show(tab); intoView(element); element.focus?.(); } }, label);

  const links = (block) => {
    const found = passages.get(block)?.[0];
    if (!isNarrow.matches || !found || !canvas.has(block)) return [];
    return tabs.current() === "text" ? [jump(tr("Show on the page"), "page", onPage(block))] : [jump(tr("Show in the main text"), "text", found)];
  };

  /** Make the sign of a block the one that the tab key stops at. */
  const settle = (block) => {
    root.querySelector("button.sign[tabindex='0']")?.setAttribute("tabindex", "-1");
    onPage(block)?.setAttribute("tabindex", "0");
  };

  const pick = (block, isFrom) => {
    change(picked, "picked", false);
    picked = block;
    change(block, "picked", true);
    describe(block);
    if (block === null) return;
    settle(block);
    if (isFrom !== "page") intoView(onPage(block));
    if (isFrom !== "text") intoView(passages.get(block)?.[0]);
  };

  const blockAt = (event) => {
    const found = event.target.closest?.("[data-block]");
    return found ? Number(found.dataset.block) : null;
  };

  const listen = (where, isFrom) => {
    where.addEventListener("pointerover", (event) => event.pointerType === "mouse" && point(blockAt(event)));
    where.addEventListener("pointerleave", () => point(null));
    where.addEventListener("click", (event) => blockAt(event) !== null && pick(blockAt(event), isFrom));
  };
  listen(root.firstChild, "page");
  listen(document.getElementById("text"), "text");
  root.addEventListener("focusin", (event) => { if (blockAt(event) !== null) point(blockAt(event)); });
  root.addEventListener("focusout", () => point(null));

  /** The marked blocks on the page, in order. */
  const order = () => blocks.every().filter((each) => shown(each) && canvas.has(each.place)).map((each) => each.place);

  const step = (by, from = pointed ?? picked) => {
    const places = order();
    if (!places.length) return null;
    const at = places.findIndex((place) => place >= (from ?? -1));
    if (from === null) return by > 0 ? places[0] : places[places.length - 1];
    const isThere = places[at] === from;
    const next = by > 0 ? (isThere ? at + 1 : at < 0 ? places.length : at) : (at < 0 ? places.length : at) - 1;
    return places[Math.max(0, Math.min(places.length - 1, next))];
  };

  const go = (block) => {
    if (block === null) return;
    tabs.show("page", true);
    pick(block);
    onPage(block).focus({ preventScroll: true });
  };

  root.addEventListener("keydown", (event) => {
    const way = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (!way || event.altKey || event.ctrlKey || event.metaKey || blockAt(event) === null) return;
    event.preventDefault();
    go(step(way, blockAt(event)));
  });
  document.getElementById("before").addEventListener("click", () => pick(step(-1, picked)));
  document.getElementById("after").addEventListener("click", () => pick(step(1, picked)));
  close.addEventListener("click", () => pick(null));
  addEventListener("keydown", (event) => event.key === "Escape" && pick(null));

  const FILTERS = { all: () => true, cut: (block) => !block.rule.kept };
  const filters = [...document.querySelectorAll("[data-show]")];

  const filter = (name) => {
    shown = FILTERS[name] ?? ((block) => String(block.number) === name);
    for (const each of filters) each.setAttribute("aria-pressed", String(each.dataset.show === name));
    for (const block of blocks.every()) {
      canvas.each(block.place, (each) => each.classList.toggle("off", !shown(block)));
      (passages.get(block.place) ?? []).forEach((each) => each.classList.toggle("off", !shown(block)));
    }
    const first = order()[0];
    if (first !== undefined) settle(first);
  };

  const choose = (event) => {
    const isOn = event.currentTarget.getAttribute("aria-pressed") === "true";
    filter(isOn ? "all" : event.currentTarget.dataset.show);
    if (order().length) intoView(onPage(order()[0]));
  };
  filters.forEach((each) => each.addEventListener("click", choose));

  filter("all");
  for (const box of main.querySelectorAll("[data-pairs]")) {
    for (const one of page.pairs[box.dataset.pairs] ?? []) {
      const shownPair = pair.show(one).filter((each) => each !== "");
      // compared pages without a match are not near misses here
      shownPair[0].querySelector(".badge.miss")?.replaceChildren(tr("no match"));
      const heading = one.heading ? ui.el("h3", { class: "pair-heading" }, told(one.heading)) : "";
      box.append(ui.el("article", { class: "one-pair" }, heading, ...shownPair));
    }
  }
  tabs.start(() => describe(pointed ?? picked));
  document.documentElement.dataset.ready = "";
})();
