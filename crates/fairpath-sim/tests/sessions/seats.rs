//! Goal: no household keeps others out of a full server. Method: clients of several households
//! greet a small server by hand; some vanish, some stay, some never greet.

use fairpath::clock::Request;
use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::limits::GREETINGS_MAX;
use fairpath::session::message::{Hello, Message, Received, Resume, SESSION_VERSION};
use fairpath::session::{
    Admission, Admitted, ClientId, CloseReason, ConnectionId, Household, Pass, Protocol, Server,
    ServerConfig, ServerEvent, Token,
};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath::wire::Precision;

use super::arena::classes;

const SEATS: usize = 16;
const KEPT: usize = 4;
const EPOCH: u64 = 5;

struct Club {
    server: Server<Vec2>,
    now: SharedInstant,
    tokens: u8,
}

impl Club {
    fn new() -> Self {
        let config =
            ServerConfig { clients_max: SEATS, seats_kept: KEPT, ..ServerConfig::new(classes(), EPOCH) };
        let server = Server::new(config, Box::new(Broadcast), Random::from_seed(1));
        Self { server, now: SharedInstant::from_millis(5_000), tokens: 0 }
    }

    fn connect(&mut self, household: u128) -> Option<ConnectionId> {
        self.tokens += 1;
        self.now += Span::from_millis(1);
        self.server.handle_connected_from(Household(household), Token([self.tokens; 16]), self.now)
    }

    fn greet(&mut self, id: ConnectionId, authentication: &[u8], resume: Option<Resume>) -> Option<ClientId> {
        let hello = Hello {
            version: SESSION_VERSION,
            dimensions: 2,
            precision: Precision::default().fingerprint(),
            game: Protocol::<Vec2>::from(classes()).game_id(),
            authentication: authentication.to_vec(),
            clock: Request { id: 0 },
            resume,
        };
        let mut bytes = Vec::new();
        Message::Hello(hello).frame(&mut bytes);
        self.server.handle_stream(id, &bytes, self.now);
        self.server.client_on(id)
    }

    /// A client of this household joins, if there is a seat for it.
    fn join(&mut self, household: u128) -> Option<(ConnectionId, ClientId)> {
        let id = self.connect(household)?;
        let client = self.greet(id, b"", None)?;
        Some((id, client))
    }

    fn vanish(&mut self, id: ConnectionId) {
        self.server.handle_disconnected(id, None, self.now);
    }

    /// Removes the connections that the server has closed, as a driver does.
    fn closed(&mut self) -> Vec<(ConnectionId, CloseReason)> {
        let closed: Vec<_> = std::iter::from_fn(|| self.server.poll_close()).collect();
        for (id, _) in &closed {
            self.server.handle_disconnected(*id, None, self.now);
        }
        closed
    }

    fn players(&self) -> usize {
        self.server.clients().filter(|client| self.server.is_connected(*client)).count()
    }
}

/// One address took all 64 seats for a minute with greetings that vanish.
#[test]
fn greetings_that_vanish_keep_nobody_out() {
    let mut club = Club::new();
    let (_, friend) = club.join(7).expect("a seat");
    for _ in 0..100 {
        let (id, _) = club.join(1).expect("a seat, or that of one that has vanished");
        club.vanish(id);
    }
    for household in 10..10 + SEATS as u128 - 1 {
        assert!(club.join(household).is_some(), "household {household}");
        club.closed();
    }
    assert_eq!(club.players(), SEATS);
    assert!(club.server.is_connected(friend));
    assert!(club.join(99).is_none(), "each household has one seat");
    assert_eq!(club.closed().last().map(|(_, reason)| *reason), Some(CloseReason::Full));
}

#[test]
fn a_player_who_is_away_loses_its_seat_after_those_who_come_and_vanish() {
    let mut club = Club::new();
    let (away, friend) = club.join(7).expect("a seat");
    club.vanish(away);
    for _ in 0..SEATS - 1 {
        let (id, _) = club.join(1).expect("a seat");
        club.vanish(id);
    }
    // Of two households with one absent player each, the one that is absent longer.
    for household in 10..10 + SEATS as u128 - 2 {
        club.join(household).expect("one seat of household 1");
        assert!(club.server.clients().any(|client| client == friend), "household {household}");
    }
    club.join(99).expect("the seat of the player who is away");
    assert!(club.server.clients().all(|client| client != friend));
}

#[test]
fn a_household_fills_a_server_and_yields_to_others_down_to_what_it_keeps() {
    let mut club = Club::new();
    let school: Vec<_> = (0..SEATS).map(|_| club.join(1).expect("a seat").1).collect();
    assert!(club.join(1).is_none(), "full");
    club.closed();
    for newcomer in 0..SEATS - KEPT {
        assert!(club.join(10 + newcomer as u128).is_some(), "newcomer {newcomer}");
        let closed = club.closed();
        assert!(matches!(closed[..], [(_, CloseReason::Full)]), "{closed:?}");
        let left = school.iter().filter(|client| club.server.is_connected(**client)).count();
        assert_eq!(left, SEATS - 1 - newcomer);
    }
    assert!(club.join(99).is_none(), "the school keeps {KEPT}");
    assert!(school[..KEPT].iter().all(|client| club.server.is_connected(*client)), "the first ones stay");
}

#[test]
fn connections_that_never_greet_keep_nobody_out() {
    let mut club = Club::new();
    let silent = (0..SEATS + GREETINGS_MAX).filter(|_| club.connect(1).is_some()).count();
    assert_eq!(silent, SEATS + GREETINGS_MAX);
    assert!(club.connect(2).is_none(), "one of household 1 is closed for the next attempt");
    assert!(matches!(club.closed()[..], [(_, CloseReason::NoGreeting)]));
    assert!(club.join(2).is_some());
    assert!(club.connect(1).is_none());
    assert_eq!(club.closed(), [], "household 1 yields, and gains nothing");
}

// ── passes

/// Admits by a pass that is the authentication, and remembers what it was asked.
#[derive(Debug)]
struct Gate;

impl Admission for Gate {
    fn admit(&mut self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn check(&mut self, authentication: &[u8], from: Household, resumes: bool) -> Option<Admitted> {
        let pass = Pass(authentication.try_into().ok()?);
        let bearer = format!("{} {resumes}", from.0).into_bytes();
        Some(Admitted { bearer, pass: Some(pass) })
    }
}

#[test]
fn a_pass_admits_to_one_session_at_a_time() {
    let mut club = Club::new();
    club.server = club.server.with_admission(Gate);
    let first = club.connect(3).expect("room");
    let one = club.greet(first, &[1; 16], None).expect("admitted");
    assert_eq!(club.server.bearer(one), Some(&b"3 false"[..]));
    // The token of the session is that of its connection.
    club.vanish(first);
    let back = club.connect(4).expect("room");
    let resume = Resume { epoch: EPOCH, token: Token([1; 16]), received: Received::default() };
    assert_eq!(club.greet(back, &[1; 16], Some(resume)), Some(one), "resumed, from elsewhere");
    let copy = club.connect(5).expect("room");
    let two = club.greet(copy, &[1; 16], None).expect("admitted");
    assert_ne!(one, two);
    assert_eq!(club.closed(), [(back, CloseReason::Dismissed)]);
    let other = club.connect(5).expect("room");
    assert!(club.greet(other, &[2; 16], None).is_some());
    assert_eq!(club.server.clients().count(), 2);
    let lost =
        |event: &ServerEvent| matches!(event, ServerEvent::SessionLost { client, .. } if *client == one);
    assert!(std::iter::from_fn(|| club.server.poll_event()).any(|event| lost(&event)));
}
