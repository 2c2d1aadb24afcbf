//! A client and a server that play in fixed ticks over two links, in virtual time, and what either
//! believed when.

use std::collections::BTreeMap;
use std::fmt::Debug;

use fairpath::random::Random;
use fairpath::time::{LocalInstant, SharedInstant, Span, TickRate};
use fairpath_compensate::{
    Accepted, Epoch, FixedTicks, InputQueue, Lead, Margin, Metronome, Padding, Simulate, Snapshot,
};
use fairpath_sim::{Link, LinkConfig};

/// How many unacknowledged inputs a packet repeats.
const REDUNDANCY: usize = 16;
/// How finely time passes: no tick of any game is shorter.
const STEP: Span = Span::from_millis(5);
/// A tick without an input is padded with the last for this long.
const REPEAT_TICKS: u32 = 25;

pub(super) struct Session<G: Simulate, H> {
    game: G,
    rate: TickRate,
    hands: H,
    /// What the client's own clock is off by.
    pub(super) clock_offset: Span,
    pub(super) client: FixedTicks<G>,
    metronome: Metronome,
    lead: Lead,
    pub(super) server: Server<G>,
    up: Link<Packet<G::Input>>,
    down: Link<Answer<G::State>>,
    now: SharedInstant,
    /// By epoch and tick: what the client first predicted, and from which confirmed tick.
    first: BTreeMap<(u32, u64), (u64, G::State)>,
    pub(super) accepted: Vec<Accepted>,
    confirmed: u64,
}

pub(super) struct Server<G: Simulate> {
    pub(super) epoch: u32,
    began: SharedInstant,
    pub(super) queue: InputQueue<G::Input>,
    state: G::State,
    idle: G::Input,
    /// By epoch and tick: the state after so many ticks, and whether the input that led there was
    /// padded.
    truth: BTreeMap<(u32, u64), (G::State, bool)>,
}

#[derive(Clone)]
struct Packet<I> {
    epoch: Option<Epoch>,
    alignment: u32,
    inputs: Vec<(u64, I)>,
}

#[derive(Clone)]
struct Answer<S> {
    snapshot: Snapshot<S>,
    margin: Option<Margin>,
}

/// How first predictions compare with the truth.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Score {
    /// First predictions whose ticks the server has played.
    pub(super) predicted: usize,
    /// Those of them whose inputs, from the confirmed state on, all arrived in time.
    pub(super) in_time: usize,
    /// Those of these that were not the server's state. Must be none.
    pub(super) wrong: usize,
    /// Server ticks, and how many of them were padded.
    pub(super) ticks: usize,
    pub(super) padded: usize,
}

impl<G, H> Session<G, H>
where
    G: Simulate<State: PartialEq + Debug>,
    H: FnMut() -> G::Input,
{
    pub(super) fn new(
        (game, start): (G, G::State),
        rate: TickRate,
        (hands, idle): (H, G::Input),
        [up, down]: [LinkConfig; 2],
        capacity: usize,
        seed: u64,
    ) -> Self {
        let dice = Random::from_seed(seed);
        let snapshot = Snapshot { epoch: Epoch(1), tick: 0, state: start.clone() };
        Self {
            game,
            rate,
            hands,
            clock_offset: Span::from_secs(500),
            client: FixedTicks::new(snapshot, capacity),
            metronome: Metronome::new(rate),
            lead: Lead::default(),
            server: Server::new(1, SharedInstant::ZERO, start, idle),
            up: Link::new(up, dice.fork(0)),
            down: Link::new(down, dice.fork(1)),
            now: SharedInstant::ZERO,
            first: BTreeMap::new(),
            accepted: Vec::new(),
            confirmed: 0,
        }
    }

    pub(super) fn run_for(&mut self, span: Span) {
        let until = self.now + span;
        while self.now < until {
            self.now += STEP;
            self.hear_server();
            self.play_client();
            self.serve();
        }
    }

    /// The server begins anew, from `state`.
    pub(super) fn restart_server(&mut self, state: G::State) {
        let epoch = self.server.epoch + 1;
        let truth = std::mem::take(&mut self.server.truth);
        self.server = Server { truth, ..Server::new(epoch, self.now, state, self.server.idle.clone()) };
    }

    /// Replaces both links' settings.
    pub(super) fn reconfigure(&mut self, config: &LinkConfig) {
        self.up.model_mut().reconfigure(config.clone());
        self.down.model_mut().reconfigure(config.clone());
    }

    /// Compares first predictions from `from` on, in the present run of the server.
    pub(super) fn score_since(&self, from: u64) -> Score {
        let epoch = self.server.epoch;
        let of_run = (epoch, from)..(epoch, u64::MAX);
        let mut score = Score::default();
        for ((_, tick), (base, predicted)) in self.first.range(of_run.clone()) {
            let Some((truth, _)) = self.server.truth.get(&(epoch, *tick)) else { continue };
            score.predicted += 1;
            let padded = |tick| self.server.truth.get(&(epoch, tick)).is_none_or(|(_, is_padded)| *is_padded);
            if !(base + 1..=*tick).any(padded) {
                score.in_time += 1;
                score.wrong += usize::from(!is_same(*tick, predicted, truth));
            }
        }
        score.ticks = self.server.truth.range(of_run.clone()).count();
        score.padded = self.server.truth.range(of_run).filter(|(_, (_, is_padded))| *is_padded).count();
        score
    }

    fn hear_server(&mut self) {
        while let Some(arrival) = self.down.poll(self.now) {
            let Answer { snapshot, margin } = arrival.payload;
            let tick = snapshot.tick;
            let accepted = self.client.accept(&self.game, snapshot);
            match accepted {
                Accepted::Replayed { .. } => self.confirmed = tick,
                Accepted::Restarted | Accepted::Realigned => {
                    self.confirmed = tick;
                    self.lead.restart();
                }
                Accepted::Stale => continue,
            }
            if let Some(Margin { tick: of_tick, ticks }) = margin {
                self.metronome.nudge(self.lead.report(of_tick, ticks, self.client.tick()));
            }
            self.accepted.push(accepted);
        }
    }

    fn play_client(&mut self) {
        let local = LocalInstant::ZERO + (self.now - SharedInstant::ZERO) + self.clock_offset;
        for _ in 0..self.metronome.poll(local) {
            self.client.advance(&self.game, (self.hands)());
            let client = &self.client;
            let inputs =
                client.unacknowledged(REDUNDANCY).map(|(tick, input)| (tick, input.clone())).collect();
            let packet = Packet { epoch: client.epoch(), alignment: client.alignment(), inputs };
            self.up.send(self.now, 0, packet);
            let epoch = self.client.epoch().map_or(0, |epoch| epoch.0);
            let predicted = (self.confirmed, self.client.predicted().clone());
            self.first.entry((epoch, self.client.tick())).or_insert(predicted);
        }
    }

    fn serve(&mut self) {
        while let Some(arrival) = self.up.poll(self.now) {
            let Packet { epoch, alignment, inputs } = arrival.payload;
            let is_ours = epoch == Some(Epoch(self.server.epoch));
            if is_ours && self.server.queue.handle_alignment(alignment) {
                for (tick, input) in inputs {
                    self.server.queue.receive(tick, input);
                }
            }
        }
        let due = self.rate.running_at(self.now - self.server.began);
        while (self.server.queue.next_tick() as i64) < due {
            let answer = self.server.play(&self.game);
            self.down.send(self.now, 0, answer);
        }
    }
}

/// Bit for bit. Comparing takes −0 for 0; written out, numbers differ if their bits do, but that
/// takes longer, so one tick in eight must do.
fn is_same<S: PartialEq + Debug>(tick: u64, one: &S, other: &S) -> bool {
    one == other && (!tick.is_multiple_of(8) || format!("{one:?}") == format!("{other:?}"))
}

impl<G: Simulate> Server<G> {
    fn new(epoch: u32, began: SharedInstant, state: G::State, idle: G::Input) -> Self {
        let padding = Padding { repeat_ticks: REPEAT_TICKS, idle: idle.clone() };
        Self { epoch, began, queue: InputQueue::new(0, padding), state, idle, truth: BTreeMap::new() }
    }

    fn play(&mut self, game: &G) -> Answer<G::State> {
        let played = self.queue.play();
        game.step(&mut self.state, &played.input, 1);
        let tick = played.tick + 1;
        self.truth.insert((self.epoch, tick), (self.state.clone(), played.is_padded));
        let snapshot = Snapshot { epoch: Epoch(self.epoch), tick, state: self.state.clone() };
        Answer { snapshot, margin: self.queue.take_margin() }
    }
}
