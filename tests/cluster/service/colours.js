// Contrast as WCAG 2 defines it, of what the browser shows. Evaluated in the page; it gives two functions.
() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });

  /** A computed colour, in whatever notation, as [red, green, blue, alpha], alpha in [0, 1]. */
  function parse(colour) {
    if (colour === "none") return [0, 0, 0, 0];
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  }

  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));

  function luminance(colour) {
    const [r, g, b] = colour.slice(0, 3).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function ratio(one, other) {
    const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  }

  /** The opacity that an element has, with that of everything around it. */
  function opacity(node) {
    let found = 1;
    for (let at = node; at instanceof Element; at = at.parentElement) found *= Number(getComputedStyle(at).opacity);
    return found;
  }

  /** What an element paints behind what is above it. */
  function painted(node) {
    const style = getComputedStyle(node);
    const shape = node instanceof SVGGeometryElement;
    const colour = parse(node instanceof SVGLineElement ? "none" : shape ? style.fill : style.backgroundColor);
    colour[3] *= opacity(node) * (shape ? Number(style.fillOpacity) : 1);
    return colour;
  }

  /** The colour behind an element at a point; null where something else is above it, or it is cut off. */
  function behind(node, x, y) {
    const stack = document.elementsFromPoint(x, y);
    const at = stack.indexOf(node);
    if (at < 0 || stack.slice(0, at).some((each) => painted(each)[3] > 0.5)) return null;
    const below = stack.slice(at).map((each) => (each === node && node instanceof SVGElement ? [0, 0, 0, 0] : painted(each)));
    return below.reverse().reduce((found, colour) => over(colour, found), parse("Canvas").slice(0, 3));
  }

  function middle(box) {
    return [box.left + box.width / 2, box.top + box.height / 2];
  }

  function measure(node, words, box, colour) {
    if (!box || box.width < 2 || box.height < 2) return [];
    const ground = behind(node, ...middle(box));
    if (ground === null) return [];
    const ink = parse(colour);
    ink[3] *= opacity(node);
    return [{ words: words.slice(0, 40), where: node.id || node.getAttribute("class") || node.tagName, ratio: ratio(over(ink, ground), ground) }];
  }

  // Drawings that let clicks through are found at a point too.
  for (const node of document.querySelectorAll("svg *")) node.style.pointerEvents = "all";

  /** Each visible text, and what fields show: {words, where, ratio}. Only what is within the window counts. */
  function texts() {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode.parentElement;
      const words = walker.currentNode.textContent.trim();
      if (!words || node.closest("option, script")) continue;
      const range = document.createRange();
      range.selectNodeContents(walker.currentNode);
      const style = getComputedStyle(node);
      found.push(...measure(node, words, range.getClientRects()[0], node instanceof SVGElement ? style.fill : style.color));
    }
    for (const node of document.querySelectorAll("input:not([type=checkbox], [type=file]), select")) {
      const words = node.value || node.placeholder || "";
      const style = getComputedStyle(node, node.value ? null : "::placeholder");
      if (words) found.push(...measure(node, words, node.getBoundingClientRect(), style.color));
    }
    return found;
  }

  /** How much the fill of a drawn shape differs from what is behind it. */
  function shape(selector) {
    const node = document.querySelector(selector);
    const ground = behind(node, ...middle(node.getBoundingClientRect()));
    return ratio(over(painted(node), ground), ground);
  }

  return { texts, shape };
}
