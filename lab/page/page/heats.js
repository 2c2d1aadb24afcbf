// A worker: plays whole heats of *Who gets told* with the page's own library, one seed after the other.
import init, { Stage } from "./fairpath.js";

onmessage = async ({ data: { knobs, seeds, ticks } }) => {
  await init({ module_or_path: new URL("fairpath_bg.wasm", import.meta.url) });
  for (let seed = 1; seed <= seeds; seed += 1) {
    const stage = Stage.of("told", seed);
    for (const [knob, value] of knobs) stage.turn(knob, value);
    stage.step(ticks);
    postMessage({ seed, numbers: stage.frame(), digest: stage.digest() });
    stage.free();
  }
};
