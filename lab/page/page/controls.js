// Sliders and choices for a scene's knobs. Ranges come from Rust, labels from the scene's module.
import { numberAt, remember } from "./address.js";

export const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];

export class Controls {
  constructor(place, show) {
    this.place = place;
    this.show = show;
    this.knobs = new Map();
    for (const line of show.stage.knobs().split("\n")) {
      const [name, ...numbers] = line.split(" ");
      const [low, high, step, usual] = numbers.map(Number);
      this.knobs.set(name, { name, low, high, step, usual, value: usual });
    }
    this.addTime();
    for (const group of show.scene.controls) this.addGroup(group);
    for (const knob of this.knobs.values()) this.restore(knob);
  }

  value(name) {
    return this.knobs.get(name).value;
  }

  // Sets a knob as if the user had moved its control.
  set(name, value) {
    const knob = this.knobs.get(name);
    knob.value = value;
    remember(name, value, knob.usual);
    knob.reflect?.(value);
    this.show.turn(name, value);
  }

  // Called after the scene was created again.
  turnAll() {
    for (const { name, value, usual } of this.knobs.values()) if (value !== usual) this.show.stage.turn(name, value);
  }

  restore(knob) {
    const value = numberAt(knob.name, knob);
    if (value !== knob.usual) {
      knob.value = value;
      this.show.stage.turn(knob.name, value);
    }
    knob.reflect?.(knob.value);
  }

  addTime() {
    const panel = this.panel("Time");
    const buttons = element("div", "buttons");
    const pause = element("button");
    // As wide as its longer label, so that pausing moves nothing.
    pause.style.minWidth = "6.4rem";
    const paused = () => {
      pause.textContent = this.show.isPaused ? "▶ Play" : "❚❚ Pause";
      pause.setAttribute("aria-pressed", this.show.isPaused);
    };
    pause.title = "Key P, and the space bar in scenes without firing";
    this.togglePause = () => {
      this.show.isPaused = !this.show.isPaused;
      remember("paused", this.show.isPaused ? "1" : "", "");
      paused();
    };
    pause.addEventListener("click", this.togglePause);
    paused();
    const speed = element("select");
    speed.setAttribute("aria-label", "Speed");
    speed.style.width = "4.9rem";
    for (const times of SPEEDS) {
      const option = element("option");
      option.value = times;
      option.textContent = `${times} ×`;
      option.selected = times === this.show.speed;
      speed.append(option);
    }
    speed.addEventListener("change", () => {
      this.show.speed = Number(speed.value);
      remember("speed", speed.value, 1);
    });
    const dice = element("button");
    dice.textContent = "↻ Other dice";
    dice.title = "Start again with another seed";
    dice.addEventListener("click", () => this.show.again(this.show.seed + 1));
    const wrap = element("div", "control");
    buttons.append(pause, wrap, dice);
    wrap.append(speed);
    wrap.style.margin = 0;
    panel.append(buttons);
  }

  addGroup({ title, controls }) {
    const panel = this.panel(title);
    for (const control of controls) {
      const knob = this.knobs.get(control.knob);
      panel.append(control.choices ? this.choices(knob, control) : this.slider(knob, control));
    }
  }

  panel(title) {
    const panel = element("section", "panel");
    const heading = element("h2");
    heading.textContent = title;
    panel.append(heading);
    this.place.append(panel);
    return panel;
  }

  slider(knob, { label, unit = "", explain = "", shown = (value) => value }) {
    const control = element("label", "control");
    control.title = explain;
    const row = element("span", "row");
    const name = element("span");
    name.textContent = label;
    const output = element("output");
    const input = element("input");
    Object.assign(input, { type: "range", min: knob.low, max: knob.high, step: knob.step, name: knob.name });
    knob.reflect = (value) => {
      input.value = value;
      output.textContent = `${shown(Number(value))} ${unit}`;
    };
    input.addEventListener("input", () => this.set(knob.name, Number(input.value)));
    row.append(name, output);
    control.append(row, input);
    return control;
  }

  choices(knob, { label, choices, select, explain = "" }) {
    const control = element("div", "control");
    control.title = explain;
    if (label) {
      const row = element("div", "row");
      row.textContent = label;
      control.append(row);
    }
    if (select) {
      const list = element("select");
      list.name = knob.name;
      list.setAttribute("aria-label", label);
      const words = element("small");
      choices.forEach((choice, value) => {
        const option = element("option");
        Object.assign(option, { value, textContent: [choice].flat()[0] });
        list.append(option);
      });
      list.addEventListener("change", () => this.set(knob.name, Number(list.value)));
      knob.reflect = (value) => {
        list.value = value;
        words.textContent = [choices[value]].flat()[1] ?? "";
      };
      control.append(list, words);
      return control;
    }
    const group = element("div", "choices");
    group.setAttribute("role", "radiogroup");
    group.setAttribute("aria-label", label ?? knob.name);
    const inputs = choices.map(([title, words], value) => {
      const one = element("label");
      const input = element("input");
      Object.assign(input, { type: "radio", name: knob.name, value });
      input.addEventListener("change", () => this.set(knob.name, value));
      const text = element("span");
      text.textContent = title;
      if (words) {
        const small = element("small");
        small.textContent = words;
        text.append(small);
      }
      one.append(input, text);
      group.append(one);
      return input;
    });
    knob.reflect = (value) => inputs.forEach((input, number) => (input.checked = number === value));
    control.append(group);
    return control;
  }
}

export function element(tag, className = "") {
  const made = document.createElement(tag);
  if (className) made.className = className;
  return made;
}
