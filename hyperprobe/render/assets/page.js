"use strict";
// The page is whole without this script: it sorts, filters and saves tables, and shows two models.
const make = (tag, properties, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
const text = (cell) => cell.textContent.trim();

// Sort a table by a column: numbers by value ("79.7 [75.1, 83.0]" is 79.7), dashes last, words by
// letter.
function sortKey(cell) {
  const plain = text(cell).replace(/[,\s]/g, "").replace("−", "-");
  if (plain === "" || plain === "–") return null;
  if (plain.startsWith("<")) return 0;
  const number = parseFloat(plain);
  return Number.isNaN(number) ? text(cell).toLowerCase() : number;
}
function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b));
}
function sortable(table, header) {
  const button = make("button", { type: "button" }, ...header.childNodes);
  header.append(button);
  button.addEventListener("click", () => {
    const down = header.getAttribute("aria-sort") !== "descending";
    table.querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = Array.from(table.tBodies[0].rows, (row) => [sortKey(row.cells[header.cellIndex]), row]);
    const known = rows.filter(([key]) => key !== null).sort(([a], [b]) => compare(a, b));
    if (down) known.reverse();
    const unknown = rows.filter(([key]) => key === null);
    known.concat(unknown).forEach(([, row]) => table.tBodies[0].append(row));
  });
}

// Rows are hidden by the table's filter or by the choice of two models, columns by the latter.
const models = JSON.parse(document.querySelector("main").dataset.models);
let picked = [];
const prefix = /^(control|control-bare|shuffled|random):/;
function modelOf(words) {
  const name = words.replace(prefix, "");
  const found = models.filter((model) => name === model || name.startsWith(`${model} (`) || name.startsWith(`${model}, `));
  return found.sort((a, b) => b.length - a.length)[0];
}
const isLeftOut = (words) => picked.length && modelOf(words) && !picked.includes(modelOf(words));
function show(table) {
  const heads = Array.from(table.tHead.rows[0].cells, text);
  const hidden = heads.map((head, i) => i > 0 && isLeftOut(head));
  const column = Math.max(0, heads.indexOf("model"));
  const wanted = (table.filterBox ? table.filterBox.value : "").toLowerCase();
  for (const row of table.tBodies[0].rows) {
    row.hidden = isLeftOut(text(row.cells[column])) || !row.textContent.toLowerCase().includes(wanted);
  }
  for (const row of table.rows) {
    hidden.forEach((hide, i) => { row.cells[i].hidden = hide; });
  }
}

function csv(table) {
  const quote = (words) => (/[",\n]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words);
  const line = (row) => Array.from(row.cells, (cell) => quote(text(cell))).join(",");
  return `${Array.from(table.rows, line).join("\n")}\n`;
}
function save(table) {
  const name = `${text(table.caption).replace(/[^\w]+/g, "-").toLowerCase().slice(0, 60)}.csv`;
  const link = make("a", { download: name, href: URL.createObjectURL(new Blob([csv(table)])) });
  link.click();
  URL.revokeObjectURL(link.href);
}

const FILTERED = 8; // rows from which on a table has a filter
const tables = Array.from(document.querySelectorAll("main table"));
for (const table of tables) {
  const box = table.closest(".scroll");
  const title = text(table.caption);
  for (const header of table.tHead.rows[0].cells) sortable(table, header);
  const tools = make("div", { className: "tools" });
  if (table.tBodies[0].rows.length >= FILTERED) {
    table.filterBox = make("input", { type: "search", placeholder: "filter rows" });
    table.filterBox.setAttribute("aria-label", `Filter the rows of: ${title}`);
    table.filterBox.addEventListener("input", () => show(table));
    tools.append(table.filterBox);
  }
  const button = make("button", { type: "button", textContent: "CSV" });
  button.setAttribute("aria-label", `Save as CSV: ${title}`);
  button.addEventListener("click", () => save(table));
  tools.append(button);
  box.after(tools);
  const hint = make("span", { className: "hint", textContent: "the table scrolls sideways →" });
  const measure = () => { hint.hidden = box.scrollWidth <= box.clientWidth + 1 || box.scrollLeft > 8; };
  tools.append(hint);
  box.addEventListener("scroll", measure, { passive: true });
  new ResizeObserver(measure).observe(box);
}

const contents = document.getElementById("contents");
const wide = matchMedia("(min-width: 70rem)");
const unfold = () => { contents.open = wide.matches; };
wide.addEventListener("change", unfold);
unfold();

if (models.length > 2) {
  const choice = (label) => {
    const all = [make("option", { value: "", textContent: "any" })];
    const select = make("select", {}, ...all, ...models.map((name) => make("option", { value: name, textContent: name })));
    return [select, make("label", {}, label, select)];
  };
  const [[one, first], [other, second]] = [choice("Show only "), choice("beside ")];
  const pick = () => {
    picked = [one.value, other.value].filter(Boolean);
    tables.forEach(show);
  };
  one.addEventListener("change", pick);
  other.addEventListener("change", pick);
  contents.append(make("div", { className: "pick" }, first, second));
}
