for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.querySelectorAll("th[aria-sort]")];
  heads.forEach((head) => {
    head.querySelector("button").addEventListener("click", () => {
      const column = head.cellIndex;
      const rising = head.getAttribute("aria-sort") === "descending";
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const body = table.tBodies[0];
      const key = (row) => row.cells[column].dataset.key;
      const order = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === "" || y === "") return (x === "") - (y === "");
        const text = Number.isNaN(Number(x)) || Number.isNaN(Number(y));
        const ahead = text ? x.localeCompare(y) : Number(x) - Number(y);
        return rising ? ahead : -ahead;
      };
      [...body.rows].sort(order).forEach((row) => body.append(row));
    });
  });
}
