// Pairs of texts in one picture whose boxes overlap by more than a pixel, in both directions.
(() => {
  const found = [];
  for (const picture of document.querySelectorAll("figure svg")) {
    if (!picture.checkVisibility()) continue;
    const texts = [...picture.querySelectorAll("text")].filter((it) => it.textContent.trim());
    // A box has space above and below its letters, which is nobody's.
    const boxes = texts.map((it) => {
      const { left, right, top, bottom } = it.getBoundingClientRect();
      const spare = 0.2 * (bottom - top);
      return { left, right, top: top + spare, bottom: bottom - spare, said: it.textContent.trim() };
    });
    boxes.forEach((a, place) => boxes.slice(0, place).forEach((b) => {
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const along = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && along > 1) found.push([b.said, a.said]);
    }));
  }
  return found;
})()
