//! Goal: every receiver shows tanks where they are, the server sees the client's own bytes, and a
//! budget is shared fairly. Method: a server and clients of a few lines in virtual time, with the
//! real proxy between them.

use std::collections::{BTreeMap, VecDeque};

use fairpath::schedule::SchedulerChoice;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec3, Vector as _};
use fairpath_bzflag::message::{Code, Message};
use fairpath_bzflag::update::{PlayerUpdate, status};
use fairpath_bzflag::{Channel, ClientId, End, Proxy, ProxyConfig, Transmit};

const STEP: Span = Span::from_millis(5);
const GRAVITY: f64 = -9.8;

/// A client with its link, seen from outside: what it sent, and what it shows.
struct Player {
    delay: Span,
    /// Bytes on their way: when they arrive, and where.
    up: VecDeque<(SharedInstant, Channel, Vec<u8>)>,
    down: VecDeque<(SharedInstant, Channel, Vec<u8>)>,
    sent: Vec<(Channel, Vec<u8>)>,
    told: Option<(SharedInstant, PlayerUpdate)>,
    shown: BTreeMap<u8, (SharedInstant, PlayerUpdate)>,
    /// Updates that arrived, and those among them that were ignored for their order.
    received: usize,
    ignored: usize,
    /// The distances between shown and true places, summed, and their number.
    error: (f64, usize),
}

/// The proxy, players around it, and a server that passes updates on to everyone else.
struct World {
    proxy: Proxy,
    now: SharedInstant,
    players: Vec<Player>,
    /// What arrived at the server, of each player.
    at_server: Vec<Vec<(Channel, Vec<u8>)>>,
}

fn id(player: usize) -> ClientId {
    ClientId(player as u32 + 1)
}

fn encoded(update: &PlayerUpdate) -> Vec<u8> {
    let mut bytes = Vec::new();
    update.encode(&mut bytes);
    bytes
}

fn message(code: Code, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Message { code, payload }.write(&mut bytes);
    bytes
}

impl World {
    fn new(config: ProxyConfig, delays_ms: &[i64]) -> Self {
        let mut world = Self {
            proxy: Proxy::new(config),
            now: SharedInstant::ZERO + Span::from_secs(1),
            players: Vec::new(),
            at_server: vec![Vec::new(); delays_ms.len()],
        };
        for (player, delay) in delays_ms.iter().enumerate() {
            world.players.push(Player {
                delay: Span::from_millis(*delay),
                up: VecDeque::new(),
                down: VecDeque::new(),
                sent: Vec::new(),
                told: None,
                shown: BTreeMap::new(),
                received: 0,
                ignored: 0,
                error: (0.0, 0),
            });
            world.proxy.handle_connected(id(player));
            world.send(player, Channel::Stream, b"BZFLAG\r\n\r\n".to_vec());
            let greeting = [b"BZFS0221".as_slice(), &[player as u8]].concat();
            world.proxy.handle_stream(id(player), End::Server, &greeting, world.now);
        }
        world
    }

    fn send(&mut self, player: usize, channel: Channel, bytes: Vec<u8>) {
        let it = &mut self.players[player];
        it.sent.push((channel, bytes.clone()));
        it.up.push_back((self.now + it.delay, channel, bytes));
    }

    fn tell(&mut self, player: usize, update: PlayerUpdate) {
        self.players[player].told = Some((self.now, update.clone()));
        self.send(player, Channel::Datagram, encoded(&update));
    }

    /// Moves everything on by one step.
    fn step(&mut self) {
        self.now += STEP;
        for player in 0..self.players.len() {
            while let Some((_, channel, bytes)) = due(&mut self.players[player].up, self.now) {
                match channel {
                    Channel::Stream => self.proxy.handle_stream(id(player), End::Client, &bytes, self.now),
                    Channel::Datagram => {
                        self.proxy.handle_datagram(id(player), End::Client, &bytes, self.now);
                    }
                }
                self.carry();
            }
        }
        self.proxy.handle_timeout(self.now);
        self.carry();
        for player in 0..self.players.len() {
            while let Some((at, _, bytes)) = due(&mut self.players[player].down, self.now) {
                self.receive(player, at, &bytes);
            }
        }
        self.sample();
    }

    /// Takes what the proxy sends: to the server at once, to clients with their delay.
    fn carry(&mut self) {
        while let Some(Transmit { client, to, channel, bytes }) = self.proxy.poll_transmit() {
            let player = client.0 as usize - 1;
            if to == End::Client {
                let it = &mut self.players[player];
                it.down.push_back((self.now + it.delay, channel, bytes));
                continue;
            }
            self.at_server[player].push((channel, bytes.clone()));
            let is_update = Message::split_first(&bytes).is_some_and(|(it, _)| it.code.is_player_update());
            for other in (0..self.players.len()).filter(|other| *other != player && is_update) {
                self.proxy.handle_datagram(id(other), End::Server, &bytes, self.now);
            }
            self.proxy.handle_timeout(self.now);
        }
    }

    /// What a BZFlag client does with a datagram: it answers pings and ignores old orders.
    fn receive(&mut self, player: usize, at: SharedInstant, bytes: &[u8]) {
        for it in Message::split_all(bytes).unwrap_or_default() {
            if it.code == Code::LAG_PING {
                let answer = message(Code::LAG_PING, it.payload);
                let link = &mut self.players[player];
                link.up.push_back((self.now + link.delay, Channel::Stream, answer));
            }
            let Some(update) = PlayerUpdate::decode(&it) else { continue };
            let me = &mut self.players[player];
            me.received += 1;
            if me.shown.get(&update.player).is_some_and(|(_, last)| update.order <= last.order) {
                me.ignored += 1;
            } else {
                me.shown.insert(update.player, (at, update));
            }
        }
    }

    fn sample(&mut self) {
        let truth: Vec<Option<Vec3>> = (self.players.iter())
            .map(|it| it.told.as_ref().map(|(at, told)| place(told, *at, self.now)))
            .collect();
        for (player, it) in self.players.iter_mut().enumerate() {
            for (other, truth) in truth.iter().enumerate().filter(|(other, _)| *other != player) {
                if let (Some(truth), Some((at, shown))) = (truth, it.shown.get(&(other as u8))) {
                    it.error.0 += truth.distance(place(shown, *at, self.now));
                    it.error.1 += 1;
                }
            }
        }
    }

    fn forget_errors(&mut self) {
        self.players.iter_mut().for_each(|it| it.error = (0.0, 0));
    }

    fn errors(&self) -> Vec<f64> {
        self.players.iter().map(|it| it.error.0 / it.error.1.max(1) as f64).collect()
    }

    /// Lets the first player's tank drive. It turns for a second or two and steers a little every
    /// quarter of a second, and tells each time: about as often as BZFlag's tanks do.
    fn drive(&mut self, secs: i64) {
        let mut tank = self.players[0].told.clone().map_or_else(parked, |(_, told)| told);
        tank.velocity = Vec3::new(25.0, 0.0, 0.0);
        let mut order = tank.order;
        let begin = self.now;
        while self.now - begin < Span::from_secs(secs) {
            let elapsed = (self.now - begin).as_secs_f64();
            let turns = [0.6, 0.0, -0.7, -0.2, 0.7, 0.0, -0.5, 0.3, -0.785, 0.0, 0.4];
            let small = [0.0, 0.05, -0.03, 0.08, -0.06];
            let wanted = turns[(elapsed / 1.7) as usize % 11] + small[(elapsed / 0.23) as usize % 5];
            let told = self.players[0].told.clone();
            let true_now = told.as_ref().map_or_else(
                || tank.clone(),
                |(at, told)| told.after((self.now - *at).as_secs_f64(), GRAVITY),
            );
            let is_due = told.as_ref().is_none_or(|(at, told)| {
                (wanted - told.turn_rate).abs() > 1e-9 || self.now - *at >= Span::from_secs(1)
            });
            if is_due {
                order += 1;
                let stamp = 500.0 + self.now.as_micros() as f32 * 1e-6;
                self.tell(0, PlayerUpdate { order, stamp, turn_rate: wanted, ..true_now });
            }
            self.step();
        }
    }
}

fn due(
    queue: &mut VecDeque<(SharedInstant, Channel, Vec<u8>)>,
    now: SharedInstant,
) -> Option<(SharedInstant, Channel, Vec<u8>)> {
    queue.front().is_some_and(|(at, ..)| *at <= now).then(|| queue.pop_front()).flatten()
}

fn place(update: &PlayerUpdate, since: SharedInstant, now: SharedInstant) -> Vec3 {
    update.after((now - since).as_secs_f64(), GRAVITY).position
}

fn parked() -> PlayerUpdate {
    PlayerUpdate {
        is_small: true,
        stamp: 500.0,
        player: 0,
        order: 1,
        status: status::ALIVE,
        position: Vec3::new(0.0, 0.0, 0.0),
        velocity: Vec3::new(0.0, 0.0, 0.0),
        azimuth: 0.0,
        turn_rate: 0.0,
        tail: Vec::new(),
    }
}

fn played(config: ProxyConfig) -> World {
    played_for(10, 60, config)
}

/// The errors of the first seconds do not count.
fn played_for(warm_up_secs: i64, secs: i64, config: ProxyConfig) -> World {
    let mut world = World::new(config, &[50, 800, 500, 200]);
    world.drive(warm_up_secs);
    world.forget_errors();
    world.drive(secs);
    world
}

#[test]
fn a_restated_tank_is_shown_where_it_is() {
    let late = played(ProxyConfig { restates: false, ..ProxyConfig::default() });
    let restated = played(ProxyConfig::default());
    for (late, restated) in late.errors()[1..].iter().zip(&restated.errors()[1..]) {
        assert!(*restated < 0.45 * late, "{restated} against {late}");
    }
    assert!(late.errors()[1] > 10.0, "{:?}", late.errors());
}

#[test]
fn the_server_gets_the_bytes_that_clients_sent() {
    let world = played(ProxyConfig::default());
    for (player, at_server) in world.players.iter().zip(&world.at_server) {
        // Some of the last ones are still under way.
        assert_eq!(player.sent[..at_server.len()], at_server[..]);
    }
    assert!(world.at_server[0].len() > 50);
    assert_eq!(world.at_server[1].len(), 1, "answers to the proxy's own pings are swallowed");
}

#[test]
fn no_copy_is_ignored_for_its_order() {
    for scheduler in [SchedulerChoice::Broadcast, SchedulerChoice::ErrorIndex { fairness: 1.0 }] {
        let world = played(ProxyConfig { scheduler, ..ProxyConfig::default() });
        for player in &world.players[1..] {
            assert!(player.received > 20 && player.ignored == 0, "{scheduler}: {}", player.ignored);
        }
    }
}

#[test]
fn error_index_levels_the_errors_of_near_and_far() {
    let every_third = SchedulerChoice::EveryNth { n: Some(3) };
    let base = played_for(30, 240, ProxyConfig { scheduler: every_third, ..ProxyConfig::default() });
    let fair = SchedulerChoice::ErrorIndex { fairness: 1.0 };
    let level = played_for(30, 240, ProxyConfig { scheduler: fair, budget: 1.0, ..ProxyConfig::default() });
    let copies = |world: &World| world.players[1..].iter().map(|it| it.received).sum::<usize>() as f64;
    assert!((0.9..1.1).contains(&(copies(&level) / copies(&base))), "{} {}", copies(&level), copies(&base));
    let spread = |world: &World| {
        let errors = &world.errors()[1..];
        let mean = errors.iter().sum::<f64>() / 3.0;
        let variance = errors.iter().map(|error| (error - mean) * (error - mean)).sum::<f64>() / 3.0;
        (variance.sqrt(), mean)
    };
    let ((base_spread, base_mean), (level_spread, level_mean)) = (spread(&base), spread(&level));
    assert!(level_spread <= 0.6 * base_spread, "{level_spread} against {base_spread}");
    assert!(level_mean <= base_mean, "{level_mean} against {base_mean}");
}

#[test]
fn a_destroyed_tank_is_not_sent_again() {
    let mut world = played(ProxyConfig::default());
    world.proxy.handle_stream(id(0), End::Server, &message(Code::KILLED, &[0, 1, 0, 0, 0, 0]), world.now);
    for _ in 0..400 {
        world.step();
    }
    let received: Vec<usize> = world.players.iter().map(|it| it.received).collect();
    for _ in 0..2000 {
        world.step();
    }
    assert_eq!(received, world.players.iter().map(|it| it.received).collect::<Vec<_>>());
    // It comes to life elsewhere: everyone is told.
    world.proxy.handle_stream(id(0), End::Server, &message(Code::ALIVE, &[0]), world.now);
    let order = world.players[0].told.as_ref().map_or(0, |(_, told)| told.order) + 1;
    let stamp = 500.0 + world.now.as_micros() as f32 * 1e-6;
    world.tell(0, PlayerUpdate { order, stamp, position: Vec3::new(300.0, -200.0, 0.0), ..parked() });
    for _ in 0..300 {
        world.step();
    }
    for player in &world.players[1..] {
        let (_, shown) = &player.shown[&0];
        assert!(shown.position.distance(Vec3::new(300.0, -200.0, 0.0)) < 0.1, "{shown:?}");
    }
}

#[test]
fn messages_that_are_not_understood_pass_as_they_are() {
    let mut world = World::new(ProxyConfig::default(), &[0]);
    world.step();
    let strange: [&[u8]; 4] = [&[0, 200, 1], &[0, 1, b'p', b's', 7], &[0, 0, b'x', b'y'], &[255; 40]];
    for bytes in strange {
        for from in [End::Client, End::Server] {
            while world.proxy.poll_transmit().is_some() {}
            world.proxy.handle_datagram(id(0), from, bytes, world.now);
            let passed = world.proxy.poll_transmit().map(|it| it.bytes);
            assert_eq!(passed.as_deref(), Some(bytes), "{from:?}");
        }
    }
}
