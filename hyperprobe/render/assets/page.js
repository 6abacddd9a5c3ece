"use strict";
// Sort a table by a column: numbers by value ("79.7 ±3.4" is 79.7), dashes last, words by letter.
function sortKey(cell) {
  const text = cell.textContent.trim().replace(/[,\s]/g, "").replace("−", "-");
  if (text === "" || text === "–") return null;
  if (text.startsWith("<")) return 0;
  const number = parseFloat(text);
  return Number.isNaN(number) ? cell.textContent.trim().toLowerCase() : number;
}
function compare(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b));
}
document.querySelectorAll("table.sortable thead th").forEach((header) => {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...header.childNodes);
  header.append(button);
  button.addEventListener("click", () => {
    const table = header.closest("table");
    const column = header.cellIndex;
    const down = header.getAttribute("aria-sort") !== "descending";
    table.querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = Array.from(table.tBodies[0].rows, (row) => [sortKey(row.cells[column]), row]);
    const known = rows.filter(([key]) => key !== null).sort(([a], [b]) => compare(a, b));
    if (down) known.reverse();
    const unknown = rows.filter(([key]) => key === null);
    known.concat(unknown).forEach(([, row]) => table.tBodies[0].append(row));
  });
});
