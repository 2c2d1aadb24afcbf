// Files that a user drops or chooses: recordings, plain or gzipped, each with its breaks.

// A recording of an hour takes tens of megabytes. More text does not fit into the page's memory beside what is read
// from it, which the reader limits itself.
const BYTES_MAX = 200e6;
const tooLarge = (file) => new Error(`${file.name}: larger than ${BYTES_MAX / 1e6} MB unpacked; choose a shorter part of the recording`);

// Returns the bytes of a file and its name without .gz; throws a message if it cannot be read.
export async function open(file) {
  if (file.size > BYTES_MAX) throw tooLarge(file);
  if (!file.name.endsWith(".gz")) return { name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) };
  const name = file.name.slice(0, -3);
  const parts = [];
  let size = 0;
  try {
    for (const reader = file.stream().pipeThrough(new DecompressionStream("gzip")).getReader(); ; ) {
      const { value, done } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > BYTES_MAX) break;
      parts.push(value);
    }
  } catch {
    throw new Error(`${file.name}: cannot unpack it; compress it with gzip, or choose the plain file`);
  }
  if (size > BYTES_MAX) throw tooLarge(file);
  return { name, bytes: new Uint8Array(await new Blob(parts).arrayBuffer()) };
}

const plain = (name) => name.replace(/\.gz$/, "");
const isBreaks = (name) => plain(name).endsWith(".breaks.csv");
export const isRecording = (name) => plain(name).endsWith(".csv") && !isBreaks(name);

// Returns the recordings among files, each with the breaks of the same name. A single recording takes a
// single breaks file of any name.
export function recordings(files) {
  const cuts = files.filter((file) => isBreaks(file.name));
  const found = files.filter((file) => isRecording(file.name));
  return found.map((file) => {
    const stem = plain(file.name).slice(0, -".csv".length);
    const own = cuts.find((one) => plain(one.name) === `${stem}.breaks.csv`);
    return { file, breaks: own ?? (found.length === 1 && cuts.length === 1 ? cuts[0] : undefined) };
  });
}

// Calls back with files that are dropped onto an element.
export function onDrop(element, take) {
  element.ondragover = (event) => event.preventDefault();
  element.ondrop = (event) => {
    event.preventDefault();
    take([...event.dataTransfer.files]);
  };
}
