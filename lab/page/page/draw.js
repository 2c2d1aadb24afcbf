// Drawing on a canvas: sizes, colours, a camera, and the few shapes that scenes share.

const TANK_LENGTH = 6;
const TANK_WIDTH = 2.8;
const dark = matchMedia("(prefers-color-scheme: dark)");
let colours = {};

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["paper", "panel", "ink", "quiet", "line", "accent", "field", "near", "middle", "far", "one", "two", "three"];
  colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}
readColours();
dark.addEventListener("change", readColours);

export const colour = (name) => colours[name];
// The page's six colours in the order in which Rust counts them, and its three strokes.
export const HUES = ["near", "middle", "far", "one", "two", "three"];
export const dashes = (stroke) => [[], [8, 5], [2, 4]][stroke];
export const isDark = () => dark.matches;
export const scale = () => Math.min(2, devicePixelRatio || 1);

// Returns the cleared context of a canvas, in the page's pixels, or nothing while it has no size.
export function begin(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const [w, h] = [Math.round(width * scale()), Math.round(height * scale())];
  if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
  const context = canvas.getContext("2d");
  context.setTransform(scale(), 0, 0, scale(), 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

// One of the stage's charts. plotters draws in the canvas's own pixels.
export function chart(stage, number, canvas) {
  const { context, width } = begin(canvas);
  if (width === 0) return;
  context.setTransform(1, 0, 0, 1, 0, 0);
  stage.chart(number, canvas, isDark(), scale());
}

// A chart of two lines over the last seconds, from numbers that only the page has.
export function curve(stage, pairs, every, canvas) {
  const { context, width } = begin(canvas);
  if (width === 0) return;
  context.setTransform(1, 0, 0, 1, 0, 0);
  stage.curve(new Float64Array(pairs.flat()), every, canvas, isDark(), scale());
}

export class Camera {
  constructor(unitsWide, unitsHigh) {
    Object.assign(this, { unitsWide, unitsHigh, x: 0, y: 0 });
  }

  // World to screen: y is up in the world.
  aim(width, height) {
    this.width = width;
    this.height = height;
    this.zoom = Math.min(width / this.unitsWide, height / this.unitsHigh);
  }

  point(x, y) {
    return [this.width / 2 + (x - this.x) * this.zoom, this.height / 2 - (y - this.y) * this.zoom];
  }

  grid(context, every) {
    context.strokeStyle = colour("line");
    context.lineWidth = 1;
    context.beginPath();
    const [left, top] = [this.x - this.width / 2 / this.zoom, this.y - this.height / 2 / this.zoom];
    for (let x = Math.ceil(left / every) * every; x < left + this.width / this.zoom; x += every) {
      const [px] = this.point(x, 0);
      context.moveTo(Math.round(px) + 0.5, 0);
      context.lineTo(Math.round(px) + 0.5, this.height);
    }
    for (let y = Math.ceil(top / every) * every; y < top + this.height / this.zoom; y += every) {
      const [, py] = this.point(0, y);
      context.moveTo(0, Math.round(py) + 0.5);
      context.lineTo(this.width, Math.round(py) + 0.5);
    }
    context.stroke();
  }

  path(context, points, style, { width = 1.5, dash = [], alpha = 1 } = {}) {
    context.save();
    Object.assign(context, { strokeStyle: style, lineWidth: width, globalAlpha: alpha, lineJoin: "round" });
    context.setLineDash(dash);
    context.beginPath();
    for (let index = 0; index + 1 < points.length; index += 2) {
      const [x, y] = this.point(points[index], points[index + 1]);
      if (index === 0) context.moveTo(x, y);
      else context.lineTo(x, y);
    }
    context.stroke();
    context.restore();
  }

  tank(context, x, y, heading, style, { ghost = false } = {}) {
    const [px, py] = this.point(x, y);
    const [length, width] = [TANK_LENGTH * this.zoom, TANK_WIDTH * this.zoom];
    context.save();
    context.translate(px, py);
    context.rotate(-heading);
    context.fillStyle = style;
    context.strokeStyle = style;
    context.lineWidth = 2;
    context.beginPath();
    context.roundRect(-length / 2, -width / 2, length, width, width / 5);
    context.globalAlpha = ghost ? 0.35 : 1;
    context.fill();
    context.globalAlpha = 1;
    context.stroke();
    // The barrel shows the heading.
    context.beginPath();
    context.moveTo(0, 0);
    context.lineTo(length * 0.72, 0);
    context.lineWidth = Math.max(2, width / 4);
    context.stroke();
    context.restore();
  }

  // A tank's outline: where it really is.
  outline(context, x, y, heading) {
    const [px, py] = this.point(x, y);
    const [length, width] = [TANK_LENGTH * this.zoom, TANK_WIDTH * this.zoom];
    context.save();
    context.translate(px, py);
    context.rotate(-heading);
    Object.assign(context, { strokeStyle: colour("ink"), lineWidth: 1.5 });
    context.setLineDash([4, 3]);
    context.strokeRect(-length / 2, -width / 2, length, width);
    context.restore();
  }

  // An arrow from the true to the shown position; `beside` shifts it sideways, in pixels.
  arrow(context, fromX, fromY, toX, toY, style, beside = 0) {
    let [x1, y1] = this.point(fromX, fromY);
    let [x2, y2] = this.point(toX, toY);
    const length = Math.hypot(x2 - x1, y2 - y1);
    if (length < 6) return;
    const [bx, by] = [(-(y2 - y1) / length) * beside, ((x2 - x1) / length) * beside];
    [x1, y1, x2, y2] = [x1 + bx, y1 + by, x2 + bx, y2 + by];
    context.strokeStyle = style;
    context.fillStyle = style;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    context.stroke();
    const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
    context.beginPath();
    context.moveTo(x2, y2);
    context.lineTo(x2 - ux * 9 - uy * 5, y2 - uy * 9 + ux * 5);
    context.lineTo(x2 - ux * 9 + uy * 5, y2 - uy * 9 - ux * 5);
    context.fill();
  }

  label(context, x, y, text, style, offset = [0, -14]) {
    const [px, py] = this.point(x, y);
    label(context, px + offset[0], py + offset[1], text, style);
  }
}

// Text with an outline, readable on any background.
export function label(context, x, y, text, style, align = "center") {
  Object.assign(context, { font: "600 13px system-ui, sans-serif", textAlign: align, textBaseline: "middle", lineJoin: "round" });
  context.strokeStyle = colour("field");
  context.lineWidth = 4;
  context.strokeText(text, x, y);
  context.fillStyle = style;
  context.fillText(text, x, y);
}
