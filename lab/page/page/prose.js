// Numbers in the prose that can be dragged: `<span data-knob="lag"></span>` shows a knob and turns it.
import { nearest } from "./address.js";

// How far a drag goes for the whole range, in pixels of the page.
const RANGE_PIXELS = 300;

export class Prose {
  constructor(show) {
    this.show = show;
    for (const number of show.main.querySelectorAll("[data-knob]")) this.bind(number);
  }

  bind(number) {
    const { controls } = this.show;
    const knob = controls.knobs.get(number.dataset.knob);
    Object.assign(number, { className: "drag", tabIndex: 0 });
    number.setAttribute("role", "slider");
    number.setAttribute("aria-valuemin", knob.low);
    number.setAttribute("aria-valuemax", knob.high);
    number.setAttribute("aria-label", knob.label ?? knob.name);
    number.title = "Drag to change, or use the arrow keys";
    const before = knob.reflect;
    knob.reflect = (value) => {
      before?.(value);
      number.textContent = value;
      number.setAttribute("aria-valuenow", value);
    };
    knob.reflect(knob.value);
    const set = (value) => controls.set(knob.name, nearest(value, knob));
    number.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      number.focus();
      number.setPointerCapture(event.pointerId);
      this.from = { x: event.clientX, value: knob.value };
    });
    number.addEventListener("pointermove", ({ pointerId, clientX }) => {
      if (!number.hasPointerCapture(pointerId)) return;
      set(this.from.value + ((clientX - this.from.x) / RANGE_PIXELS) * (knob.high - knob.low));
    });
    number.addEventListener("keydown", (event) => {
      const steps = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 }[event.code];
      if (!steps) return;
      event.preventDefault();
      event.stopPropagation();
      const stride = Math.max(knob.step, (knob.high - knob.low) / 50);
      set(knob.value + steps * stride);
    });
  }
}
