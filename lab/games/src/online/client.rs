//! The player's end of a game that a server hosts.

use fairpath::State;
use fairpath::converge::Convergence;
use fairpath::session::{Client, ClientEvent, Delivery};
use fairpath::time::{LocalInstant, Now, SharedInstant};
use fairpath::vector::Vec2;
use fairpath_compensate::{Mailbox, MailboxItem, Reply};

use super::display::{ClientDisplay, Extrapolated};
use super::hosted::HostedGame;
use super::message::{read_reply, write_input};
use super::{INPUT, JOIN, RESTART, STATE, WELCOME};

/// A player somewhere, and the run at a server; whoever has the socket carries the session's bytes.
///
/// Each frame: [`receive`](Self::receive), look at what is [`shown`](Self::shown), and
/// [`act`](Self::act).
pub struct HostedClient<H: HostedGame> {
    screen: Extrapolated<H::Rules>,
    mailbox: Mailbox<Reply<H::Scene>>,
    epoch: Option<u32>,
    /// The game that the server says it plays.
    welcome: Option<u8>,
    heard: u64,
    acknowledged: Option<LocalInstant>,
}

impl<H: HostedGame> HostedClient<H> {
    /// Nothing has been heard yet: `scene` is shown until something is.
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

    /// Hears one thing that the session says.
    pub fn handle_event(&mut self, event: &ClientEvent) {
        let ClientEvent::Called { method, bytes, .. } = event else { return };
        match *method {
            WELCOME => self.welcome = bytes.first().copied(),
            STATE => {
                // What is no state is passed over: the next one is on its way.
                let reply = read_reply(bytes).ok().filter(|reply| H::is_sound(&reply.state));
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

    /// Takes in what was heard.
    pub fn receive(&mut self, rules: &H::Rules, now: LocalInstant) {
        while let Some(letter) = self.mailbox.read() {
            let (MailboxItem::State(reply) | MailboxItem::Persistent(reply)) = letter;
            self.acknowledged = reply.acknowledged;
            self.screen.receive(rules, reply, at(now));
        }
    }

    /// The hands do this from now on, and the server is told. Answers with the stamp under which it
    /// is.
    pub fn act(&mut self, session: &mut Client<Vec2>, input: H::Input, now: LocalInstant) -> LocalInstant {
        let stamp = self.screen.act(now, &input);
        // Before there is a session, and while the way is full, hands are not heard. The next frame's say
        // it all again.
        let _ = session.call_server(INPUT, &write_input(stamp, input), Delivery::Unreliable);
        stamp
    }

    /// Takes a seat, at a server that hosts several games.
    pub fn join(&self, session: &mut Client<Vec2>) {
        let _ = session.call_server(JOIN, &[H::NUMBER], Delivery::ReliableOrdered);
    }

    /// Asks for another run.
    pub fn restart(&self, session: &mut Client<Vec2>) {
        let _ = session.call_server(RESTART, &[], Delivery::ReliableOrdered);
    }

    /// What is shown: played on by the player's own hands, or as it arrived.
    pub fn shown(&self, rules: &H::Rules, now: LocalInstant, is_compensated: bool) -> H::Scene {
        if is_compensated { self.screen.show(rules, at(now)) } else { self.screen.client().heard().clone() }
    }

    /// The player's own part of what is shown with compensation, as it is drawn.
    pub fn drawn(&self, now: LocalInstant, shown: &H::Scene) -> State<Vec2> {
        self.screen.drawn(at(now), shown)
    }

    /// The newest that has come from the server.
    pub fn newest(&self) -> &H::Scene {
        self.screen.client().heard()
    }

    /// The stamp of the newest input that [the newest state](Self::newest) contains.
    pub fn acknowledged(&self) -> Option<LocalInstant> {
        self.acknowledged
    }

    /// How many states have been heard.
    pub fn heard(&self) -> u64 {
        self.heard
    }

    /// Which game the server says it plays, once it has.
    pub fn welcome(&self) -> Option<u8> {
        self.welcome
    }
}

/// The player's own clock is the only one here.
fn at(local: LocalInstant) -> Now {
    Now { local, shared: SharedInstant::from_micros(local.as_micros()) }
}
