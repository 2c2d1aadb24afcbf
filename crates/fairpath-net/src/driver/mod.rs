//! A server's network on one thread: the socket, QUIC, every connection and every timer.
//!
//! quinn runs a task for each connection and a system call for each packet. Here one thread makes
//! passes, and a pass takes packets of all connections from the kernel in one call, and gives
//! packets to all connections in one call. `quinn-proto` does the rest of QUIC.
//!
//! The thread holds the session's mutex once in a pass, and never in a system call. While the game
//! holds it, QUIC goes on: packets are acknowledged, and their content waits in QUIC's buffers,
//! which flow control bounds.

mod connections;
mod outbox;
mod peer;
mod port;
#[cfg(feature = "lobby")]
pub(crate) mod presence;
mod sealed;
#[cfg(test)]
mod tests;
#[cfg(feature = "web")]
mod web;

use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fairpath::session::Server;
use fairpath::time::SharedInstant;
use fairpath::vector::Planar;
use quinn_proto::{Endpoint, EndpointConfig, ServerConfig};

use crate::background::{CHECK_EVERY, CLOSE_WITHIN};
use crate::monitor::InFrame;
use crate::sealed::SealedStatistics;
use crate::served::{Served, ServedSession};
use crate::server::PeerStatus;
use connections::Connections;
use port::{Port, Sleep, SystemPort, SystemWaker};

/// The thread that serves a session. Dropping it stops the thread at once and waits for its end.
#[derive(Debug)]
pub(crate) struct DriverThread<V: Planar> {
    pub(crate) served: Arc<ServedSession<V>>,
    commands: mpsc::Sender<Command>,
    waker: Arc<SystemWaker>,
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests read it"))]
    passes: Arc<AtomicU64>,
    thread: Option<JoinHandle<bool>>,
}

/// What the thread is asked to do.
#[derive(Debug)]
enum Command {
    Status(mpsc::Sender<Vec<PeerStatus>>),
    Sealed(mpsc::Sender<SealedStatistics>),
    /// Hands packets of a lobby to the endpoint that connects to it.
    #[cfg(feature = "lobby")]
    Lobby(Arc<presence::LobbyPackets>),
    /// Stops after clients have confirmed everything, or after this time.
    Stop(Duration),
}

impl<V: Planar> DriverThread<V> {
    pub(crate) fn start(
        socket: UdpSocket,
        config: EndpointConfig,
        quic: ServerConfig,
        served: Arc<ServedSession<V>>,
    ) -> io::Result<Self> {
        let (commands, asked) = mpsc::channel();
        let passes = Arc::new(AtomicU64::new(0));
        let (inside, counted) = (Arc::clone(&served), Arc::clone(&passes));
        let (opened, opening) = mpsc::channel();
        let run = move || {
            let port = match SystemPort::open(socket) {
                Ok(port) => port,
                Err(error) => return opened.send(Err(error)).is_err(),
            };
            let _ = opened.send(Ok(port.waker()));
            let endpoint = Endpoint::new(Arc::new(config), Some(Arc::new(quic)), !port.may_fragment(), None);
            Driver::new(port, Connections::new(endpoint, inside), asked, counted).run()
        };
        let thread = std::thread::Builder::new().name("fairpath-server".into()).spawn(run)?;
        let waker = opening.recv().map_err(io::Error::other)??;
        Ok(Self { served, commands, waker, passes, thread: Some(thread) })
    }

    /// Gives the game access to the session, and wakes the thread.
    #[track_caller]
    pub(crate) fn frame<R>(&self, turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R) -> R {
        let result = self.served.with(turn);
        self.waker.wake();
        result
    }

    pub(crate) fn try_frame<R>(
        &self,
        turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R,
    ) -> Result<R, InFrame> {
        let result = self.served.try_with(turn)?;
        self.waker.wake();
        Ok(result)
    }

    #[track_caller]
    pub(crate) fn status(&self) -> Vec<PeerStatus> {
        // Inside `frame` the thread could not answer.
        drop(self.served.inner.lock_for("status"));
        let (answer, answered) = mpsc::channel();
        self.ask(Command::Status(answer));
        // A thread that has ended has no connections.
        answered.recv().unwrap_or_default()
    }

    #[track_caller]
    pub(crate) fn sealed_statistics(&self) -> SealedStatistics {
        // A call inside `frame` shall behave like `status`.
        drop(self.served.inner.lock_for("sealed_statistics"));
        let (answer, answered) = mpsc::channel();
        self.ask(Command::Sealed(answer));
        answered.recv().unwrap_or_default()
    }

    /// Stops the thread and waits for its end. Returns whether everything was confirmed.
    pub(crate) fn finish(&mut self, within: Duration) -> bool {
        self.ask(Command::Stop(within));
        // A panicked thread has printed its message; a second panic while unwinding would hide it.
        self.thread.take().is_some_and(|thread| thread.join().unwrap_or(false))
    }

    /// Passes so far.
    #[cfg(test)]
    pub(crate) fn passes(&self) -> u64 {
        self.passes.load(Ordering::Relaxed)
    }

    #[cfg(feature = "lobby")]
    pub(crate) fn hand_over(&self, packets: Arc<presence::LobbyPackets>) {
        self.ask(Command::Lobby(packets));
    }

    fn ask(&self, command: Command) {
        // If the thread has ended, nothing is left to be done.
        let _ = self.commands.send(command);
        self.waker.wake();
    }
}

impl<V: Planar> Drop for DriverThread<V> {
    fn drop(&mut self) {
        self.finish(Duration::ZERO);
    }
}

struct Driver<V: Planar, P: Port> {
    port: P,
    waker: Arc<port::Waker<P::Signal>>,
    commands: mpsc::Receiver<Command>,
    connections: Connections<V>,
    unanswered: Vec<mpsc::Sender<Vec<PeerStatus>>>,
    #[cfg(feature = "lobby")]
    lobby: Option<Arc<presence::LobbyPackets>>,
    /// Whether the session may have something to do before its deadline.
    is_session_due: bool,
    /// Whether the game held the session when the thread wanted it.
    is_session_held: bool,
    session_deadline: Option<Instant>,
    /// When the session was last asked for what is due, for all connections.
    ran_at: Option<Instant>,
    /// When data arrived that other clients may wait for, or a part of a handshake.
    urgent_at: Option<Instant>,
    rest: Rest,
    stage: Stage,
    passes: Arc<AtomicU64>,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Running,
    /// Reliable messages may be confirmed until this instant.
    Flushing(Instant),
    /// Connections are closed, and the closing packets may leave until this instant.
    Closing {
        until: Instant,
        is_all_confirmed: bool,
    },
}

/// Receive calls of one pass. Then connections get their turn to send, whatever arrives.
const RECEIVES_MAX: usize = 16;
/// A datagram that cannot leave is checked again this soon, and so is a deadline that passed
/// without effect, and a session that the game holds.
const SOON: Duration = Duration::from_millis(1);
/// The pause between two passes that the game did not ask for: packets that arrive in the meantime
/// are handled together. Packets are stamped when they arrive, so clocks and round trips do not
/// notice.
#[derive(Clone, Copy, Debug)]
struct Rest {
    /// Shorter than the longest pause while so many packets arrive that they might not find room.
    limit: Duration,
}

impl Rest {
    /// For each connection: 64 clients share 125 passes a second.
    const PER_PEER: Duration = Duration::from_micros(125);
    /// Half a frame of 60 Hz. Data from client to client waits no longer, with any number of
    /// clients.
    const MAX: Duration = Duration::from_millis(8);
    /// The same if only receipts, clock requests and acknowledgements arrive, which nobody waits
    /// for. The first data after that waits for 25 ms at most, in which QUIC acknowledges, too.
    const PER_PEER_AT_LEISURE: Duration = Duration::from_millis(2);
    const MAX_AT_LEISURE: Duration = Duration::from_millis(25);
    /// Data keeps the pauses short for this long.
    const URGENT_FOR: Duration = Duration::from_secs(1);
    /// A pass that receives more packets than this makes the next pauses shorter. The receive
    /// buffer of a default Linux system holds some 270 small packets.
    const PACKETS_MAX: usize = 96;
    const LIMIT_MIN: Duration = Duration::from_millis(1);

    /// Takes in how many packets a pass has received.
    fn on_received(&mut self, packets: usize) {
        if packets > Self::PACKETS_MAX {
            self.limit = (self.limit / 2).max(Self::LIMIT_MIN);
        } else if packets < Self::PACKETS_MAX / 2 {
            self.limit = (self.limit * 5 / 4).min(Self::MAX_AT_LEISURE);
        }
    }

    fn duration(&self, peers: usize, is_urgent: bool) -> Duration {
        let duration = if is_urgent {
            Self::urgent(peers)
        } else {
            times(Self::PER_PEER_AT_LEISURE, peers).min(Self::MAX_AT_LEISURE)
        };
        duration.min(self.limit)
    }

    fn urgent(peers: usize) -> Duration {
        times(Self::PER_PEER, peers).min(Self::MAX)
    }
}

fn times(duration: Duration, count: usize) -> Duration {
    duration.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
}

impl<V: Planar, P: Port> Driver<V, P> {
    fn new(
        port: P,
        connections: Connections<V>,
        commands: mpsc::Receiver<Command>,
        passes: Arc<AtomicU64>,
    ) -> Self {
        Self {
            waker: port.waker(),
            port,
            commands,
            connections,
            unanswered: Vec::new(),
            #[cfg(feature = "lobby")]
            lobby: None,
            is_session_due: true,
            is_session_held: false,
            session_deadline: None,
            ran_at: None,
            urgent_at: None,
            rest: Rest { limit: Rest::MAX_AT_LEISURE },
            stage: Stage::Running,
            passes,
        }
    }

    /// Serves until told to stop. Returns whether clients had confirmed everything.
    fn run(mut self) -> bool {
        loop {
            self.pass();
            if let Stage::Closing { until, is_all_confirmed } = self.stage
                && (self.connections.is_empty() || until <= self.connections.now)
            {
                return is_all_confirmed;
            }
            self.sleep();
        }
    }

    fn pass(&mut self) {
        self.passes.fetch_add(1, Ordering::Relaxed);
        self.take_commands();
        self.receive();
        self.connections.fire_timers();
        self.serve_session();
        self.is_session_due |= self.connections.transmit(&mut self.port);
    }

    fn take_commands(&mut self) {
        if !self.waker.take() {
            return;
        }
        // The game may have something to send.
        self.is_session_due = true;
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Status(answer) => self.unanswered.push(answer),
                // A caller that does not wait any more needs no answer.
                Command::Sealed(answer) => drop(answer.send(self.connections.sealed_statistics())),
                #[cfg(feature = "lobby")]
                Command::Lobby(packets) => self.lobby = Some(packets),
                Command::Stop(within) => {
                    self.connections.refuse_new();
                    self.stage = Stage::Flushing(Instant::now() + within);
                }
            }
        }
    }

    fn receive(&mut self) {
        let Self { port, connections, .. } = self;
        #[cfg(feature = "lobby")]
        let lobby = self.lobby.as_ref();
        let (mut packets, mut is_urgent) = (0, false);
        for _ in 0..RECEIVES_MAX {
            let has_more = port.receive(|packet| {
                packets += 1;
                #[cfg(feature = "lobby")]
                if lobby.is_some_and(|lobby| lobby.take(&packet)) {
                    return;
                }
                is_urgent |= connections.handle_packet(&packet);
            });
            if !has_more {
                break;
            }
        }
        // Packets may have arrived since the thread woke, and nothing happens before them.
        connections.now = Instant::now();
        self.rest.on_received(packets);
        if is_urgent {
            self.urgent_at = Some(connections.now);
        }
    }

    /// Hands arrivals to the session and takes what is due from it, with one lock and one `now`.
    fn serve_session(&mut self) {
        let now = self.connections.now;
        let is_due = self.is_session_due || self.session_deadline.is_some_and(|at| at <= now);
        let is_needed = is_due
            || self.connections.has_arrivals()
            || !self.unanswered.is_empty()
            || matches!(self.stage, Stage::Flushing(_));
        if !is_needed {
            return;
        }
        let shared = Arc::clone(&self.connections.served);
        // The end of the game's access wakes this thread.
        let held = shared.inner.lock_if_free();
        self.is_session_held = held.is_none();
        let Some(mut served) = held else {
            self.is_session_due = is_due;
            return;
        };
        let is_news = self.connections.deliver(&mut served);
        if is_news {
            self.urgent_at = Some(now);
        }
        if is_due || (is_news && !self.waits_to_run()) {
            self.run_session(&mut served);
        } else if self.connections.has_concerned() {
            self.run_concerned(&mut served);
        }
        for answer in self.unanswered.drain(..) {
            // A caller that does not wait any more needs no answer.
            let _ = answer.send(self.connections.status(&served));
        }
        self.check_farewell(&served);
    }

    /// Puts off what is due to all connections if that was asked for a moment ago. Returns whether
    /// it did. With many clients packets are received more often than it is worth to ask.
    fn waits_to_run(&mut self) -> bool {
        let pause = Rest::urgent(self.connections.len());
        let earliest = self.ran_at.map(|at| at + pause).filter(|at| *at > self.connections.now);
        if let Some(at) = earliest {
            self.session_deadline = Some(self.session_deadline.map_or(at, |before| before.min(at)));
        }
        earliest.is_some()
    }

    /// The loop that the session's documentation prescribes.
    fn run_session(&mut self, served: &mut Served<V>) {
        let clock = self.connections.served.clock;
        let now = served.advance(clock.shared());
        self.ran_at = Some(self.connections.now);
        served.session.handle_timeout(now);
        let has_sent = self.connections.send_due(&mut served.session, now);
        self.connections.close_ended(&mut served.session);
        let deadline = served.session.poll_deadline(now).map(|at| clock.when(at.as_micros()));
        // Without progress, what is due cannot leave yet.
        let earliest = if has_sent { self.connections.now } else { self.connections.now + SOON };
        self.session_deadline = deadline.map(|at| at.max(earliest));
        self.is_session_due = false;
    }

    /// The same for connections that alone are concerned: with many clients it is expensive to ask
    /// for all.
    fn run_concerned(&mut self, served: &mut Served<V>) {
        let now = served.advance(self.connections.served.clock.shared());
        let deadline = self.connections.send_concerned(&mut served.session, now);
        self.session_deadline = [self.session_deadline, deadline].into_iter().flatten().min();
    }

    /// Closes all connections once clients have confirmed everything, or have had their time.
    fn check_farewell(&mut self, served: &Served<V>) {
        let Stage::Flushing(until) = self.stage else { return };
        let is_all_confirmed = served.is_all_confirmed();
        if is_all_confirmed || until <= self.connections.now {
            self.connections.close_all(served.farewell);
            self.stage = Stage::Closing { until: self.connections.now + CLOSE_WITHIN, is_all_confirmed };
        }
    }

    /// Sleeps until there is something to do. Only the game ends the rest that begins it.
    fn sleep(&mut self) {
        let now = self.connections.now;
        let writes = self.connections.has_unsent();
        let until = if self.connections.has_more_to_transmit() { Some(now) } else { self.next_deadline() };
        if until.is_some_and(|at| at <= now) {
            return;
        }
        let is_urgent = self.urgent_at.is_some_and(|at| now.saturating_duration_since(at) < Rest::URGENT_FOR);
        let rest = self.rest.duration(self.connections.len(), is_urgent);
        if !rest.is_zero() {
            self.port.wait(Sleep { until: Some(now + rest), reads: false, writes });
            if self.waker.is_pending() {
                return;
            }
        }
        self.port.wait(Sleep { until, reads: true, writes });
    }

    fn next_deadline(&self) -> Option<Instant> {
        let now = self.connections.now;
        let session = if self.is_session_held {
            Some(now + SOON)
        } else if self.is_session_due {
            Some(now)
        } else {
            self.session_deadline
        };
        let stop = match self.stage {
            Stage::Running => None,
            Stage::Flushing(until) => Some(until.min(now + CHECK_EVERY)),
            Stage::Closing { until, .. } => Some(until),
        };
        [session, stop, self.connections.next_deadline()].into_iter().flatten().min()
    }
}
