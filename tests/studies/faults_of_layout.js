// Say what is wrong with the layout of the page: text that leaves its box, or that can hardly be read.
(() => {
  const faults = new Set();
  const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflowX);
  const named = (element) => {
    const text = element.textContent.trim().replace(/\s+/g, " ").slice(0, 40);
    return `<${element.tagName.toLowerCase()}> "${text}"`;
  };

  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    faults.add(`the page is ${root.scrollWidth} px wide in a window of ${root.clientWidth}`);
  }

  const luminance = (colour) => {
    const linear = colour.slice(0, 3).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
  const behind = (element) => {
    for (let box = element; box; box = box.parentElement) {
      const colour = parts(getComputedStyle(box).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const text = range.getBoundingClientRect();
    if (text.width === 0) continue;
    if (element.closest("svg")) {
      const frame = element.closest("svg").getBoundingClientRect();
      const out = Math.max(frame.left - text.left, text.right - frame.right,
        frame.top - text.top, text.bottom - frame.bottom);
      if (out > 2) faults.add(`${named(element)} leaves its picture by ${Math.round(out)} px`);
      continue;
    }
    // Up to the first box that may scroll, every box must hold the text; those inside of a formula
    // are as large as its layout has them.
    for (let box = element.closest("math")?.parentElement ?? element; box && box !== root && !scrolls(box); box = box.parentElement) {
      if (getComputedStyle(box).display === "inline") continue;
      const edge = box.getBoundingClientRect();
      if (text.left < edge.left - 1 || text.right > edge.right + 1) {
        faults.add(`${named(element)} leaves its ${named(box)}`);
      }
      if (box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).overflowX !== "visible") {
        faults.add(`${named(box)} is cut off`);
      }
    }
    const [light, dark] = [parts(getComputedStyle(element).color), behind(element)]
      .map(luminance).sort((a, b) => b - a);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < 4.5) faults.add(`${named(element)} has a contrast of ${contrast.toFixed(1)}`);
  }
  return [...faults];
})()
