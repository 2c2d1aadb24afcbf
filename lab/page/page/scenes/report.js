// Report: the results of the laboratory, and the evaluator for a recording of your own.
import { element } from "../controls.js";
import { onDrop, open, recordings } from "../files.js";

export const title = "Report";

const HORIZONS = [0.3, 0.6, 0.9, 1.2, 1.5, 1.8, 2.1];
const ROWS_MAX = 200;
// The place of the farthest horizon in a score, and what comes before the means of the players.
const FAR = 6;
const FIXED = 9;

// What to write for a predictor that a game can use without walls, key presses or health.
const RUST = {
  line: "use fairpath_predict::{Linear, Predictor};\n\nlet mut predictor = Linear;",
  tdm: "use fairpath_predict::{Predictor, Tdm};\n\nlet mut predictor = Tdm;",
  adaptive: "use fairpath_predict::{Adaptive, Objective, Predictor};\n\n// Once for the game. At every tick of every player: predictor.learn(player, &known);\nlet mut predictor = Adaptive::new(top_speed, Objective::Mean);",
  "adaptive-hits": "use fairpath_predict::{Adaptive, Objective, Predictor};\n\n// Once for the game. At every tick of every player: predictor.learn(player, &known);\nlet mut predictor = Adaptive::new(top_speed, Objective::Hits);",
};

export const html = `
<h1>Report</h1>
<p class="look">Which predictor should your game use? Drop a recording here. Below are the claims of the papers and the results of our runs of their experiments.</p>
<p class="verdict"></p>
<section class="panel drop">
  <h2>Your own files</h2>
  <p style="margin-top: 0">Drop files onto the page, or choose them: <b>results.json</b> of <code>fairpath lab run</code> (with its plots, if you like), or a <b>recording</b> as <code>.csv</code> or <code>.csv.gz</code> with the columns t, entity, team, x, y (seconds, metres), and its <code>.breaks.csv</code> (t, entity, reason).
  They stay in this browser: your recording is evaluated here, by the laboratory's own evaluator.</p>
  <input type="file" multiple accept=".json,.csv,.gz,.svg" aria-label="Results or a recording">
  <p class="failed wrong" style="white-space: pre-line" role="alert"></p>
</section>
<div class="evaluation"></div>
<div class="results"></div>`;

export class Page {
  constructor(main) {
    this.main = main;
    this.results = main.querySelector(".results");
    this.verdict = main.querySelector(".verdict");
    const input = main.querySelector("input");
    input.addEventListener("change", () => this.readFiles([...input.files]));
    this.wrong = main.querySelector("p.wrong");
    onDrop(main, (files) => this.readFiles(files));
    this.load();
  }

  // Loads the results that the server offers.
  async load() {
    let names;
    try {
      const answer = await fetch("results/index.json");
      if (!answer.ok) throw new Error(answer.statusText);
      names = await answer.json();
    } catch {
      this.verdict.textContent = "The server of this page does not answer, so its results are not shown. Files that you drop here are still read.";
      return;
    }
    if (names.length === 0) {
      this.verdict.textContent = "No results yet: run `fairpath lab run placement` in the folder where the server is started, or drop a results.json here.";
      return;
    }
    let [held, judged] = [0, 0];
    for (const name of names) {
      const folder = `results/${name.slice(0, name.lastIndexOf("/") + 1)}`;
      try {
        const answer = await fetch(`results/${name}`);
        const results = read(await answer.text());
        this.show(results, (figure) => folder + figure);
        held += results.claims.filter((claim) => claim.held === true).length;
        judged += results.claims.filter((claim) => claim.held !== null).length;
      } catch (error) {
        this.say(`results/${name}: ${error.message}`);
      }
    }
    this.verdict.textContent = `${names.length} ${names.length === 1 ? "experiment" : "experiments"}: ${held} of ${judged} claims held.`;
  }

  async readFiles(files) {
    this.wrong.textContent = "";
    const plots = new Map();
    for (const file of files.filter((one) => one.name.endsWith(".svg"))) plots.set(file.name, `data:image/svg+xml,${encodeURIComponent(await file.text())}`);
    const useless = files.filter((one) => !/\.(json|svg|csv|csv\.gz)$/.test(one.name));
    if (useless.length > 0) this.say(`${useless[0].name}: neither results nor a recording: give a results.json (with its .svg plots), or a .csv or .csv.gz file with the columns t, entity, team, x, y`);
    for (const file of files.filter((one) => one.name.endsWith(".json"))) await this.readResults(file, plots);
    const [found, ...more] = recordings(files);
    if (more.length > 0) this.say(`${more[0].file.name}: one recording at a time; ${found.file.name} is evaluated`);
    if (found) await this.evaluate(found);
  }

  say(wrong) {
    this.wrong.textContent += `${this.wrong.textContent ? "\n" : ""}${wrong}`;
  }

  async readResults(file, plots) {
    try {
      const results = read(await file.text());
      this.show(results, (figure) => plots.get(figure));
    } catch (error) {
      this.say(`${file.name}: ${error.message}`);
    }
  }

  show(results, plot) {
    const section = element("details", "panel");
    section.open = this.results.children.length === 0;
    const held = results.claims.filter((claim) => claim.held === true).length;
    const judged = results.claims.filter((claim) => claim.held !== null).length;
    const summary = element("summary");
    summary.textContent = `${results.experiment}: ${results.title} (${held} of ${judged} claims held)`;
    section.append(summary);
    const about = element("p", "quiet");
    about.textContent = `${results.source} · seed ${results.seed} · ${results.command}`;
    section.append(about);
    const claims = results.claims.map((claim) => [
      { true: "✓\u00a0held", false: "✗\u00a0not\u00a0held", null: "– does not apply" }[String(claim.held)],
      claim.text,
      claim.measured === null ? "" : `${number(claim.measured)} ${claim.unit ?? ""}`,
      claim.expected,
      claim.paper ?? "",
    ]);
    section.append(table(["", "Claim", "Measured", "Expected", "Paper"], claims));
    for (const figure of results.figures) {
      const source = plot(figure);
      if (!source) continue;
      const image = element("img");
      Object.assign(image, { src: source, alt: figure, loading: "lazy" });
      section.append(image);
    }
    const keys = Object.keys(results.rows[0] ?? {});
    if (keys.length > 0) section.append(table(keys, results.rows.slice(0, ROWS_MAX).map((row) => keys.map((key) => (typeof row[key] === "number" ? number(row[key]) : row[key] ?? "")))));
    for (const note of results.notes) {
      const line = element("p", "quiet");
      line.textContent = note;
      section.append(line);
    }
    this.results.append(section);
  }

  async evaluate({ file, breaks }) {
    const section = element("section", "panel");
    const heading = element("h2");
    heading.textContent = `Predictors on ${file.name}`;
    const says = element("p", "quiet");
    says.textContent = "Reading…";
    section.append(heading, says);
    this.main.querySelector(".evaluation").replaceChildren(section);
    this.worker?.terminate();
    this.scores = [];
    this.isEvaluated = false;
    const fail = (wrong) => {
      says.textContent = wrong;
      says.className = "failed";
    };
    let message;
    try {
      const { name, bytes } = await open(file);
      const cuts = breaks && (await open(breaks));
      message = { name, bytes, breaks: cuts?.name ?? "", cuts: cuts?.bytes };
    } catch (error) {
      return fail(error.message);
    }
    this.worker = new Worker(new URL("../evaluate.js", import.meta.url), { type: "module" });
    let names = [];
    this.worker.onmessage = ({ data }) => {
      if (data.wrong) fail(data.wrong);
      else if (data.names) {
        names = data.names;
        this.about = data;
        const radius = `${number(data.hitRadius)} ${data.unit}`;
        says.textContent = `${data.players} players, ${number(data.seconds)} s of motion${breaks ? `, cut by ${breaks.name}` : ""}. Mean error in ${data.unit} so many seconds ahead; a hit is within ${radius}. Bold is best.`;
        section.append(table(["Predictor", ...HORIZONS.map((secs) => `${secs} s`), "Hits", "Packets/s"], []));
      } else if (data.isOver) {
        markBest(section.querySelector("tbody"), this.scores);
        this.decide(section, names, this.about);
        this.isEvaluated = true;
      } else this.addScores(section.querySelector("tbody"), names[data.number], data);
    };
    this.worker.postMessage(message, [message.bytes.buffer]);
  }

  // The decision: the predictor with the smallest error two seconds ahead, beside the line.
  decide(section, names, { unit }) {
    const line = this.scores[0];
    const known = this.scores.map((one, number) => ({ one, name: names[number] })).filter(({ one, name }) => one && name in RUST);
    if (!line || known.length === 0) return;
    const best = known.reduce((a, b) => (b.one[FAR] < a.one[FAR] ? b : a));
    const box = element("div", "decision");
    const heading = element("p");
    const isLine = best.one[FAR] >= line[FAR];
    const less = interval(best.one.slice(FIXED), line.slice(FIXED));
    const packets = 100 - (100 * best.one[8]) / line[8];
    const range = less ? ` (95 % interval over players: ${less.low.toFixed(0)} to ${less.high.toFixed(0)} %)` : "";
    const doubt = less && less.low <= 0 ? " The interval contains 0: record more players or more time before you pay for it." : "";
    heading.textContent = isLine
      ? `Use a straight line: no predictor has a smaller error ${HORIZONS[FAR]} s ahead (${number(line[FAR])} ${unit}).`
      : `Use ${best.name}: ${(100 - (100 * best.one[FAR]) / line[FAR]).toFixed(0)} % less error ${HORIZONS[FAR]} s ahead than a straight line${range}, and ${Math.abs(packets).toFixed(0)} % ${packets >= 0 ? "fewer" : "more"} packets.${packets < 0 ? " Where packets matter more than the picture, stay with the line." : ""}${doubt}`;
    const code = element("pre");
    code.tabIndex = 0;
    code.textContent = RUST[isLine ? "line" : best.name];
    const buttons = element("div", "buttons");
    const add = (text, act) => {
      const button = element("button");
      Object.assign(button, { type: "button", textContent: text });
      button.addEventListener("click", act);
      buttons.append(button);
    };
    add("Copy the Rust lines", () => navigator.clipboard?.writeText(code.textContent).catch(() => {}));
    add("Download as CSV", () => download("predictors.csv", csv(names, this.scores)));
    box.append(heading, code, buttons);
    section.querySelector("h2").after(box);
  }

  addScores(body, name, { number: place, scores }) {
    this.scores[place] = scores;
    const row = element("tr");
    const cells = scores ? [...[...scores.slice(0, 7)].map(number), `${number(scores[7])} %`, number(scores[8])] : ["left out: it needs more than the file contains"];
    fill(row, [name, ...cells], "td");
    if (!scores) row.lastChild.colSpan = 9;
    body.append(row);
  }

  close() {
    this.worker?.terminate();
  }
}

// Reads a results.json; throws a message that says what is wrong with it.
function read(text) {
  let results;
  try {
    results = JSON.parse(text);
  } catch (error) {
    throw new Error(`it is not JSON (${error.message}): give the results.json that \`fairpath lab run\` wrote, whole`);
  }
  const needed = ["experiment", "title", "claims", "rows", "figures", "notes"].find((name) => results?.[name] === undefined);
  if (results?.schema !== 1 || needed) throw new Error(`${needed ? `it has no "${needed}"` : `its schema is ${results.schema}, not 1`}: give the results.json that \`fairpath lab run\` of this version wrote`);
  return results;
}

// Student's t for a 95 % interval, by degrees of freedom from 1.
const STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131];

// By how many per cent the first is smaller, player by player: mean and 95 % interval; nothing for one player.
function interval(ours, theirs) {
  const parts = [...ours].map((mean, player) => 100 - (100 * mean) / theirs[player]).filter(Number.isFinite);
  if (parts.length < 2) return undefined;
  const mean = parts.reduce((sum, part) => sum + part, 0) / parts.length;
  const variance = parts.reduce((sum, part) => sum + (part - mean) ** 2, 0) / (parts.length - 1);
  const half = (STUDENT[parts.length - 2] ?? 1.96) * Math.sqrt(variance / parts.length);
  return { low: mean - half, high: mean + half };
}

function csv(names, scores) {
  const head = ["predictor", ...HORIZONS.map((secs) => `mean_error_${secs}_s`), "hits_percent", "packets_per_s"];
  const rows = names.map((name, place) => [name, ...(scores[place] ? scores[place].slice(0, FIXED) : [])]);
  return [head, ...rows].map((row) => row.join(",")).join("\n") + "\n";
}

function download(name, text) {
  const link = element("a");
  Object.assign(link, { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Marks the best value of each column: least error, most hits, fewest packets.
function markBest(body, scores) {
  const known = scores.map((one, row) => ({ one, row })).filter(({ one }) => one);
  for (let column = 0; column < 9 && known.length > 0; column += 1) {
    const sign = column === 7 ? -1 : 1;
    const best = known.reduce((a, b) => (sign * b.one[column] < sign * a.one[column] ? b : a));
    body.children[best.row].children[column + 1].classList.add("best");
  }
}

// No more digits than a reader can use.
function number(value) {
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : size >= 0.01 || size === 0 ? value.toFixed(2) : value.toExponential(1);
}

function table(head, rows) {
  const scroll = element("div", "scroll");
  // So that a keyboard can scroll it.
  scroll.tabIndex = 0;
  const made = element("table", "wide");
  const top = element("tr");
  fill(top, head, "th");
  const body = element("tbody");
  for (const cells of rows) {
    const row = element("tr");
    fill(row, cells, "td");
    body.append(row);
  }
  const thead = element("thead");
  thead.append(top);
  made.append(thead, body);
  scroll.append(made);
  return scroll;
}

function fill(row, cells, tag) {
  for (const text of cells) {
    const cell = element(tag);
    cell.textContent = text;
    row.append(cell);
  }
}
