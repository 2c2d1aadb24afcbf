// Input: arrow keys or W A S D, the space bar, or an on-screen stick.
//
// Keys drive whatever was clicked last: after a click on a control the focus returns to the game. A control that was
// reached with the Tab key keeps its own keys.

const KEYS = {
  ArrowUp: [0, 1], KeyW: [0, 1], ArrowDown: [0, -1], KeyS: [0, -1],
  ArrowLeft: [-1, 0], KeyA: [-1, 0], ArrowRight: [1, 0], KeyD: [1, 0],
};

const held = new Set();
const isTyping = (event) => ["INPUT", "SELECT", "TEXTAREA"].includes(event.target?.tagName);
const isPressed = (event) => event.target?.closest?.("button, a, summary");

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { show } = window.fairpath ?? {};
  if (event.code === "Space" && !isPressed(event) && !isTyping(event)) {
    event.preventDefault();
    if (show?.scene.fires) held.add("Space");
    else if (!event.repeat) show?.controls.togglePause();
  } else if (event.code === "KeyP" && !event.repeat) {
    show?.controls.togglePause();
  } else if (/^Digit[1-9]$/.test(event.code) && !event.repeat) {
    show?.view.pressDigit?.(Number(event.code.slice(-1)));
  } else if (event.code in KEYS && show?.view.steers && !(isTyping(event) && event.code.startsWith("Arrow"))) {
    event.preventDefault();
    held.add(event.code);
  }
});
addEventListener("keyup", (event) => held.delete(event.code));
addEventListener("blur", () => held.clear());

// Whether the last input came from a mouse, pen or finger.
let isPointer = false;
addEventListener("pointerdown", () => (isPointer = true), true);
addEventListener("keydown", () => (isPointer = false), true);

// Returns the focus to the game after a pointer has used a control of a scene that is steered.
function giveBack(event) {
  const { show } = window.fairpath ?? {};
  const isControl = event.target.closest?.("input, select, button, label");
  if (!isPointer || !isControl || !show?.view.steers) return;
  // A list stays open until something is chosen in it.
  if (event.target.tagName === "SELECT" && event.type === "click") return;
  show.main.querySelector(".field")?.focus({ preventScroll: true });
}
addEventListener("click", giveBack);
addEventListener("change", giveBack);

export class Hands {
  constructor(main) {
    held.clear();
    this.stick = { x: 0, y: 0 };
    for (const stick of main.querySelectorAll(".stick")) this.bind(stick);
  }

  // A stick of one axis for each thumb, or one of both axes.
  bind(stick) {
    const axes = stick.dataset.axes ?? "xy";
    const move = (event) => {
      const { left, top, width, height } = stick.getBoundingClientRect();
      const x = axes.includes("x") ? ((event.clientX - left) / width) * 2 - 1 : 0;
      const y = axes.includes("y") ? 1 - ((event.clientY - top) / height) * 2 : 0;
      const length = Math.max(1, Math.sqrt(x * x + y * y));
      this.lean(stick, axes, x / length, y / length);
    };
    stick.addEventListener("pointerdown", (event) => {
      stick.setPointerCapture(event.pointerId);
      move(event);
    });
    // Not the pressure: many touch screens report none.
    stick.addEventListener("pointermove", (event) => stick.hasPointerCapture(event.pointerId) && move(event));
    for (const end of ["pointerup", "pointercancel"]) stick.addEventListener(end, () => this.lean(stick, axes, 0, 0));
  }

  // The on-screen button acts as the space bar.
  pull(isDown) {
    if (isDown) held.add("Space");
    else held.delete("Space");
  }

  lean(stick, axes, x, y) {
    if (axes.includes("x")) this.stick.x = x;
    if (axes.includes("y")) this.stick.y = y;
    stick.style.setProperty("--x", x);
    stick.style.setProperty("--y", y);
  }

  axis(which) {
    const keys = [...held].reduce((sum, code) => sum + (KEYS[code]?.[which] ?? 0), 0);
    const stick = which === 0 ? this.stick.x : this.stick.y;
    return Math.max(-1, Math.min(1, keys + stick));
  }

  get right() {
    return this.axis(0);
  }

  get ahead() {
    return this.axis(1);
  }

  get fires() {
    return held.has("Space");
  }
}
