// A worker: the evaluator takes seconds for a long recording, and the page must keep drawing.
import init, { Evaluation } from "./fairpath.js";

onmessage = async ({ data: { name, bytes, breaks, cuts } }) => {
  try {
    await init({ module_or_path: new URL("fairpath_bg.wasm", import.meta.url) });
    const evaluation = Evaluation.of(name, bytes, breaks, cuts);
    const [players, seconds, hitRadius] = evaluation.size();
    const names = Evaluation.names().split("\n");
    postMessage({ names, players, seconds, hitRadius, unit: evaluation.unit() });
    names.forEach((_, number) => postMessage({ number, scores: evaluation.score(number) ?? null }));
    postMessage({ isOver: true });
  } catch (error) {
    postMessage({ wrong: String(error) });
  }
};
