// The page's loop: it counts time, steps the scene and draws it. All simulation is in Rust.
import init, { Stage } from "./fairpath.js";
import { address, choiceAt, numberAt, remember } from "./address.js";
import { Controls, SPEEDS } from "./controls.js";
import { Hands } from "./hands.js";
import { Log, readMoment } from "./log.js";
import { Meter } from "./meter.js";
import { Prose } from "./prose.js";
import { Tour } from "./tour.js";
import { Transport } from "./transport.js";
import * as screens from "./scenes/screens.js";
import * as told from "./scenes/told.js";
import * as guess from "./scenes/guess.js";
import * as play from "./scenes/play.js";
import * as report from "./scenes/report.js";

const SCENES = { screens, told, guess, play, report };
const TICKS_PER_SECOND = 60;
// After a longer pause (a hidden tab) the rest is skipped, not played at once.
const CATCH_UP_SECONDS_MAX = 0.1;
// A frame has 16.7 ms; simulation is to take less than 4 of them.
const THINK_MS_MAX = 3;
const SEED_MAX = 0xffffffff;

class Show {
  constructor(name) {
    this.name = name;
    this.scene = SCENES[name];
    this.speed = choiceAt("speed", SPEEDS, 1);
    this.seed = numberAt("seed", { low: 0, high: SEED_MAX, step: 1, usual: 1 });
    const moment = readMoment();
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.isPaused = choiceAt("paused", ["1"], "") === "1" || moment !== undefined || isCalm;
    this.main = document.getElementById("scene");
    this.main.classList.remove("steers");
    this.main.innerHTML = this.scene.html;
    this.stage = Stage.of(name, this.seed);
    this.log = new Log();
    this.hands = new Hands(this.main);
    this.controls = new Controls(this.main.querySelector(".controls"), this);
    this.transport = new Transport(this.main.querySelector(".transport"), this);
    this.view = new this.scene.View(this);
    this.meter = new Meter(this.main.querySelector(".meter"));
    this.prose = new Prose(this);
    this.owed = 0;
    this.frames = 0;
    this.costs = { simulation: 0, drawing: 0 };
    // Steps ahead so that the first frame is not empty.
    if (moment) this.restore(moment);
    else this.step(this.scene.WARM_UP_TICKS ?? 0);
  }

  get tick() {
    return this.log.tick;
  }

  step(ticks) {
    this.stage.step(ticks);
    this.log.step(ticks);
  }

  // A knob of the scene, from the controls or the address.
  turn(knob, value) {
    this.log.turn(knob, value);
    this.stage.turn(knob, value);
    this.view?.turned?.(knob, value);
  }

  // Goes to a tick of this run, by playing what was done up to it on a new stage.
  seek(tick) {
    const target = Math.max(0, Math.min(tick, this.log.end));
    if (target < this.tick) {
      this.stage.free();
      this.stage = Stage.of(this.name, this.seed);
      this.log.rewind();
      this.meter.forget();
    }
    this.log.playTo(target, this.stage);
  }

  // Shows the moment of a link: everything that was done, played again.
  restore({ tick, acts }) {
    this.stage.free();
    this.stage = Stage.of(this.name, this.seed);
    this.log.load(acts, tick);
    this.log.playTo(tick, this.stage);
  }

  // Starts again. The address keeps the seed if the reader asked for it.
  again(seed, { isAsked = true } = {}) {
    this.seed = seed > SEED_MAX ? 0 : seed;
    if (isAsked) remember("seed", this.seed, 1);
    this.stage.free();
    this.stage = Stage.of(this.name, this.seed);
    this.log = new Log();
    this.meter.forget();
    this.controls.turnAll();
    this.step(this.scene.WARM_UP_TICKS ?? 0);
  }

  frame(seconds) {
    const begun = performance.now();
    if (this.wanted !== undefined) this.seek(this.wanted);
    this.wanted = undefined;
    this.owed += this.isPaused ? 0 : Math.min(seconds, CATCH_UP_SECONDS_MAX) * TICKS_PER_SECOND * this.speed;
    const ticks = Math.floor(this.owed);
    this.owed -= ticks;
    if (ticks > 0) {
      const { right, ahead, fires } = this.hands;
      this.log.steer(right, ahead, fires, this.stage);
      this.step(ticks);
    }
    // Does postponed work while the frame has time.
    while (this.stage.think() && performance.now() - begun < THINK_MS_MAX);
    const numbers = this.view.numbers?.() ?? this.stage.frame();
    const simulated = performance.now();
    this.view.draw(numbers, seconds);
    this.transport.draw(seconds);
    this.meter.draw(seconds, this.view.traffic?.());
    if (this.frames === 0) performance.mark("scene");
    this.frames += 1;
    const drawn = performance.now();
    // Smoothed over about a second so that it can be read.
    const smooth = (old, now) => old + (now - old) / 30;
    this.costs.simulation = smooth(this.costs.simulation, simulated - begun);
    this.costs.drawing = smooth(this.costs.drawing, drawn - simulated);
  }
}

let show;
let page;
let tour;

function open(name) {
  const known = Object.hasOwn(SCENES, name ?? "") ? name : "screens";
  if (name !== null && known !== name) remember("scene", "", "");
  show?.view.close?.();
  show?.stage.free();
  page?.close();
  show = page = undefined;
  window.fairpath = { show, page, Stage, tour };
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.scene === known) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "center" });
    } else link.removeAttribute("aria-current");
  }
  document.title = `${SCENES[known].title} · Fairpath`;
  const main = document.getElementById("scene");
  Object.assign(main, { ondrop: null, ondragover: null, className: "" });
  if (SCENES[known].Page) {
    main.innerHTML = SCENES[known].html;
    page = new SCENES[known].Page(main);
  } else {
    show = new Show(known);
  }
  main.classList.add(known);
  document.getElementById("cost").hidden = !show;
  // For the curious, and for the tests.
  window.fairpath = { show, page, Stage, tour };
}

// Shows a scene under an address of its own.
function go(name) {
  history.pushState(null, "", name === "screens" ? "?" : `?scene=${name}`);
  open(name);
}

function fill() {
  const nav = document.querySelector("nav");
  const follow = (link, name) =>
    link.addEventListener("click", (event) => {
      event.preventDefault();
      go(name);
    });
  for (const [name, scene] of Object.entries(SCENES)) {
    const link = document.createElement("a");
    link.href = `?scene=${name}`;
    link.dataset.scene = name;
    link.textContent = scene.title;
    follow(link, name);
    nav.append(link);
  }
  follow(document.querySelector(".name"), "screens");
  addEventListener("popstate", () => open(address("scene")));
}

function loop() {
  let last = performance.now();
  let shown = 0;
  const cost = document.getElementById("cost");
  const next = (now) => {
    const seconds = Math.max(0, now - last) / 1000;
    last = now;
    show?.frame(seconds);
    if (show && now - shown > 500) {
      shown = now;
      const { simulation, drawing } = show.costs;
      cost.textContent = `simulation ${simulation.toFixed(1)} ms · drawing ${drawing.toFixed(1)} ms`;
    }
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
}

try {
  await init({ module_or_path: new URL("fairpath_bg.wasm", import.meta.url) });
  fill();
  tour = new Tour({ go, show: () => show });
  const isBare = location.search === "";
  open(address("scene"));
  loop();
  if (isBare) tour.offer();
} catch (error) {
  const main = document.getElementById("scene");
  main.innerHTML = `<p class="failed">The page could not start: its library did not load. Reload it; if that does not help, the browser may be too old for WebAssembly.</p>`;
  throw error;
}
