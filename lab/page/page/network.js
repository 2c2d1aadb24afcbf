// The real network: a WebTransport connection to the server that serves this page, and reconnecting.
import { Session } from "./fairpath.js";
import { hostAt } from "./address.js";

const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 4000;
// How often the session is asked whether it has something to send.
const PUMP_MS = 8;
const UNORDERED_BYTES_MAX = 70000;
// Own states kept for tests that compare them with what other players see.
const TRUTHS_MAX = 600;

// Returns what the page must know about its server, or nothing on a plain web host.
export async function findServer() {
  try {
    const answer = await fetch("server.json", { cache: "no-store" });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

// Delays messages, in order, as a longer link would.
class Delay {
  constructor() {
    Object.assign(this, { ms: 0, lastAt: 0 });
  }

  pass(deliver) {
    const at = Math.max(this.lastAt, performance.now() + this.ms);
    this.lastAt = at;
    const wait = at - performance.now();
    if (wait <= 0) deliver();
    else setTimeout(deliver, wait);
  }
}

export class Network {
  constructor(server, game) {
    const [chance, luck] = crypto.getRandomValues(new Uint32Array(2));
    this.session = Session.begin(game, server.seed, server.threshold, server.model === "circular", chance, luck);
    this.up = new Delay();
    this.down = new Delay();
    this.state = "connecting";
    this.truths = [];
    this.isOver = false;
    this.failed = 0;
    this.stay();
  }

  now() {
    return performance.now();
  }

  end() {
    this.isOver = true;
    this.transport?.close();
  }

  // The player's settings: added round trip, bot, compensation.
  set(lagMs, isBot, isCompensated) {
    this.up.ms = this.down.ms = lagMs / 2;
    this.session.set(isBot, isCompensated);
  }

  // One frame of the game.
  frame(right, ahead, fires) {
    this.session.drive(right, ahead, fires, this.now());
    const truth = this.session.truth(this.now());
    if (truth.length > 0) this.truths.push([...truth]);
    if (this.truths.length > TRUTHS_MAX) this.truths.shift();
    this.pump();
    return this.session.frame(this.now());
  }

  // Returns the state of the connection as a sentence.
  says() {
    if (this.session.is_connected()) return this.session.sessions() > 1 ? "Connected again." : "Connected.";
    if (this.state === "connected") return "Connected; joining the session and synchronising the clock…";
    return this.failed === 0 ? "Connecting…" : `The server is gone. Trying again (${this.failed})…`;
  }

  async stay() {
    while (!this.isOver) {
      try {
        await this.converse();
      } catch {
        // Refused, timed out or cut off: try again in each case.
      }
      this.transport = this.sender = this.writer = undefined;
      if (this.state === "connected") this.session.disconnected(this.now());
      this.state = "connecting";
      this.failed += 1;
      const wait = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(16, this.failed - 1));
      await new Promise((resume) => setTimeout(resume, wait));
    }
  }

  async converse() {
    // A restarted server has another certificate.
    const server = await findServer();
    if (!server) throw new Error("the server that served this page does not answer");
    const value = Uint8Array.from(server.fingerprint.match(/../g), (byte) => parseInt(byte, 16));
    const where = hostAt("connect") ?? server.address;
    const transport = new WebTransport(`https://${where}/`, { serverCertificateHashes: [{ algorithm: "sha-256", value }] });
    transport.closed.catch(() => {});
    await transport.ready;
    const stream = await transport.createBidirectionalStream();
    Object.assign(this, { transport, sender: transport.datagrams.writable.getWriter(), writer: stream.writable.getWriter() });
    this.state = "connected";
    this.isSending = false;
    this.session.connected(this.now());
    const clock = setInterval(() => this.pump(), PUMP_MS);
    try {
      await Promise.race([
        transport.closed,
        this.listen(stream.readable, (bytes) => this.hear(transport, () => this.session.hear_stream(bytes, this.now()))),
        this.listen(transport.datagrams.readable, (bytes) => this.hear(transport, () => this.session.hear_datagram(bytes, this.now()))),
        this.listen(transport.incomingUnidirectionalStreams, (message) => this.readUnordered(message)),
      ]);
    } finally {
      clearInterval(clock);
      transport.close();
    }
  }

  async listen(readable, hear) {
    for (const reader = readable.getReader(); ; ) {
      const { value, done } = await reader.read();
      if (done) return;
      hear(value);
    }
  }

  // Handles what arrives over this transport, unless a newer one has replaced it.
  hear(transport, take) {
    this.down.pass(() => {
      if (this.transport !== transport) return;
      take();
      if (this.session.is_connected()) this.failed = 0;
      this.pump();
    });
  }

  async readUnordered(stream) {
    const transport = this.transport;
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    if (bytes.length <= UNORDERED_BYTES_MAX) this.hear(transport, () => this.session.hear_unordered(bytes, this.now()));
  }

  // Sends what the session has ready. At most one datagram waits.
  pump() {
    if (!this.transport) return;
    const lost = () => {};
    const { transport, writer, sender } = this;
    const leave = (write) => this.up.pass(() => this.transport === transport && write());
    for (let bytes; (bytes = this.session.poll_stream(this.now())); ) {
      const message = bytes;
      leave(() => writer.write(message).catch(lost));
    }
    for (let bytes; (bytes = this.session.poll_unordered()); ) {
      const message = bytes;
      leave(() => this.sendUnordered(message).catch(lost));
    }
    if (!this.isSending) {
      const bytes = this.session.poll_datagram(this.now(), transport.datagrams.maxDatagramSize);
      if (bytes) {
        this.isSending = true;
        const sent = () => {
          this.isSending = false;
        };
        // With added delay many are in flight at once; only the browser's own queue must stay empty.
        if (this.up.ms > 0) sent();
        leave(() => sender.write(bytes).then(() => { sent(); this.pump(); }, sent));
      }
    }
    if (this.session.poll_close()) this.transport.close();
  }

  async sendUnordered(bytes) {
    const writer = (await this.transport.createUnidirectionalStream()).getWriter();
    await writer.write(bytes);
    await writer.close();
  }
}
