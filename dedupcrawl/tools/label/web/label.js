"use strict";
// Shows one pair after the other and sends the answers. The server keeps the state.

(() => {
  const at = (id) => document.getElementById(id);
  const KEYS = { s: "same", d: "different", " ": "skip" };
  const KINDS = {
    "": tr("kept both: a near miss"),
    "near-duplicate": told("near-duplicate"),
    excerpt: tr("an excerpt of the older"),
    expansion: tr("the older, and more"),
  };
  let question = null; // the current pair
  let is_busy = false; // while a request is pending
  let view = matchMedia("(min-width: 60rem)").matches ? "two" : "one";
  let place = -1; // index of the difference jumped to

  const ask = async (what, sent) => {
    const options = sent && {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(sent),
    };
    const answer = await fetch(what, { cache: "no-store", ...options });
    const found = (answer.headers.get("Content-Type") ?? "").startsWith("application/json") ? await answer.json() : {};
    return { status: answer.status, found };
  };

  const trouble = (sentence) => {
    at("trouble").textContent = sentence;
    at("trouble").hidden = !sentence;
  };

  /** Send a request, one at a time, and show the new state. */
  const send = async (what, sent = {}) => {
    if (is_busy) return false;
    is_busy = true;
    try {
      const { status, found } = await ask(what, sent);
      if (status === 409) trouble(tr("This pair was answered in another window. This is the current pair."));
      else trouble(found.error ?? (status === 200 ? "" : tr("The server refused the request ({status}).", { status })));
      if (found.progress) show(found);
      return status === 200;
    } catch {
      trouble(tr("The session has ended; all your answers are saved. Start dedupcrawl label again to continue."));
      return false;
    } finally {
      is_busy = false;
    }
  };

  const figure = (value) => String(Math.floor(value * 1000 + 1e-9) / 1000); // 0.9998 is not yet 1

  /** Show the result of the run on the last pair; it is hidden before the answer, which it would bias. */
  const reveal = (last) => {
    const line = at("last");
    line.replaceChildren();
    if (!last) {
      line.append(tr("The result of the run is shown after your answer."));
      return;
    }
    const kind = last.relation || "miss";
    const said = { same: tr("same"), different: tr("different"), skip: tr("skipped") }[last.answer];
    line.append(
      tr("Last pair: you answered "),
      ui.el("strong", {}, said),
      tr(" · the run: "),
      ui.badge(kind, KINDS[last.relation] ?? told(last.relation)),
      tr(" {similarity} by {detector}", { similarity: figure(last.similarity), detector: last.detector }),
      last.relation ? ui.el("span", {}, tr(", "), ui.el("strong", {}, last.is_dropped ? told("dropped") : told("kept"))) : "",
    );
  };

  const source = (side, name) => {
    const box = ui.el("header", { class: "source" });
    box.append(
      ui.el("span", { class: "small soft" }, tr("{name} · {n} characters", { name, n: side.length.toLocaleString("en") })),
      ui.words(side.title || tr("(no title)"), "h2"),
      ui.el("p", { class: "small" }, ui.link(side.url)),
    );
    return box;
  };

  const article = (sides, heads, label) =>
    ui.el("article", { class: "card side", tabindex: "0", "aria-label": label },
      heads, differences.text(question.changes, sides));

  const draw = () => {
    const heads = { old: source(question.old, tr("Older")), new: source(question.new, tr("Newer")) };
    const both = view === "two"
      ? [article(["old"], heads.old, tr("Older page")), article(["new"], heads.new, tr("Newer page"))]
      : [article(["old", "new"], [heads.old, heads.new], tr("Both pages in one"))];
    at("pair").className = view;
    at("pair").replaceChildren(...both);
    if (question.is_cut) {
      at("pair").append(ui.el("p", { class: "note card cut" }, tr("The texts are longer; only their beginnings are shown.")));
    }
    for (const name of ["one", "two"]) at(name).setAttribute("aria-pressed", String(name === view));
    place = -1;
    showCount();
  };

  /** The elements of each difference, in order: one in each column, or two in one text. */
  const marks = () => {
    const found = new Map();
    for (const each of at("pair").querySelectorAll("[data-change]")) {
      found.set(each.dataset.change, [...(found.get(each.dataset.change) ?? []), each]);
    }
    return [...found].sort(([one], [other]) => one - other).map(([, several]) => several);
  };

  const showCount = () => {
    const count = marks().length;
    const values = { n: count, at: place + 1 };
    at("where").textContent = !count ? tr("no difference") : place < 0
      ? (count === 1 ? tr("1 difference") : tr("{n} differences", values))
      : (count === 1 ? tr("1 of 1 difference") : tr("{at} of {n} differences", values));
    at("before").disabled = at("after").disabled = !count;
  };

  const jump = (step) => {
    const all = marks();
    if (!all.length) return;
    for (const each of at("pair").querySelectorAll(".here")) each.classList.remove("here");
    place = place < 0 && step < 0 ? all.length - 1 : (place + step + all.length) % all.length;
    const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
    for (const each of all[place]) {
      each.classList.add("here");
      each.scrollIntoView({ block: "center", behavior });
    }
    showCount();
  };

  const showOver = ({ done, goal, same, different, skipped, labelled, left }) => {
    const shown = (n) => n.toLocaleString("en");
    at("over-head").textContent = done || !goal ? tr("Done") : tr("Nothing to ask");
    if (!done && !left) at("over-head").textContent = tr("All pairs of this run are answered");
    const values = { n: shown(done), same, different, skipped };
    at("over-text").textContent = [
      done === 1
        ? tr("1 pair in this session: {same} same, {different} different, {skipped} skipped.", values)
        : tr("{n} pairs in this session: {same} same, {different} different, {skipped} skipped.", values),
      labelled === 1 ? tr("The file has 1 label;") : tr("The file has {n} labels;", { n: shown(labelled) }),
      !left ? tr("no pair of this run is left.") : left === 1
        ? tr("1 pair of this run is left.") : tr("{n} pairs of this run are left.", { n: shown(left) }),
    ].join(tr(" "));
    at("more").hidden = !left;
    at("undo-last").hidden = !done;
  };

  const show = ({ question: asked, last, progress }) => {
    const { done, goal } = progress;
    at("advance").hidden = false;
    Object.assign(at("meter"), { max: Math.max(goal, 1), value: done });
    at("count").textContent = tr("{done} of {goal}", { done, goal });
    at("undo").disabled = !done;
    at("question").hidden = at("answers").hidden = !asked;
    at("over").hidden = Boolean(asked);
    reveal(last);
    at("said").textContent = last ? at("last").textContent : "";
    const is_new = asked?.id !== question?.id;
    question = asked;
    if (!asked) {
      showOver(progress);
      at("over-head").focus();
    } else if (is_new) {
      draw();
      scrollTo(0, 0);
      at("asked").focus({ preventScroll: true }); // so that the space key skips, and does not press the last button again
    }
  };

  const answer = (what) => question && send("answer", { id: question.id, answer: what });
  const undo = () => send("undo");
  const end = async () => {
    if (!(await send("done"))) return;
    at("over-head").textContent = tr("The session has ended");
    at("over-text").textContent = tr("You can close this window.");
    for (const button of at("over").querySelectorAll("button")) button.hidden = true;
  };
  const look = (name) => {
    view = name;
    draw();
  };

  /** Call `does` on a click, and move the focus away after a mouse click: the space key would click again. */
  const press = (button, does) =>
    button.addEventListener("click", (event) => {
      does();
      if (event.detail && question) at("asked").focus({ preventScroll: true });
    });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.key === " " && event.target.closest("button, a, summary")) return; // the space key presses these
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const does = {
      u: undo,
      ArrowLeft: () => question && jump(-1),
      ArrowRight: () => question && jump(1),
      ...(question && KEYS[key] ? { [key]: () => answer(KEYS[key]) } : {}),
    }[key];
    if (!does) return;
    event.preventDefault();
    does();
  });
  for (const button of document.querySelectorAll("[data-answer]")) {
    press(button, () => answer(button.dataset.answer));
  }
  const clicks = {
    undo, "undo-last": undo, more: () => send("more"), done: end,
    before: () => jump(-1), after: () => jump(1), one: () => look("one"), two: () => look("two"),
  };
  for (const [id, does] of Object.entries(clicks)) press(at(id), does);

  ask("state").then(
    ({ found }) => show(found),
    () => trouble(tr("The session has ended. Start dedupcrawl label again to continue.")),
  );
})();
