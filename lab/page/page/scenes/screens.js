// One tank, three screens.
import { Camera, begin, chart, colour, label } from "../draw.js";

export const title = "One tank, three screens";
export const WARM_UP_TICKS = 240;

export const html = `
<h1>One tank, three screens</h1>
<p class="look">The solid tank is the real one. The coloured tanks show where three players see it at this moment, and the arrows show how wrong they are.</p>
<p class="verdict"></p>
<div class="scene">
  <div class="stage">
    <canvas class="field" role="img" aria-label="A tank from above, and three ghosts of it"></canvas>
    <div class="legend">
      <span><i style="--c: var(--ink)"></i>the real tank and its path</span>
      <span><i class="dashed"></i>what the owner has sent</span>
      <span><i class="dot"></i>a message was sent here</span>
      <span><i style="--c: var(--near)"></i><i style="--c: var(--middle)"></i><i style="--c: var(--far)"></i>what three screens show</span>
    </div>
    <div class="stick" role="application" aria-label="Drive the tank"></div>
    <div class="cards"></div>
    <div class="charts"><figure><figcaption><b>Error</b> of each screen over the last seconds (a tank is 6 units long)</figcaption><canvas class="chart"></canvas></figure></div>
    <details>
      <summary>What am I looking at?</summary>
      <p>In a networked game the owner of a tank does not send every position. It sends a short message, "here I am, this is how I move", and every other
      machine extrapolates from it. This is called <i>dead reckoning</i>. The owner extrapolates too, and sends the next message when the result is off by more than the threshold.</p>
      <p>A message takes time to arrive. A screen that starts the motion when the message <em>arrives</em> shows the tank late by the whole delay. A screen that
      knows <em>when the message was written</em>, because all clocks agree, shows the tank exactly where the owner said it would be. The error that remains is caused by messages that are
      still travelling.</p>
      <dl>
        <dt>Error</dt><dd>the distance between a screen's tank and the real one, in units. A tank is 6 units long and drives 25 units a second.</dd>
        <dt>On its way</dt><dd>the distance between a screen's tank and what the owner has sent, while a newer message is travelling (the papers' <i>before export error</i>).</dd>
        <dt>Arrived</dt><dd>the same after the newest message has arrived (<i>after export error</i>). With a shared clock it is exactly zero.</dd>
        <dt>Jitter, loss</dt><dd>jitter is how much earlier or later than usual a message may arrive; loss is the share of messages that never arrive.</dd>
      </dl>
    </details>
  </div>
  <div class="controls"></div>
</div>`;

export const controls = [
  {
    title: "How a screen places the tank",
    controls: [
      {
        knob: "placement",
        choices: [
          ["Local", "The motion starts when the message arrives."],
          ["Hop", "The motion starts half a round trip before the message arrives."],
          ["Global", "The motion starts when the message was written, on a shared clock."],
          ["Global, estimated clock", "The same, on the clock that each screen estimates over its own link."],
        ],
      },
    ],
  },
  {
    title: "The tank",
    controls: [
      { knob: "motion", label: "Drives", select: true, choices: ["at random", "in a circle", "straight on", "as you steer: arrow keys or W A S D"] },
      { knob: "model", label: "Screens extrapolate", select: true, choices: ["in a straight line", "in a circle, as it steers"] },
      { knob: "threshold", label: "A message when off by", unit: "units", explain: "The owner sends a message when the exported path is off by more than this" },
    ],
  },
  {
    title: "The network",
    controls: [
      { knob: "near", label: "Near screen", unit: "ms", explain: "How long a message takes, one way" },
      { knob: "middle", label: "Middle screen", unit: "ms", explain: "How long a message takes, one way" },
      { knob: "far", label: "Far screen", unit: "ms", explain: "How long a message takes, one way" },
      { knob: "jitter", label: "Jitter", unit: "± ms", explain: "How much earlier or later than usual a message may be" },
      { knob: "loss", label: "Loss", unit: "%", explain: "How many messages never arrive" },
    ],
  },
];

const SCREENS = ["near", "middle", "far"];
const WAYS = ["Local", "Hop", "Global", "Global, est."];

// The frame's numbers by name; their order is that of `Screens` in Rust.
export function read(numbers) {
  let at = 0;
  const take = (count) => numbers.subarray(at, (at += count));
  const [seconds, x, y, heading, exportedX, exportedY, bytes, vectors, placement] = take(9);
  const screens = SCREENS.map(() => {
    const [sx, sy, sh, isSeen, error] = take(5);
    const ways = WAYS.map(() => {
      const [mean, before, after] = take(3);
      return { mean, before, after };
    });
    return { x: sx, y: sy, heading: sh, isSeen: isSeen > 0, error, ways };
  });
  const [points] = take(1);
  const [truth, exported, ...trails] = Array.from({ length: 5 }, () => take(points * 2));
  const [marked] = take(1);
  return { seconds, x, y, heading, exportedX, exportedY, bytes, vectors, placement, screens, truth, exported, trails, marks: take(marked * 2) };
}

export class View {
  constructor(show) {
    this.show = show;
    this.field = show.main.querySelector(".field");
    this.chart = show.main.querySelector(".chart");
    this.verdict = show.main.querySelector(".verdict");
    this.camera = new Camera(84, 46);
    this.cards = SCREENS.map((name) => makeCard(show.main.querySelector(".cards"), name));
    this.slow = 0;
    this.isFirst = true;
  }

  get steers() {
    return this.show.controls.value("motion") === 3;
  }

  draw(numbers, seconds) {
    const frame = read(numbers);
    this.show.main.classList.toggle("steers", this.steers);
    this.drawField(frame, seconds);
    this.slow -= seconds;
    // Numbers that change sixty times a second cannot be read.
    if (this.slow > 0) return;
    this.slow = 0.15;
    const delays = SCREENS.map((name) => this.show.controls.value(name));
    const greatest = Math.max(1, ...frame.screens.flatMap((screen) => screen.ways.flatMap((way) => [way.mean, way.before, way.after])));
    frame.screens.forEach((screen, number) => this.cards[number](screen, delays[number], frame.placement, greatest));
    this.verdict.innerHTML = this.sentence(frame);
    chart(this.show.stage, 0, this.chart);
  }

  drawField(frame, seconds) {
    const { context, width, height } = begin(this.field);
    const camera = this.camera;
    camera.aim(width, height);
    // The camera follows what screens show too, or a far ghost would leave the picture.
    const all = [frame, ...frame.screens];
    const [goalX, goalY] = ["x", "y"].map((axis) => (Math.min(...all.map((one) => one[axis])) + Math.max(...all.map((one) => one[axis]))) / 2);
    const pull = this.isFirst ? 1 : 1 - Math.exp(-4 * seconds);
    this.isFirst = false;
    camera.x += (goalX - camera.x) * pull;
    camera.y += (goalY - camera.y) * pull;
    camera.grid(context, 10);
    frame.trails.forEach((trail, number) => camera.path(context, trail, colour(SCREENS[number]), { width: 2, alpha: 0.55 }));
    camera.path(context, frame.exported, colour("ink"), { dash: [6, 5], alpha: 0.7 });
    camera.path(context, frame.truth, colour("ink"), { width: 2.5 });
    context.fillStyle = colour("ink");
    for (let index = 0; index < frame.marks.length; index += 2) {
      const [x, y] = camera.point(frame.marks[index], frame.marks[index + 1]);
      context.beginPath();
      context.arc(x, y, 4, 0, 7);
      context.fill();
    }
    frame.screens.forEach((screen, number) => screen.isSeen && camera.tank(context, screen.x, screen.y, screen.heading, colour(SCREENS[number]), { ghost: true }));
    camera.tank(context, frame.x, frame.y, frame.heading, colour("ink"));
    // Side by side, for ghosts mostly stand one behind the other.
    frame.screens.forEach((screen, number) => camera.arrow(context, frame.x, frame.y, screen.x, screen.y, colour(SCREENS[number]), (number - 1) * 9));
    this.drawLabels(context, frame);
  }

  drawLabels(context, frame) {
    const camera = this.camera;
    const taken = [];
    // Beside the way, so that they hide no tank; those that would meet are put one above the other.
    const isSteep = Math.abs(Math.sin(frame.heading)) > 0.7;
    const place = (x, y, text, style) => {
      const [px, py] = camera.point(x, y);
      const left = px + (isSteep ? camera.zoom * 4 + 62 : 0);
      let top = py - (isSteep ? 0 : camera.zoom * 4 + 10);
      while (taken.some((other) => Math.abs(other.x - left) < 112 && Math.abs(other.y - top) < 17)) top -= 17;
      taken.push({ x: left, y: top });
      label(context, left, top, text, colour("ink"));
      context.fillStyle = style;
      context.beginPath();
      context.arc(left - context.measureText(text).width / 2 - 10, top, 5, 0, 7);
      context.fill();
    };
    place(frame.x, frame.y, "real", colour("ink"));
    frame.screens.forEach((screen, number) => {
      const delay = this.show.controls.value(SCREENS[number]);
      if (screen.isSeen) place(screen.x, screen.y, `${delay} ms away`, colour(SCREENS[number]));
    });
  }

  sentence({ placement, screens }) {
    const far = screens[2].ways;
    const delay = this.show.controls.value("far");
    const of = (way) => far[way].mean.toFixed(1);
    if (far[0].mean === 0) return "";
    // In the first seconds chance decides.
    if (placement === 0 && far[2].mean >= far[0].mean) {
      return `${delay} ms away, the tank is shown <b>${of(0)}</b> units off on average so far.`;
    }
    return placement === 0
      ? `${delay} ms away, the tank is shown <b>${of(0)}</b> units off on average. With a shared clock it would be <b>${of(2)}</b>: choose Global.`
      : `${delay} ms away, the tank is shown <b>${of(placement)}</b> units off on average, instead of <b>${of(0)}</b> with local placement.`;
  }
}

function makeCard(place, name) {
  const card = document.createElement("section");
  card.className = "card";
  card.style.setProperty("--c", `var(--${name})`);
  const row = (text, key) => `<span data-key="${key}">${text}</span><div class="bar"><span data-bar="${key}"></span></div><b data-value="${key}"></b>`;
  card.innerHTML = `<h3></h3><div class="big"><span></span> <small>off now</small></div>
    <div class="bars">${row("On its way", "before")}${row("Arrived", "after")}</div>
    <div class="bars" title="Mean error of each kind of placement, on the same messages">${WAYS.slice(0, 3).map((way, number) => row(way, number)).join("")}</div>`;
  place.append(card);
  const find = (selector) => card.querySelector(selector);
  return (screen, delay, placement, greatest) => {
    find("h3").innerHTML = `${delay} ms <span>away</span>`;
    find(".big span").textContent = screen.error.toFixed(1);
    const fill = (key, value) => {
      find(`[data-value="${key}"]`).textContent = value.toFixed(2);
      find(`[data-bar="${key}"]`).style.width = `${Math.min(100, (100 * value) / greatest)}%`;
    };
    fill("before", screen.ways[placement].before);
    fill("after", screen.ways[placement].after);
    screen.ways.slice(0, 3).forEach((way, number) => {
      fill(number, way.mean);
      find(`[data-key="${number}"]`).classList.toggle("chosen", number === placement);
    });
  };
}
