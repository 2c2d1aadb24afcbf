// The guided path: five captions with Next. Each sets the knobs and highlights one thing; then everything is free.
import { element } from "./controls.js";

const SEEN = "fairpath tour";

const STEPS = [
  {
    scene: "screens",
    knobs: { placement: 0 },
    lit: ".field",
    title: "1. Nobody knows where it is now",
    text: "The large picture is the real tank. Three players see it by messages that are still travelling: each screen shows another place, and none is right.",
  },
  {
    scene: "screens",
    knobs: { placement: 0, threshold: 1.5 },
    lit: "[name=threshold]",
    title: "2. Send only when the guess is wrong",
    text: "Screens guess from the last message. The owner makes the same guess, and sends again only when it is off by more than this. Far fewer messages; the meter below the stage counts them.",
  },
  {
    scene: "screens",
    knobs: { placement: 2, threshold: 0.3 },
    lit: "[name=placement]",
    title: "3. A shared clock takes the delay back",
    text: "A message says when it was written. With synchronised clocks every screen starts the motion at that instant instead of when the message arrives. Compare the errors.",
  },
  {
    scene: "told",
    knobs: { view: 0, budget: 1 },
    lit: ".lanes",
    title: "4. Not everyone can be told each time",
    text: "The budget allows one message for three players. Whoever is not told guesses wrongly for longer. A good scheduler keeps all three bars short and equal.",
  },
  {
    scene: "play",
    knobs: { lag: 300, prediction: 1 },
    lit: "[name=prediction]",
    title: "5. Your own tank must not wait",
    text: "Your keys take 300 ms to the server and back. With prediction your screen plays them at once, and the server corrects it. Switch it off with key 1 to feel the difference.",
  },
];

export class Tour {
  constructor({ go, show }) {
    Object.assign(this, { go, show, number: -1 });
    this.card = document.getElementById("tour");
    document.getElementById("begin-tour").addEventListener("click", () => this.open(0));
    document.addEventListener("keydown", (event) => event.code === "Escape" && this.number >= 0 && this.close());
  }

  // Begins by itself at the first visit.
  offer() {
    try {
      if (localStorage.getItem(SEEN)) return;
    } catch {
      return;
    }
    this.open(0, { isAsked: false });
  }

  open(number, { isAsked = true } = {}) {
    if (number >= STEPS.length) return this.close();
    this.number = number;
    const { scene, knobs, lit, title, text } = STEPS[number];
    if (this.show()?.name !== scene) this.go(scene);
    const { controls } = this.show();
    for (const [knob, value] of Object.entries(knobs)) controls.set(knob, value);
    this.card.hidden = false;
    this.card.innerHTML = `<h2 id="tour-title" tabindex="-1"></h2><p></p><div class="buttons"></div>`;
    this.card.querySelector("h2").textContent = title;
    this.card.querySelector("p").textContent = text;
    const buttons = this.card.querySelector(".buttons");
    const add = (words, act) => {
      const button = element("button");
      Object.assign(button, { textContent: words, type: "button" });
      button.addEventListener("click", act);
      buttons.append(button);
      return button;
    };
    const isLast = number === STEPS.length - 1;
    const next = add(isLast ? "Try it yourself" : "Next", () => this.open(number + 1));
    next.className = "next";
    if (number > 0) add("Back", () => this.open(number - 1));
    if (!isLast) add("Skip the tour", () => this.close());
    const count = element("span", "quiet");
    count.textContent = `${number + 1} of ${STEPS.length}`;
    buttons.append(count);
    this.light(lit);
    if (isAsked) next.focus({ preventScroll: true });
  }

  // Highlights the element, or the control around it.
  light(selector) {
    for (const one of document.querySelectorAll(".lit")) one.classList.remove("lit");
    const found = selector && document.querySelector(`main ${selector}`);
    const whole = found?.closest(".control, .switch, .choices") ?? found;
    whole?.classList.add("lit");
    whole?.scrollIntoView({ block: "nearest" });
  }

  close() {
    this.number = -1;
    this.card.hidden = true;
    this.light();
    try {
      localStorage.setItem(SEEN, "1");
    } catch {
      // Then it is offered again.
    }
    document.querySelector("main .field, main canvas")?.focus({ preventScroll: true });
  }
}
