// Sizes in pixels, as they are seen, of every text in pictures: the smallest first, with its words.
(() => {
  const found = [];
  for (const text of document.querySelectorAll("figure svg text, figure svg tspan")) {
    if (!text.textContent.trim() || !text.checkVisibility()) continue;
    const seen = text.getScreenCTM();
    if (!seen || text.getBoundingClientRect().width === 0) continue;
    const size = parseFloat(getComputedStyle(text).fontSize) * Math.hypot(seen.a, seen.b);
    found.push([size, text.textContent.trim().slice(0, 40), text.closest("figure").id]);
  }
  return found.sort((a, b) => a[0] - b[0]);
})()
