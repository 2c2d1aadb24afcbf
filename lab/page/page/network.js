// The real network: a WebTransport to the server that serves this page, and back again when it is gone.
import { Session } from "./fairpath.js";
import { address } from "./address.js";

const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 4000;
// The session says when it has something to send; this is how often it is asked.
const PUMP_MS = 8;
const UNORDERED_BYTES_MAX = 70000;
// Truths kept for whoever compares them with what others see.
const TRUTHS_MAX = 600;

// What the page must know about the server, or nothing where there is none: on a plain web host, for example.
export async function findServer() {
  try {
    const answer = await fetch("server.json", { cache: "no-store" });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

// Holds what passes for a while, in order: a longer way, as far as anybody can tell.
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

  // The player's own wishes: so much more of a round trip, a bot, help.
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

  // In words, for the page.
  says() {
    if (this.session.is_connected()) return this.session.sessions() > 1 ? "Connected again." : "Connected.";
    if (this.state === "connected") return "Shaking hands, and finding out what time it is…";
    return this.failed === 0 ? "Connecting…" : `The server is gone. Trying again (${this.failed})…`;
  }

  async stay() {
    while (!this.isOver) {
      try {
        await this.converse();
      } catch {
        // Refused, timed out or cut off: all the same, we try again.
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
    // A server that was started again has another certificate.
    const server = await findServer();
    if (!server) throw new Error("nobody serves the page");
    const value = Uint8Array.from(server.fingerprint.match(/../g), (byte) => parseInt(byte, 16));
    const where = address("connect") ?? server.address;
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

  // What came over this transport is heard, unless there is another one by then.
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

  // What the session wants to send leaves; of datagrams never more than one waits.
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
        // On a way that is made longer many are under way at once; only the browser's own queue must stay empty.
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
