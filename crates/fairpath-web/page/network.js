// The real network: a WebTransport to the tank server that serves this page, and back again when it is gone.
import { Session } from "./fairpath.js";
import { address } from "./address.js";

const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 4000;
// The session says when it has something to send; this is how often it is asked.
const PUMP_MS = 8;
const LETTER_BYTES_MAX = 70000;
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

export class Network {
  constructor(server) {
    const [chance, luck] = crypto.getRandomValues(new Uint32Array(2));
    this.session = Session.begin(server.seed, server.threshold, server.model === "circular", chance, luck);
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

  // One frame of the game.
  frame(right, ahead) {
    this.session.drive(right, ahead, this.now());
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
        this.listen(stream.readable, (bytes) => this.session.hear_stream(bytes, this.now())),
        this.listen(transport.datagrams.readable, (bytes) => this.session.hear_datagram(bytes, this.now())),
        this.listen(transport.incomingUnidirectionalStreams, (letter) => this.readLetter(letter)),
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
      if (this.session.is_connected()) this.failed = 0;
      this.pump();
    }
  }

  async readLetter(stream) {
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    if (bytes.length <= LETTER_BYTES_MAX) this.session.hear_letter(bytes, this.now());
  }

  // What the session wants to send leaves; of datagrams never more than one waits.
  pump() {
    if (!this.transport) return;
    const lost = () => {};
    for (let bytes; (bytes = this.session.poll_stream(this.now())); ) this.writer.write(bytes).catch(lost);
    for (let bytes; (bytes = this.session.poll_letter()); ) this.sendLetter(bytes).catch(lost);
    if (!this.isSending) {
      const bytes = this.session.poll_datagram(this.now(), this.transport.datagrams.maxDatagramSize);
      if (bytes) {
        this.isSending = true;
        const sent = () => {
          this.isSending = false;
        };
        this.sender.write(bytes).then(() => { sent(); this.pump(); }, sent);
      }
    }
    if (this.session.poll_close()) this.transport.close();
  }

  async sendLetter(bytes) {
    const writer = (await this.transport.createUnidirectionalStream()).getWriter();
    await writer.write(bytes);
    await writer.close();
  }
}
