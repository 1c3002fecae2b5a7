// Pictures open in a large view: by a click, or by their button; arrows lead to the next one.
{
  const dialog = document.getElementById("large");
  const pictures = [...document.querySelectorAll("figure:has(svg)")];
  const frame = dialog.querySelector(".frame");
  const title = (figure) =>
    figure.querySelector("h3")?.textContent ?? figure.querySelector("svg").getAttribute("aria-label");
  let place = 0;

  const show = (next) => {
    place = (next + pictures.length) % pictures.length;
    const figure = pictures[place];
    dialog.querySelector("h2").textContent = title(figure);
    dialog.querySelector("p").textContent = figure.querySelector("figcaption")?.textContent ?? "";
    frame.replaceChildren(figure.querySelector("svg").cloneNode(true));
    frame.scrollTo(0, 0);
  };
  const step = (by) => (by === 0 ? dialog.close() : show(place + by));

  pictures.forEach((figure, number) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "enlarge";
    button.textContent = "Enlarge";
    button.setAttribute("aria-haspopup", "dialog");
    button.setAttribute("aria-label", `Enlarge: ${title(figure)}`);
    figure.prepend(button);
    const open = () => {
      // Where the focus returns to.
      button.focus();
      show(number);
      dialog.showModal();
    };
    button.addEventListener("click", open);
    figure.querySelectorAll("svg").forEach((svg) => svg.addEventListener("click", open));
  });
  dialog.querySelectorAll("[data-step]").forEach((button) => {
    button.hidden = pictures.length < 2 && button.dataset.step !== "0";
    button.addEventListener("click", () => step(Number(button.dataset.step)));
  });
  dialog.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by) step(by);
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", () => frame.replaceChildren());
}
