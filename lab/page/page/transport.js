// Time: pause, step, scrub, speed, other dice, and a link to this moment. Every scene has it under its stage.
import { address, remember } from "./address.js";
import { SPEEDS, element } from "./controls.js";

const TICKS_PER_SECOND = 60;

export class Transport {
  constructor(place, show) {
    this.place = place;
    this.show = show;
    this.slow = 0;
    this.pause = this.button("", () => this.togglePause(), "Key P, and the space bar in scenes without firing");
    this.pause.className = "pause";
    this.back = this.button("−1 s", () => this.jump(-TICKS_PER_SECOND), "One second back");
    this.ahead = this.button("+1 tick", () => this.jump(1), "One tick ahead: 1/60 s");
    this.slider = element("input");
    Object.assign(this.slider, { type: "range", min: 0, step: 1, value: 0 });
    this.slider.setAttribute("aria-label", "Moment of this run");
    this.slider.addEventListener("input", () => this.scrub(Number(this.slider.value)));
    this.says = element("span", "clock");
    place.append(this.slider, this.says);
    this.addSpeed();
    this.button("↻ Other dice", () => show.again(show.seed + 1), "Start again with another seed");
    this.copy = this.button("Copy link", () => this.copyLink(), "Copy a link that shows this very moment");
    this.reflect();
  }

  button(text, act, title) {
    const made = element("button");
    Object.assign(made, { textContent: text, title, type: "button" });
    made.addEventListener("click", act);
    this.place.append(made);
    return made;
  }

  addSpeed() {
    const speed = element("select");
    speed.setAttribute("aria-label", "Speed");
    for (const times of SPEEDS) {
      const option = element("option");
      Object.assign(option, { value: times, textContent: `${times} ×`, selected: times === this.show.speed });
      speed.append(option);
    }
    speed.addEventListener("change", () => {
      this.show.speed = Number(speed.value);
      remember("speed", speed.value, 1);
    });
    this.place.append(speed);
  }

  togglePause() {
    this.setPaused(!this.show.isPaused);
  }

  setPaused(isPaused) {
    this.show.isPaused = isPaused;
    remember("paused", isPaused ? "1" : "", "");
    this.reflect();
  }

  reflect() {
    this.pause.textContent = this.show.isPaused ? "▶ Play" : "❚❚ Pause";
    this.pause.setAttribute("aria-pressed", this.show.isPaused);
  }

  // A scene that shows a recording has its own moments.
  get timeline() {
    return this.show.view?.timeline;
  }

  jump(ticks) {
    this.setPaused(true);
    if (this.timeline) return this.timeline.seek(this.timeline.now + ticks / TICKS_PER_SECOND);
    const target = this.show.tick + ticks;
    if (target > this.show.log.end) this.show.step(target - this.show.tick);
    else this.show.wanted = target;
  }

  scrub(value) {
    this.setPaused(true);
    if (this.timeline) this.timeline.seek(value / TICKS_PER_SECOND);
    else this.show.wanted = value;
  }

  // Another moment, or nothing to scrub over a real network.
  draw(seconds) {
    this.slow -= seconds;
    if (this.slow > 0 && !this.show.isPaused) return;
    this.slow = 0.2;
    const { timeline, show } = this;
    const isReal = show.view.network !== undefined;
    for (const one of [this.back, this.ahead, this.slider, this.copy]) one.disabled = isReal;
    const [now, end] = timeline ? [timeline.now * TICKS_PER_SECOND, timeline.end * TICKS_PER_SECOND] : [show.tick, show.log.end];
    this.slider.max = Math.max(1, Math.round(end));
    if (!this.slider.matches(":active")) this.slider.value = Math.round(now);
    this.says.textContent = isReal ? "real time" : `${(now / TICKS_PER_SECOND).toFixed(1)} s`;
    this.slider.setAttribute("aria-valuetext", this.says.textContent);
  }

  // The address of this very moment.
  address() {
    const all = new URLSearchParams(location.search);
    all.set("scene", this.show.name);
    all.set("seed", this.show.seed);
    const { timeline } = this;
    if (timeline) all.set("at", timeline.now.toFixed(1));
    const moment = timeline ? undefined : this.show.log.link();
    if (moment) all.set("moment", moment);
    if (timeline) all.set("paused", "1");
    return { text: `${location.origin}${location.pathname}?${all}`, isWhole: timeline !== undefined || moment !== undefined };
  }

  async copyLink() {
    const { text, isWhole } = this.address();
    let says = isWhole ? "Copied" : "Copied, settings only";
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without permission the address bar shows it.
      history.replaceState(null, "", text);
      says = "In the address";
    }
    this.copy.textContent = says;
    setTimeout(() => (this.copy.textContent = "Copy link"), 2000);
  }
}
