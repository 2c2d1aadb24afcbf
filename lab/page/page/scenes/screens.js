// One tank, three screens.
import { Camera, begin, chart, colour, label } from "../draw.js";

export const title = "One tank, three screens";
export const WARM_UP_TICKS = 240;

export const html = `
<h1>One tank, three screens</h1>
<p class="look">Above, the real tank. Below, what three players see at this moment: messages take <span data-knob="near"></span>, <span data-knob="middle"></span> and <span data-knob="far"></span> ms, so <dfn tabindex="0" data-def="Guessing where something is now from the last message about it: place, speed and turn.">dead reckoning</dfn> fills the gap.</p>
<p class="verdict"></p>
<div class="scene">
  <div class="stage">
    <div class="monitors"><canvas class="field" role="img" tabindex="0" aria-label="The real tank from above; messages on their way; and three monitors that show where three players see the tank"></canvas>
      <div class="pads"><div class="stick" data-axes="x" role="application" aria-label="Steer left and right"></div><div class="stick" data-axes="y" role="application" aria-label="Drive ahead and back"></div></div></div>
    <div class="cards"></div>
    <div class="transport" role="group" aria-label="Time"></div>
    <div class="legend">
      <span><i class="dashed"></i>what the owner has sent</span>
      <span><i class="dot"></i>a message</span>
      <span><i class="ghost"></i>the real tank</span>
      <span class="meter"></span>
    </div>
    <div class="charts"><figure><figcaption><b>Error</b> of each screen over the last seconds (a tank is 6 units long)</figcaption><canvas class="chart" role="img"></canvas></figure></div>
  </div>
  <div class="side"><div class="controls"></div></div>
</div>
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
    <dt>Lopsided</dt><dd>how much longer the way back takes. Hop placement assumes that both ways take the same time, and is wrong by half of this.</dd>
  </dl>
</details>`;

export const controls = [
  {
    title: "How a screen places the tank",
    controls: [
      {
        knob: "placement",
        choices: [
          ["On arrival (local)", "The motion starts when the message arrives."],
          ["Half a round trip earlier (hop)", "It assumes that both ways take the same time."],
          ["When written (global)", "The motion starts when the message was written, on a shared clock."],
          ["The same, estimated clock", "On the clock that each screen estimates over its own link."],
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
      { knob: "jitter", label: "Jitter", unit: "ms", shown: (value) => `± ${value}`, explain: "How much earlier or later than usual a message may be" },
      { knob: "back", label: "Lopsided: way back", unit: "ms longer", explain: "How much longer than there the way back takes" },
      { knob: "loss", label: "Loss", unit: "%", explain: "How many messages never arrive" },
    ],
  },
];

const SCREENS = ["near", "middle", "far"];
const WAYS = ["On arrival", "Half trip", "When written", "Estimated"];

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
  const marks = take(marked * 2);
  const [flightCount] = take(1);
  const flights = Array.from({ length: flightCount }, () => {
    const [screen, progress, , isLost] = take(4);
    return { screen, progress, isLost: isLost > 0 };
  });
  return { flights, seconds, x, y, heading, exportedX, exportedY, bytes, vectors, placement, screens, truth, exported, trails, marks };
}

export class View {
  constructor(show) {
    this.show = show;
    this.field = show.main.querySelector(".field");
    this.chart = show.main.querySelector(".chart");
    this.verdict = show.main.querySelector(".verdict");
    this.camera = new Camera(70, 40);
    this.cards = SCREENS.map((name) => makeCard(show.main.querySelector(".cards"), name));
    this.slow = 0;
    this.isFirst = true;
  }

  get steers() {
    return this.show.controls.value("motion") === 3;
  }

  draw(numbers, seconds) {
    const frame = read(numbers);
    this.frame = frame;
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
    this.chart.setAttribute("aria-label", `Error now: ${frame.screens.map((screen, number) => `${screen.error.toFixed(1)} on the ${SCREENS[number]} screen`).join(", ")}`);
    chart(this.show.stage, 0, this.chart);
  }

  // The owner above, three monitors below, and the messages falling from one to the others.
  drawField(frame, seconds) {
    const { context, width, height } = begin(this.field);
    if (width === 0) return;
    const { camera } = this;
    // The camera follows what screens show too, or a far ghost would leave the picture.
    const all = [frame, ...frame.screens];
    const [goalX, goalY] = ["x", "y"].map((axis) => (Math.min(...all.map((one) => one[axis])) + Math.max(...all.map((one) => one[axis]))) / 2);
    const pull = this.isFirst ? 1 : 1 - Math.exp(-4 * seconds);
    this.isFirst = false;
    camera.x += (goalX - camera.x) * pull;
    camera.y += (goalY - camera.y) * pull;
    const gap = 8;
    const wires = Math.max(26, Math.round(height * 0.13));
    const half = Math.round((height - wires) / 2);
    this.drawPane(context, [0, 0, width, half], colour("ink"), "the real tank", () => this.drawOwner(context, frame));
    const pane = (width - 2 * gap) / 3;
    frame.screens.forEach((screen, number) => {
      const left = number * (pane + gap);
      const middle = left + pane / 2;
      this.drawWire(context, frame.flights.filter((one) => one.screen === number), middle, half, wires, number);
      const delay = this.show.controls.value(SCREENS[number]);
      this.drawPane(context, [left, half + wires, pane, height - half - wires], colour(SCREENS[number]), `${delay} ms away`, () => this.drawMonitor(context, frame, screen, number));
    });
  }

  drawPane(context, [left, top, width, height], style, title, draw) {
    context.save();
    context.translate(left, top);
    context.beginPath();
    context.roundRect(0, 0, width, height, 8);
    context.clip();
    context.fillStyle = colour("panel");
    context.fillRect(0, 0, width, height);
    this.camera.aim(width, height);
    this.camera.grid(context, 10);
    draw();
    context.strokeStyle = style;
    context.lineWidth = 3;
    context.strokeRect(0, 0, width, height);
    label(context, 10, 14, title, colour("ink"), "left");
    context.restore();
  }

  drawOwner(context, frame) {
    const { camera } = this;
    camera.path(context, frame.exported, colour("ink"), { dash: [6, 5], alpha: 0.7 });
    camera.path(context, frame.truth, colour("ink"), { width: 2.5 });
    context.fillStyle = colour("ink");
    for (let index = 0; index < frame.marks.length; index += 2) {
      const [x, y] = camera.point(frame.marks[index], frame.marks[index + 1]);
      disc(context, x, y, 4);
    }
    camera.tank(context, frame.x, frame.y, frame.heading, colour("ink"));
  }

  // What one player sees, and as an outline what is true.
  drawMonitor(context, frame, screen, number) {
    const { camera } = this;
    const style = colour(SCREENS[number]);
    camera.path(context, frame.trails[number], style, { width: 2, alpha: 0.7 });
    if (!screen.isSeen) return label(context, camera.width / 2, camera.height / 2, "nothing yet", colour("quiet"));
    camera.tank(context, screen.x, screen.y, screen.heading, style);
    camera.outline(context, frame.x, frame.y, frame.heading);
    camera.arrow(context, frame.x, frame.y, screen.x, screen.y, colour("ink"));
  }

  // Messages fall as slowly as they travel; a lost one turns red and ends half way.
  drawWire(context, flights, x, top, length, number) {
    context.strokeStyle = colour("quiet");
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, top + length);
    context.stroke();
    for (const { progress, isLost } of flights) {
      if (isLost && progress > 0.5) continue;
      context.fillStyle = isLost && progress > 0.35 ? colour("two") : colour(SCREENS[number]);
      disc(context, x, top + length * progress, 5);
    }
  }

  // To one screen, and every screen gets the same.
  traffic() {
    const { frame } = this;
    if (!frame || frame.vectors === 0) return undefined;
    // With the headers of UDP and IP.
    const bytes = frame.bytes + 28 * frame.vectors;
    return { seconds: frame.seconds, bytes, bytesEach: bytes / frame.vectors };
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
      ? `${delay} ms away, the tank is shown <b>${of(0)}</b> units off on average. With a shared clock it would be <b>${of(2)}</b>: choose "When written".`
      : `${delay} ms away, the tank is shown <b>${of(placement)}</b> units off on average, instead of <b>${of(0)}</b> with local placement.`;
  }
}

function disc(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.fill();
}

function makeCard(place, name) {
  const card = document.createElement("section");
  card.className = "card";
  card.style.setProperty("--c", `var(--${name})`);
  const row = (text, key) => `<span data-key="${key}">${text}</span><div class="bar"><span data-bar="${key}"></span></div><b data-value="${key}"></b>`;
  card.innerHTML = `<h3></h3><div class="big"><span></span> <small>off now</small></div>
    <div class="bars exact">${row("On its way", "before")}${row("Arrived", "after")}</div>
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
