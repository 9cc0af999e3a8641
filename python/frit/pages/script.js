// Zooms and pans the drawings, sorts tables, and opens the target of a link. Without the script the page is complete but static.
document.querySelectorAll(".drawing").forEach(function (figure) {
  const svg = figure.querySelector("svg");
  const whole = svg.viewBox.baseVal;
  const home = [whole.x, whole.y, whole.width, whole.height];
  let box = first(), held = null, moved = false;
  function first() {
    // A large graph begins at its first step, in readable size, instead of shrinking to fit.
    const seen = Math.max(1, svg.clientWidth), width = home[2] < 1.3 * seen ? Math.max(home[2], seen) : seen;
    const height = width * svg.clientHeight / seen;
    const middle = home[2] > width ? Number(svg.dataset.x) : home[0] + home[2] / 2;
    return [middle - width / 2, home[1], width, Math.max(height, 1)];
  }
  function show() { svg.setAttribute("viewBox", box.join(" ")); }
  function zoom(factor, x, y) {
    box = [x - (x - box[0]) * factor, y - (y - box[1]) * factor, box[2] * factor, box[3] * factor];
    show();
  }
  function at(event) {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return [point.x, point.y];
  }
  show();
  svg.addEventListener("wheel", function (event) {
    if (!event.ctrlKey && !event.metaKey && !figure.contains(document.activeElement)) { return; }
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, ...at(event));
  }, { passive: false });
  svg.addEventListener("pointerdown", function (event) { held = at(event); moved = false; });
  svg.addEventListener("pointermove", function (event) {
    if (!held) { return; }
    const now = at(event);
    if (Math.abs(now[0] - held[0]) + Math.abs(now[1] - held[1]) > 3) { moved = true; svg.setPointerCapture(event.pointerId); }
    if (moved) { box[0] += held[0] - now[0]; box[1] += held[1] - now[1]; show(); }
  });
  svg.addEventListener("pointerup", function () { held = null; });
  svg.addEventListener("pointercancel", function () { held = null; });
  svg.addEventListener("click", function (event) { if (moved) { event.preventDefault(); } }, true);
  figure.querySelectorAll("button").forEach(function (button) {
    button.addEventListener("click", function () {
      const middle = [box[0] + box[2] / 2, box[1] + box[3] / 2];
      if (button.value === "all") { box = home.slice(); show(); } else if (button.value === "home") { box = first(); show(); }
      else { zoom(Number(button.value), ...middle); }
    });
  });
});
document.querySelectorAll("table.sorts th").forEach(function (head) {
  head.addEventListener("click", function () {
    const body = head.closest("table").tBodies[0], column = head.cellIndex, down = head.dataset.down !== "1";
    head.dataset.down = down ? "1" : "0";
    const key = function (row) { const cell = row.cells[column]; return cell.dataset.sort !== undefined ? Number(cell.dataset.sort) : cell.textContent; };
    Array.from(body.rows).sort(function (a, b) {
      const x = key(a), y = key(b), order = x < y ? -1 : x > y ? 1 : 0;
      return down ? -order : order;
    }).forEach(function (row) { body.appendChild(row); });
  });
});
function reveal() {
  const found = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let node = found; node && node.closest; node = node.parentElement) { if (node.tagName === "DETAILS") { node.open = true; } }
  if (found) { found.scrollIntoView(); }
}
window.addEventListener("hashchange", reveal);
reveal();
