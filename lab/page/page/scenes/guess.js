// Guess the future.
import { Camera, HUES, begin, chart, colour, dashes, label } from "../draw.js";
import { element } from "../controls.js";
import { onDrop, open, recordings } from "../files.js";

export const title = "Guess the future";

const HORIZONS = 7;
const [NOT_ASKED, ANSWERS] = [0, 1];
// The distance within which a click counts, in pixels of the page.
const NEAR_A_LINE = 12;
const NEAR_A_PLAYER = 28;
// A DR vector about one player, with the headers of UDP and IP.
const VECTOR_BYTES = 50;
const WHICH_FILES = "CSV or .csv.gz: t, entity, team, x, y; with its .breaks.csv. Or what `fairpath serve --keep` saved. Or drop them onto the page.";

export const html = `
<h1>Guess the future</h1>
<p class="look">A match of bots in Ethereal, a small team shooter; drop a recording of your own game onto it. Each coloured line is where a <dfn tabindex="0" data-def="A rule that says where a player will be, from what is known now.">predictor</dfn> expects a player to go in the next <span class="ahead"></span> s, the heavy line is where it went. Click a line to see why it was wrong.</p>
<p class="verdict"></p>
<div class="scene wide">
  <div class="stage">
    <canvas class="field guess" role="img" aria-label="Players from above, with predictions fanned out ahead of them. Left and right choose a player, up and down a predictor" tabindex="0"></canvas>
    <div class="transport" role="group" aria-label="Time"></div>
    <div class="timeline"></div>
    <div class="legend"><span><i style="--c: var(--ink)"></i>where the player went</span><span>circles against squares</span><span class="meter"></span></div>
    <div class="charts strips"><div class="panel why" tabindex="0" role="region" aria-label="Why did this one fail?"><h2>Why did this one fail?</h2><div class="reasons" aria-live="polite"></div></div>
    <figure><figcaption><b>Mean error</b> up to each moment, as far ahead as chosen</figcaption><canvas class="chart" role="img"></canvas></figure></div>
  </div>
  <div class="side">
    <div class="controls"></div>
    <div class="panel">
      <h2>So far</h2>
      <div class="scroll" tabindex="0" role="region" aria-label="Scores of the predictors"><table class="scores"><thead><tr><th>Predictor</th><th title="How far predictions were off on average, so far ahead as chosen">Mean error</th><th title="How many predictions were within the hit radius">Hits</th><th title="Corrections that a sender would have to send, per player">Packets per s</th></tr></thead><tbody></tbody></table></div>
      <p class="quiet counting" style="margin: .5rem 0 0"></p>
    </div>
  </div>
</div>
<details>
  <summary>What am I looking at?</summary>
  <p>Bots play a small team shooter, Ethereal: circles against squares. Sixty times a second each predictor says where every player will be in 0.3 to 2.1 seconds, from
  what was known at that moment and nothing else. A better prediction means fewer packets, and a lost packet matters less. People move otherwise than bots: judge by a recording of your own game.</p>
  <p><b>Your own recording</b>: drop a CSV file with the columns t, entity, team, x, y (seconds, metres) onto the page, or choose one; plain or gzipped, and with its <code>.breaks.csv</code> (t, entity, reason) where players
  respawn or teleport. A trace that <code>fairpath record</code> or <code>fairpath serve --keep</code> wrote as CSV is shown too: the truth, or where the server placed everybody. It stays in this browser. Predictors that need walls or key presses are left out.</p>
  <dl>
    <dt>Predictors</dt><dd>tick the predictors you want in the table. A predictor that is added later first replays everything before, which takes a moment for a long recording. One more, the trend line, needs laps on a track: <code>fairpath lab run trend-line</code>.</dd>
    <dt>Mean error</dt><dd>the distance between where a player was expected and where it was.</dd>
    <dt>Hits</dt><dd>predictions that were close enough: within the distance a player runs in an eighth of a second.</dd>
    <dt>Packets</dt><dd>a prediction holds until it is off by more than the hit radius; then a packet is needed.</dd>
    <dt>Speed and direction</dt><dd>the two parts of an error: how much longer or shorter the path was than predicted, and the angle between the two paths. Their squares add up.</dd>
  </dl>
</details>`;

export const controls = [
  {
    title: "What is shown",
    controls: [
      { knob: "horizon", label: "How far ahead", unit: "s", shown: (value) => value.toFixed(1) },
      { knob: "player", label: "Player looked at", explain: "Or click one" },
    ],
  },
  {
    title: "The match",
    controls: [
      { knob: "players", label: "Players on each side", explain: "A new match is played for it" },
    ],
  },
];

// The frame's numbers by name; their order is that of `Guess` in Rust.
export function read(numbers) {
  let at = 0;
  const take = (count) => numbers.subarray(at, (at += count));
  const [seconds, wholeSeconds, playerCount, predictorCount, horizon, hitRadius, lowX, lowY, highX, highY, chosen, focus] = take(12);
  const predictors = Array.from({ length: predictorCount }, (_, number) => {
    const [standing, mean, hits, packets, counted] = take(5);
    return { number, standing, mean, hits, packets, counted };
  });
  const able = predictors.filter((one) => one.standing === ANSWERS);
  const players = Array.from({ length: playerCount }, () => {
    const [isThere, team, x, y] = take(4);
    const truth = take(2 * HORIZONS);
    const answers = able.map(({ number }) => {
      const [isKnown] = take(1);
      return { number, isKnown: isKnown > 0, places: take(2 * HORIZONS) };
    });
    return { isThere: isThere > 0, team, x, y, truth, answers };
  });
  return { seconds, wholeSeconds, horizon, hitRadius, lowX, lowY, highX, highY, chosen, focus, predictors, players };
}

export class View {
  constructor(show) {
    this.show = show;
    const find = (selector) => show.main.querySelector(selector);
    this.field = find(".field");
    this.chart = find(".chart");
    this.verdict = find(".verdict");
    this.reasons = find(".reasons");
    this.counting = find(".counting");
    this.ahead = find(".ahead");
    this.camera = new Camera(100, 60);
    this.slow = 0;
    this.walls = [];
    this.predictors = show.stage.words("predictors").split("\n").map((line) => {
      const [name, words, hue, stroke, title] = line.split("\t");
      return { name, title, words, hue: HUES[Number(hue)], stroke: Number(stroke) };
    });
    this.makeTable(find("tbody"));
    this.makeTimeline(find(".timeline"));
    this.makeFiles(find(".side"));
    this.field.addEventListener("click", (event) => this.choose(event));
    this.field.addEventListener("keydown", (event) => this.walkWithKeys(event));
    this.readGround();
  }

  // A row for each predictor: a box to ask it, the line it is drawn with, and how it fares.
  makeTable(body) {
    const knob = this.show.controls.knobs.get("predictors");
    this.rows = this.predictors.map(({ name, title, words, hue, stroke }, number) => {
      const row = element("tr");
      row.innerHTML = `<td title="${words}"><label><input type="checkbox" name="predictors" value="${2 ** number}" aria-label="Ask ${title} (${name})"><svg width="28" height="10" aria-hidden="true"><line x1="1" x2="27" y1="5" y2="5" style="stroke: var(--${hue})" stroke-width="3" stroke-dasharray="${dashes(stroke).join(" ")}"></line></svg></label>
        <button class="plain" name="focus" value="${number}" aria-label="${title} ${name}: why?">${title} <span class="lit-name">${name}</span></button><small>${words}</small></td><td></td><td></td><td></td>`;
      row.querySelector("input").addEventListener("change", (event) => this.ask(number, event.target.checked));
      row.querySelector("button").addEventListener("click", () => this.focusOn(number));
      body.append(row);
      return row;
    });
    knob.reflect = (mask) => this.rows.forEach((row, number) => (row.querySelector("input").checked = (mask >> number) % 2 === 1));
    const focus = this.show.controls.knobs.get("focus");
    focus.reflect = (chosen) => this.rows.forEach((row, number) => row.classList.toggle("chosen", number === chosen));
    for (const one of [knob, focus]) one.reflect(one.value);
    const buttons = element("div", "buttons");
    buttons.style.marginTop = ".5rem";
    for (const [text, mask] of [["Ask all", knob.high], ["The usual six", knob.usual]]) {
      const button = element("button");
      button.textContent = text;
      button.addEventListener("click", () => this.show.controls.set("predictors", mask));
      buttons.append(button);
    }
    body.closest(".scroll").after(buttons);
  }

  ask(number, isAsked) {
    const mask = this.show.controls.value("predictors");
    const others = mask - ((mask >> number) % 2) * 2 ** number;
    this.show.controls.set("predictors", others + (isAsked ? 2 ** number : 0));
    this.slow = 0;
  }

  focusOn(number) {
    this.ask(number, true);
    this.show.controls.set("focus", number);
    this.slow = 0;
  }

  // A moment anywhere in the recording.
  makeTimeline(place) {
    const slider = element("input");
    const says = element("output");
    Object.assign(slider, { type: "range", name: "at", min: 0, step: 0.1 });
    slider.setAttribute("aria-label", "Moment");
    slider.addEventListener("input", () => this.show.controls.set("at", Number(slider.value)));
    place.append(slider, says);
    this.slider = slider;
    this.moment = says;
    this.readLength();
  }

  readLength() {
    const line = this.show.stage.knobs().split("\n").find((one) => one.startsWith("at "));
    const knob = this.show.controls.knobs.get("at");
    knob.high = Number(line.split(" ")[2]);
    this.slider.max = knob.high;
    knob.reflect = (value) => {
      this.slider.value = value;
      this.moment.textContent = `${clock(value)} of ${clock(knob.high)}`;
    };
    knob.reflect(knob.value);
  }

  makeFiles(place) {
    const panel = element("section", "panel");
    panel.innerHTML = `<h2>Your own recording</h2><input type="file" multiple accept=".csv,.gz,text/csv,application/gzip" aria-label="A recording as CSV, and its breaks"><small class="quiet says"></small>`;
    const input = panel.querySelector("input");
    this.fileSays = panel.querySelector("small");
    this.fileSays.textContent = WHICH_FILES;
    this.ask0 = element("div", "buttons");
    panel.append(this.ask0);
    input.addEventListener("change", () => this.readFiles([...input.files]));
    place.append(panel);
    onDrop(this.show.main, (files) => this.readFiles(files));
  }

  async readFiles(files) {
    const [found] = recordings(files);
    try {
      if (!found) throw new Error(`${files[0]?.name ?? "nothing"}: not a recording: give a .csv or .csv.gz file with the columns t, entity, team, x, y`);
      const { name, bytes } = await open(found.file);
      const breaks = found.breaks && (await open(found.breaks));
      const wrong = this.show.stage.read(name, bytes, breaks?.name ?? "", breaks?.bytes);
      if (wrong) throw new Error(wrong);
      this.kept = { name, bytes, breaks };
      this.offerCuts();
      this.fileSays.textContent = `${found.file.name} is shown${breaks ? `, cut by ${found.breaks.name}` : ""}. ${this.show.stage.words("cut")}`;
      this.fileSays.classList.remove("failed");
      this.readGround();
      this.readLength();
    } catch (error) {
      this.fileSays.textContent = error.message;
      this.fileSays.classList.add("failed");
    }
    this.slow = 0;
  }

  // A recording without breaks may jump where players respawn: the reader is asked instead of a wrong score shown.
  offerCuts() {
    this.ask0.replaceChildren();
    const jumps = this.kept.breaks ? "" : this.show.stage.words("jumps");
    if (!jumps) return;
    const count = jumps.split("\n").length;
    const says = element("span");
    says.textContent = `Players jump ${count} ${count === 1 ? "time" : "times"}, farther than they can run.`;
    const cut = element("button");
    Object.assign(cut, { type: "button", textContent: "Cut there?" });
    cut.addEventListener("click", () => {
      const bytes = new TextEncoder().encode(`t,entity,reason\n${jumps}\n`);
      const { name } = this.kept;
      this.kept.breaks = { name: "jumps.breaks.csv", bytes };
      const wrong = this.show.stage.read(name, this.kept.bytes, this.kept.breaks.name, bytes);
      this.fileSays.textContent = wrong ?? `${name} is shown, cut at ${count} jumps.`;
      this.ask0.replaceChildren();
      this.readGround();
      this.readLength();
      this.slow = 0;
    });
    this.ask0.append(says, cut);
  }

  // The moments of the recording, for the controls of time.
  get timeline() {
    const at = this.show.controls.knobs.get("at");
    const now = this.frame?.seconds ?? 0;
    return { now, end: at.high, seek: (seconds) => this.show.controls.set("at", Number(Math.min(at.high, Math.max(0, seconds)).toFixed(3))) };
  }

  // All players to one other, by the predictor that is explained.
  traffic() {
    const { frame } = this;
    const focus = frame?.predictors[frame.focus];
    if (!focus || focus.standing !== ANSWERS) return undefined;
    const things = frame.players.length;
    return { rate: VECTOR_BYTES * focus.packets * things, bytesEach: VECTOR_BYTES, things };
  }

  turned(knob) {
    if (knob === "players") {
      this.readGround();
      this.readLength();
    }
    this.slow = 0;
  }

  // Another match: the scene was made anew.
  begin() {
    // Other dice keep the reader's recording.
    const { name, bytes, breaks } = this.kept ?? {};
    if (name) this.show.stage.read(name, bytes, breaks?.name ?? "", breaks?.bytes);
    else this.fileSays.textContent = WHICH_FILES;
    this.readGround();
    this.readLength();
  }

  readGround() {
    this.stage = this.show.stage;
    this.walls = this.stage.ground();
    this.unit = this.stage.words("unit");
  }

  draw(numbers, seconds) {
    if (this.stage !== this.show.stage) this.begin();
    const frame = read(numbers);
    this.frame = frame;
    this.drawField(frame);
    this.slow -= seconds;
    if (this.slow > 0) return;
    this.slow = 0.2;
    const at = this.show.controls.knobs.get("at");
    if (!this.slider.matches(":active")) at.reflect(frame.seconds);
    this.fillTable(frame);
    this.explain();
    const known = frame.predictors.filter((one) => one.standing === ANSWERS);
    this.chart.setAttribute("aria-label", `Mean error now: ${known.map((one) => `${this.predictors[one.number].title} ${one.mean.toFixed(1)}`).join(", ")}`);
    this.ahead.textContent = (0.3 * (frame.horizon + 1)).toFixed(1);
    chart(this.show.stage, 0, this.chart);
  }

  // What Rust says about the prediction looked at: a heading and a sentence on each line.
  explain() {
    const words = this.stage.words("why");
    if (words === this.said) return;
    this.said = words;
    this.reasons.replaceChildren(
      ...words.split("\n").map((line) => {
        const [heading, sentence] = line.split("\t");
        const part = element("p");
        if (heading) {
          const bold = element("b");
          bold.textContent = `${heading}: `;
          part.append(bold);
        }
        part.append(sentence);
        return part;
      }),
    );
  }

  fillTable({ predictors, horizon, seconds }) {
    predictors.forEach(({ standing, mean, hits, packets }, number) => {
      const [, one, two, three] = this.rows[number].children;
      const isAble = standing === ANSWERS;
      one.textContent = isAble ? mean.toFixed(1) : standing === NOT_ASKED ? "" : "sits out";
      two.textContent = isAble ? `${hits.toFixed(0)} %` : "";
      three.textContent = isAble ? packets.toFixed(2) : "";
      this.rows[number].classList.toggle("idle", !isAble);
    });
    const able = predictors.filter((one) => one.standing === ANSWERS);
    const behind = Math.min(seconds, ...able.map((one) => one.counted));
    this.counting.textContent = behind < seconds - 0.2 ? `Counting: ${clock(behind)} of ${clock(seconds)}…` : `Lengths are in ${this.unit}.`;
    const [line] = predictors;
    const best = able.reduce((one, other) => (other.mean < (one?.mean ?? Infinity) ? other : one), undefined);
    if (!best || best.mean === 0) return (this.verdict.textContent = "");
    const compared = best !== line && line.standing === ANSWERS ? `: ${((100 * best.mean) / line.mean).toFixed(0)} % of what a straight line is` : "";
    this.verdict.innerHTML = `${(0.3 * (horizon + 1)).toFixed(1)} s ahead, <b>${this.predictors[best.number].title}</b> (${this.predictors[best.number].name}) has an error of <b>${best.mean.toFixed(1)}</b> ${this.unit} on average${compared}.`;
  }

  drawField(frame) {
    const { context, width, height } = begin(this.field);
    const camera = this.camera;
    const margin = frame.hitRadius * 2;
    camera.unitsWide = frame.highX - frame.lowX + 2 * margin;
    camera.unitsHigh = frame.highY - frame.lowY + 2 * margin;
    camera.x = (frame.lowX + frame.highX) / 2;
    camera.y = (frame.lowY + frame.highY) / 2;
    camera.aim(width, height);
    context.fillStyle = colour("line");
    for (let at = 0; at < this.walls.length; at += 5) {
      const [left, bottom] = camera.point(this.walls[at + 1], this.walls[at + 2]);
      const [right, top] = camera.point(this.walls[at + 3], this.walls[at + 4]);
      context.fillRect(left, top, right - left + 0.5, bottom - top + 0.5);
    }
    frame.players.forEach((player, number) => player.isThere && number !== frame.chosen && this.drawPlayer(context, frame, player, false));
    const chosen = frame.players[frame.chosen];
    if (chosen?.isThere) this.drawPlayer(context, frame, chosen, true);
  }

  drawPlayer(context, frame, player, isChosen) {
    const camera = this.camera;
    const upTo = 2 * (frame.horizon + 1);
    for (const { number, isKnown, places } of player.answers) {
      if (!isKnown) continue;
      const { hue, stroke } = this.predictors[number];
      const isFocus = isChosen && number === frame.focus;
      camera.path(context, [player.x, player.y, ...places.subarray(0, upTo)], colour(hue), { width: isFocus ? 5 : isChosen ? 3 : 2, alpha: 0.9, dash: dashes(stroke) });
    }
    camera.path(context, [player.x, player.y, ...player.truth.subarray(0, upTo)], colour("ink"), { width: isChosen ? 3.5 : 2.5 });
    const [x, y] = camera.point(player.x, player.y);
    context.fillStyle = colour("ink");
    context.strokeStyle = colour("field");
    context.lineWidth = 2;
    context.beginPath();
    // Teams by shape, since the colours are the predictors'.
    if (player.team === 1) context.arc(x, y, 7, 0, 7);
    else context.rect(x - 6, y - 6, 12, 12);
    context.fill();
    context.stroke();
    if (isChosen) this.drawChosen(context, frame, player, upTo);
  }

  // Draws the ring around the selected player, the hit radius and the error that is explained.
  drawChosen(context, frame, player, upTo) {
    const camera = this.camera;
    const [x, y] = camera.point(player.x, player.y);
    const [there, radius] = [player.truth.subarray(upTo - 2, upTo), frame.hitRadius * camera.zoom];
    const [ex, ey] = camera.point(...there);
    context.strokeStyle = colour("ink");
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, 13, 0, 7);
    context.stroke();
    context.setLineDash([3, 3]);
    context.beginPath();
    context.arc(ex, ey, radius, 0, 7);
    context.stroke();
    context.setLineDash([]);
    const answer = player.answers.find((one) => one.number === frame.focus && one.isKnown);
    if (answer) {
      const expected = answer.places.subarray(upTo - 2, upTo);
      camera.arrow(context, ...there, ...expected, colour(this.predictors[frame.focus].hue));
      camera.label(context, ...expected, this.predictors[frame.focus].title, colour("ink"), [0, 16]);
    }
    label(context, ex, ey - radius - 9, "hit", colour("quiet"));
  }

  // The line or the player that was clicked.
  choose({ clientX, clientY }) {
    const { left, top } = this.field.getBoundingClientRect();
    const click = [clientX - left, clientY - top];
    const upTo = 2 * (this.frame.horizon + 1);
    let nearest = { distance: Infinity };
    const offer = (distance, reach, player, predictor) => {
      if (distance < reach && distance < nearest.distance) nearest = { distance, player, predictor };
    };
    this.frame.players.forEach((player, number) => {
      if (!player.isThere) return;
      for (const answer of player.answers.filter((one) => one.isKnown)) {
        const points = [player.x, player.y, ...answer.places.subarray(0, upTo)];
        for (let at = 2; at < points.length; at += 2) {
          const ends = [this.camera.point(points[at - 2], points[at - 1]), this.camera.point(points[at], points[at + 1])];
          offer(distanceToLine(click, ...ends), NEAR_A_LINE, number, answer.number);
        }
      }
      // All lines begin at the player, so a click there selects the player.
      const [x, y] = this.camera.point(player.x, player.y);
      const away = Math.hypot(x - click[0], y - click[1]);
      offer(away < NEAR_A_LINE ? -1 : away, NEAR_A_PLAYER, number);
    });
    if (nearest.player === undefined) return;
    this.show.controls.set("player", nearest.player);
    if (nearest.predictor !== undefined) this.show.controls.set("focus", nearest.predictor);
    this.slow = 0;
  }

  // With the field in focus: left and right go through players, up and down through predictors that are asked.
  walkWithKeys(event) {
    const [player, predictor] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.code] ?? [0, 0];
    if (player === 0 && predictor === 0) return;
    event.preventDefault();
    const { players, predictors, chosen, focus } = this.frame;
    const around = (list, from, step) => list[(list.indexOf(from) + step + list.length) % list.length];
    if (player !== 0) this.show.controls.set("player", around([...players.keys()], chosen, player));
    const able = predictors.filter((one) => one.standing === ANSWERS).map((one) => one.number);
    if (predictor !== 0 && able.length > 0) this.show.controls.set("focus", around(able, focus, predictor));
    this.slow = 0;
  }
}

function distanceToLine([x, y], [x1, y1], [x2, y2]) {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const share = Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - x1 - share * dx, y - y1 - share * dy);
}

// Minutes and seconds, as on a clock.
function clock(seconds) {
  const whole = Math.floor(seconds);
  const tenths = Math.floor((seconds - whole) * 10);
  return seconds < 60 ? `${whole}.${tenths} s` : `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")} min`;
}
