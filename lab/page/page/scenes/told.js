// Who gets told.
import { begin, chart, colour, label } from "../draw.js";

export const title = "Who gets told";
export const WARM_UP_TICKS = 900;

const RECEIVERS = ["near", "middle", "far"];
const LANES = ["one", "two", "three"];

// In the order of the knobs: the name in the literature, and what the scheduler does.
const SCHEDULERS = [
  ["Base", "every player, every time, without a budget"],
  ["1/n base", "every player, as often as the budget allows"],
  ["Scheduling #1", "every player, the far ones first"],
  ["Relative error", "the players whose error is above the mean"],
  ["Fixed probability", "at random, the same chance for all"],
  ["Probabilistic budget", "at random, weighted by accumulated error"],
  ["Deterministic budget", "in turn, weighted by accumulated error; the papers' best"],
  ["Error-index", "ours: the players whose error falls most per message"],
];

export const html = `
<h1>Who gets told</h1>
<p class="look">Each time the tank turns, the budget allows a message to only one of three players. Each bar is the error one player has accumulated. Equal bars are fair; short bars are accurate.</p>
<p class="verdict"></p>
<div class="scene">
  <div class="stage">
    <div class="lanes"></div>
    <div class="legend">
      <span><i class="dot"></i>a message travelling</span>
      <span><i class="dot" style="background: none; border: 1px solid var(--quiet)"></i>its receipt on the way back</span>
      <span><i style="--c: var(--near)"></i><i style="--c: var(--middle)"></i><i style="--c: var(--far)"></i>the near, middle and far player</span>
    </div>
    <div class="charts">
      <figure><figcaption><b>Unfairness</b>: how far the players' bars are apart (spread)</figcaption><canvas class="chart"></canvas></figure>
      <figure><figcaption><b>Inaccuracy</b>: how long the bars are on average (mean)</figcaption><canvas class="chart"></canvas></figure>
    </div>
    <details>
      <summary>What am I looking at?</summary>
      <p>A server cannot send every update to every player. A player that is not sent a turn extrapolates wrongly until the next message, and a player with a long delay is wrong for
      longer. Without care, players with long delays play a worse game.</p>
      <p>A <i>scheduler</i> decides which players are sent each message. All schedulers see the same tank, links and random numbers and, where they have a budget,
      spend the same number of messages. The server keeps a <i>ledger</i> of each player's error, computed from receipts, and the better schedulers use it.</p>
      <dl>
        <dt>Bar</dt><dd>a player's accumulated error: the distance between where the owner said the tank is and where that player saw it, added up over time (units × seconds).</dd>
        <dt>Spread</dt><dd>the standard deviation of the three bars: 0 if all players have the same error.</dd>
        <dt>Budget</dt><dd>the mean number of messages for each turn of the tank. Base and scheduling #1 ignore it.</dd>
      </dl>
      <p>Changing a control replays the same heat up to this moment, so you always compare the same past.</p>
    </details>
  </div>
  <div class="controls"></div>
</div>`;

const names = SCHEDULERS;
export const controls = [
  {
    title: "Who decides",
    controls: [
      { knob: "view", choices: [["Race", "Three schedulers on the same motion"], ["One at a time", "Only the first; switch it as you like"]] },
      { knob: "first", label: "First", select: true, choices: names },
      { knob: "second", label: "Second", select: true, choices: names },
      { knob: "third", label: "Third", select: true, choices: names },
      { knob: "budget", label: "Budget: messages", unit: "per turn", explain: "For three players: 3 is enough to send every message to all" },
    ],
  },
  {
    title: "The network",
    controls: [
      { knob: "near", label: "Near player", unit: "ms", explain: "How long a message takes, one way" },
      { knob: "middle", label: "Middle player", unit: "ms", explain: "How long a message takes, one way" },
      { knob: "far", label: "Far player", unit: "ms", explain: "How long a message takes, one way" },
      { knob: "jitter", label: "Jitter", unit: "± ms", explain: "How much earlier or later than usual a message may be" },
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

const LANE_HEIGHT = 132;
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
  }

  draw(numbers, seconds) {
    const frame = read(numbers);
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
      this.charts.forEach((canvas, number) => chart(this.show.stage, number, canvas));
    }
    this.over = frame.seconds >= frame.wholeSeconds && !this.show.isPaused ? this.over + seconds : 0;
    if (this.over > PAUSE_SECONDS) {
      this.over = 0;
      this.top = 1;
      // Not the reader's choice, so the address keeps the seed that was asked for.
      this.show.again(this.show.seed + 1, { isAsked: false });
    }
  }

  makeCanvases(count) {
    while (this.canvases.length > count) this.canvases.pop().remove();
    while (this.canvases.length < count) {
      const canvas = document.createElement("canvas");
      canvas.style.cssText = `height: ${LANE_HEIGHT}px; margin-bottom: .5rem`;
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", "Three links, and a bar for each player");
      this.place.append(canvas);
      this.canvases.push(canvas);
    }
  }

  drawLane(lane, number, frame) {
    const { context, width } = begin(this.canvases[number]);
    const isNarrow = width < 520;
    const name = nameOf(lane.scheduler, this.show.controls.value("budget"));
    const delays = RECEIVERS.map((receiver) => this.show.controls.value(receiver));
    context.fillStyle = colour(LANES[number]);
    context.fillRect(0, 0, 5, LANE_HEIGHT);
    label(context, 16, 17, name, colour("ink"), "left");
    const numbers = isNarrow
      ? `spread ${lane.spread.toFixed(0)} · mean ${lane.mean.toFixed(0)}`
      : `${lane.copies} messages · spread ${lane.spread.toFixed(0)} · mean ${lane.mean.toFixed(0)}`;
    label(context, width - 12, 17, numbers, colour("quiet"), "right");
    const [left, wires] = [28, isNarrow ? width * 0.3 : width * 0.36];
    const bars = left + wires + (isNarrow ? 16 : 84);
    const row = (receiver) => 48 + receiver * 31;
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
    context.roundRect(x, y - 9, length, 18, 4);
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

// With a budget of one message for three players, "1/n base" is 1/3 base.
function nameOf(scheduler, budget) {
  const every = Math.max(1, Math.round(RECEIVERS.length / budget));
  return scheduler === 1 ? `1/${every} base` : SCHEDULERS[scheduler][0];
}

function sentence({ seconds, lanes }, budget) {
  const [first, ...others] = lanes;
  const last = others.at(-1);
  if (!last || seconds < 5 || first.spread === 0) return "";
  const percent = (part, whole) => `${((100 * part) / whole).toFixed(0)} %`;
  const cost = percent(last.copies, first.copies);
  const [ours, theirs] = [last, first].map((lane) => nameOf(lane.scheduler, budget));
  return `After ${seconds.toFixed(0)} s, for ${cost} of the messages, <b>${ours}</b> leaves <b>${percent(last.spread, first.spread)}</b> of the unfairness
    and <b>${percent(last.mean, first.mean)}</b> of the error of ${theirs}.`;
}
