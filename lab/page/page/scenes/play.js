// Play: a tank, a jet car, a boat or a race car over a bad network.
import { choiceAt, numberAt, remember } from "../address.js";
import { element } from "../controls.js";
import { Camera, begin, chart, colour, curve, label } from "../draw.js";
import { Network, findServer } from "../network.js";

export const title = "Play";
export const fires = true;

const GAMES = [
  {
    name: "Tank",
    words: "Arrow keys or W A S D drive, space fires a beam. You are the tank with the ring.",
    status: ([fired, seen, counted]) => `${fired} shots · ${seen} hits on your screen · ${counted} hits that count`,
    atServer: ([tanks, shots]) => `${tanks} other tanks and ${shots} of their shots on the field; shots are shown but do not hit`,
    unit: "units; a tank is 6 long",
    others: "the rival",
  },
  {
    name: "Jet car",
    words: "Thrusters and no brakes: arrow keys push. Let things pass (+1), do not touch them (−4), keep off the walls.",
    status: ([score, lives, left, isOver]) => (isOver ? `over: ${score} points` : `score ${score} · cars ${lives} · ${left.toFixed(0)} s left`),
    unit: "pixels; the car is 36 wide",
    others: "what comes down",
  },
  {
    name: "Boat",
    words: "Left and right steer, up lets the sail out, down pulls it in. Be at the red buoy before the other boat.",
    status: ([seconds, own, other, sheet]) => `${seconds.toFixed(0)} s · ${own.toFixed(0)} ft to go, the other ${other.toFixed(0)} · sheet ${(100 * sheet).toFixed(0)} % out`,
    unit: "feet; a boat is 24 long",
    others: "the other boat",
  },
  {
    name: "Race car",
    words: "Up is throttle, down is brake, left and right steer. Three others drive the same road.",
    status: ([laps, place, last, speed]) => `place ${place} · laps ${laps}${last > 0 ? ` · last ${last.toFixed(1)} s` : ""} · ${(3.6 * speed).toFixed(0)} km/h`,
    unit: "metres; a car is 4.6 long",
    others: "the other cars",
  },
];

export const html = `
<h1>Play</h1>
<p class="look">Drive with a <dfn tabindex="0" data-def="The time from a key press to the server and back to your screen.">round trip</dfn> of <span data-knob="lag"></span> ms. Then switch on prediction (key 1): your vehicle obeys at once.</p>
<p class="verdict"></p>
<div class="scene">
  <div class="stage">
    <div class="views">
      <figure class="own"><figcaption>Your screen</figcaption><canvas class="field play" role="img" aria-label="The game on your screen" tabindex="0"></canvas></figure>
      <figure class="at-server"><figcaption>The server: what counts</figcaption><canvas class="field play" role="img" aria-label="The game at the server"></canvas></figure>
      <figure class="at-rival"><figcaption>A rival's screen</figcaption><canvas class="field play" role="img" aria-label="The game on a rival's screen"></canvas></figure>
      <div class="pads"><div class="stick" data-axes="x" role="application" aria-label="Steer left and right"></div><button class="fire" type="button" hidden>Fire</button><div class="stick" data-axes="y" role="application" aria-label="Drive ahead and back"></div></div>
    </div>
    <p class="demo" hidden></p>
    <div class="transport" role="group" aria-label="Time"></div>
    <div class="legend"><span class="status"></span><span><i class="ghost"></i>your vehicle at the server</span><span class="meter"></span></div>
    <div class="charts"><figure><figcaption><i style="--c: var(--three)"></i><b>You</b> and <i style="--c: var(--two)"></i><b>the others</b>: <span class="caption"></span></figcaption><canvas class="chart" role="img"></canvas></figure></div>
  </div>
  <div class="side"><div class="controls"></div></div>
</div>
<details>
  <summary>What am I looking at?</summary>
  <p>The server decides where everything is. A key press takes half a round trip to reach it, and the result takes as long to come back. The five switches are the usual answers to that, each with a sentence about what is seen without it.</p>
  <p>"Off by" compares what your screen shows with the server's state at the moment your key press arrives there. The dashed outline is your vehicle at the server at this moment or, over a real link, in the newest state the server sent.</p>
  <p>The tank's beam arrives at once. Your screen counts a hit when the beam meets the rival on it; the server decides on its own. With lag-compensated hits it looks at the rival where your screen showed it.</p>
  <p><b>At the server</b> (if this page came from one) the game runs over a real network, by WebTransport. Your browser owns your tank: it sends a message when other players would show the tank wrongly, and the other tanks arrive the same way.
  Shots are shown but do not hit. Without prediction you see your tank as it comes back from the server. The server keeps a ledger of the error on each player's screen; "fair" means that all players have the same. Jet car, boat and race car run on the server, and your browser predicts until its answer arrives.
  If the server stops, the page says so and reconnects by itself.</p>
</details>`;

export const controls = [
  {
    title: "Lag, and the cure",
    controls: [
      { knob: "lag", label: "Round trip", unit: "ms", explain: "From your keys to the server and back to your screen" },
      { knob: "prediction", isSwitch: true, label: "Prediction", key: "1", explain: "Without it your vehicle answers a round trip late." },
    ],
  },
  {
    title: "Four more techniques",
    controls: [
      { knob: "reconciliation", isSwitch: true, label: "Reconciliation", key: "2", explain: "Without it a prediction is never corrected, and you drive where you are not." },
      { knob: "interpolation", isSwitch: true, label: "Interpolation", key: "3", explain: "Without it the others jump from message to message." },
      { knob: "smoothing", isSwitch: true, label: "Smoothing", key: "4", explain: "Without it every correction of your vehicle is a jump." },
      { knob: "rewinding", isSwitch: true, label: "Lag-compensated hits", key: "5", explain: "Without them you must aim ahead of what you see." },
    ],
  },
  {
    title: "The link",
    controls: [
      { knob: "jitter", label: "Jitter", unit: "ms", shown: (value) => `± ${value}`, explain: "How much earlier or later than usual a message may be" },
      { knob: "loss", label: "Loss", unit: "%", explain: "How many messages never arrive" },
    ],
  },
  {
    title: "The game",
    controls: [
      { knob: "game", choices: GAMES.map(({ name, words }) => [name, words]), select: true, label: "You drive a" },
      { knob: "driver", label: "At the wheel", select: true, choices: ["you", "a bot, on your screen"] },
    ],
  },
];

// By digit: the knob that the key switches, and what the demonstration says about it.
const SWITCHES = [
  ["prediction", "without prediction your tank answers a round trip late"],
  ["reconciliation", "without reconciliation the screen drives on where the server is not"],
  ["interpolation", "without interpolation the rival jumps from message to message"],
  ["smoothing", "without smoothing every correction is a jump"],
  ["rewinding", "without lag-compensated hits a beam that meets the rival on your screen misses it at the server"],
];

// The frame's numbers by name; their order is that of `Play` in Rust.
export function read(numbers) {
  let at = 0;
  const take = (count) => numbers.subarray(at, (at += count));
  const [seconds, game] = take(2);
  const [x, y, width, trueX, trueY, trueHeading] = take(6);
  const [own, others, ownNow, othersNow] = take(4);
  const status = [...take(4)];
  const [windX, windY] = take(2);
  const things = readThings(take);
  // A real link has one view and no counter.
  const isSimulated = at < numbers.length;
  const vectors = isSimulated ? take(1)[0] : 0;
  const views = isSimulated ? [things, readThings(take), readThings(take)] : [things];
  return { vectors, views, seconds, game, x, y, width, trueX, trueY, trueHeading, own, others, ownNow, othersNow, status, windX, windY, things };
}

function readThings(take) {
  const [count] = take(1);
  return Array.from({ length: count }, () => {
    const [kind, x, y, heading, a, b, team, isOwn] = take(8);
    return { kind, x, y, heading, a, b, team, isOwn: isOwn > 0 };
  });
}

// A DR vector of the own vehicle to one receiver, with the headers of UDP and IP.
const VECTOR_BYTES = 50;

// The chart of a real link: so many numbers, over so many seconds.
const [PAST_MAX, PAST_SECONDS] = [100, 20];

const [TANK, SHOT, JET_CAR, OBSTRUCTION, BOAT, BUOY, CAR, BEAM] = Array.from({ length: 8 }, (_, index) => index);
// Games whose field is larger than the screen.
const HAS_MAP = [0, 3];
const TEAMS = ["two", "three"];
const SEATS = ["three", "two", "far", "one"];

export class View {
  steers = true;

  constructor(show) {
    this.show = show;
    this.fields = [...show.main.querySelectorAll(".field")];
    this.chart = show.main.querySelector(".chart");
    this.verdict = show.main.querySelector(".verdict");
    this.status = show.main.querySelector(".status");
    this.camera = new Camera(150, 80);
    this.caption = show.main.querySelector(".caption");
    this.slow = 0;
    this.ground = [];
    this.past = [];
    this.added = 0;
    show.main.classList.add("steers");
    const fire = show.main.querySelector(".fire");
    this.fire = fire;
    for (const [kind, isDown] of [["pointerdown", true], ["pointerup", false], ["pointercancel", false]])
      fire.addEventListener(kind, () => show.hands.pull(isDown));
    this.readGround();
    this.offerNetwork();
    this.demo = new Demo(show);
  }

  // Keys 1 to 5 switch the techniques.
  pressDigit(digit) {
    const knob = SWITCHES[digit - 1]?.[0];
    if (knob) this.show.controls.set(knob, 1 - this.show.controls.value(knob));
  }

  // The own vehicle's messages to one other player.
  traffic() {
    const { frame } = this;
    if (!frame || this.network) return undefined;
    return { seconds: frame.seconds, bytes: VECTOR_BYTES * frame.vectors, bytesEach: VECTOR_BYTES };
  }

  // The server that serves this page may also run the games.
  async offerNetwork() {
    const server = await findServer();
    if (!server) return;
    const panel = element("section", "panel");
    if (typeof WebTransport === "undefined") {
      // A page over plain HTTP from another machine is no secure context, and browsers hide WebTransport there.
      const why = window.isSecureContext ? "this browser has no WebTransport. Chrome, Edge and Firefox have it" : "browsers offer WebTransport only to pages from this machine (localhost) or over HTTPS";
      panel.innerHTML = `<h2>Where</h2><p class="quiet no-transport">You play in this page. To play at the server you need WebTransport, and ${why}.</p>`;
      this.show.main.querySelector(".controls").append(panel);
      return;
    }
    panel.innerHTML = `<h2>Where</h2><div class="choices" role="radiogroup" aria-label="Where">
      <label><input type="radio" name="network" value="simulated"><span>In this page<small>The server and the network are simulated.</small></span></label>
      <label><input type="radio" name="network" value="real"><span>At the server<small>Over the real network (WebTransport). Tanks: with all players on this server. The other games: a run of your own on the server.</small></span></label></div>
      <div class="control" title="The page adds half of it in each direction"><div class="row"><label for="added">Added to the real round trip</label><output></output></div><input type="range" id="added" name="added" min="0" max="1000" step="10"></div>`;
    this.show.main.querySelector(".controls").append(panel);
    this.server = server;
    this.addLag(panel.querySelector("[name=added]"), panel.querySelector("output"));
    const isReal = choiceAt("network", ["real"], "") === "real";
    for (const input of panel.querySelectorAll("[name=network]")) {
      input.checked = (input.value === "real") === isReal;
      input.addEventListener("change", () => this.go(input.value === "real"));
    }
    if (isReal) this.go(true);
  }

  // Adds to the round trip of the real link.
  addLag(slider, output) {
    const add = (ms) => {
      this.added = ms;
      output.textContent = `${ms} ms`;
      remember("added", ms, 0);
    };
    slider.closest(".control").hidden = true;
    slider.value = numberAt("added", { low: 0, high: 1000, step: 10, usual: 0 });
    add(Number(slider.value));
    slider.addEventListener("input", () => add(Number(slider.value)));
  }

  // To the server, or back into the page.
  go(isReal) {
    this.network?.end();
    this.network = isReal ? new Network(this.server, this.show.controls.value("game")) : undefined;
    remember("network", isReal ? "real" : "", "");
    this.past = [];
    this.held = undefined;
    // The simulated round trip means nothing there: the link has its own, and the other slider adds to it.
    for (const knob of ["lag", "jitter", "loss", "reconciliation", "interpolation", "smoothing", "rewinding"]) this.show.main.querySelector(`[name=${knob}]`).closest(".control").hidden = isReal;
    this.show.main.classList.toggle("real", isReal);
    this.show.main.querySelector("[name=added]").closest(".control").hidden = !isReal;
    this.readGround();
  }

  close() {
    this.network?.end();
    this.demo.close();
  }

  // The real network's frame, where that is played.
  numbers() {
    if (!this.network) return undefined;
    const { right, ahead, fires } = this.show.hands;
    const value = (knob) => this.show.controls.value(knob);
    const { isPaused } = this.show;
    this.network.set(this.added, value("driver") > 0 && !isPaused, value("prediction") > 0);
    // The others go on: a pause holds the picture, and the own vehicle gets no input.
    const numbers = isPaused ? this.network.frame(0, 0, false) : this.network.frame(right, ahead, fires);
    if (!isPaused || !this.held) this.held = numbers;
    return this.held;
  }

  turned(knob) {
    if (knob === "game" && this.network) this.go(true);
    else if (knob === "game") this.readGround();
  }

  readGround() {
    const numbers = (this.network?.session ?? this.show.stage).ground();
    this.ground = [];
    for (let at = 0; at < numbers.length; ) {
      const count = numbers[at];
      this.ground.push(numbers.subarray(at + 1, at + 1 + 2 * count));
      at += 1 + 2 * count;
    }
    this.stage = this.show.stage;
  }

  draw(numbers, seconds) {
    const frame = read(numbers);
    this.frame = frame;
    this.demo.draw(seconds, this.network);
    if (this.stage !== this.show.stage) {
      this.readGround();
      this.network?.session.again();
    }
    this.drawField(frame);
    this.slow -= seconds;
    if (this.slow > 0) return;
    this.slow = 0.2;
    // Only a tank fires; with a keyboard the space bar does it.
    this.fire.hidden = frame.game !== 0 || matchMedia("(hover: hover)").matches;
    if (this.network) return this.sayNetwork(frame);
    const game = GAMES[frame.game];
    this.status.textContent = game.status(frame.status);
    const lag = this.show.controls.value("lag");
    this.caption.textContent = "error of your screen when your key press reaches the server";
    const cure = this.show.controls.value("prediction") > 0 || lag < 60 ? "" : " Switch on prediction: key 1.";
    this.verdict.innerHTML = `With a round trip of ${lag} ms, your screen is off by <b>${frame.own.toFixed(1)}</b> about yourself and by <b>${frame.others.toFixed(1)}</b> about ${game.others} (${game.unit}).${cure}`;
    this.chart.setAttribute("aria-label", `Error over the last ten seconds: ${frame.own.toFixed(1)} about you, ${frame.others.toFixed(1)} about ${game.others} on average`);
    chart(this.show.stage, 0, this.chart);
  }

  // Shows what a client knows over a real link: the round trip, the server's ledger and its own error.
  sayNetwork(frame) {
    const [roundTrip, uncertainty, updates, players, own, mean, spread] = this.network.session.standing(this.network.now());
    const game = GAMES[frame.game];
    const isOwner = frame.game === 0;
    this.caption.textContent = isOwner ? "error of all tanks on your screen by the server's ledger, and the mean of all players" : "error of your screen when your key press reached the server";
    this.status.textContent = `${(isOwner ? game.atServer : game.status)(frame.status)} · round trip ${roundTrip.toFixed(0)} ms · clock ± ${uncertainty.toFixed(1)} ms${isOwner ? ` · ${updates} updates received` : ""}`;
    const ledger = players > 0 ? ` By the server's ledger, all tanks on your screen together are <b>${own.toFixed(2)}</b> units off; on average of ${players} ${players === 1 ? "player" : "players"} it is ${mean.toFixed(2)}, and the spread, which is unfairness, <b>${spread.toFixed(2)}</b>.` : "";
    const apart = ` Your screen is off by <b>${frame.own.toFixed(1)}</b> about yourself and by <b>${frame.others.toFixed(1)}</b> about ${game.others} (${game.unit}).`;
    this.chart.setAttribute("aria-label", `Error of your screen over the last ${PAST_SECONDS} seconds`);
    this.verdict.innerHTML = `<b>${this.network.says()}</b>${this.network.session.is_connected() ? (isOwner ? ledger : apart) : ""}`;
    this.past.push(isOwner ? [own, mean] : [frame.ownNow, frame.othersNow]);
    if (this.past.length > PAST_MAX) this.past.shift();
    curve(this.show.stage, this.past, PAST_SECONDS / PAST_MAX, this.chart);
  }

  drawField(frame) {
    frame.views.forEach((things, view) => this.drawView(frame, things, view));
  }

  drawView(frame, things, view) {
    const { context, width, height } = begin(this.fields[view]);
    if (width === 0) return;
    const camera = this.camera;
    camera.unitsWide = frame.width;
    camera.unitsHigh = frame.game === 1 ? frame.width : frame.width * 0.45;
    camera.aim(width, height);
    camera.x = frame.x;
    camera.y = frame.y;
    if (frame.game !== 1) camera.grid(context, frame.game === 2 ? 50 : 20);
    this.drawGround(context, frame.game);
    for (const thing of things) this.drawThing(context, thing, frame.game, view);
    // The browser owns its tank on a server, so without lag the drawn position is the true one.
    if (view !== 1) this.drawTruth(context, frame);
    if (view === 0 && (frame.windX !== 0 || frame.windY !== 0)) this.drawWind(context, frame);
    if (view === 0 && HAS_MAP.includes(frame.game) && width > 420) this.drawMap(context, frame);
    for (const thing of things) if (thing.kind === TANK && !thing.isOwn && view === 0) this.drawPointer(context, thing, "rival", TEAMS[thing.team]);
  }

  // Boxes are filled: nothing drives or shoots through them. The first line is the outline of a field.
  drawGround(context, game) {
    const { camera } = this;
    this.ground.forEach((line, number) => {
      if (game === 0 && number > 0) {
        context.fillStyle = colour("quiet");
        context.beginPath();
        for (let at = 0; at < line.length; at += 2) context.lineTo(...camera.point(line[at], line[at + 1]));
        context.fill();
      }
      camera.path(context, line, colour("ink"), { width: 2, alpha: 0.75 });
    });
  }

  drawThing(context, thing, game, view) {
    const camera = this.camera;
    const [px, py] = camera.point(thing.x, thing.y);
    switch (thing.kind) {
      case TANK:
        camera.tank(context, thing.x, thing.y, thing.heading, colour(TEAMS[thing.team]));
        break;
      case SHOT:
        disc(context, px, py, Math.max(3, camera.zoom * 0.6), colour(TEAMS[thing.team]));
        break;
      case BEAM: {
        const [ex, ey] = camera.point(thing.x + thing.a * Math.cos(thing.heading), thing.y + thing.a * Math.sin(thing.heading));
        context.strokeStyle = colour(thing.b > 0 ? "two" : "quiet");
        context.lineWidth = thing.b > 0 ? 3 : 1.5;
        context.beginPath();
        context.moveTo(px, py);
        context.lineTo(ex, ey);
        context.stroke();
        if (thing.b > 0) label(context, ex, ey - 16, view === 0 ? "hit?" : view === 1 ? "hit!" : "ouch", colour("ink"));
        break;
      }
      case OBSTRUCTION: {
        const [w, h] = [thing.a * camera.zoom, thing.b * camera.zoom];
        context.fillStyle = colour(["middle", "near", "two"][thing.team]);
        context.beginPath();
        context.roundRect(px - w / 2, py - h / 2, w, h, 4);
        context.fill();
        break;
      }
      case JET_CAR: {
        const size = thing.a * camera.zoom;
        context.fillStyle = colour("three");
        context.beginPath();
        context.roundRect(px - size / 2, py - size / 2, size, size, 6);
        context.fill();
        break;
      }
      case BUOY:
        disc(context, px, py, Math.max(6, thing.a * camera.zoom), colour("two"));
        label(context, px, py - Math.max(6, thing.a * camera.zoom) - 10, "buoy", colour("ink"));
        this.drawPointer(context, thing, "buoy", "two");
        break;
      case BOAT:
        this.drawBoat(context, thing, px, py);
        break;
      case CAR: {
        const [length, width] = [4.6 * camera.zoom, 2.2 * camera.zoom];
        context.save();
        context.translate(px, py);
        context.rotate(-thing.heading);
        context.fillStyle = colour(SEATS[thing.team % SEATS.length]);
        context.beginPath();
        context.roundRect(-length / 2, -width / 2, length, width, width / 3);
        context.fill();
        context.fillStyle = colour("field");
        context.fillRect(length * 0.08, -width * 0.32, length * 0.16, width * 0.64);
        context.restore();
        break;
      }
    }
    if (thing.isOwn && game !== 1) {
      context.strokeStyle = colour("ink");
      context.lineWidth = 2;
      context.beginPath();
      context.arc(px, py, camera.zoom * (game === 2 ? 17 : game === 3 ? 4 : 5.2), 0, 7);
      context.stroke();
    }
  }

  // All of the field or road in a corner: the others are mostly out of sight.
  drawMap(context, { things }) {
    const points = this.ground.flatMap((line) => [...line]);
    const [xs, ys] = [0, 1].map((axis) => points.filter((_, index) => index % 2 === axis));
    const [lowX, lowY, highX, highY] = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
    const size = this.camera.width < 500 ? 84 : 124;
    const zoom = size / Math.max(highX - lowX, highY - lowY);
    const [left, top] = [this.camera.width - size - 10, 10];
    const point = (x, y) => [left + (x - lowX) * zoom, top + (highY - y) * zoom];
    context.save();
    context.globalAlpha = 0.85;
    context.fillStyle = colour("panel");
    context.fillRect(left - 4, top - 4, (highX - lowX) * zoom + 8, (highY - lowY) * zoom + 8);
    context.globalAlpha = 1;
    context.strokeStyle = colour("quiet");
    context.lineWidth = 1;
    for (const line of this.ground) {
      context.beginPath();
      for (let at = 0; at < line.length; at += 2) context.lineTo(...point(line[at], line[at + 1]));
      context.stroke();
    }
    for (const { kind, x, y, team, isOwn } of things) {
      if (kind !== TANK && kind !== CAR) continue;
      const [px, py] = point(x, y);
      disc(context, px, py, 3, colour(kind === TANK ? TEAMS[team] : SEATS[team % SEATS.length]));
      if (!isOwn) continue;
      context.strokeStyle = colour("ink");
      context.beginPath();
      context.arc(px, py, 6, 0, 7);
      context.stroke();
    }
    context.restore();
  }

  // Where something out of sight is.
  drawPointer(context, { x, y }, name, style) {
    const { width, height } = this.camera;
    const [px, py] = this.camera.point(x, y);
    if (px > 0 && py > 0 && px < width && py < height) return;
    const [dx, dy] = [px - width / 2, py - height / 2];
    const reach = Math.min((width / 2 - 46) / Math.abs(dx || 1), (height / 2 - 24) / Math.abs(dy || 1));
    const [ex, ey] = [width / 2 + dx * reach, height / 2 + dy * reach];
    disc(context, ex, ey, 6, colour(style));
    label(context, ex, ey + 14, name, colour("ink"));
  }

  drawBoat(context, { heading, a: sail, b: isTight, team }, px, py) {
    const length = 24 * this.camera.zoom;
    context.save();
    context.translate(px, py);
    context.rotate(-heading);
    context.fillStyle = colour(SEATS[team % SEATS.length]);
    context.beginPath();
    context.moveTo(length / 2, 0);
    context.quadraticCurveTo(0, -length / 4, -length / 2, -length / 7);
    context.lineTo(-length / 2, length / 7);
    context.quadraticCurveTo(0, length / 4, length / 2, 0);
    context.fill();
    // The boom goes astern, and out by as much as the wind takes it; y is down here.
    context.rotate(Math.PI - sail);
    context.strokeStyle = isTight > 0 ? colour("ink") : colour("quiet");
    context.lineWidth = 3;
    if (isTight === 0) context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(-length * 0.1, 0);
    context.lineTo(length * 0.55, 0);
    context.stroke();
    context.restore();
  }

  drawTruth(context, { game, trueX, trueY, trueHeading }) {
    const camera = this.camera;
    const y = game === 1 ? 480 - trueY : trueY;
    const [px, py] = camera.point(trueX, y);
    const [length, width] = [[6, 2.8], [36, 36], [24, 9], [4.6, 2.2]][game].map((size) => size * camera.zoom);
    context.save();
    context.translate(px, py);
    context.rotate(-trueHeading);
    context.globalAlpha = 0.6;
    context.strokeStyle = colour("ink");
    context.setLineDash([4, 3]);
    context.lineWidth = 1.5;
    context.strokeRect(-length / 2, -width / 2, length, width);
    context.restore();
  }

  drawWind(context, { windX, windY }) {
    const strength = Math.sqrt(windX * windX + windY * windY);
    const [x, y] = [46, 46];
    context.save();
    context.translate(x, y);
    context.rotate(-Math.atan2(windY, windX));
    context.strokeStyle = colour("accent");
    context.fillStyle = colour("accent");
    context.lineWidth = 3;
    context.beginPath();
    context.moveTo(-20, 0);
    context.lineTo(14, 0);
    context.stroke();
    context.beginPath();
    context.moveTo(22, 0);
    context.lineTo(10, -7);
    context.lineTo(10, 7);
    context.fill();
    context.restore();
    label(context, x, y + 34, strength > 0 ? "wind" : "", colour("accent"));
  }
}

// After three idle seconds a bot drives and shows what each switch does. Whatever the reader does ends it, and the
// reader's own settings return.
class Demo {
  constructor(show) {
    this.show = show;
    this.idle = 0;
    this.place = show.main.querySelector(".demo");
    this.end = () => this.stop();
    for (const event of USED) document.addEventListener(event, this.end, true);
  }

  close() {
    for (const event of USED) document.removeEventListener(event, this.end, true);
  }

  draw(seconds, network) {
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const isOther = !this.saved && (this.show.controls.value("game") !== 0 || this.show.controls.value("driver") > 0);
    if (network || this.show.isPaused || isCalm || isOther || !document.getElementById("tour").hidden) return;
    const before = this.idle;
    this.idle += seconds;
    if (this.idle < IDLE_SECONDS) return;
    const number = Math.floor((this.idle - IDLE_SECONDS) / DEMO_SECONDS);
    if (before >= IDLE_SECONDS && number === Math.floor((before - IDLE_SECONDS) / DEMO_SECONDS)) return;
    // Everything on, and one off at every second turn.
    const off = number % 2 === 1 ? SWITCHES[((number - 1) / 2) % SWITCHES.length] : undefined;
    this.turn("driver", 1);
    for (const [knob] of SWITCHES) this.turn(knob, knob === off?.[0] ? 0 : 1);
    this.place.hidden = false;
    this.place.textContent = `A bot drives: ${off ? off[1] : "all five techniques are on"}. Press any key to drive.`;
  }

  // Turns a knob without the address: it is not the reader's choice.
  turn(name, value) {
    const knob = this.show.controls.knobs.get(name);
    this.saved ??= new Map();
    if (!this.saved.has(name)) this.saved.set(name, knob.value);
    if (knob.value === value) return;
    knob.value = value;
    knob.reflect?.(value);
    this.show.turn(name, value);
  }

  stop() {
    this.idle = 0;
    if (!this.saved) return;
    this.place.hidden = true;
    const saved = this.saved;
    this.saved = undefined;
    for (const [name, value] of saved) {
      const knob = this.show.controls.knobs.get(name);
      if (knob.value === value) continue;
      knob.value = value;
      knob.reflect?.(value);
      this.show.turn(name, value);
    }
  }
}

const USED = ["keydown", "pointerdown", "input", "change", "drop"];
const IDLE_SECONDS = 3;
const DEMO_SECONDS = 5;

function disc(context, x, y, radius, style) {
  context.fillStyle = style;
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.fill();
}
