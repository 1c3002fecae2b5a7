// Tables of the class "sortable" sort by any column: up, down, and back to how they came.
{
  const SECONDS = { "µs": 1e-6, ms: 1e-3, s: 1, min: 60 };
  const NUMBER = /^([+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|∞))(?:·10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?(?![\w.:/-])/;
  const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

  // The number that a text begins with, whatever unit or interval follows; NaN if there is none.
  const number = (text) => {
    const found = NUMBER.exec(text);
    if (!found) return NaN;
    const power = found[2] ? [...found[2]].map((c) => (c === "⁻" ? "-" : RAISED.indexOf(c))).join("") : "0";
    const value = Number(`${found[1].replace("∞", "Infinity")}`) * 10 ** Number(power);
    const times = [...text.matchAll(/([\d.]+) (µs|ms|s|min)(?= |$)/g)];
    return times.length ? times.reduce((sum, [, much, unit]) => sum + much * SECONDS[unit], 0) : value;
  };
  const shown = (cell) =>
    (cell.dataset.key ?? cell.textContent).trim().replaceAll("−", "-").replaceAll("\u00a0", " ");
  const missing = (text) => text === "" || text === "–";

  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const original = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const texts = original.map((row) => shown(row.cells[column]));
      const numeric = texts.every((text) => missing(text) || !Number.isNaN(number(text)));
      const keys = new Map(original.map((row, place) => [row, texts[place]]));
      const compare = (a, b) => numeric
        ? (number(a) === number(b) ? 0 : number(a) - number(b))
        : a.localeCompare(b, "en", { numeric: true });
      // Of numbers the largest first, of names the first in the alphabet.
      const cycle = numeric ? ["descending", "ascending", "none"] : ["ascending", "descending", "none"];
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const next = cycle[(cycle.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
        heads.forEach((other) => other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", next);
        const sign = next === "ascending" ? 1 : -1;
        const order = (first, second) => {
          const [a, b] = [keys.get(first), keys.get(second)];
          // What does not exist stays at the end.
          return missing(a) || missing(b) ? missing(a) - missing(b) : sign * compare(a, b);
        };
        body.append(...(next === "none" ? original : [...body.rows].sort(order)));
      });
    });
  }
}
