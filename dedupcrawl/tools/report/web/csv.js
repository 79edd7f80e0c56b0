"use strict";
// Tables as CSV files (RFC 4180), made in the browser without a request: comma, CRLF, UTF-8 with a byte order mark, by
// which spreadsheets recognise the encoding.

const csv = (() => {
  // A spreadsheet would run such a text as a formula, which a crawled page may have put there (OWASP, "CSV Injection").
  // Full-width signs are formulas too in some languages.
  const FORMULA = /^[\s\u0000-\u0020]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;
  const NUMBER = /^-?\d{1,3}(?:,\d{3})*(?:\.\d+)?$/;

  /** A field: numbers as they are; texts in quotes, and after an apostrophe where they would be a formula. */
  const field = (value) => {
    if (value === null || value === undefined || value === "") return "";
    if (typeof value === "number") return String(value);
    const text = FORMULA.test(value) ? `'${value}` : value;
    return `"${text.replaceAll('"', '""')}"`;
  };

  const text = (rows) => rows.map((row) => `${row.map(field).join(",")}\r\n`).join("");

  const save = (name, rows) => {
    const file = new Blob(["\ufeff", text(rows)], { type: "text/csv" });
    const address = URL.createObjectURL(file);
    ui.el("a", { href: address, download: `dedupcrawl-${name.replace(/[^\w.-]+/g, "-")}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  };

  /** A button that saves what `rows` returns when it is pressed: the names of the columns, then the rows as shown. */
  const button = (name, rows) =>
    ui.el("button", { type: "button", class: "csv", onclick: () => save(name, rows()) }, tr("Save as CSV"));

  const valueOf = (cell) => {
    const shown = (cell.querySelector("bdi[title]")?.title || cell.textContent).trim().replace(/\s+/g, " ");
    return cell.classList.contains("num") && NUMBER.test(shown) ? Number(shown.replaceAll(",", "")) : shown;
  };

  /** The rows of a table of the page, without drawings. */
  const rowsOf = (table) =>
    [...table.rows].map((row) => [...row.cells].filter((cell) => !("drawn" in cell.dataset)).map(valueOf));

  /** Put a button under each table that was made with the page. */
  const start = () => {
    for (const each of document.querySelectorAll("table[data-csv]")) {
      const box = each.closest(".scroll") ?? each;
      box.after(ui.el("p", { class: "saving" }, button(each.dataset.csv, () => rowsOf(each))));
    }
  };

  return { start, button, text };
})();
csv.start();
