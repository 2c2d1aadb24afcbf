//! A client, a server and a rival's screen in one process, with simulated links between them and
//! five techniques against lag that can be switched off one by one.

use std::collections::VecDeque;

use fairpath::State;
use fairpath::converge::Drawn;
use fairpath::number::{EntityId, Life};
use fairpath::random::Random;
use fairpath::time::{LocalInstant, Now, SharedInstant, Span, TickRate};
use fairpath::vector::{Vec2, Vector};
use fairpath_compensate::{Epoch, FreeRunning, HeldInput, Moment, Reply, Simulate, TimeWarp, TimeWarpConfig};
use fairpath_games::shared::CONVERGENCE;
use fairpath_sim::{Link, LinkConfig, Loss};

use super::{Hands, InputOf, PlayedGame, Sprite, StateOf, Thing, mean_distance};

/// The longest round trip and the most jitter. More is not playable.
pub(super) const ROUND_TRIP_MS_MAX: i64 = 1000;
pub(super) const JITTER_MS_MAX: i64 = 100;
/// How often the states of others are sent: 20 times a second, as many shooters do. The own state
/// comes back at every tick.
const OTHERS_EVERY: Span = Span::from_millis(50);
/// How far behind the newest state others are interpolated: two sending intervals, so that one lost
/// packet does not stop them.
const INTERPOLATION_DELAY: Span = Span::from_millis(100);
/// States of others that a screen keeps: three seconds.
const SNAPSHOTS_MAX: usize = 60;
/// How long a beam is drawn.
const BEAM_SHOWN: Span = Span::from_millis(250);
/// The time from one beam to the next.
const RELOAD: Span = Span::from_millis(500);
/// How far the server rewinds at most. The default of 250 ms would hide what the technique does on
/// the long links of this page: the round trip, jitter and interpolation together stay below 1.4 s.
const REWIND_MAX: Span = Span::from_millis(1_400);

/// The link and the techniques.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) lag: Span,
    /// To either side of half the round trip, each way.
    pub(super) jitter: Span,
    pub(super) loss: f64,
    pub(super) predicts: bool,
    pub(super) reconciles: bool,
    pub(super) interpolates: bool,
    pub(super) smooths: bool,
    pub(super) rewinds: bool,
}

impl Settings {
    fn link(&self) -> LinkConfig {
        LinkConfig::default()
            .delay(self.lag.scaled(0.5))
            .jitter_uniform(self.jitter.min(self.lag.scaled(0.5)))
            .loss(Loss::each(self.loss))
    }
}

/// A shot as its player saw it: the sending side's message.
#[derive(Clone, Copy, Debug)]
struct Trigger {
    /// The instant at which the screen showed the others.
    seen_at: SharedInstant,
}

/// A beam that a view draws.
#[derive(Clone, Copy)]
struct Beam {
    from: SharedInstant,
    thing: Thing,
}

/// What a beam reaches: its length, and whether that is a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reach {
    pub(crate) length: f64,
    pub(crate) is_hit: bool,
}

/// A game, its server and its two clients.
pub(super) struct Wire<G: PlayedGame> {
    game: G,
    rules: G::Rules,
    settings: Settings,
    ticks: i64,
    up: Link<(LocalInstant, InputOf<G>)>,
    triggers: Link<Trigger>,
    down: Link<Reply<StateOf<G>>>,
    to_rival: Link<Reply<StateOf<G>>>,
    hands: HeldInput<InputOf<G>>,
    client: FreeRunning<G::Rules>,
    drawn: Drawn<Vec2>,
    /// The screen's own world, while the server's answers are ignored.
    free: Option<StateOf<G>>,
    screen: Snapshots<G>,
    rival: Snapshots<G>,
    warp: TimeWarp<Vec2>,
    /// By view: the player's screen, the server, the rival's screen.
    beams: [VecDeque<Beam>; VIEWS],
    loaded_at: SharedInstant,
    shots: Shots,
    shown: Shown<G>,
    /// What the screen showed, until the server has seen the player's input of then.
    pending: VecDeque<Pending>,
    apart: (f64, f64),
}

pub(super) const VIEWS: usize = 3;

/// How shots fared: fired, hits on the shooter's screen, and hits at the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shots {
    pub(super) fired: u32,
    pub(super) seen: u32,
    pub(super) counted: u32,
}

type StateAt<G> = (SharedInstant, StateOf<G>);

/// The states of others that a screen has received.
struct Snapshots<G: PlayedGame>(VecDeque<StateAt<G>>);

impl<G: PlayedGame> Snapshots<G> {
    fn accept(&mut self, (at, state): StateAt<G>) {
        let place = self.0.partition_point(|(known, _)| *known < at);
        if self.0.get(place).is_some_and(|(known, _)| *known == at) {
            return;
        }
        self.0.insert(place, (at, state));
        if self.0.len() > SNAPSHOTS_MAX {
            self.0.pop_front();
        }
    }

    fn newest(&self) -> &StateAt<G> {
        self.0.back().expect("there is one from the start")
    }

    /// Returns the two states around an instant, and how far it lies between them.
    fn around(&self, at: SharedInstant) -> (&StateAt<G>, &StateAt<G>, f64) {
        let after = self.0.partition_point(|(known, _)| *known <= at).clamp(1, self.0.len());
        let before = &self.0[after - 1];
        let next = self.0.get(after).unwrap_or(before);
        let share = (at - before.0).as_secs_f64() / (next.0 - before.0).as_secs_f64().max(1e-9);
        (before, next, share.clamp(0.0, 1.0))
    }
}

/// What the player's screen shows.
struct Shown<G: PlayedGame> {
    state: StateOf<G>,
    own: State<Vec2>,
    others: Vec<(u32, Vec2)>,
    things: Vec<Thing>,
    /// The instant of the others.
    seen_at: SharedInstant,
}

/// What a screen showed, and when the input that answers it arrives at the server.
struct Pending {
    counts_at: SharedInstant,
    own: Vec2,
    others: Vec<(u32, Vec2)>,
}

impl<G: PlayedGame> Wire<G> {
    pub(super) fn new(game: G, settings: Settings, seed: u64) -> Self {
        let dice = Random::from_seed(seed).fork(u64::MAX - 1);
        let state = game.truth();
        let link = settings.link();
        let spare = G::TICK_RATE.running_at(Span::from_millis(ROUND_TRIP_MS_MAX + 2 * JITTER_MS_MAX));
        let begin = SharedInstant::ZERO;
        let warp = TimeWarpConfig { history: Span::from_millis(1_500), rewind_max: REWIND_MAX };
        let shown = Shown {
            own: G::own(&state),
            others: game.others(&state),
            things: game.things(&state, &G::own(&state)),
            seen_at: begin,
            state: state.clone(),
        };
        let first = || Snapshots(VecDeque::from([(begin, state.clone())]));
        Self {
            rules: game.rules(),
            settings,
            ticks: 0,
            up: Link::new(link.clone(), dice.fork(0)),
            triggers: Link::new(link.clone().loss(Loss::each(0.0)), dice.fork(1)),
            down: Link::new(link.clone(), dice.fork(2)),
            to_rival: Link::new(link, dice.fork(3)),
            hands: HeldInput::new(game.idle()),
            client: FreeRunning::new(state.clone(), G::TICK_RATE, 16 + spare.unsigned_abs() as usize),
            drawn: Drawn::new(CONVERGENCE),
            free: None,
            screen: first(),
            rival: first(),
            warp: TimeWarp::new(warp),
            beams: Default::default(),
            loaded_at: begin,
            shots: Shots::default(),
            shown,
            pending: VecDeque::new(),
            apart: (0.0, 0.0),
            game,
        }
    }

    /// Changes link and techniques. Packets in flight keep their arrival times.
    pub(super) fn set(&mut self, settings: Settings) {
        let link = settings.link();
        self.up.model_mut().reconfigure(link.clone());
        self.triggers.model_mut().reconfigure(link.clone().loss(Loss::each(0.0)));
        self.down.model_mut().reconfigure(link.clone());
        self.to_rival.model_mut().reconfigure(link);
        self.settings = settings;
        self.pending.clear();
    }

    pub(super) fn game(&self) -> &G {
        &self.game
    }

    /// Plays one tick of all three programs.
    pub(super) fn tick(&mut self, hands: Hands) {
        self.ticks += 1;
        let now = SharedInstant::ZERO + G::TICK_RATE.begin(self.ticks);
        let end = now + G::TICK_RATE.begin(1);
        let input = self.decide(hands, now);
        let local = LocalInstant::from_micros(now.as_micros());
        self.up.send(now, 0, (self.client.input(local, input.clone()), input.clone()));
        self.fire(&input, now);
        self.serve(now, end);
        self.receive(end);
        self.show(&input, end);
        self.compare(now);
        for beams in &mut self.beams {
            beams.retain(|beam| now - beam.from < BEAM_SHOWN);
        }
    }

    fn decide(&mut self, hands: Hands, now: SharedInstant) -> InputOf<G> {
        if hands.is_bot
            && let Some(input) = self.game.aim(&self.shown.own, &self.shown.others)
        {
            return input;
        }
        self.game.decide(hands, now, &self.shown.state)
    }

    /// Fires on the player's screen, and tells the server what the screen showed.
    fn fire(&mut self, input: &InputOf<G>, now: SharedInstant) {
        if !G::fires(input) || now < self.loaded_at {
            return;
        }
        self.loaded_at = now + RELOAD;
        let reach = self.game.reach(&self.shown.own, &self.shown.others);
        self.shots.fired += 1;
        self.shots.seen += u32::from(reach.is_hit);
        self.beams[0].push_back(Beam { from: now, thing: beam(&self.shown.own, reach) });
        self.triggers.send(now, 0, Trigger { seen_at: self.shown.seen_at });
    }

    /// Plays the server's tick with what has arrived, and sends states to both screens.
    fn serve(&mut self, now: SharedInstant, end: SharedInstant) {
        while let Some(arrival) = self.up.poll(now) {
            let (stamp, input) = arrival.payload;
            self.hands.receive(stamp, input);
        }
        while let Some(arrival) = self.triggers.poll(now) {
            self.judge(arrival.payload, now);
        }
        self.game.serve(self.hands.play(G::TICK_RATE.begin(1)));
        let state = self.game.truth();
        let moments = self.game.others(&state).into_iter().map(|(number, place)| Moment {
            entity: EntityId(number),
            life: Life::default(),
            state: State::moving(place, Vec2::ZERO),
        });
        self.warp.record(end, moments);
        let (acknowledged, applied) = self.hands.acknowledged();
        let tick = self.ticks.unsigned_abs();
        let reply = Reply { epoch: Epoch(1), tick, state, acknowledged, applied };
        if is_due(self.ticks, G::TICK_RATE) {
            self.to_rival.send(now, 0, reply.clone());
        }
        self.down.send(now, 0, reply);
    }

    /// Decides at the server whether a shot hits: where the others are now, or where the shooter
    /// saw them.
    fn judge(&mut self, trigger: Trigger, now: SharedInstant) {
        let state = self.game.truth();
        let own = G::own(&state);
        let mut seen = Vec::new();
        let targets = match self.settings.rewinds {
            true if self.warp.rewind(now, trigger.seen_at, &mut seen).is_some() => {
                seen.iter().map(|moment| (moment.entity.0, moment.state.position)).collect()
            }
            _ => self.game.others(&state),
        };
        let reach = self.game.reach(&own, &targets);
        self.shots.counted += u32::from(reach.is_hit);
        self.beams[1].push_back(Beam { from: now, thing: beam(&own, reach) });
        let way = self.settings.lag.scaled(0.5);
        self.beams[2].push_back(Beam { from: now + way, thing: beam(&own, reach) });
    }

    /// Takes what has arrived at both screens.
    fn receive(&mut self, end: SharedInstant) {
        let now = end - G::TICK_RATE.begin(1);
        let at = Now { local: LocalInstant::from_micros(end.as_micros()), shared: end };
        while let Some(arrival) = self.down.poll(now) {
            let reply = arrival.payload;
            let tick = reply.tick.cast_signed();
            if is_due(tick, G::TICK_RATE) {
                self.screen.accept((SharedInstant::ZERO + G::TICK_RATE.begin(tick + 1), reply.state.clone()));
            }
            self.client.accept_bending(&self.rules, reply, at, &mut self.drawn, G::own);
        }
        if !self.settings.smooths {
            self.drawn.snap();
        }
        while let Some(arrival) = self.to_rival.poll(now) {
            let reply = arrival.payload;
            let at = G::TICK_RATE.begin(reply.tick.cast_signed() + 1);
            self.rival.accept((SharedInstant::ZERO + at, reply.state));
        }
    }

    /// Composes the player's screen: the own vehicle by prediction, the others by interpolation.
    fn show(&mut self, input: &InputOf<G>, end: SharedInstant) {
        let local = LocalInstant::from_micros(end.as_micros());
        let Settings { predicts, reconciles, interpolates, .. } = self.settings;
        let (state, own) = match (predicts, reconciles) {
            (false, _) => {
                self.free = None;
                let newest = self.client.newest_state().clone();
                let own = G::own(&newest);
                (newest, own)
            }
            (true, true) => {
                self.free = None;
                let predicted = self.client.predict(&self.rules, local).state;
                let own = self.drawn.at(Now { local, shared: end }, &G::own(&predicted));
                (predicted, own)
            }
            (true, false) => {
                let free = self.free.get_or_insert_with(|| self.shown.state.clone());
                self.rules.step(free, input, 1);
                (free.clone(), G::own(free))
            }
        };
        let predicted = self.game.things(&state, &own);
        if predicts && !(G::INTERPOLATES && (interpolates || !G::PREDICTS_OTHERS)) {
            let others = self.game.others(&state);
            self.shown = Shown { own, others, things: predicted, seen_at: end, state };
            return;
        }
        let behind = self.settings.lag.scaled(0.5) + self.settings.jitter + INTERPOLATION_DELAY;
        let (others, mut things, seen_at) = if interpolates && G::INTERPOLATES {
            let around = self.screen.around(end - behind);
            let (others, things) = between(&self.game, around);
            (others, things, end - behind)
        } else {
            let (at, newest) = self.screen.newest();
            (self.game.others(newest), self.game.things(newest, &G::own(newest)), *at)
        };
        things.retain(|thing| !thing.is_own);
        things.extend(predicted.into_iter().filter(|thing| thing.is_own));
        self.shown = Shown { state, own, others, things, seen_at };
    }

    /// Compares what was shown with the server's state when it counts, half a round trip later.
    fn compare(&mut self, now: SharedInstant) {
        let counts_at = now + self.settings.lag.scaled(0.5);
        let others = self.shown.others.clone();
        self.pending.push_back(Pending { counts_at, own: self.shown.own.position, others });
        while let Some(shown) = self.pending.pop_front_if(|shown| shown.counts_at <= now) {
            let truth = self.game.truth();
            let mean = mean_distance(&shown.others, &self.game.others(&truth));
            self.apart = (shown.own.distance(G::own(&truth).position), mean);
        }
    }

    pub(super) fn apart(&self) -> (f64, f64) {
        self.apart
    }

    pub(super) fn shots(&self) -> Shots {
        self.shots
    }

    pub(super) fn shown(&self) -> &StateOf<G> {
        &self.shown.state
    }

    pub(super) fn own(&self) -> &State<Vec2> {
        &self.shown.own
    }

    /// Returns the things of a view: 0 the player's screen, 1 the server, 2 the rival's screen.
    pub(super) fn things(&self, view: usize) -> Vec<Thing> {
        let now = SharedInstant::ZERO + G::TICK_RATE.begin(self.ticks);
        let mut things = match view {
            0 => self.shown.things.clone(),
            1 => {
                let truth = self.game.truth();
                self.game.things(&truth, &G::own(&truth))
            }
            _ => {
                let behind = self.settings.lag.scaled(0.5) + self.settings.jitter + INTERPOLATION_DELAY;
                let at = now + G::TICK_RATE.begin(1) - behind;
                let truth = self.game.truth();
                let mut things = between(&self.game, self.rival.around(at)).1;
                // The rival drives at the server: its own vehicle has no lag.
                for thing in &mut things {
                    thing.is_own = false;
                    if let Some(own) = self.game.rival(&truth).filter(|rival| rival.number == thing.number)
                        && own.kind as u8 == thing.kind as u8
                    {
                        *thing = Thing { is_own: true, ..own };
                    }
                }
                things
            }
        };
        things.extend(self.beams[view].iter().filter(|beam| beam.from <= now).map(|beam| beam.thing));
        things
    }
}

/// Returns whether the states of others are sent after this tick.
fn is_due(tick: i64, rate: TickRate) -> bool {
    let sent = |tick: i64| rate.begin(tick).as_micros() / OTHERS_EVERY.as_micros();
    sent(tick) != sent(tick - 1)
}

fn beam(own: &State<Vec2>, reach: Reach) -> Thing {
    let sizes = [reach.length, f64::from(u8::from(reach.is_hit))];
    Thing { sizes, ..Thing::new(Sprite::Beam, own.position, own.orientation) }
}

/// Returns the places of others and all things between two states.
#[inline(never)]
fn between<G: PlayedGame>(
    game: &G,
    (before, after, share): (&StateAt<G>, &StateAt<G>, f64),
) -> (Vec<(u32, Vec2)>, Vec<Thing>) {
    let (old, new) = (&before.1, &after.1);
    let blend = |from: Vec2, to: Vec2| from + (to - from) * share;
    let later = game.others(new);
    let others = game.others(old).into_iter().map(|(number, place)| {
        let next = later.iter().find(|(other, _)| *other == number);
        (number, next.map_or(place, |(_, next)| blend(place, *next)))
    });
    let later = game.things(new, &G::own(new));
    let things = game.things(old, &G::own(old)).into_iter().map(|thing| {
        let is_same = |other: &&Thing| other.kind as u8 == thing.kind as u8 && other.number == thing.number;
        match later.iter().find(is_same) {
            None => thing,
            Some(next) => {
                let turn = fairpath::rotation::wrap_angle(next.heading - thing.heading);
                Thing {
                    position: blend(thing.position, next.position),
                    heading: thing.heading + turn * share,
                    ..thing
                }
            }
        }
    });
    (others.collect(), things.collect())
}
