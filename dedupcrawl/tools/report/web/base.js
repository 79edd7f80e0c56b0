"use strict";
// Shared by all pages. Texts of crawled pages are never parsed as markup: elements are created one by one, and texts
// are added as text nodes.

const ui = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  // characters that hide, reorder or break adjacent text, and lone surrogates
  const HIDDEN =
    /[\u061c\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

  /** Replace each hidden character by its code, such as ‹202E› for U+202E. */
  const shown = (text) =>
    String(text).replace(HIDDEN, (one) => `‹${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);

  /** The language of a text, guessed from its script: "zh", "ja", "ko" or "". */
  const languageOf = (text) => {
    const start = String(text).slice(0, 400);
    if (/[\u3040-\u30ff]/.test(start)) return "ja";
    if (/[\uac00-\ud7af]/.test(start)) return "ko";
    return /[\u4e00-\u9fff]/.test(start) ? "zh" : "";
  };

  const fill = (element, attributes, children) => {
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children.flat(Infinity)) {
      if (child !== null && child !== undefined && child !== "") element.append(child);
    }
    return element;
  };

  /** Create an element: el("p", {class: "soft", onclick: f}, "text", other). Strings become text nodes. */
  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

  /** Create an SVG element. */
  const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  /** Create an element for a text of a crawled page, with its direction isolated and its language set. */
  const words = (text, tag = "bdi", attributes = {}) =>
    el(tag, { dir: "auto", lang: languageOf(text) || null, ...attributes }, shown(text));

  /** Create a link for an http or https URL of a crawled page, and a text for any other. */
  const link = (url, label = url) => {
    let scheme = "";
    try {
      scheme = new URL(url).protocol;
    } catch {
      // not a URL: shown as text
    }
    if (scheme !== "http:" && scheme !== "https:") return el("bdi", { dir: "ltr" }, shown(label));
    const rules = { href: url, rel: "noreferrer noopener nofollow", target: "_blank" };
    return el("a", rules, el("bdi", { dir: "ltr" }, shown(label)));
  };

  /** Create the badge of a relation, with the symbol and colour of `base.css`. */
  const badge = (kind, label = kind) => el("span", { class: `badge ${kind}` }, label);

  /** Decode base64; the loop is for browsers without Uint8Array.fromBase64. */
  const decoded = (text) => {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const characters = atob(text);
    const bytes = new Uint8Array(characters.length);
    for (let at = 0; at < characters.length; at += 1) bytes[at] = characters.charCodeAt(at);
    return bytes;
  };

  /** Read the data in the script element with this id, deflated or not. */
  const read = async (id) => {
    const element = document.getElementById(id);
    if (element.type === "application/json") return JSON.parse(element.textContent);
    const bytes = decoded(element.textContent);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  };

  const THEMES = { "": "System", light: "Light", dark: "Dark" };

  const setTheme = (button, theme) => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    button.querySelector("[data-theme-name]").textContent = THEMES[theme];
    button.setAttribute("aria-label", `Theme: ${THEMES[theme]}`);
  };

  /** Show the button that cycles through the themes; the choice is stored if the browser allows it. */
  const offerThemes = () => {
    const button = document.querySelector("[data-theme-toggle]");
    if (!button) return;
    const memory = {
      get: () => { try { return localStorage.getItem("dedupcrawl-theme") ?? ""; } catch { return ""; } },
      set: (theme) => { try { localStorage.setItem("dedupcrawl-theme", theme); } catch { /* storage is blocked */ } },
    };
    let theme = memory.get() in THEMES ? memory.get() : "";
    const order = Object.keys(THEMES);
    setTheme(button, theme);
    button.hidden = false;
    button.addEventListener("click", () => {
      theme = order[(order.indexOf(theme) + 1) % order.length];
      setTheme(button, theme);
      memory.set(theme);
    });
  };

  offerThemes();
  return { el, svg, words, link, badge, read, shown, languageOf };
})();
