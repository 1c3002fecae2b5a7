// A box that hides columns says so at its edge, and takes the focus, so that keys scroll it.
{
  const look = (box) => {
    const hidden = box.scrollWidth - box.clientWidth;
    box.classList.toggle("more", hidden > 1 && box.scrollLeft < hidden - 1);
    hidden > 1 ? box.setAttribute("tabindex", "0") : box.removeAttribute("tabindex");
  };
  const sizes = new ResizeObserver((seen) => seen.forEach((one) => look(one.target)));
  document.querySelectorAll(".scroll").forEach((box) => {
    box.addEventListener("scroll", () => look(box), { passive: true });
    sizes.observe(box);
  });
}
