// What was done to a scene, by tick. A scene follows from its seed and this alone, so that any moment can be shown
// again: by the slider under the stage, or in another browser by a link.
import { address, remember } from "./address.js";

// Ten minutes. A link to a later moment would take too long to open.
const TICKS_MAX = 36000;
// An address of more characters is cut by some programs.
const LINK_CHARACTERS_MAX = 6000;
const STEER = "";

export class Log {
  constructor() {
    Object.assign(this, { tick: 0, end: 0, acts: [], next: 0, hands: "0,0,0" });
  }

  step(ticks) {
    this.tick += ticks;
    this.end = Math.max(this.end, this.tick);
    this.cut();
  }

  // What was done after this moment has not happened once something else happens.
  cut() {
    if (this.next === this.acts.length) return;
    this.acts.length = this.next;
    this.end = this.tick;
  }

  add(...act) {
    this.cut();
    this.acts.push([this.tick, ...act]);
    this.next = this.acts.length;
  }

  turn(knob, value) {
    this.add(knob, value);
  }

  // Steers in hundredths, which a link can carry.
  steer(right, ahead, fires, stage) {
    const hands = [right, ahead].map((axis) => Math.round(100 * axis)).concat(fires ? 1 : 0);
    if (String(hands) === this.hands) return;
    this.hands = String(hands);
    this.add(STEER, ...hands);
    stage.steer(hands[0] / 100, hands[1] / 100, fires);
  }

  rewind() {
    Object.assign(this, { tick: 0, next: 0, hands: "0,0,0" });
  }

  load(acts, end) {
    Object.assign(this, new Log(), { acts, end });
  }

  // Plays on to a tick that was reached before.
  playTo(target, stage) {
    while (this.next < this.acts.length && this.acts[this.next][0] <= target) {
      const [tick, knob, ...values] = this.acts[this.next];
      stage.step(tick - this.tick);
      this.tick = tick;
      if (knob === STEER) {
        stage.steer(values[0] / 100, values[1] / 100, values[2] > 0);
        this.hands = String(values);
      } else stage.turn(knob, values[0]);
      this.next += 1;
    }
    stage.step(target - this.tick);
    this.tick = target;
  }

  // Returns this moment for an address, or nothing if it is too long for one.
  link() {
    const acts = this.acts.slice(0, this.next).map((act) => act.join("."));
    const text = [this.tick, ...acts.map((act) => act.replaceAll(".", "_").replaceAll("-", "m"))].join("~");
    return this.tick <= TICKS_MAX && text.length <= LINK_CHARACTERS_MAX ? text : undefined;
  }
}

// Returns the moment of the address, if it has a valid one. It is taken out: what happens next is another moment.
export function readMoment() {
  const text = address("moment");
  if (text === null) return undefined;
  remember("moment", "", "");
  const [first, ...rest] = text.slice(0, LINK_CHARACTERS_MAX).split("~");
  const tick = Number(first);
  if (!Number.isInteger(tick) || tick < 0 || tick > TICKS_MAX) return undefined;
  let last = 0;
  const acts = [];
  for (const part of rest) {
    const [at, knob, ...values] = readAct(part);
    const numbers = values.map((value) => (value === "" ? NaN : Number(value)));
    const isSound = Number.isInteger(at) && at >= last && at <= tick && /^[a-z]{0,20}$/.test(knob) && numbers.length === (knob === STEER ? 3 : 1) && numbers.every(Number.isFinite);
    if (!isSound) return undefined;
    last = at;
    acts.push([at, knob, ...numbers]);
  }
  return { tick, acts };
}

// An act is `tick_knob_value`, with `m` for minus; a value may have a fraction: `12_threshold_0_5`.
function readAct(text) {
  const [at, knob, ...parts] = text.split("_");
  const values = knob === STEER ? parts : [parts.join(".")];
  return [Number(at), knob ?? "?", ...values.map((value) => value.replace("m", "-"))];
}
