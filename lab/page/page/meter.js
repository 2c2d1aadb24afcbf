// The bandwidth meter: bytes per second to one player now, beside what sending every state would cost.
const WINDOW_SECONDS = 5;
// How often games send every state that send all of them.
const ALL_HZ = 30;

export class Meter {
  constructor(place) {
    this.place = place;
    this.place.innerHTML = `<span class="words"></span><span class="bar" aria-hidden="true"><span></span></span>`;
    this.words = place.querySelector(".words");
    this.fill = place.querySelector(".bar span");
    this.forget();
    this.slow = 0;
  }

  forget() {
    this.past = [];
  }

  // Takes seconds, messages and bytes so far, to one receiver, and how many things they are about.
  draw(seconds, traffic) {
    this.place.hidden = !traffic;
    if (!traffic) return;
    if (traffic.rate === undefined) this.sample(traffic);
    this.slow -= seconds;
    if (this.slow > 0) return;
    this.slow = 0.5;
    this.now = traffic.rate ?? this.rate();
    this.all = ALL_HZ * traffic.bytesEach * (traffic.things ?? 1);
    const share = this.all > 0 ? (100 * this.now) / this.all : 0;
    this.words.textContent = `${this.now.toFixed(0)} B/s, ${share.toFixed(0)} % of every state at ${ALL_HZ} Hz`;
    this.place.title = `To one player now, with the headers of UDP and IP. Sending every state ${ALL_HZ} times a second costs ${this.all.toFixed(0)} B/s.`;
    this.fill.style.width = `${Math.min(100, share)}%`;
  }

  sample(traffic) {
    const { past } = this;
    if (traffic.seconds < (past.at(-1)?.seconds ?? -1)) this.forget();
    if (traffic.seconds > (this.past.at(-1)?.seconds ?? -1)) this.past.push(traffic);
    while (this.past.length > 2 && this.past[1].seconds <= traffic.seconds - WINDOW_SECONDS) this.past.shift();
  }

  rate() {
    if (this.past.length < 2) return 0;
    const [first, last] = [this.past[0], this.past.at(-1)];
    return (last.bytes - first.bytes) / (last.seconds - first.seconds);
  }
}
