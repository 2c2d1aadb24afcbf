// Makes and reads PDUs with npm's open-dis: one request a line, one answer a line.
//
// usage: node open_dis.cjs FOLDER    (where `npm install --prefix FOLDER open-dis` has put it)
//
// The requests are those of opendis.py. What open-dis 1.3.6 gets wrong is set right here, and only
// that:
// * it writes 0 for the length and for the number of articulation parameters;
// * it reads appearance and capabilities, which are bits, as numbers that can be negative.

const dis = require(require("path").join(process.argv[2], "node_modules", "open-dis"));

const KIND = ["entityKind", "domain", "country", "category", "subcategory", "specific", "extra"];
const xyz = (it) => [it.x, it.y, it.z];
const set = (it, [x, y, z]) => Object.assign(it, { x, y, z });

function make(it) {
  const pdu = new dis.EntityStatePdu();
  Object.assign(pdu, { exerciseID: it.exercise, timestamp: it.stamp, pduLength: 144 + 16 * it.parameters });
  [pdu.entityID.site, pdu.entityID.application, pdu.entityID.entity] = it.id;
  pdu.forceId = it.force;
  KIND.forEach((name, index) => { pdu.entityType[name] = it.kind[index]; });
  pdu.entityType.spec = pdu.entityType.specific;
  set(pdu.entityLinearVelocity, it.velocity);
  set(pdu.entityLocation, it.position);
  [pdu.entityOrientation.psi, pdu.entityOrientation.theta, pdu.entityOrientation.phi] = it.angles;
  pdu.entityAppearance = it.appearance;
  pdu.capabilities = it.capabilities;
  pdu.deadReckoningParameters.deadReckoningAlgorithm = it.model;
  set(pdu.deadReckoningParameters.entityLinearAcceleration, it.acceleration);
  set(pdu.deadReckoningParameters.entityAngularVelocity, it.angular_velocity);
  pdu.marking.characterSet = 1;
  pdu.marking.characters = Array.from({ length: 11 }, (_, at) => it.marking.charCodeAt(at) || 0);
  pdu.numberOfArticulationParameters = it.parameters;
  for (let count = 0; count < it.parameters; count += 1) {
    pdu.articulationParameters.push(new dis.ArticulationParameter());
  }
  const buffer = new ArrayBuffer(4096);
  const stream = new dis.OutputStream(buffer);
  pdu.encodeToBinary(stream);
  return Buffer.from(buffer, 0, stream.currentPosition).toString("hex");
}

function read(hex) {
  const bytes = Uint8Array.from(Buffer.from(hex, "hex"));
  const pdu = new dis.EntityStatePdu();
  pdu.initFromBinary(new dis.InputStream(bytes.buffer));
  const reckoning = pdu.deadReckoningParameters;
  const { psi, theta, phi } = pdu.entityOrientation;
  return JSON.stringify({
    exercise: pdu.exerciseID,
    stamp: pdu.timestamp,
    length: pdu.pduLength,
    id: [pdu.entityID.site, pdu.entityID.application, pdu.entityID.entity],
    force: pdu.forceId,
    kind: KIND.map((name) => pdu.entityType[name] ?? pdu.entityType.spec),
    velocity: xyz(pdu.entityLinearVelocity),
    position: xyz(pdu.entityLocation),
    angles: [psi, theta, phi],
    appearance: pdu.entityAppearance >>> 0,
    capabilities: pdu.capabilities >>> 0,
    model: reckoning.deadReckoningAlgorithm,
    acceleration: xyz(reckoning.entityLinearAcceleration),
    angular_velocity: xyz(reckoning.entityAngularVelocity),
    marking: String.fromCharCode(...pdu.marking.characters).replace(/\0+$/, ""),
    parameters: pdu.articulationParameters.length,
  });
}

require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const [verb, rest] = [line.slice(0, 4), line.slice(5)];
  console.log(verb === "make" ? make(JSON.parse(rest)) : read(rest));
});
