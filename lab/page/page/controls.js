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
    this.addSheet();
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
    for (const { name, value, usual } of this.knobs.values()) if (value !== usual) this.show.turn(name, value);
  }

  restore(knob) {
    const value = numberAt(knob.name, knob);
    if (value !== knob.usual) {
      knob.value = value;
      this.show.turn(knob.name, value);
    }
    knob.reflect?.(knob.value);
  }

  // On a phone the panel is a sheet at the bottom: its first group is always in sight, the rest opens.
  addSheet() {
    const handle = element("button", "handle");
    handle.type = "button";
    const reflect = () => {
      const isOpen = this.place.classList.contains("open");
      handle.textContent = isOpen ? "Fewer controls" : "More controls";
      handle.setAttribute("aria-expanded", isOpen);
    };
    handle.addEventListener("click", () => {
      this.place.classList.toggle("open");
      reflect();
    });
    reflect();
    this.place.append(handle);
  }

  togglePause() {
    this.show.transport.togglePause();
  }

  addGroup({ title, controls }) {
    const panel = this.panel(title);
    for (const control of controls) {
      const knob = this.knobs.get(control.knob);
      const make = control.isSwitch ? "toggle" : control.choices ? "choices" : "slider";
      panel.append(this[make](knob, control));
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
    knob.label = label;
    const control = element("div", "control");
    control.title = explain;
    const row = element("div", "row");
    const name = element("label");
    const output = element("output");
    const input = element("input");
    const id = `knob-${knob.name}`;
    Object.assign(name, { htmlFor: id, textContent: label });
    Object.assign(input, { id, type: "range", min: knob.low, max: knob.high, step: knob.step, name: knob.name });
    knob.reflect = (value) => {
      input.value = value;
      output.textContent = `${shown(Number(value))} ${unit}`;
      input.setAttribute("aria-valuetext", output.textContent);
    };
    input.addEventListener("input", () => this.set(knob.name, Number(input.value)));
    row.append(name, output);
    control.append(row, input);
    return control;
  }

  // A switch: what it does, its key, and what its absence shows.
  toggle(knob, { label, key, explain }) {
    knob.label = label;
    const control = element("label", "control switch");
    const input = element("input");
    Object.assign(input, { type: "checkbox", name: knob.name, value: 1 });
    const text = element("span");
    text.append(label);
    if (key) {
      const press = element("kbd");
      press.textContent = key;
      text.append(" ", press);
    }
    const words = element("small");
    words.textContent = explain;
    text.append(words);
    knob.reflect = (value) => (input.checked = value > 0);
    input.addEventListener("change", () => this.set(knob.name, input.checked ? 1 : 0));
    control.append(input, text);
    return control;
  }

  choices(knob, { label, choices, select, explain = "" }) {
    const control = element("div", "control");
    control.title = explain;
    if (label) {
      const row = element(select ? "label" : "div", "row");
      row.textContent = label;
      if (select) row.htmlFor = `knob-${knob.name}`;
      control.append(row);
    }
    knob.label = label;
    if (select) {
      const list = element("select");
      Object.assign(list, { name: knob.name, id: `knob-${knob.name}` });
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
