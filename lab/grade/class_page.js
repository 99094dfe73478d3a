// Makes the columns of the table of students sortable. The table can be read without this script.
"use strict";
const table = document.getElementById("students-table");
const heads = [...table.tHead.rows[0].cells];

const value = (row, column, isNumber) => {
    const text = row.cells[column].textContent;
    return isNumber ? parseFloat(text) : text.toLowerCase();
};

function sort(column) {
    const head = heads[column], isNumber = head.classList.contains("r"), body = table.tBodies[0];
    const first = isNumber ? "descending" : "ascending", other = isNumber ? "ascending" : "descending";
    const order = head.ariaSort === first ? other : first, sign = order === "ascending" ? 1 : -1;
    for (const one of heads) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    const rows = [...body.rows].sort((x, y) => {
        const a = value(x, column, isNumber), b = value(y, column, isNumber);
        return sign * (a < b ? -1 : a > b ? 1 : 0);
    });
    body.append(...rows);
}

heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(column));
    head.append(button);
});
document.getElementById("sort-hint").hidden = false;
