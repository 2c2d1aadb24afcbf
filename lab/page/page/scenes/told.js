// Who gets told.
import { begin, chart, colour, label, scale } from "../draw.js";

export const title = "Who gets told";
export const WARM_UP_TICKS = 900;

const RECEIVERS = ["near", "middle", "far"];
const LANES = ["one", "two", "three"];

// In the order of the knobs: the name in the literature, and what the scheduler does.
const SCHEDULERS = [
  ["Everyone, every time", "in the papers: base; without a budget"],
  ["Everyone, every third time", "in the papers: 1/n base; as often as the budget allows"],
  ["Everyone, the far ones first", "in the papers: scheduling #1; without a budget"],
  ["Those above the mean error", "in the papers: relative error"],
  ["At random, equal chances", "in the papers: fixed probability"],
  ["At random, by past error", "in the papers: probabilistic budget"],
  ["In turn, by past error", "in the papers: deterministic budget, their best"],
  ["Most error removed per message", "ours: error-index"],
];

export const html = `
<h1>Who gets told</h1>
<p class="look">Each time the tank turns, the budget allows <span data-knob="budget"></span> message(s) for three players. Each bar is the error one player has <dfn tabindex="0" data-def="The distance between where the owner said the tank is and where that player saw it, added up over time.">accumulated</dfn>. Equal bars are fair; short bars are accurate.</p>
<p class="verdict"></p>
<div class="scene">
  <div class="stage">
    <div class="lanes"></div>
    <div class="transport" role="group" aria-label="Time"></div>
    <div class="legend">
      <span><i class="dot"></i>a message travelling</span>
      <span><i class="dot" style="background: none; border: 1px solid var(--quiet)"></i>its <dfn tabindex="0" data-def="A short answer that tells the server what has arrived, and when.">receipt</dfn></span>
      <span><i style="--c: var(--near)"></i>near <i style="--c: var(--middle)"></i>middle <i style="--c: var(--far)"></i>far player</span>
      <span class="meter"></span>
    </div>
    <p class="heats" aria-live="polite"></p>
    <div class="charts">
      <figure><figcaption><b>Unfairness</b>: how far the players' bars are apart (<dfn tabindex="0" data-def="The standard deviation of the players' accumulated errors.">spread</dfn>)</figcaption><canvas class="chart" role="img"></canvas></figure>
      <figure><figcaption><b>Inaccuracy</b>: how long the bars are on average (mean)</figcaption><canvas class="chart" role="img"></canvas></figure>
    </div>
  </div>
  <div class="side"><div class="controls"></div></div>
</div>
<details>
  <summary>What am I looking at?</summary>
  <p>A server cannot send every update to every player. A player that is not sent a turn extrapolates wrongly until the next message, and a player with a long delay is wrong for
  longer. Without care, players with long delays play a worse game.</p>
  <p>A <i>scheduler</i> decides which players are sent each message. All schedulers see the same tank, links and random numbers and, where they have a budget,
  spend the same number of messages. The server keeps a <i>ledger</i> of each player's error, computed from receipts, and the better schedulers use it. In the first half minute the ledger is nearly
  empty: that is the warm-up, and the order of the bars then is chance.</p>
  <p>One heat is one throw of the dice. The line under the stage shows the mean of 32 heats with the seeds 1 to 32, and the 95 % interval of that mean. Nothing is chosen.</p>
  <dl>
    <dt>Bar</dt><dd>a player's accumulated error, in units × seconds.</dd>
    <dt>Spread</dt><dd>the standard deviation of the three bars: 0 if all players have the same error.</dd>
    <dt>Budget</dt><dd>the mean number of messages for each turn of the tank. The first and the third scheduler ignore it.</dd>
  </dl>
  <p>Changing a control replays the same heat up to this moment, so you always compare the same past.</p>
</details>`;

const names = SCHEDULERS;
export const controls = [
  {
    title: "Who decides",
    controls: [
      { knob: "budget", label: "Budget: messages", unit: "per turn", explain: "For three players: 3 is enough to send every message to all" },
      { knob: "third", label: "Third scheduler", select: true, choices: names },
    ],
  },
  {
    title: "Compared with",
    controls: [
      { knob: "first", label: "First scheduler", select: true, choices: names },
      { knob: "second", label: "Second scheduler", select: true, choices: names },
      { knob: "view", choices: [["Race", "Three schedulers on the same motion"], ["One at a time", "Only the first; switch it as you like"]] },
    ],
  },
  {
    title: "The network",
    controls: [
      { knob: "near", label: "Near player", unit: "ms", explain: "How long a message takes, one way" },
      { knob: "middle", label: "Middle player", unit: "ms", explain: "How long a message takes, one way" },
      { knob: "far", label: "Far player", unit: "ms", explain: "How long a message takes, one way" },
      { knob: "jitter", label: "Jitter", unit: "ms", shown: (value) => `± ${value}`, explain: "How much earlier or later than usual a message may be" },
      { knob: "loss", label: "Loss", unit: "%", explain: "How many messages never arrive" },
      { knob: "model", label: "Players extrapolate", select: true, choices: ["in a straight line", "in a circle, as it steers"] },
    ],
  },
];

// The frame's numbers by name; their order is that of `Told` in Rust.
export function read(numbers) {
  let at = 0;
  const take = (count) => numbers.subarray(at, (at += count));
  const [seconds, wholeSeconds, x, y, heading, triggers, laneCount] = take(7);
  const lanes = Array.from({ length: laneCount }, () => {
    const [scheduler, copies, mean, spread] = take(4);
    const receivers = RECEIVERS.map(() => {
      const [error, told, px, py, ph] = take(5);
      return { error, told, x: px, y: py, heading: ph };
    });
    return { scheduler, copies, mean, spread, receivers };
  });
  const [flightCount] = take(1);
  const flights = Array.from({ length: flightCount }, () => {
    const [lane, receiver, progress, isReceipt, isLost] = take(5);
    return { lane, receiver, progress, isReceipt: isReceipt > 0, isLost: isLost > 0 };
  });
  return { seconds, wholeSeconds, x, y, heading, triggers, lanes, flights };
}

// In this time the ledger fills; before, chance decides.
const WARM_UP_SECONDS = 30;
const HEATS = 32;
const HEAT_TICKS = 7200;
// A DR vector to one player, with the headers of UDP and IP.
const VECTOR_BYTES = 50;
// Student's t for a 95 % interval of 32 values.
const T_31 = 2.0395;

const PAUSE_SECONDS = 8;

export class View {
  constructor(show) {
    this.show = show;
    this.place = show.main.querySelector(".lanes");
    this.verdict = show.main.querySelector(".verdict");
    this.charts = [...show.main.querySelectorAll(".chart")];
    this.canvases = [];
    this.slow = 0;
    this.top = 1;
    this.over = 0;
    this.place32 = show.main.querySelector(".heats");
    this.playHeats();
  }

  close() {
    this.worker?.terminate();
    clearTimeout(this.later);
  }

  // Other settings have other heats. Not at once: a slider that is dragged turns a knob many times.
  turned() {
    clearTimeout(this.later);
    this.later = setTimeout(() => this.playHeats(), 600);
  }

  // The mean and the interval of 32 heats, beside this one.
  playHeats() {
    this.worker?.terminate();
    this.heats = [];
    const knobs = [...this.show.controls.knobs.values()].map(({ name, value }) => [name, value]);
    this.worker = new Worker(new URL("../heats.js", import.meta.url), { type: "module" });
    this.worker.onmessage = ({ data }) => {
      this.heats.push({ seed: data.seed, digest: data.digest, lanes: read(data.numbers).lanes });
      this.place32.innerHTML = this.ofHeats();
    };
    this.worker.postMessage({ knobs, seeds: HEATS, ticks: HEAT_TICKS });
    this.place32.textContent = `Playing ${HEATS} more heats…`;
  }

  // The last scheduler's part of the first one's unfairness and error.
  ofHeats() {
    const { heats } = this;
    const pairs = heats.filter(({ lanes }) => lanes.length > 1 && lanes[0].spread > 0);
    const name = (lane) => nameOf(lane.scheduler, this.show.controls.value("budget"));
    const count = heats.length < HEATS ? `${heats.length} of ${HEATS} heats` : `${HEATS} heats of 120 s (seeds 1 to ${HEATS})`;
    if (pairs.length < 2) return `${count}.`;
    const share = (key) => {
      const parts = pairs.map(({ lanes }) => (100 * lanes.at(-1)[key]) / lanes[0][key]);
      const mean = parts.reduce((sum, part) => sum + part, 0) / parts.length;
      const variance = parts.reduce((sum, part) => sum + (part - mean) ** 2, 0) / (parts.length - 1);
      const half = T_31 * Math.sqrt(variance / parts.length);
      return `<b>${mean.toFixed(0)} %</b> [${(mean - half).toFixed(0)}, ${(mean + half).toFixed(0)}]`;
    };
    const { lanes } = pairs[0];
    return `<b>${count}</b>: ${name(lanes.at(-1))} leaves ${share("spread")} of the unfairness and ${share("mean")} of the error of ${name(lanes[0]).toLowerCase()}; mean and 95 % interval.`;
  }

  // To one player, on average, by the last scheduler.
  traffic() {
    const lane = this.frame?.lanes.at(-1);
    if (!lane) return undefined;
    return { seconds: this.frame.seconds, bytes: (VECTOR_BYTES * lane.copies) / RECEIVERS.length, bytesEach: VECTOR_BYTES };
  }

  draw(numbers, seconds) {
    const frame = read(numbers);
    this.frame = frame;
    this.makeCanvases(frame.lanes.length);
    const longest = Math.max(20, ...frame.lanes.flatMap((lane) => lane.receivers.map((receiver) => receiver.error)));
    // The scale follows smoothly, so that bars only ever seem to grow.
    this.top = Math.max(longest, this.top + (longest - this.top) * Math.min(1, 3 * seconds));
    if (longest < this.top * 0.5) this.top = longest;
    frame.lanes.forEach((lane, number) => this.drawLane(lane, number, frame));
    this.slow -= seconds;
    if (this.slow <= 0) {
      this.slow = 0.25;
      this.verdict.innerHTML = sentence(frame, this.show.controls.value("budget"));
      this.charts.forEach((canvas, number) => this.drawChart(canvas, number, frame));
    }
    this.over = frame.seconds >= frame.wholeSeconds && !this.show.isPaused ? this.over + seconds : 0;
    if (this.over > PAUSE_SECONDS) {
      this.over = 0;
      this.top = 1;
      // Not the reader's choice, so the address keeps the seed that was asked for.
      this.show.again(this.show.seed + 1, { isAsked: false });
    }
  }

  // A chart with its warm-up shaded.
  drawChart(canvas, number, frame) {
    const key = ["spread", "mean"][number];
    canvas.setAttribute("aria-label", `${key} after ${frame.seconds.toFixed(0)} seconds: ${frame.lanes.map((lane) => `${nameOf(lane.scheduler, this.show.controls.value("budget"))} ${lane[key].toFixed(0)}`).join(", ")}`);
    chart(this.show.stage, number, canvas);
    const context = canvas.getContext("2d");
    context.setTransform(scale(), 0, 0, scale(), 0, 0);
    // plotters leaves 58 pixels on the left, 18 on the right and 38 below.
    const width = ((canvas.clientWidth - 58 - 18) * WARM_UP_SECONDS) / frame.wholeSeconds;
    context.globalAlpha = 0.12;
    context.fillStyle = colour("ink");
    context.fillRect(58, 4, width, canvas.clientHeight - 42);
    context.globalAlpha = 1;
    label(context, 58 + width / 2, 12, width > 60 ? "warm-up" : "", colour("quiet"));
  }

  makeCanvases(count) {
    while (this.canvases.length > count) this.canvases.pop().remove();
    while (this.canvases.length < count) {
      const canvas = document.createElement("canvas");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", "Three links, and a bar for each player's accumulated error");
      this.place.append(canvas);
      this.canvases.push(canvas);
    }
  }

  drawLane(lane, number, frame) {
    const { context, width, height } = begin(this.canvases[number]);
    if (width === 0) return;
    const isNarrow = width < 520;
    const name = nameOf(lane.scheduler, this.show.controls.value("budget"));
    const delays = RECEIVERS.map((receiver) => this.show.controls.value(receiver));
    context.fillStyle = colour(LANES[number]);
    context.fillRect(0, 0, 5, height);
    label(context, 16, 17, name, colour("ink"), "left");
    const numbers = isNarrow
      ? `± ${lane.spread.toFixed(0)}`
      : `${lane.copies} messages · spread ${lane.spread.toFixed(0)} · mean ${lane.mean.toFixed(0)}`;
    label(context, width - 12, 17, numbers, colour("quiet"), "right");
    const [left, wires] = [28, isNarrow ? width * 0.3 : width * 0.36];
    const bars = left + wires + (isNarrow ? 16 : 84);
    const row = (receiver) => 30 + (height - 30) * ((receiver + 0.5) / 3);
    const end = (receiver) => left + Math.max(18, (wires * delays[receiver]) / Math.max(1, ...delays));
    RECEIVERS.forEach((receiver, index) => {
      const y = row(index);
      context.strokeStyle = colour("line");
      context.lineWidth = 2;
      context.beginPath();
      context.moveTo(left, row(1));
      context.lineTo(left + 10, y);
      context.lineTo(end(index), y);
      context.stroke();
      context.fillStyle = colour(receiver);
      context.beginPath();
      context.arc(end(index), y, 6, 0, 7);
      context.fill();
      if (!isNarrow) label(context, end(index) + 12, y, `${delays[index]} ms`, colour("quiet"), "left");
      this.drawBar(context, bars, y, width - bars - 62, lane.receivers[index].error, receiver);
    });
    context.fillStyle = colour("ink");
    context.beginPath();
    context.arc(left, row(1), 7, 0, 7);
    context.fill();
    for (const flight of frame.flights.filter((one) => one.lane === number)) this.drawFlight(context, flight, left + 10, end(flight.receiver), row(flight.receiver));
  }

  drawBar(context, x, y, room, error, receiver) {
    const length = Math.max(2, (room * error) / this.top);
    context.fillStyle = colour(receiver);
    context.beginPath();
    context.roundRect(x, y - 8, length, 16, 4);
    context.fill();
    label(context, x + length + 8, y, error.toFixed(0), colour("ink"), "left");
  }

  drawFlight(context, { receiver, progress, isReceipt, isLost }, from, to, y) {
    const x = isReceipt ? to + (from - to) * progress : from + (to - from) * progress;
    if (isReceipt) {
      context.strokeStyle = colour("quiet");
      context.lineWidth = 1;
      context.beginPath();
      context.arc(x, y, 2.5, 0, 7);
      context.stroke();
      return;
    }
    if (isLost && progress > 0.5) return;
    context.fillStyle = isLost && progress > 0.4 ? colour("two") : colour("ink");
    context.beginPath();
    context.arc(x, y, 4, 0, 7);
    context.fill();
    context.fillStyle = colour(RECEIVERS[receiver]);
    context.beginPath();
    context.arc(x, y, 2.2, 0, 7);
    context.fill();
  }
}

// With a budget of one message for three players, everyone is told every third time: the papers' 1/3 base.
function nameOf(scheduler, budget) {
  const every = Math.max(1, Math.round(RECEIVERS.length / budget));
  const times = ["", "every time", "every second time", "every third time", "every fourth time", "every fifth time", "every sixth time"];
  return scheduler === 1 ? `Everyone, ${times[every] ?? `every ${every} times`}` : SCHEDULERS[scheduler][0];
}

function sentence({ seconds, lanes }, budget) {
  const [first, ...others] = lanes;
  const last = others.at(-1);
  if (!last || first.spread === 0) return "";
  if (seconds < WARM_UP_SECONDS) return `Warming up: ${seconds.toFixed(0)} of ${WARM_UP_SECONDS} s. The server's ledger of errors is still nearly empty, and chance decides.`;
  const percent = (part, whole) => `${((100 * part) / whole).toFixed(0)} %`;
  const cost = percent(last.copies, first.copies);
  const [ours, theirs] = [last, first].map((lane) => nameOf(lane.scheduler, budget));
  return `This heat, after ${seconds.toFixed(0)} s: for ${cost} of the messages, <b>${ours}</b> leaves <b>${percent(last.spread, first.spread)}</b> of the unfairness
    and <b>${percent(last.mean, first.mean)}</b> of the error of ${theirs.toLowerCase()}.`;
}
