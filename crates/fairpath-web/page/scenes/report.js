// Report: what the laboratory found, and the evaluator for one's own recordings.
import { element } from "../controls.js";

export const title = "Report";

const HORIZONS = [0.3, 0.6, 0.9, 1.2, 1.5, 1.8, 2.1];
const ROWS_MAX = 200;

export const html = `
<h1>Report</h1>
<p class="look">What the papers claim, what our own runs of their experiments found, and how every predictor fares on your recording.</p>
<p class="verdict"></p>
<section class="panel drop">
  <h2>Your own files</h2>
  <p style="margin-top: 0">Drop files onto the page, or choose them: <b>results.json</b> of <code>fairpath lab run</code> (with its plots, if you like), or a <b>recording</b> as CSV with the columns t, entity, team, x, y.
  They stay in this browser.</p>
  <input type="file" multiple accept=".json,.csv,.svg" aria-label="Results or a recording">
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
    main.ondragover = (event) => event.preventDefault();
    main.ondrop = (event) => {
      event.preventDefault();
      this.readFiles([...event.dataTransfer.files]);
    };
    this.load();
  }

  // What the server has.
  async load() {
    const names = await (await fetch("results/index.json")).json();
    if (names.length === 0) {
      this.verdict.textContent = "No results yet: run `fairpath lab run X1` where the server is started, or drop a results.json here.";
      return;
    }
    for (const name of names) {
      const folder = `results/${name.slice(0, name.lastIndexOf("/") + 1)}`;
      const results = await (await fetch(`results/${name}`)).json();
      this.show(results, (figure) => folder + figure);
    }
  }

  async readFiles(files) {
    const plots = new Map();
    for (const file of files.filter((one) => one.name.endsWith(".svg"))) plots.set(file.name, `data:image/svg+xml,${encodeURIComponent(await file.text())}`);
    for (const file of files) {
      if (file.name.endsWith(".json")) await this.readResults(file, plots);
      else if (file.name.endsWith(".csv")) this.evaluate(file.name, await file.arrayBuffer());
    }
  }

  async readResults(file, plots) {
    try {
      const results = JSON.parse(await file.text());
      if (results.schema !== 1) throw new Error("it is not a results.json of `fairpath lab run`, or of another version");
      this.show(results, (figure) => plots.get(figure));
    } catch (error) {
      this.verdict.textContent = `${file.name}: ${error.message}`;
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
      { true: "✓ held", false: "✗ not held", null: "– does not apply" }[String(claim.held)],
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
    this.verdict.textContent = "";
  }

  evaluate(name, bytes) {
    const section = element("section", "panel");
    const heading = element("h2");
    heading.textContent = `Predictors on ${name}`;
    const says = element("p", "quiet");
    says.textContent = "Reading…";
    section.append(heading, says);
    this.main.querySelector(".evaluation").replaceChildren(section);
    this.worker?.terminate();
    this.scores = [];
    this.isEvaluated = false;
    this.worker = new Worker(new URL("../evaluate.js", import.meta.url), { type: "module" });
    let names = [];
    this.worker.onmessage = ({ data }) => {
      if (data.wrong) says.textContent = data.wrong;
      else if (data.names) {
        names = data.names;
        const radius = `${number(data.hitRadius)} ${data.unit}`;
        says.textContent = `${data.players} players, ${number(data.seconds)} s of motion. Mean error in ${data.unit} at each horizon; a hit is within ${radius}.`;
        section.append(table(["Predictor", ...HORIZONS.map((secs) => `${secs} s`), "Hits", "Packets/s"], []));
      } else if (data.isOver) this.isEvaluated = true;
      else {
        this.scores[data.number] = data.scores;
        const row = element("tr");
        const cells = data.scores ? [...[...data.scores.slice(0, 7)].map(number), `${number(data.scores[7])} %`, number(data.scores[8])] : ["sits out: it would have to know more than the file says"];
        fill(row, [names[data.number], ...cells], "td");
        if (!data.scores) row.lastChild.colSpan = 9;
        section.querySelector("tbody").append(row);
      }
    };
    this.worker.postMessage({ name, bytes }, [bytes]);
  }

  close() {
    this.worker?.terminate();
  }
}

// No more digits than a reader can use.
function number(value) {
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : size >= 0.01 || size === 0 ? value.toFixed(2) : value.toExponential(1);
}

function table(head, rows) {
  const scroll = element("div", "scroll");
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
