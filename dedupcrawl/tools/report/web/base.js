"use strict";
// Shared by all pages. Texts of crawled pages are never parsed as markup: elements are created one by one, and texts
// are added as text nodes.

// The language of the page, and its messages: `html_bundle.py` does the same where a page is made.
const language = (() => {
  const NAMES = { en: "English", "zh-CN": "中文" };
  const PLACEHOLDER = /\{(\w+)\}/;
  const NESTED = new Set(["what", "why", "parts"]); // placeholders whose values are sentences, or a list of them
  const NUMBERS = new Set(["n", "m", "all", "some", "kept", "dropped", "unchecked", "similarity"]); // the others are texts
  const NUMBER = "[\\d.,]+(?: of [\\d.,]+)?";
  const memory = {
    get: () => { try { return localStorage.getItem("dedupcrawl-language"); } catch { return null; } },
    set: (name) => { try { localStorage.setItem("dedupcrawl-language", name); } catch { /* storage is blocked */ } },
  };
  const root = document.documentElement;
  const other = document.querySelector("template[data-language]");

  /** Whether the page is wanted in the other language: chosen here before, or the first that the browser asks for. */
  const isOtherWanted = () => {
    const [here, there] = [root.lang, other.dataset.language];
    const chosen = memory.get();
    if (chosen === here || chosen === there) return chosen === there;
    return navigator.language.toLowerCase().startsWith(there.slice(0, 2));
  };

  /** Offer the language that is not shown; the page is loaded again, since its scripts hold on to its elements. */
  const offer = (name) => {
    const button = document.querySelector("[data-language-toggle]");
    button.textContent = NAMES[name];
    button.lang = name;
    button.hidden = false;
    button.addEventListener("click", () => {
      memory.set(name);
      location.reload();
    });
  };

  if (other) {
    const before = root.lang;
    const isOther = isOtherWanted();
    if (isOther) {
      document.getElementById("body").replaceChildren(other.content);
      root.lang = other.dataset.language;
      document.title = other.dataset.title;
    }
    offer(isOther ? before : other.dataset.language);
  }

  const catalogue = document.getElementById(`messages-${root.lang}`);
  const { messages, sentences } = catalogue ? JSON.parse(catalogue.textContent) : { messages: {}, sentences: {} };
  const known = (table, text) => (Object.hasOwn(table, text) ? table[text] : undefined);
  const filled = (text, values) =>
    text.replace(/\{(\w+)\}/g, (whole, name) => (Object.hasOwn(values, name) ? values[name] : whole));

  /** A message of the page with its values. */
  const message = (text, values = {}) => filled(known(messages, text) ?? text, values);

  const patternOf = (sentence) => {
    const parts = sentence.split(PLACEHOLDER).map((piece, at) =>
      (at % 2 ? `(?<${piece}>${NUMBERS.has(piece) ? NUMBER : ".+?"})` : piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")));
    return new RegExp(`^${parts.join("")}$`, "s");
  };
  const words = (text) => text.replace(/\{\w+\}/g, "").length;
  const patterns = Object.keys(sentences)
    .filter((each) => PLACEHOLDER.test(each))
    .sort((one, two) => words(two) - words(one))
    .map((each) => [patternOf(each), sentences[each]]);

  const part = (name, text) => {
    if (name === "parts") return text.split(", ").map(sentence).join("，");
    if (NUMBERS.has(name)) return text.replace(" of ", "/");
    return NESTED.has(name) ? sentence(text) : text;
  };

  /** A sentence that came in English with the data. */
  const sentence = (text) => {
    const exact = known(sentences, text);
    if (exact !== undefined) return exact;
    for (const [pattern, translation] of patterns) {
      const found = pattern.exec(text)?.groups;
      if (found) {
        return filled(translation, Object.fromEntries(Object.entries(found).map(([name, one]) => [name, part(name, one)])));
      }
    }
    return text;
  };

  return { message, sentence };
})();
const tr = language.message;
const told = language.sentence;

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
  const badge = (kind, label = told(kind)) => el("span", { class: `badge ${kind}` }, label);

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

  const THEMES = { "": tr("System"), light: tr("Light"), dark: tr("Dark") };

  const setTheme = (button, theme) => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    button.querySelector("[data-theme-name]").textContent = THEMES[theme];
    button.setAttribute("aria-label", tr("Theme: {name}", { name: THEMES[theme] }));
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
