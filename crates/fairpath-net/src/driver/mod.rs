//! A server's network on one thread or several: a socket, QUIC, connections and timers on each.
//!
//! quinn runs a task for each connection and a system call for each packet. Here a thread makes
//! passes, and a pass takes packets of all its connections from the kernel in one call, and gives
//! packets to all of them in one call. `quinn-proto` does the rest of QUIC.
//!
//! A thread holds the session's mutex once in a pass, and never in a system call. While the game
//! holds it, QUIC goes on: packets are acknowledged, and their content waits in QUIC's buffers,
//! which flow control bounds. Several threads share nothing but the session: each seals, opens,
//! sends and receives for the connections that it has accepted ([`workers`]).

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
pub(crate) mod workers;

use std::io;
use std::net::UdpSocket;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fairpath::session::{CloseReason, Server};
use fairpath::time::SharedInstant;
use fairpath::vector::Planar;
use quinn_proto::{Endpoint, EndpointConfig, ServerConfig};

use crate::background::{CHECK_EVERY, CLOSE_WITHIN};
use crate::monitor::FrameError;
use crate::sealed::SealedStatistics;
use crate::served::{Served, ServedSession};
use crate::server::PeerStatus;
use connections::Connections;
use port::{Port, Sleep, SystemPort, SystemSignal, SystemWaker, WakeReason};
use workers::{Worker, Workers};

/// The threads that serve a session. Dropping them stops them at once and waits for their end.
#[derive(Debug)]
pub(crate) struct DriverThreads<V: Planar> {
    pub(crate) served: Arc<ServedSession<V>>,
    workers: Arc<Workers<SystemSignal>>,
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests read it"))]
    passes: Arc<AtomicU64>,
    threads: Vec<DriverThread>,
}

#[derive(Debug)]
struct DriverThread {
    commands: mpsc::Sender<Command>,
    handle: JoinHandle<bool>,
}

/// A thread that has opened its socket, and waits for the others.
struct OpeningThread {
    waker: Arc<SystemWaker>,
    begin: mpsc::Sender<Arc<Workers<SystemSignal>>>,
    thread: DriverThread,
}

/// What one thread of a server needs.
pub(crate) struct DriverStart {
    /// Bound to the server's address.
    pub(crate) socket: UdpSocket,
    pub(crate) worker: Worker,
    pub(crate) config: EndpointConfig,
}

/// What a thread is asked to do.
#[derive(Clone, Debug)]
enum Command {
    Status(mpsc::Sender<Vec<PeerStatus>>),
    Sealed(mpsc::Sender<SealedStatistics>),
    /// Hands packets of a lobby to the endpoint that connects to it.
    #[cfg(feature = "lobby")]
    Lobby(Arc<presence::LobbyPackets>),
    /// Stops after clients have confirmed everything, or after this time.
    Stop(Duration),
}

impl<V: Planar> DriverThreads<V> {
    /// Starts one thread for each of `starts`.
    pub(crate) fn start(
        starts: Vec<DriverStart>,
        quic: ServerConfig,
        served: Arc<ServedSession<V>>,
    ) -> io::Result<Self> {
        let (quic, passes) = (Arc::new(quic), Arc::<AtomicU64>::default());
        let open = |start| OpeningThread::open(start, &quic, &served, &passes);
        // If one fails, the others end, because nothing will begin them.
        let opening = starts.into_iter().map(open).collect::<io::Result<Vec<_>>>()?;
        let workers = Arc::new(Workers::new(opening.iter().map(|it| Arc::clone(&it.waker)).collect()));
        let begin = |it: OpeningThread| {
            let _ = it.begin.send(Arc::clone(&workers));
            it.thread
        };
        let threads = opening.into_iter().map(begin).collect();
        Ok(Self { served, workers, passes, threads })
    }

    /// Gives the game access to the session, and wakes the threads.
    #[track_caller]
    pub(crate) fn frame<R>(&self, turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R) -> R {
        self.served.assert_alive("NetServer");
        let result = self.served.with(turn);
        self.workers.wake_all(WakeReason::Game);
        result
    }

    pub(crate) fn try_frame<R>(
        &self,
        turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R,
    ) -> Result<R, FrameError> {
        if self.served.failure().is_some() {
            return Err(FrameError::ServerFailed);
        }
        let result = self.served.try_with(turn)?;
        self.workers.wake_all(WakeReason::Game);
        Ok(result)
    }

    #[track_caller]
    pub(crate) fn status(&self) -> Vec<PeerStatus> {
        // Inside `frame` the threads could not answer.
        drop(self.served.inner.lock_for("status"));
        self.ask_all(Command::Status).into_iter().flatten().collect()
    }

    #[track_caller]
    pub(crate) fn sealed_statistics(&self) -> SealedStatistics {
        // A call inside `frame` shall behave like `status`.
        drop(self.served.inner.lock_for("sealed_statistics"));
        let mut sum = SealedStatistics::default();
        self.ask_all(Command::Sealed).iter().for_each(|of_thread| sum.add(of_thread));
        sum
    }

    /// Stops the threads and waits for their end. Returns whether everything was confirmed.
    pub(crate) fn finish(&mut self, within: Duration) -> bool {
        self.tell_all(&Command::Stop(within));
        let threads = std::mem::take(&mut self.threads);
        // A panicked thread has printed its message; a second panic while unwinding would hide it.
        let ends: Vec<bool> = threads.into_iter().map(|it| it.handle.join().unwrap_or(false)).collect();
        ends.into_iter().all(|is_all_confirmed| is_all_confirmed)
    }

    /// Passes so far.
    #[cfg(test)]
    pub(crate) fn passes(&self) -> u64 {
        self.passes.load(Ordering::Relaxed)
    }

    #[cfg(feature = "lobby")]
    pub(crate) fn hand_over(&self, packets: Arc<presence::LobbyPackets>) {
        self.tell_all(&Command::Lobby(packets));
    }

    fn tell_all(&self, command: &Command) {
        for thread in &self.threads {
            // If the thread has ended, nothing is left to be done.
            let _ = thread.commands.send(command.clone());
        }
        self.workers.wake_all(WakeReason::Game);
    }

    /// Asks every thread. A thread that has ended has no connections, and does not answer.
    fn ask_all<T>(&self, command: impl FnOnce(mpsc::Sender<T>) -> Command) -> Vec<T> {
        let (answer, answers) = mpsc::channel();
        self.tell_all(&command(answer));
        answers.into_iter().collect()
    }
}

impl<V: Planar> Drop for DriverThreads<V> {
    fn drop(&mut self) {
        self.finish(Duration::ZERO);
    }
}

impl OpeningThread {
    fn open<V: Planar>(
        start: DriverStart,
        quic: &Arc<ServerConfig>,
        served: &Arc<ServedSession<V>>,
        passes: &Arc<AtomicU64>,
    ) -> io::Result<Self> {
        let DriverStart { socket, worker, config } = start;
        let (quic, served, passes) = (Arc::clone(quic), Arc::clone(served), Arc::clone(passes));
        let (commands, asked) = mpsc::channel();
        let (opened, opening) = mpsc::channel();
        let (begin, beginning) = mpsc::channel();
        let run = move || {
            let port = match SystemPort::open(socket) {
                Ok(port) => port,
                Err(error) => return opened.send(Err(error)).is_err(),
            };
            let _ = opened.send(Ok(port.waker()));
            let Ok(workers) = beginning.recv() else { return true };
            let endpoint = Endpoint::new(Arc::new(config), Some(quic), !port.may_fragment(), None);
            let connections = Connections::new(endpoint, served, worker);
            Driver::new(port, connections, workers, asked, passes).run_supervised()
        };
        let handle = std::thread::Builder::new().name("fairpath-server".into()).spawn(run)?;
        let waker = opening.recv().map_err(io::Error::other)??;
        Ok(Self { waker, begin, thread: DriverThread { commands, handle } })
    }
}

struct Driver<V: Planar, P: Port> {
    port: P,
    workers: Arc<Workers<P::Signal>>,
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
    rhythm: Rhythm,
}

impl Rest {
    /// For each connection: 64 clients share 125 passes a second.
    const PER_PEER: Duration = Duration::from_micros(125);
    /// Half a frame of 60 Hz. Data from client to client waits no longer, with any number of
    /// clients.
    const MAX: Duration = Duration::from_millis(8);
    /// The same if only receipts, clock requests and acknowledgements arrive, which nobody waits
    /// for. The first data after that waits for 25 ms at most, in which QUIC acknowledges, too; or
    /// until the game's next frame, if that is expected soon.
    const PER_PEER_AT_LEISURE: Duration = Duration::from_millis(2);
    const MAX_AT_LEISURE: Duration = Duration::from_millis(25);
    /// Data keeps the pauses short for this long.
    const URGENT_FOR: Duration = Duration::from_secs(1);
    /// A pass that receives more packets than this makes the next pauses shorter. The receive
    /// buffer of a default Linux system holds some 270 small packets.
    const PACKETS_MAX: usize = 96;
    const LIMIT_MIN: Duration = Duration::from_millis(1);

    fn new() -> Self {
        Self { limit: Self::MAX_AT_LEISURE, rhythm: Rhythm::default() }
    }

    /// Takes in how many packets a pass has received.
    fn on_received(&mut self, packets: usize) {
        if packets > Self::PACKETS_MAX {
            self.limit = (self.limit / 2).max(Self::LIMIT_MIN);
        } else if packets < Self::PACKETS_MAX / 2 {
            self.limit = (self.limit * 5 / 4).min(Self::MAX_AT_LEISURE);
        }
    }

    /// When a pause that begins `now` ends.
    fn until(&self, now: Instant, peers: usize, is_urgent: bool) -> Instant {
        if is_urgent {
            return now + Self::urgent(peers).min(self.limit);
        }
        let pause = times(Self::PER_PEER_AT_LEISURE, peers).min(Self::MAX_AT_LEISURE);
        let until = now + pause.min(self.limit);
        // The game's frame is a pass anyway: one before it would cost as much as all of its own
        // work.
        let is_full = pause == Self::MAX_AT_LEISURE && self.limit == Self::MAX_AT_LEISURE;
        let frame = self.rhythm.next_frame().filter(|_| is_full);
        frame.map_or(until, |frame| frame.max(until))
    }

    fn urgent(peers: usize) -> Duration {
        times(Self::PER_PEER, peers).min(Self::MAX)
    }
}

/// How often the game has a frame.
#[derive(Clone, Copy, Debug, Default)]
struct Rhythm {
    last: Option<Instant>,
    /// The mean of the last few frames; `None` without a rhythm.
    every: Option<Duration>,
}

impl Rhythm {
    /// A game that pauses longer between frames has no rhythm to wait for: 20 Hz has.
    const EVERY_MAX: Duration = Duration::from_millis(55);

    fn on_frame(&mut self, now: Instant) {
        let since = self.last.replace(now).map(|last| now.saturating_duration_since(last));
        let since = since.filter(|since| *since <= Self::EVERY_MAX);
        self.every = since.map(|since| self.every.map_or(since, |mean| (mean * 3 + since) / 4));
    }

    /// By when the next frame is expected, a quarter late.
    fn next_frame(&self) -> Option<Instant> {
        Some(self.last? + self.every? * 5 / 4)
    }
}

fn times(duration: Duration, count: usize) -> Duration {
    duration.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
}

impl<V: Planar, P: Port> Driver<V, P> {
    fn new(
        port: P,
        connections: Connections<V>,
        workers: Arc<Workers<P::Signal>>,
        commands: mpsc::Receiver<Command>,
        passes: Arc<AtomicU64>,
    ) -> Self {
        Self {
            port,
            workers,
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
            rest: Rest::new(),
            stage: Stage::Running,
            passes,
        }
    }

    /// Serves until told to stop. Returns whether clients had confirmed everything.
    ///
    /// A callback of the game (scope, interceptor, admission, scheduler) that panics may have left
    /// the session in the middle of a change, so the server ends: clients are told that it
    /// restarts, and the game hears of it.
    fn run_supervised(mut self) -> bool {
        let result = catch_unwind(AssertUnwindSafe(|| self.run()));
        let Err(panic) = result else { return result.unwrap_or(false) };
        self.connections.served.fail(&*panic);
        self.workers.wake_others(self.connections.worker, WakeReason::Session);
        // Only QUIC has a part in this.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            self.end_after_failure();
            self.run()
        }));
        false
    }

    fn end_after_failure(&mut self) {
        self.connections.refuse_new();
        self.connections.close_all(CloseReason::Restarting);
        let until = self.connections.now + CLOSE_WITHIN;
        self.stage = Stage::Closing { until, is_all_confirmed: false };
    }

    fn run(&mut self) -> bool {
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
        let reasons = self.waker().take();
        // The game or another thread may have something for these connections.
        self.is_session_due |= reasons.has(WakeReason::Game) || reasons.has(WakeReason::Session);
        if reasons.has(WakeReason::Session) {
            // Clients of this thread wait for data of another thread's clients.
            self.urgent_at = Some(Instant::now());
        }
        if !reasons.has(WakeReason::Game) {
            return;
        }
        self.rest.rhythm.on_frame(Instant::now());
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
        let Self { port, connections, workers, .. } = self;
        let worker = connections.worker;
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
                if !workers.pass_on(worker, &packet) {
                    is_urgent |= connections.handle_packet(&packet);
                }
            });
            if !has_more {
                break;
            }
        }
        for passed in workers.take_passed(worker) {
            packets += 1;
            is_urgent |= connections.handle_packet(&passed.as_packet());
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
        if self.connections.served.failure().is_some() {
            // Another thread has failed.
            if !matches!(self.stage, Stage::Closing { .. }) {
                self.end_after_failure();
            }
            return;
        }
        let now = self.connections.now;
        let is_due = self.is_session_due || self.session_deadline.is_some_and(|at| at <= now);
        let is_needed = is_due
            || self.connections.has_arrivals()
            || !self.unanswered.is_empty()
            || matches!(self.stage, Stage::Flushing(_));
        if !is_needed {
            return;
        }
        let (shared, workers) = (Arc::clone(&self.connections.served), Arc::clone(&self.workers));
        let turn = workers.take_turn();
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
        drop(served);
        drop(turn);
        if is_news {
            workers.wake_others(self.connections.worker, WakeReason::Session);
        }
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
        let (has_sent, deadline) = self.connections.send_due(&mut served.session, now);
        self.connections.close_ended(&mut served.session);
        let deadline = [deadline, served.session.common_deadline(now)].into_iter().flatten().min();
        // Without progress, what is due cannot leave yet.
        let earliest = if has_sent { self.connections.now } else { self.connections.now + SOON };
        self.session_deadline = deadline.map(|at| clock.when(at.as_micros()).max(earliest));
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

    fn waker(&self) -> &port::Waker<P::Signal> {
        self.workers.waker(self.connections.worker)
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
        let rest_until = self.rest.until(now, self.connections.len(), is_urgent);
        if rest_until > now {
            let rest = Sleep { until: Some(rest_until), reads: false, writes };
            self.port.wait(rest);
            // A signal of another thread can wait for the end of the rest.
            while self.is_woken_early() && Instant::now() < rest_until {
                self.port.wait(rest);
            }
            if !self.waker().pending().is_empty() {
                return;
            }
        }
        self.port.wait(Sleep { until, reads: true, writes });
    }

    /// Whether only other threads have woken this one.
    fn is_woken_early(&self) -> bool {
        let reasons = self.waker().pending();
        !reasons.is_empty() && !reasons.has(WakeReason::Game)
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
