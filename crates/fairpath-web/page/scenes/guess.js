// Guess the future.
import { Camera, begin, chart, colour, label } from "../draw.js";
import { element } from "../controls.js";

export const title = "Guess the future";

// As the knob counts them; the second name is what a newcomer understands.
const PREDICTORS = [
  ["line", "keeps the velocity", "near"],
  ["tdm", "keeps the acceleration too", "middle"],
  ["hm", "tdm at first, then drawn to friends and away from foes", "far"],
  ["ekb", "follows friends and fights as strength allows", "one"],
  ["oaekb", "the same, around walls", "two"],
  ["adaptive", "learns which of all fits this player", "three"],
];
const HORIZONS = 7;

export const html = `
<h1>Guess the future</h1>
<p class="look">Each fan of coloured lines is where six predictors expect a player to go; the heavy line is where that player really went.</p>
<p class="verdict"></p>
<div class="scene">
  <div class="stage">
    <canvas class="field guess" role="img" aria-label="Players from above, with predictions fanned out ahead of them"></canvas>
    <div class="legend"></div>
    <div class="panel" style="margin-top: .75rem">
      <h2>So far</h2>
      <div class="scroll"><table><thead><tr><th>Predictor</th><th title="How far predictions were off on average, at the horizon chosen">Mean error</th><th title="How many predictions were within the hit radius">Hits</th><th title="How often a sender would have had to correct it, per player">Packets/s</th></tr></thead><tbody></tbody></table></div>
    </div>
    <div class="panel why"><h2>Why did this one fail?</h2><p style="margin: 0">Click a player.</p></div>
    <div class="charts"><figure><figcaption><b>Mean error</b> up to each moment, at the horizon chosen</figcaption><canvas class="chart"></canvas></figure></div>
    <details>
      <summary>What am I looking at?</summary>
      <p>Players of a small shooter, Ethereal, played by bots with a will of their own. At every sixtieth of a second each predictor is asked where everybody will be in 0.3 to 2.1 seconds, from
      what was known at that moment and nothing else. The better the guess, the fewer packets a game must send, and the less it matters when one is lost.</p>
      <p><b>Your own recording</b>: drop a CSV file with the columns t, entity, team, x, y (seconds, metres) onto the page, or choose one. It stays in this browser.
      The first minute of it is shown, of up to 24 players. Predictors that need walls or keys sit out.</p>
      <dl>
        <dt>Mean error</dt><dd>the distance between where a player was expected and where it was.</dd>
        <dt>Hits</dt><dd>predictions that were close enough: within the distance a player runs in an eighth of a second.</dd>
        <dt>Packets</dt><dd>a prediction is followed until it is off by more than the hit radius; then a packet would be needed.</dd>
      </dl>
    </details>
  </div>
  <div class="controls"></div>
</div>`;

export const controls = [
  {
    title: "What is shown",
    controls: [
      { knob: "at", label: "Moment", unit: "s", shown: (value) => value.toFixed(1) },
      { knob: "horizon", label: "How far ahead", unit: "s", shown: (value) => value.toFixed(1) },
      { knob: "predictor", label: "Predictors", select: true, choices: ["all", ...PREDICTORS] },
      { knob: "player", label: "Player looked at", explain: "Or click one" },
      { knob: "players", label: "Players on each side", explain: "A new match is played for it" },
    ],
  },
];

// The frame's numbers by name; their order is that of `Guess` in Rust.
export function read(numbers) {
  let at = 0;
  const take = (count) => numbers.subarray(at, (at += count));
  const [seconds, wholeSeconds, playerCount, predictorCount, horizon, hitRadius, lowX, lowY, highX, highY, chosen] = take(11);
  const predictors = Array.from({ length: predictorCount }, () => {
    const [canAnswer, mean, hits, packets] = take(4);
    return { canAnswer: canAnswer > 0, mean, hits, packets };
  });
  const players = Array.from({ length: playerCount }, () => {
    const [isThere, team, x, y] = take(4);
    const truth = take(2 * HORIZONS);
    const answers = Array.from({ length: predictorCount }, () => take(2 * HORIZONS));
    return { isThere: isThere > 0, team, x, y, truth, answers };
  });
  return { seconds, wholeSeconds, horizon, hitRadius, lowX, lowY, highX, highY, chosen, predictors, players };
}

export class View {
  constructor(show) {
    this.show = show;
    this.field = show.main.querySelector(".field");
    this.chart = show.main.querySelector(".chart");
    this.verdict = show.main.querySelector(".verdict");
    this.table = show.main.querySelector("tbody");
    this.why = show.main.querySelector(".why p");
    this.camera = new Camera(100, 60);
    this.slow = 0;
    this.walls = [];
    show.main.querySelector(".legend").innerHTML =
      `<span><i style="--c: var(--ink)"></i>where the player really went</span>` +
      PREDICTORS.map(([name, , hue]) => `<span><i style="--c: var(--${hue})"></i>${name}</span>`).join("");
    this.rows = PREDICTORS.map(([name, words]) => {
      const row = element("tr");
      row.innerHTML = `<td title="${words}">${name}</td><td></td><td></td><td></td>`;
      this.table.append(row);
      return row;
    });
    this.field.addEventListener("click", (event) => this.choose(event));
    this.addFileButton(show.main.querySelector(".controls"));
    this.readGround();
  }

  addFileButton(place) {
    const panel = element("section", "panel");
    panel.innerHTML = `<h2>Your own recording</h2><div class="buttons"><label class="file"><input type="file" accept=".csv,text/csv" aria-label="A recording as CSV"></label></div><small class="quiet"></small>`;
    const input = panel.querySelector("input");
    this.fileSays = panel.querySelector("small");
    this.fileSays.textContent = "CSV: t, entity, team, x, y. Or drop it onto the page.";
    input.addEventListener("change", () => input.files[0] && this.read(input.files[0]));
    place.append(panel);
    const main = this.show.main;
    main.ondragover = (event) => event.preventDefault();
    main.ondrop = (event) => {
      event.preventDefault();
      if (event.dataTransfer.files[0] && this.show.scene.title === title) this.read(event.dataTransfer.files[0]);
    };
  }

  async read(file) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    const wrong = this.show.stage.read(file.name, bytes);
    this.fileSays.textContent = wrong ?? `${file.name} is shown.`;
    this.readGround();
  }

  turned(knob) {
    if (knob === "players") this.readGround();
  }

  readGround() {
    this.stage = this.show.stage;
    this.walls = this.stage.ground();
    this.unit = this.stage.words("unit");
  }

  draw(numbers, seconds) {
    if (this.stage !== this.show.stage) this.readGround();
    const frame = read(numbers);
    this.frame = frame;
    this.drawField(frame);
    this.slow -= seconds;
    if (this.slow > 0) return;
    this.slow = 0.2;
    const knob = this.show.controls.knobs.get("at");
    if (!this.show.main.querySelector("[name=at]").matches(":active")) knob.reflect(frame.seconds);
    this.fillTable(frame);
    this.why.innerText = this.stage.words("why");
    chart(this.show.stage, 0, this.chart);
  }

  fillTable({ predictors, horizon }) {
    const [line] = predictors;
    predictors.forEach((one, number) => {
      const cells = this.rows[number].children;
      cells[1].textContent = one.canAnswer ? one.mean.toFixed(1) : "sits out";
      cells[2].textContent = one.canAnswer ? `${one.hits.toFixed(0)} %` : "";
      cells[3].textContent = one.canAnswer ? one.packets.toFixed(2) : "";
    });
    const able = predictors.map((one, number) => ({ ...one, name: PREDICTORS[number][0] })).filter((one) => one.canAnswer && one.mean > 0);
    if (able.length < 2) return (this.verdict.textContent = "");
    const best = able.reduce((one, other) => (other.mean < one.mean ? other : one));
    const percent = ((100 * best.mean) / line.mean).toFixed(0);
    this.verdict.innerHTML = `${(0.3 * (horizon + 1)).toFixed(1)} s ahead, <b>${best.name}</b> is off by <b>${best.mean.toFixed(1)}</b> ${this.unit} on average: ${percent} % of what a straight line is.`;
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
    const only = this.show.controls.value("predictor") - 1;
    frame.players.forEach((player, number) => player.isThere && this.drawPlayer(context, frame, player, number === frame.chosen, only));
  }

  drawPlayer(context, frame, player, isChosen, only) {
    const camera = this.camera;
    const upTo = 2 * (frame.horizon + 1);
    player.answers.forEach((answer, number) => {
      if (!frame.predictors[number].canAnswer || (only >= 0 && only !== number)) return;
      camera.path(context, [player.x, player.y, ...answer.subarray(0, upTo)], colour(PREDICTORS[number][2]), { width: isChosen ? 3 : 2, alpha: 0.9 });
    });
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
    if (!isChosen) return;
    context.strokeStyle = colour("ink");
    context.beginPath();
    context.arc(x, y, 13, 0, 7);
    context.stroke();
    const [ex, ey] = camera.point(player.truth[upTo - 2], player.truth[upTo - 1]);
    context.setLineDash([3, 3]);
    context.beginPath();
    context.arc(ex, ey, frame.hitRadius * camera.zoom, 0, 7);
    context.stroke();
    context.setLineDash([]);
    label(context, ex, ey - frame.hitRadius * camera.zoom - 9, "hit", colour("quiet"));
  }

  choose(event) {
    const { left, top } = this.field.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const distance = ({ isThere, x: px, y: py }) => {
      const [sx, sy] = this.camera.point(px, py);
      return isThere ? (sx - x) * (sx - x) + (sy - y) * (sy - y) : Infinity;
    };
    const distances = this.frame.players.map(distance);
    const nearest = distances.indexOf(Math.min(...distances));
    if (distances[nearest] < 900) this.show.controls.set("player", nearest);
  }
}
