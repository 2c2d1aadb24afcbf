use fairpath::State;
use fairpath::converge::Convergence;
use fairpath::session::{Client, ClientEvent, Delivery};
use fairpath::time::{LocalInstant, Now, SharedInstant};
use fairpath::vector::Vec2;
use fairpath_compensate::{Mailbox, MailboxItem, Reply};

use super::display::{ClientDisplay, Extrapolated};
use super::hosted::ClientGame;
use super::message::{read_reply, write_input};
use super::{INPUT, JOIN, RESTART, START, STATE, WELCOME};

/// The client's end of a game that a server hosts, on top of a session.
///
/// Each frame: [`receive`](Self::receive), draw [`shown`](Self::shown), then [`act`](Self::act).
pub struct HostedClient<H: ClientGame> {
    screen: Extrapolated<H::Rules>,
    mailbox: Mailbox<Reply<H::Scene>>,
    epoch: Option<u32>,
    /// The number of the game that the server plays.
    welcome: Option<u8>,
    heard: u64,
    acknowledged: Option<LocalInstant>,
}

impl<H: ClientGame> HostedClient<H> {
    /// Returns a client that shows `scene` until the first state arrives.
    pub fn new(scene: H::Scene, convergence: Convergence) -> Self {
        Self {
            screen: Extrapolated::new(scene, H::TICK_RATE, convergence, H::own),
            mailbox: Mailbox::new(),
            epoch: None,
            welcome: None,
            heard: 0,
            acknowledged: None,
        }
    }

    pub fn handle_event(&mut self, event: &ClientEvent) {
        let ClientEvent::Called { method, call, .. } = event else { return };
        match *method {
            WELCOME => self.welcome = call.bytes().first().copied(),
            STATE => {
                // A state that cannot be decoded is ignored; the next one replaces it.
                let reply = read_reply(call.bytes()).ok().filter(|reply| H::is_sound(&reply.state));
                let Some(reply) = reply else { return };
                self.heard += 1;
                if self.epoch.replace(reply.epoch.0) != Some(reply.epoch.0) {
                    self.mailbox.restart();
                }
                self.mailbox.state(reply.tick, reply);
            }
            _ => {}
        }
    }

    /// Applies the states that have arrived.
    pub fn receive(&mut self, rules: &H::Rules, now: LocalInstant) {
        while let Some(letter) = self.mailbox.read() {
            let (MailboxItem::State(reply) | MailboxItem::Persistent(reply)) = letter;
            self.acknowledged = reply.acknowledged;
            self.screen.receive(rules, reply, at(now));
        }
    }

    /// Applies the player's input and sends it to the server. Returns its time stamp.
    pub fn act(&mut self, session: &mut Client<Vec2>, input: H::Input, now: LocalInstant) -> LocalInstant {
        let stamp = self.screen.act(now, &input);
        // Without a session or with a full queue the call is dropped; the next frame repeats it.
        let _ = session.call_server(INPUT, &write_input(stamp, input), Delivery::Unreliable);
        stamp
    }

    /// Joins this game's room at a server with [`GameRooms`](super::GameRooms).
    pub fn join(&self, session: &mut Client<Vec2>) {
        let _ = session.call_server(JOIN, &[H::NUMBER], Delivery::ReliableOrdered);
    }

    /// Asks the server to end this run and begin another.
    pub fn restart(&self, session: &mut Client<Vec2>) {
        let _ = session.call_server(RESTART, &[], Delivery::ReliableOrdered);
    }

    /// Asks the server to begin the countdown of a [`Table`](super::Table), as its host may.
    pub fn start(&self, session: &mut Client<Vec2>) {
        let _ = session.call_server(START, &[], Delivery::ReliableOrdered);
    }

    /// Returns the scene to show: extrapolated by own inputs if `is_compensated`, else as received.
    pub fn shown(&self, rules: &H::Rules, now: LocalInstant, is_compensated: bool) -> H::Scene {
        if is_compensated {
            self.screen.show(rules, at(now))
        } else {
            self.screen.client().newest_state().clone()
        }
    }

    /// Returns the player's own entity as it is drawn with compensation.
    pub fn drawn(&self, now: LocalInstant, shown: &H::Scene) -> State<Vec2> {
        self.screen.drawn(at(now), shown)
    }

    /// Returns the newest scene that has arrived from the server.
    pub fn newest(&self) -> &H::Scene {
        self.screen.client().newest_state()
    }

    /// Returns the stamp of the newest input that [the newest state](Self::newest) contains.
    pub fn acknowledged(&self) -> Option<LocalInstant> {
        self.acknowledged
    }

    pub fn heard(&self) -> u64 {
        self.heard
    }

    pub fn welcome(&self) -> Option<u8> {
        self.welcome
    }
}

/// The client uses only its own clock.
fn at(local: LocalInstant) -> Now {
    Now { local, shared: SharedInstant::from_micros(local.as_micros()) }
}
