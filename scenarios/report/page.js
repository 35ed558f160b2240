"use strict";
// Tables are sorted by the buttons in their heads: numerically, missing numbers last; the sort is stable.
(() => {
  const key = (row, column, numbers) => {
    const cell = row.cells[column];
    if (!numbers) return cell.textContent.trim().toLocaleLowerCase("en");
    const value = cell.dataset.value;
    return value === undefined || value === "" ? NaN : Number(value);
  };

  const sort = (table, column, head) => {
    const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const numbers = head.dataset.kind === "number";
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row, place) => ({ row, place, key: key(row, column, numbers) }));
    rows.sort((a, b) => {
      if (numbers) {
        const noA = Number.isNaN(a.key), noB = Number.isNaN(b.key);
        if (noA || noB) return noA - noB || a.place - b.place;
        return a.key === b.key ? a.place - b.place : direction * (a.key < b.key ? -1 : 1);
      }
      return direction * a.key.localeCompare(b.key, "en", { numeric: true }) || a.place - b.place;
    });
    body.append(...rows.map((each) => each.row));
    for (const other of table.tHead.rows[0].cells) {
      if (other !== head) other.setAttribute("aria-sort", "none");
    }
    head.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    Array.from(table.tHead.rows[0].cells, (head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.addEventListener("click", () => sort(table, column, head));
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
    });
  }
})();
