//! A game that several clients play together: seats, a countdown, the game, and its end.

use std::collections::BTreeMap;
use std::fmt::Debug;

use fairpath::session::ClientId;
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath_compensate::{Epoch, Reply};
use fairpath_sim::trace::Trace;

use super::message::{BadMessage, Reader, WireState, Writer};
use super::slot::ClientSlot;
use crate::shared::{Game, Recorder};

/// A game with a seat for each player, in which bots sit where no client does.
pub trait SharedGame {
    /// The game's number in a [`WELCOME`](super::WELCOME) call.
    const NUMBER: u8;
    const NAME: &'static str;
    /// The game that is recorded and replayed.
    type Game: Game;
    /// The game with its drivers.
    type Run;
    /// What a client is sent of the game.
    type Scene: WireState + Clone + PartialEq + Debug;

    /// Returns a run at tick zero with a bot in every seat; `None` if the rules are refused.
    fn begin(&self, seed: u64) -> Option<Self::Run>;
    /// Puts a client's hands, or a bot, into a seat. Does nothing if there is no such seat.
    fn seat(&self, run: &mut Self::Run, seat: u32, driver: Seated<InputOf<Self>>);
    fn step(&self, run: &mut Self::Run);
    fn game<'a>(&self, run: &'a Self::Run) -> &'a Self::Game;
    /// Returns the inputs of the last tick, by seat.
    fn inputs<'a>(&self, run: &'a Self::Run) -> &'a [InputOf<Self>];
    fn recorder(&self, run: &Self::Run) -> Recorder<Self::Game>;
    fn scene(&self, run: &Self::Run) -> Self::Scene;
    /// Returns whether the game has ended for the clients in these seats.
    fn is_over(&self, run: &Self::Run, seats: &[u32]) -> bool;
    /// Returns all seats, the best first.
    fn standings(&self, run: &Self::Run) -> Vec<Standing>;
    /// Returns the winning seat, or the winning team of a game of teams, once there is one.
    fn winner(&self, run: &Self::Run) -> Option<u32>;
}

pub type InputOf<G> = <<G as SharedGame>::Game as Game>::Input;

/// Who drives a seat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seated<I> {
    Hands(I),
    /// A bot whose random numbers follow from the seed.
    Bot {
        seed: u64,
    },
}

/// A seat's place in the game so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub seat: u32,
    /// Laps, kills, or what else the game counts.
    pub score: i32,
}

/// What a table does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Clients take seats; the host may start.
    Gathering,
    /// The game begins after so many ticks. Clients still take seats.
    Countdown {
        ticks: u32,
    },
    Playing,
    /// The result stands until the host starts again.
    Over,
}

/// What a client of a table is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct TableScene<S> {
    pub phase: Phase,
    /// The client's own seat.
    pub seat: u32,
    /// The seat of the host, who may start.
    pub host: u32,
    /// The seats in which clients sit, one bit each. Bots sit in the others.
    pub clients: u32,
    /// All seats, the best first.
    pub standings: Vec<Standing>,
    pub winner: Option<u32>,
    pub game: S,
}

/// From the host's start to the first tick: 3 s, time enough to put the hands on the keys.
pub const COUNTDOWN: Span = Span::from_secs(3);
/// The most seats of a table: each is a bit in a scene.
pub const SEATS_MAX: u32 = 32;
/// The longest stall that is caught up with, as in a [`Room`](super::Room).
const CATCH_UP_MAX: Span = Span::from_millis(500);

/// One game and the clients that play it.
///
/// The first client is the host; if it leaves, the one that has been there longest is. A client
/// that joins a running game takes over a bot's seat, and a bot takes over the seat of one that
/// leaves.
pub struct Table<G: SharedGame> {
    game: G,
    /// The seed of the next run.
    seed: u64,
    run: G::Run,
    phase: Phase,
    members: BTreeMap<ClientId, Member<InputOf<G>>>,
    /// How many clients have ever joined.
    joined: u32,
    recorder: Option<Recorder<G::Game>>,
    recording: Option<Trace>,
    began: Option<SharedInstant>,
    played: i64,
}

struct Member<I> {
    seat: u32,
    /// How many joined before.
    order: u32,
    slot: ClientSlot<I>,
}

impl<G: SharedGame> Table<G> {
    /// Returns an empty table; `None` if the game refuses its rules. The first run uses this seed,
    /// each further one the next number.
    pub fn new(game: G, seed: u64) -> Option<Self> {
        let run = game.begin(seed)?;
        Some(Self {
            game,
            seed,
            run,
            phase: Phase::Gathering,
            members: BTreeMap::new(),
            joined: 0,
            recorder: None,
            recording: None,
            began: None,
            played: 0,
        })
    }

    /// Gives a client the first seat without one. Returns whether it has a seat.
    pub fn join(&mut self, client: ClientId) -> bool {
        if self.members.contains_key(&client) {
            return true;
        }
        let is_taken = |seat: &u32| self.members.values().any(|member| member.seat == *seat);
        let Some(seat) = (0..self.seats()).find(|seat| !is_taken(seat)) else { return false };
        self.joined = self.joined.wrapping_add(1);
        let idle = InputOf::<G>::default();
        let slot = ClientSlot::new(Epoch(self.joined), <G::Game as Game>::TICK_RATE, idle);
        self.members.insert(client, Member { seat, order: self.joined, slot });
        true
    }

    /// Gives a client's seat to a bot.
    pub fn leave(&mut self, client: ClientId) {
        let Some(member) = self.members.remove(&client) else { return };
        let seed = self.seed ^ u64::from(member.order) << 32;
        self.game.seat(&mut self.run, member.seat, Seated::Bot { seed });
        if self.members.is_empty() && self.phase != Phase::Playing {
            self.phase = Phase::Gathering;
        }
    }

    /// Begins the countdown of a new run. Returns `false`, and does nothing, unless `client` is the
    /// host and no run is about to begin or being played.
    pub fn start(&mut self, client: ClientId) -> bool {
        let may_start = matches!(self.phase, Phase::Gathering | Phase::Over);
        if self.host() != Some(client) || !may_start {
            return false;
        }
        if self.phase == Phase::Over {
            self.seed = self.seed.wrapping_add(1);
        }
        let Some(run) = self.game.begin(self.seed) else { return false };
        self.run = run;
        let ticks = <G::Game as Game>::TICK_RATE.running_at(COUNTDOWN) as u32;
        self.phase = Phase::Countdown { ticks };
        true
    }

    /// Takes in an input. Returns whether the client has a seat.
    pub fn receive(&mut self, client: ClientId, stamp: LocalInstant, input: InputOf<G>) -> bool {
        let Some(member) = self.members.get_mut(&client) else { return false };
        member.slot.receive(stamp, input);
        true
    }

    /// Plays the whole ticks that have passed, and gives the seats of silent clients to bots.
    pub fn play(&mut self, now: SharedInstant) {
        let rate = <G::Game as Game>::TICK_RATE;
        let began = self.began.get_or_insert(now);
        let behind = (now - *began) - rate.begin(self.played);
        if behind > CATCH_UP_MAX {
            *began += behind;
        }
        let passed = now - *began;
        while rate.begin(self.played + 1) <= passed {
            self.played += 1;
            self.tick();
        }
        let is_silent = |member: &Member<InputOf<G>>| member.slot.is_free();
        let silent: Vec<ClientId> =
            self.members.iter().filter(|(_, member)| is_silent(member)).map(|(client, _)| *client).collect();
        silent.into_iter().for_each(|client| self.leave(client));
    }

    fn tick(&mut self) {
        for member in self.members.values_mut() {
            let input = *member.slot.play();
            if self.phase == Phase::Playing {
                self.game.seat(&mut self.run, member.seat, Seated::Hands(input));
            }
        }
        match self.phase {
            Phase::Gathering | Phase::Over => {}
            Phase::Countdown { ticks: 0 | 1 } => {
                self.phase = Phase::Playing;
                self.recorder = Some(self.game.recorder(&self.run));
            }
            Phase::Countdown { ticks } => self.phase = Phase::Countdown { ticks: ticks - 1 },
            Phase::Playing => self.play_tick(),
        }
    }

    fn play_tick(&mut self) {
        self.game.step(&mut self.run);
        if let Some(recorder) = &mut self.recorder {
            recorder.record(self.game.game(&self.run), self.game.inputs(&self.run));
        }
        let seats: Vec<u32> = self.members.values().map(|member| member.seat).collect();
        if self.game.is_over(&self.run, &seats) {
            self.phase = Phase::Over;
            self.recording = self.recorder.take().map(Recorder::finish);
        }
    }

    /// Returns what to send now: an answer to an input, or a keep-alive.
    pub fn poll_reply(&mut self) -> Option<(ClientId, Reply<TableScene<G::Scene>>)> {
        let owed = self
            .members
            .iter_mut()
            .find_map(|(client, member)| Some((*client, member.seat, member.slot.answer(|| ())?)));
        let (client, seat, reply) = owed?;
        let Reply { epoch, tick, state: (), acknowledged, applied } = reply;
        Some((client, Reply { epoch, tick, state: self.scene(seat), acknowledged, applied }))
    }

    /// Returns the scene as the client in this seat sees it.
    pub fn scene(&self, seat: u32) -> TableScene<G::Scene> {
        let host = self.host().and_then(|client| self.members.get(&client)).map_or(0, |host| host.seat);
        let clients = self.members.values().fold(0, |bits, member| bits | 1 << member.seat);
        TableScene {
            phase: self.phase,
            seat,
            host,
            clients,
            standings: self.game.standings(&self.run),
            winner: self.game.winner(&self.run),
            game: self.game.scene(&self.run),
        }
    }

    /// Returns the client that has been here longest.
    pub fn host(&self) -> Option<ClientId> {
        self.members.iter().min_by_key(|(_, member)| member.order).map(|(client, _)| *client)
    }

    /// Returns the recording of the last run that ended, once.
    pub fn take_recording(&mut self) -> Option<Trace> {
        self.recording.take()
    }

    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns the rules.
    pub fn rules(&self) -> &G {
        &self.game
    }

    /// Returns the game as it stands.
    pub fn game(&self) -> &G::Game {
        self.game.game(&self.run)
    }

    pub fn members(&self) -> usize {
        self.members.len()
    }

    fn seats(&self) -> u32 {
        (self.game.standings(&self.run).len() as u32).min(SEATS_MAX)
    }
}

impl<S> TableScene<S> {
    /// A client's scene before the first state arrives.
    pub fn before_the_first(game: S) -> Self {
        Self {
            phase: Phase::Gathering,
            seat: 0,
            host: 0,
            clients: 0,
            standings: Vec::new(),
            winner: None,
            game,
        }
    }

    pub fn is_host(&self) -> bool {
        self.seat == self.host
    }
}

impl<S: WireState> WireState for TableScene<S> {
    fn write(&self, out: &mut Writer) {
        match self.phase {
            Phase::Gathering => out.u8(0),
            Phase::Countdown { ticks } => out.u8(1).u32(ticks),
            Phase::Playing => out.u8(2),
            Phase::Over => out.u8(3),
        };
        out.u8(self.seat as u8).u8(self.host as u8).u32(self.clients);
        out.u8(self.standings.len() as u8);
        for Standing { seat, score } in &self.standings {
            out.u8(*seat as u8).u32(score.cast_unsigned());
        }
        out.option(self.winner, |out, winner| {
            out.u8(winner as u8);
        });
        self.game.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, BadMessage> {
        let phase = match from.u8()? {
            0 => Phase::Gathering,
            1 => Phase::Countdown { ticks: from.u32()? },
            2 => Phase::Playing,
            3 => Phase::Over,
            other => return Err(BadMessage::Unknown(other)),
        };
        let mut seat = || match u32::from(from.u8()?) {
            seat if seat < SEATS_MAX => Ok(seat),
            other => Err(BadMessage::Unknown(other as u8)),
        };
        let (own, host) = (seat()?, seat()?);
        let clients = from.u32()?;
        let count = from.u8()?;
        if u32::from(count) > SEATS_MAX {
            return Err(BadMessage::Unknown(count));
        }
        let mut standings = Vec::with_capacity(count.into());
        for _ in 0..count {
            standings.push(Standing { seat: from.u8()?.into(), score: from.u32()?.cast_signed() });
        }
        let winner = from.option(|from| from.u8().map(u32::from))?;
        Ok(Self { phase, seat: own, host, clients, standings, winner, game: S::read(from)? })
    }
}
