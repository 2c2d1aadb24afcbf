//! The proxy without its sockets: bytes and instants in, bytes out.

use std::collections::{BTreeMap, VecDeque};

use fairpath::ledger::CopyId;
use fairpath::number::{Generation, Life};
use fairpath::random::Random;
use fairpath::schedule::{Departure, Dispatcher, DispatcherConfig, SchedulerChoice};
use fairpath::time::{SharedInstant, Span};
use fairpath::trigger::TriggerReason;
use fairpath::vector::{Vec3, Vector as _};
use fairpath::{DrVector, EntityId, ReceiverId};

use crate::leg::Leg;
use crate::message::{Code, Message, Piece, StreamCutter};
use crate::update::PlayerUpdate;

/// The settings of a [`Proxy`].
#[derive(Clone, Debug, PartialEq)]
pub struct ProxyConfig {
    /// Whether updates are restated for each receiver. Default: yes. Without it receivers get the
    /// senders' states late by both delays, as without a proxy.
    pub restates: bool,
    /// Which receivers are sent an update. Default: all.
    pub scheduler: SchedulerChoice,
    /// Copies per update for schedulers with a budget, over all receivers. Default 1.
    ///
    /// With five players an update has four receivers: a budget of 1 sends a quarter of what BZFlag
    /// sends.
    pub budget: f64,
    /// Time from one lag ping to the next, to each client. Default 250 ms, which costs 34 bytes and
    /// as much back. Longer reacts more slowly to a changed delay: the estimate is the median of
    /// nine.
    pub ping_interval: Span,
    /// The longest time that a state is projected. Default 2 s: at top speed a tank drives twice
    /// its length in half a second, and no player keeps course for seconds.
    pub projection_max: Span,
    /// Whether [`Proxy::poll_record`] returns records. Default: no.
    pub records: bool,
    /// Random choices of schedulers follow from it. Default 1.
    pub seed: u64,
}

impl Default for ProxyConfig {
    fn default() -> Self {
        Self {
            restates: true,
            scheduler: SchedulerChoice::Broadcast,
            budget: 1.0,
            ping_interval: Span::from_millis(250),
            projection_max: Span::from_secs(2),
            records: false,
            seed: 1,
        }
    }
}

/// A connection through the proxy. Numbers are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u32);

/// The end of a connection that bytes come from or go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The player's program.
    Client,
    /// `bzfs`.
    Server,
}

/// The way bytes take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// TCP.
    Stream,
    /// One UDP datagram.
    Datagram,
}

/// Bytes to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The connection.
    pub client: ClientId,
    /// Its end.
    pub to: End,
    /// The way.
    pub channel: Channel,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// What a recording is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A player told where its tank is.
    Told {
        /// When that was true, on the proxy's clock, as far as it can tell.
        at: SharedInstant,
        /// The tank's life, counted from zero.
        life: u16,
        /// The state.
        update: PlayerUpdate,
    },
    /// A copy was sent to a receiver.
    Sent {
        /// When it is expected to arrive.
        at: SharedInstant,
        /// The receiving player.
        receiver: u8,
        /// The tank's life, counted from zero.
        life: u16,
        /// The state as it was sent.
        update: PlayerUpdate,
    },
}

/// What the proxy knows about a player.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlayerStatus {
    /// The player's number in the game; `None` before the server has greeted.
    pub player: Option<u8>,
    /// The player's name.
    pub callsign: String,
    /// The usual round trip between proxy and client.
    pub round_trip: Option<Span>,
    /// Lag pings of the proxy that were answered, and that were not.
    pub pings: (u64, u64),
    /// The distance between where the player's screen shows a tank and where its newest update
    /// puts it, in units: mean over the tanks and the last half minute.
    pub error: Option<f64>,
    /// Updates of other tanks that the server sent for this player.
    pub updates_offered: u64,
    /// Copies of them that the proxy sent.
    pub updates_sent: u64,
    /// Shots that the player fired, kills by them, and deaths.
    pub shots: u64,
    /// Kills, as the victims reported them.
    pub kills: u64,
    /// Deaths.
    pub deaths: u64,
    /// Whether updates reach the player over UDP.
    pub uses_datagrams: bool,
}

/// Feed with `handle_*`, call [`handle_timeout`](Self::handle_timeout) after that and at
/// [`poll_deadline`](Self::poll_deadline), drain [`poll_transmit`](Self::poll_transmit). `now` must
/// never go backwards.
#[derive(Debug)]
pub struct Proxy {
    config: ProxyConfig,
    dispatcher: Dispatcher<Vec3>,
    clients: BTreeMap<ClientId, Client>,
    tanks: BTreeMap<u8, Tank>,
    gravity: f64,
    outbox: VecDeque<Transmit>,
    records: VecDeque<Record>,
}

/// BZFlag's gravity unless the server sets another, in units per second squared.
const GRAVITY: f64 = -9.8;
/// The proxy's own lag pings have numbers from here on. `bzfs` counts its own from 0 to 9999.
const PING_NUMBER_MIN: u16 = 0x8000;
/// Pings without an answer that are remembered: 16 s of them.
const PINGS_MAX: usize = 64;
/// Copies that wait for an answer: beyond that the oldest ones count as lost.
const COPIES_MAX: usize = 4096;
/// The longest datagram. BZFlag's own limit is 1024 bytes.
const DATAGRAM_MAX: usize = 1000;
/// Updates of a tank that are remembered: more than a dispatcher claims.
const HISTORY_MAX: usize = 32;
/// A tank that is this far from where it was expected, in units, was put there: three tank lengths.
/// BZFlag sends an update at 0.09 units, so only a teleport or many lost updates do that.
const JUMP: f64 = 18.0;
/// An update that changes less than this, in units and units per second, is a heartbeat: BZFlag's
/// own threshold.
const HEARTBEAT_CHANGE: f64 = 0.09;
/// The same for turn rates, in radians per second.
const HEARTBEAT_TURN: f64 = 0.01;
/// An order that is lower than the last by more than this is another player's with the same number.
const REORDERED_MAX: i32 = 256;
/// Replicas never freeze in BZFlag. Ten seconds is longer than any silence of a living client.
const HORIZON: Span = Span::from_secs(10);
/// Records that wait to be drained. Beyond that new ones are dropped.
const RECORDS_MAX: usize = 1 << 16;

/// What becomes of a message.
enum Verdict {
    Pass,
    Swallow,
    Replace(Vec<u8>),
}

impl Verdict {
    fn write(self, message: &Message<'_>, passed: &mut Vec<u8>) {
        match self {
            Self::Pass => message.write(passed),
            Self::Swallow => {}
            Self::Replace(bytes) => passed.extend(bytes),
        }
    }
}

#[derive(Debug)]
struct Client {
    up: StreamCutter,
    down: StreamCutter,
    leg: Leg,
    pings: VecDeque<Ping>,
    next_ping: u16,
    pinged_at: Option<SharedInstant>,
    /// Copies in datagrams without a ping, confirmed by the next one.
    unconfirmed: VecDeque<(CopyId, SharedInstant)>,
    /// Whether the server sends it updates.
    hears: bool,
    sent: BTreeMap<u8, LastSent>,
    status: PlayerStatus,
}

#[derive(Debug)]
struct Ping {
    number: u16,
    sent_at: SharedInstant,
    copies: Vec<CopyId>,
}

/// The last update of one tank that a client was sent.
#[derive(Clone, Copy, Debug)]
struct LastSent {
    order: i32,
    generated_at: Option<SharedInstant>,
}

#[derive(Debug, Default)]
struct Tank {
    owner: Option<ClientId>,
    /// What was told in this life, by generation time.
    history: VecDeque<(SharedInstant, PlayerUpdate)>,
    newest_order: Option<i32>,
    life: u16,
    is_dead: bool,
}

impl Proxy {
    /// Returns a proxy without clients.
    pub fn new(config: ProxyConfig) -> Self {
        // Receivers are as many as there will be players; only schedulers with fixed shares ask.
        let scheduler = config.scheduler.build(2, config.budget);
        let dispatching = DispatcherConfig { horizon: HORIZON, trust: None, ..DispatcherConfig::default() };
        let dispatcher = Dispatcher::new(dispatching, scheduler, Random::from_seed(config.seed));
        Self {
            config,
            dispatcher,
            clients: BTreeMap::new(),
            tanks: BTreeMap::new(),
            gravity: GRAVITY,
            outbox: VecDeque::new(),
            records: VecDeque::new(),
        }
    }

    // ── bytes in ──

    /// Adds a connection.
    pub fn handle_connected(&mut self, client: ClientId) {
        self.clients.entry(client).or_insert_with(|| Client {
            up: StreamCutter::of_client(),
            down: StreamCutter::of_server(),
            leg: Leg::default(),
            pings: VecDeque::new(),
            next_ping: PING_NUMBER_MIN,
            pinged_at: None,
            unconfirmed: VecDeque::new(),
            hears: false,
            sent: BTreeMap::new(),
            status: PlayerStatus::default(),
        });
    }

    /// Removes a connection, and its tank.
    pub fn handle_closed(&mut self, client: ClientId) {
        if self.clients.remove(&client).is_none() {
            return;
        }
        self.dispatcher.leave(receiver(client));
        let owned: Vec<u8> = self
            .tanks
            .iter()
            .filter(|(_, tank)| tank.owner == Some(client))
            .map(|(player, _)| *player)
            .collect();
        owned.into_iter().for_each(|player| self.remove_tank(player));
    }

    /// Handles bytes of a TCP stream, as they were read from one end.
    pub fn handle_stream(&mut self, client: ClientId, from: End, bytes: &[u8], now: SharedInstant) {
        let Some(known) = self.clients.get_mut(&client) else { return };
        // Taken out, so that pieces can be handled while they are borrowed from it.
        let cutter = match from {
            End::Client => &mut known.up,
            End::Server => &mut known.down,
        };
        let mut cutter = std::mem::replace(cutter, StreamCutter::of_client());
        cutter.push(bytes);
        let mut passed = Vec::new();
        while let Some(piece) = cutter.next_piece() {
            match piece {
                Piece::Greeting(greeting) => {
                    passed.extend_from_slice(greeting);
                    if from == End::Server {
                        self.handle_greeting(client, greeting);
                    }
                }
                Piece::Opaque(bytes) => passed.extend_from_slice(bytes),
                Piece::Message(message) => {
                    let verdict = self.handle_message(client, from, Channel::Stream, &message, now);
                    verdict.write(&message, &mut passed);
                }
            }
        }
        if let Some(known) = self.clients.get_mut(&client) {
            match from {
                End::Client => known.up = cutter,
                End::Server => known.down = cutter,
            }
        }
        self.pass(client, from, Channel::Stream, passed);
    }

    /// Handles the end of a TCP stream: what is left of it passes.
    pub fn handle_stream_end(&mut self, client: ClientId, from: End) {
        let Some(known) = self.clients.get_mut(&client) else { return };
        let rest = match from {
            End::Client => known.up.rest().to_vec(),
            End::Server => known.down.rest().to_vec(),
        };
        self.pass(client, from, Channel::Stream, rest);
    }

    /// Handles a UDP datagram from one end.
    pub fn handle_datagram(&mut self, client: ClientId, from: End, bytes: &[u8], now: SharedInstant) {
        if !self.clients.contains_key(&client) {
            return;
        }
        // Bytes that are not messages to the last one are not understood, and pass.
        let Some(messages) = Message::split_all(bytes) else {
            return self.pass(client, from, Channel::Datagram, bytes.to_vec());
        };
        let mut passed = Vec::with_capacity(bytes.len());
        for message in messages {
            let verdict = self.handle_message(client, from, Channel::Datagram, &message, now);
            verdict.write(&message, &mut passed);
        }
        self.pass(client, from, Channel::Datagram, passed);
    }

    /// Returns the player that a datagram from an unknown address asks for a link for. The driver
    /// then looks for a connection of that player from the same host.
    pub fn link_request(datagram: &[u8]) -> Option<u8> {
        let (message, _) = Message::split_first(datagram)?;
        (message.code == Code::UDP_LINK_REQUEST).then(|| message.payload.first().copied()).flatten()
    }

    /// Returns the connections of this player number.
    pub fn clients_of(&self, player: u8) -> impl Iterator<Item = ClientId> {
        self.clients.iter().filter(move |(_, it)| it.status.player == Some(player)).map(|(client, _)| *client)
    }

    // ── time and bytes out ──

    /// Sends what is due: copies of updates, and lag pings.
    pub fn handle_timeout(&mut self, now: SharedInstant) {
        let clients: Vec<ClientId> = self.clients.keys().copied().collect();
        for client in clients {
            self.send_due(client, now);
        }
    }

    /// Returns when [`handle_timeout`](Self::handle_timeout) has something to do next, unless bytes
    /// come first.
    pub fn poll_deadline(&self) -> Option<SharedInstant> {
        let pings = self.clients.values().filter_map(|client| client.next_ping_at(self.config.ping_interval));
        pings.chain(self.dispatcher.poll_deadline()).min()
    }

    /// Returns the next bytes to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.outbox.pop_front()
    }

    /// Returns the next record, if [`ProxyConfig::records`] asks for them.
    pub fn poll_record(&mut self) -> Option<Record> {
        self.records.pop_front()
    }

    /// Returns what is known about each connection, as of `now`.
    pub fn players(&mut self, now: SharedInstant) -> Vec<(ClientId, PlayerStatus)> {
        self.dispatcher.advance(now);
        let status = |(client, it): (&ClientId, &Client)| {
            let seen = self.tanks.iter().filter(|(_, tank)| tank.is_told() && tank.owner != Some(*client));
            let account = self.dispatcher.account(receiver(*client));
            let error = account.map(|account| account.rate() / (seen.count().max(1) as f64));
            (*client, PlayerStatus { round_trip: it.leg.round_trip(), error, ..it.status.clone() })
        };
        self.clients.iter().map(status).collect()
    }

    /// Returns what is known about the way to a client.
    pub fn leg(&self, client: ClientId) -> Option<&Leg> {
        self.clients.get(&client).map(|client| &client.leg)
    }

    // ── messages ──

    fn handle_message(
        &mut self,
        client: ClientId,
        from: End,
        channel: Channel,
        message: &Message<'_>,
        now: SharedInstant,
    ) -> Verdict {
        match from {
            End::Client => self.handle_from_client(client, message, now),
            End::Server => self.handle_from_server(client, channel, message, now),
        }
    }

    fn handle_from_client(&mut self, client: ClientId, message: &Message<'_>, now: SharedInstant) -> Verdict {
        if message.code == Code::LAG_PING && self.handle_answer(client, message, now) {
            return Verdict::Swallow;
        }
        let Some(known) = self.clients.get_mut(&client) else { return Verdict::Pass };
        match message.code {
            Code::ENTER => known.status.callsign = callsign(message.payload),
            Code::SHOT_BEGIN => known.status.shots += 1,
            Code::KILLED => {
                known.status.deaths += 1;
                if let Some(killer) = message.payload.first().copied() {
                    self.count_kill(client, killer);
                }
            }
            code if code.is_player_update() => {
                if let Some(update) = PlayerUpdate::decode(message)
                    && known.status.player == Some(update.player)
                {
                    known.leg.handle_stamp(update.stamp, now);
                    self.tanks.entry(update.player).or_default().owner = Some(client);
                }
            }
            _ => {}
        }
        Verdict::Pass
    }

    fn handle_from_server(
        &mut self,
        client: ClientId,
        channel: Channel,
        message: &Message<'_>,
        now: SharedInstant,
    ) -> Verdict {
        let Some(known) = self.clients.get_mut(&client) else { return Verdict::Pass };
        known.status.uses_datagrams |= channel == Channel::Datagram;
        match message.code {
            Code::SET_VARIABLE => self.gravity = message.variable("_gravity").unwrap_or(self.gravity),
            code if code.is_player_update() => return self.handle_update(client, message, now),
            code => {
                if let Some(player) = message.payload.first().copied() {
                    self.handle_about(client, code, player);
                }
            }
        }
        Verdict::Pass
    }

    /// Handles a message of the server about a player.
    fn handle_about(&mut self, client: ClientId, code: Code, player: u8) {
        if code == Code::ADD_PLAYER
            && let Some(known) = self.clients.get_mut(&client)
        {
            known.sent.remove(&player);
        }
        if !self.speaks_for(client, player) {
            return;
        }
        match code {
            Code::REMOVE_PLAYER => self.remove_tank(player),
            Code::KILLED => self.end_life(player),
            Code::ALIVE => {
                self.end_life(player);
                self.tanks.entry(player).or_default().is_dead = false;
            }
            _ => {}
        }
    }

    /// Whether this connection's copy of a message about a player counts. The server sends one to
    /// every client, and a late one would end the player's next life.
    fn speaks_for(&self, client: ClientId, player: u8) -> bool {
        let owner = self.clients_of(player).next();
        owner.or_else(|| self.clients.keys().next().copied()) == Some(client)
    }

    /// Learns the player's number from the server's greeting. 255 and what is behind it refuses.
    fn handle_greeting(&mut self, client: ClientId, greeting: &[u8]) {
        let player = greeting.last().copied().filter(|player| *player != u8::MAX);
        if let (Some(known), Some(player)) = (self.clients.get_mut(&client), player) {
            known.status.player = Some(player);
        }
    }

    /// Handles an update that the server has for a client.
    fn handle_update(&mut self, client: ClientId, message: &Message<'_>, now: SharedInstant) -> Verdict {
        let Some(mut update) = PlayerUpdate::decode(message) else { return Verdict::Pass };
        let Some(known) = self.clients.get_mut(&client) else { return Verdict::Pass };
        known.status.updates_offered += 1;
        let tank = self.tanks.entry(update.player).or_default();
        if !update.is_alive() || tank.is_dead {
            // No motion to restate: it passes, with a number that the receiver accepts.
            known.status.updates_sent += 1;
            update.order = known.next_order(&update, None);
            let mut bytes = Vec::new();
            update.encode(&mut bytes);
            return Verdict::Replace(bytes);
        }
        let is_news = tank.is_news(update.order);
        if !known.hears {
            known.hears = true;
            self.dispatcher.join(receiver(client), now);
            self.hide_own(client);
        }
        if is_news {
            self.handle_trigger(update, now);
        }
        Verdict::Swallow
    }

    /// Hands a new state of a living tank to the scheduler.
    fn handle_trigger(&mut self, update: PlayerUpdate, now: SharedInstant) {
        let Some(tank) = self.tanks.get_mut(&update.player) else { return };
        let leg = tank.owner.and_then(|owner| self.clients.get(&owner)).map(|owner| &owner.leg);
        let stated = leg.and_then(|leg| leg.instant_of(update.stamp)).unwrap_or(now);
        let mut generated_at = stated.clamp(now - self.config.projection_max, now);
        let mut reason = TriggerReason::Born;
        if let Some((before_at, before)) = tank.history.back() {
            generated_at = generated_at.max(*before_at + Span::from_micros(1));
            let expected = before.after((generated_at - *before_at).as_secs_f64(), self.gravity);
            let off = expected.position.distance(update.position);
            let keeps_course = before.status == update.status
                && expected.velocity.distance(update.velocity) <= HEARTBEAT_CHANGE
                && (before.turn_rate - update.turn_rate).abs() <= HEARTBEAT_TURN;
            reason = match off {
                off if off > JUMP => TriggerReason::Jumped,
                off if off <= HEARTBEAT_CHANGE && keeps_course => TriggerReason::Heartbeat,
                _ => TriggerReason::Distance,
            };
        }
        if reason == TriggerReason::Jumped {
            tank.life = tank.life.wrapping_add(1);
        }
        tank.newest_order = Some(update.order);
        if tank.history.len() == HISTORY_MAX {
            tank.history.pop_front();
        }
        tank.history.push_back((generated_at, update.clone()));
        let vector = DrVector {
            entity: entity(update.player),
            life: Life::new((tank.life % 256) as u8),
            generation: Generation(update.order as u8),
            generated_at,
            motion: update.motion(self.gravity),
            attitude: None,
            parent: None,
        };
        let (owner, life) = (tank.owner, tank.life);
        let is_new = self.dispatcher.newest(vector.entity).is_none();
        self.dispatcher.on_generated(&vector, reason, now);
        if let Some(owner) = owner.filter(|_| is_new) {
            self.dispatcher.hide(vector.entity, receiver(owner));
        }
        self.record(|| Record::Told { at: generated_at, life, update });
    }

    /// A client's own tank is not sent to it.
    fn hide_own(&mut self, client: ClientId) {
        for (player, tank) in &self.tanks {
            if tank.owner == Some(client) {
                self.dispatcher.hide(entity(*player), receiver(client));
            }
        }
    }

    fn remove_tank(&mut self, player: u8) {
        self.tanks.remove(&player);
        self.dispatcher.remove(entity(player));
    }

    /// A tank was destroyed or comes to life: no older state may be sent again.
    fn end_life(&mut self, player: u8) {
        self.dispatcher.remove(entity(player));
        if let Some(tank) = self.tanks.get_mut(&player) {
            if tank.is_told() {
                tank.life = tank.life.wrapping_add(1);
            }
            tank.history.clear();
            tank.is_dead = true;
        }
    }

    fn count_kill(&mut self, victim: ClientId, killer: u8) {
        let by = self.clients_of(killer).find(|client| *client != victim);
        if let Some(killer) = by.and_then(|by| self.clients.get_mut(&by)) {
            killer.status.kills += 1;
        }
    }

    // ── copies and pings ──

    /// Sends a client the copies that are due, with a lag ping where one is.
    fn send_due(&mut self, client: ClientId, now: SharedInstant) {
        let departures = match self.clients.get(&client) {
            Some(known) if known.hears => self.dispatcher.poll_departures(Some(receiver(client)), now),
            Some(_) => Vec::new(),
            None => return,
        };
        let (mut bytes, mut copies) = (Vec::new(), Vec::new());
        for departure in departures {
            if bytes.len() > DATAGRAM_MAX - 100 {
                self.flush(client, std::mem::take(&mut bytes), std::mem::take(&mut copies), now);
            }
            copies.extend(self.write_copy(client, &departure, &mut bytes, now));
        }
        self.flush(client, bytes, copies, now);
    }

    /// Appends a copy as it is true when it arrives. Returns its id in the books.
    fn write_copy(
        &mut self,
        client: ClientId,
        departure: &Departure,
        bytes: &mut Vec<u8>,
        now: SharedInstant,
    ) -> Option<CopyId> {
        let vector = *self.dispatcher.vector(&departure.claim)?;
        let player = u8::try_from(vector.entity.0).ok()?;
        let tank = self.tanks.get(&player)?;
        let (generated_at, told) = tank.told_at(vector.generated_at)?;
        let known = self.clients.get_mut(&client)?;
        let arrives_at = now + known.leg.delay_down();
        let mut update = told.clone();
        if self.config.restates {
            let ahead = (arrives_at - generated_at).min(self.config.projection_max);
            update = told.after(ahead.as_secs_f64().max(0.0), self.gravity);
        }
        if known.was_sent(player, generated_at) {
            update = update.silent();
        }
        update.order = known.next_order(&update, Some(generated_at));
        update.encode(bytes);
        known.status.updates_sent += 1;
        let (life, to) = (tank.life, known.status.player);
        if let Some(to) = to {
            self.record(|| Record::Sent { at: arrives_at, receiver: to, life, update });
        }
        self.dispatcher.on_departed(&departure.claim, now, 1.0)
    }

    /// Sends a datagram of copies; with a ping if one is due, even without copies.
    fn flush(&mut self, client: ClientId, mut bytes: Vec<u8>, copies: Vec<CopyId>, now: SharedInstant) {
        let interval = self.config.ping_interval;
        let Some(known) = self.clients.get_mut(&client) else { return };
        if known.next_ping_at(interval).is_some_and(|at| at <= now) {
            known.write_ping(&mut bytes, copies, now);
        } else {
            known.unconfirmed.extend(copies.into_iter().map(|copy| (copy, now)));
            while known.unconfirmed.len() > COPIES_MAX {
                known.unconfirmed.pop_front();
            }
        }
        let channel = known.channel();
        if !bytes.is_empty() {
            self.outbox.push_back(Transmit { client, to: End::Client, channel, bytes });
        }
    }

    /// Handles the answer to a lag ping. Returns whether the ping was the proxy's own.
    fn handle_answer(&mut self, client: ClientId, message: &Message<'_>, now: SharedInstant) -> bool {
        let Some(known) = self.clients.get_mut(&client) else { return false };
        let Some(number) = message.ping_number().filter(|number| *number >= PING_NUMBER_MIN) else {
            return false;
        };
        let Some(place) = known.pings.iter().position(|ping| ping.number == number) else {
            // A late or repeated answer to the proxy, or an invented one: bzfs asked for neither.
            return true;
        };
        let Some(ping) = known.pings.drain(..=place).next_back() else { return true };
        known.status.pings.0 += 1;
        known.status.pings.1 += place as u64;
        let round_trip = now - ping.sent_at;
        known.leg.handle_round_trip(round_trip, now);
        let half = round_trip.scaled(0.5);
        let mut arrived: Vec<(CopyId, SharedInstant)> =
            ping.copies.into_iter().map(|copy| (copy, ping.sent_at)).collect();
        while let Some((copy, sent_at)) = known.unconfirmed.pop_front_if(|(_, at)| *at <= ping.sent_at) {
            arrived.push((copy, sent_at));
        }
        for (copy, sent_at) in arrived {
            self.dispatcher.on_receipt(receiver(client), copy, (sent_at + half).min(now), now);
        }
        self.dispatcher.on_complete(receiver(client), ping.sent_at + half, now);
        true
    }

    fn pass(&mut self, client: ClientId, from: End, channel: Channel, bytes: Vec<u8>) {
        let to = match from {
            End::Client => End::Server,
            End::Server => End::Client,
        };
        if !bytes.is_empty() {
            self.outbox.push_back(Transmit { client, to, channel, bytes });
        }
    }

    fn record(&mut self, record: impl FnOnce() -> Record) {
        if self.config.records && self.records.len() < RECORDS_MAX {
            self.records.push_back(record());
        }
    }
}

impl Client {
    /// When the next ping is due; `None` while the client is not in the game.
    fn next_ping_at(&self, interval: Span) -> Option<SharedInstant> {
        self.hears.then(|| self.pinged_at.map_or(SharedInstant::ZERO, |at| at + interval))
    }

    fn write_ping(&mut self, bytes: &mut Vec<u8>, copies: Vec<CopyId>, now: SharedInstant) {
        let number = self.next_ping;
        self.next_ping = number.checked_add(1).unwrap_or(PING_NUMBER_MIN);
        self.pinged_at = Some(now);
        if self.pings.len() == PINGS_MAX {
            self.pings.pop_front();
            self.status.pings.1 += 1;
        }
        self.pings.push_back(Ping { number, sent_at: now, copies });
        Message { code: Code::LAG_PING, payload: &number.to_be_bytes() }.write(bytes);
    }

    /// The order of the next update of a tank: above the last, and the owner's where that is.
    fn next_order(&mut self, update: &PlayerUpdate, generated_at: Option<SharedInstant>) -> i32 {
        let last = self.sent.get(&update.player).map(|last| last.order);
        let order = last.map_or(update.order, |last| update.order.max(last.saturating_add(1)));
        self.sent.insert(update.player, LastSent { order, generated_at });
        order
    }

    fn was_sent(&self, player: u8, generated_at: SharedInstant) -> bool {
        self.sent.get(&player).is_some_and(|last| last.generated_at == Some(generated_at))
    }

    fn channel(&self) -> Channel {
        if self.status.uses_datagrams { Channel::Datagram } else { Channel::Stream }
    }
}

impl Tank {
    /// Whether this order is above the newest, or belongs to another player with the same number.
    fn is_news(&self, order: i32) -> bool {
        self.newest_order.is_none_or(|newest| order > newest || newest.saturating_sub(order) > REORDERED_MAX)
    }

    fn is_told(&self) -> bool {
        !self.history.is_empty()
    }

    /// What was told at this instant; if that is forgotten, the oldest that is not.
    fn told_at(&self, generated_at: SharedInstant) -> Option<(SharedInstant, &PlayerUpdate)> {
        let found = self.history.iter().find(|(at, _)| *at >= generated_at);
        found.map(|(at, update)| (*at, update))
    }
}

fn receiver(client: ClientId) -> ReceiverId {
    ReceiverId(client.0)
}

fn entity(player: u8) -> EntityId {
    EntityId(player.into())
}

/// The name in a request to enter the game: 32 bytes behind two numbers, ended by a zero.
fn callsign(payload: &[u8]) -> String {
    let name = payload.get(4..).unwrap_or_default();
    let name = &name[..name.len().min(32)];
    let length = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..length]).chars().filter(|letter| !letter.is_control()).collect()
}
