//! The flight recorder of `serve --keep`: the last minute in memory, saved when something goes
//! wrong.
//!
//! It holds what a recording (`--out`) holds, in parts of a second: the truth of the server's own
//! tanks, where the server places all tanks, every DR vector, which of them the ledger has each
//! client follow, when each client's receipt was known, and, some times a second, where each client
//! places each tank. It is saved as CSV, which the page opens too.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{BufRead, IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use clap::Args;
use fairpath::error::Path as PredictedPath;
use fairpath::number::EntityId;
use fairpath::place::{Arrival, Placement, Replica};
use fairpath::session::{ClientId, Server, ServerEvent};
use fairpath::time::{Now, SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath::{DrVector, State};
use fairpath_experiments::files::{check_writable, write_together};
use fairpath_experiments::trace::{TraceFormat, to_files};
use fairpath_games::online::TANK;
use fairpath_net::middleman::parse_span;
use fairpath_sim::trace::{FollowedRow, ReceiptKind, ReceiptRow, StateKind, StateRow, Trace, VectorRow};

use super::journal::metadata;
use crate::BadInput;

/// What to keep in memory, and where to save it.
#[derive(Args, Clone, Debug)]
pub(super) struct KeepOptions {
    /// Keep the last seconds in memory, such as 60s; save them if a session is lost, a frame is
    /// late, the server panics, at Enter, or at SIGUSR1
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    keep: Option<String>,
    /// The folder for what is saved
    #[arg(long, value_name = "DIR", default_value = "fairpath-flight", requires = "keep")]
    keep_in: PathBuf,
}

/// The longest time that is kept: ten minutes of ten tanks are 100 MB.
const KEEP_MAX: Duration = Duration::from_secs(600);
/// The viewer number of the server's own places: clients are numbered from zero.
const SERVER: u32 = u32::MAX;
/// States in memory, 136 bytes each. With more, the oldest seconds go first.
const STATES_MAX: usize = 1 << 19;
/// How often it is written where clients place tanks.
const CLIENTS_EVERY: Span = Span::from_millis(100);
/// A frame that is later than this is saved as a stall: fifteen frames.
const LATE: Duration = Duration::from_millis(250);
/// Saves that nobody asked for. A server that fails all day must not fill the disk.
const UNASKED_SAVES_MAX: u32 = 16;
/// DR vectors of an entity that a client may still follow: three seconds of thirty a second.
const RECENT_MAX: usize = 96;

impl KeepOptions {
    /// Starts the recorder, if it is wanted. `horizon` is that of the server's receivers.
    pub(super) fn begin(&self, seed: u64, horizon: Span) -> Result<Option<FlightRecorder>, BadInput> {
        let Some(text) = &self.keep else { return Ok(None) };
        let span = parse_span(text).map_err(|error| BadInput(format!("--keep {error}")))?;
        let keep = Duration::from_micros(span.as_micros().unsigned_abs());
        if keep < Duration::from_secs(1) || keep > KEEP_MAX {
            return Err(BadInput::of("--keep", text, "give 1s to 600s"));
        }
        check_writable(&self.keep_in)?;
        let recorder = FlightRecorder::new(keep, &self.keep_in, seed, horizon);
        recorder.listen()?;
        Ok(Some(recorder))
    }
}

/// The last seconds of a server.
#[derive(Debug)]
pub(super) struct FlightRecorder {
    keep: Duration,
    folder: PathBuf,
    seed: u64,
    horizon: Span,
    /// The shared instant that is zero in what is saved.
    zero: Option<SharedInstant>,
    seconds: VecDeque<Second>,
    states: usize,
    entities: BTreeMap<u32, VecDeque<DrVector<Vec2>>>,
    views: BTreeMap<(u32, u32), View>,
    clients_at: Option<SharedInstant>,
    framed_at: Option<Instant>,
    wish: Arc<AtomicBool>,
    trouble: Option<&'static str>,
    saved_at: Option<Instant>,
    unasked: u32,
    saving: Option<JoinHandle<()>>,
    said: Arc<Mutex<Option<String>>>,
}

#[derive(Debug)]
struct Second {
    began: SharedInstant,
    trace: Trace,
}

/// What the ledger says about one client and one tank.
#[derive(Clone, Copy, Debug)]
struct View {
    /// When the DR vector that the client follows was generated.
    followed: SharedInstant,
    since: SharedInstant,
    is_confirmed: bool,
}

impl FlightRecorder {
    fn new(keep: Duration, folder: &Path, seed: u64, horizon: Span) -> Self {
        Self {
            keep,
            folder: folder.into(),
            seed,
            horizon,
            zero: None,
            seconds: VecDeque::new(),
            states: 0,
            entities: BTreeMap::new(),
            views: BTreeMap::new(),
            clients_at: None,
            framed_at: None,
            wish: Arc::new(AtomicBool::new(false)),
            trouble: None,
            saved_at: None,
            unasked: 0,
            saving: None,
            said: Arc::new(Mutex::new(None)),
        }
    }

    /// Saves at SIGUSR1, and at Enter where there is a terminal.
    fn listen(&self) -> Result<(), BadInput> {
        #[cfg(unix)]
        {
            let wish = Arc::clone(&self.wish);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let mut signals = {
                let _inside = runtime.enter();
                tokio::signal::unix::signal(tokio::signal::unix::SignalKind::user_defined1())?
            };
            std::thread::spawn(move || {
                runtime.block_on(async {
                    while signals.recv().await.is_some() {
                        wish.store(true, Ordering::Relaxed);
                    }
                });
            });
        }
        if std::io::stdin().is_terminal() {
            let wish = Arc::clone(&self.wish);
            std::thread::spawn(move || {
                std::io::stdin()
                    .lock()
                    .lines()
                    .map_while(Result::ok)
                    .for_each(|_| wish.store(true, Ordering::Relaxed));
            });
        }
        Ok(())
    }

    /// Looks at an event: a client that is lost is a reason to save.
    pub(super) fn note_event(&mut self, event: &ServerEvent) {
        match event {
            ServerEvent::Detached(_) => self.trouble = Some("a client lost its connection"),
            ServerEvent::SessionLost { undelivered, .. } if !undelivered.is_empty() => {
                self.trouble = Some("a session was lost");
            }
            _ => {}
        }
    }

    /// Looks at the session, once a frame.
    pub(super) fn note(
        &mut self,
        session: &Server<Vec2>,
        now: SharedInstant,
        truths: &[(EntityId, u16, State<Vec2>)],
    ) {
        let late = self.framed_at.replace(Instant::now()).is_some_and(|before| before.elapsed() > LATE);
        if late {
            // It may be late because of what went wrong before.
            self.trouble.get_or_insert("a frame was late");
        }
        let t_us = (now - *self.zero.get_or_insert(now)).as_micros();
        self.begin_second(now);
        let stamped = |row: StateRow, viewer| StateRow { t_us, viewer, ..row };
        for (object, life, state) in truths {
            let row = StateRow::new(now, *object, StateKind::Truth, state);
            self.push(StateRow { life: *life, ..stamped(row, None) });
        }
        let tanks: BTreeSet<EntityId> =
            session.objects().filter(|object| session.class(*object) == Some(TANK)).collect();
        for object in &tanks {
            if let Some(vector) = session.dispatcher().newest(*object) {
                self.note_vector(vector, t_us);
            }
            if let Some(state) = session.place(*object, now) {
                let row = StateRow::new(now, *object, StateKind::Placed, &state);
                self.push(stamped(row, Some(SERVER)));
            }
        }
        self.entities.retain(|entity, _| tanks.contains(&EntityId(*entity)));
        let places_due = self.clients_at.is_none_or(|at| now - at >= CLIENTS_EVERY);
        if places_due {
            self.clients_at = Some(now);
            let clients: BTreeSet<u32> = session.clients().map(|client| client.0).collect();
            let Self { views, entities, .. } = self;
            views.retain(|(client, entity), _| clients.contains(client) && entities.contains_key(entity));
        }
        for client in session.clients() {
            for object in &tanks {
                self.note_view(session, client, *object, now, t_us, places_due);
            }
        }
    }

    fn note_vector(&mut self, vector: &DrVector<Vec2>, t_us: i64) {
        let recent = self.entities.entry(vector.entity.0).or_default();
        if recent.back().is_some_and(|known| known.generated_at >= vector.generated_at) {
            return;
        }
        if recent.len() >= RECENT_MAX {
            recent.pop_front();
        }
        recent.push_back(*vector);
        let zero = self.zero.unwrap_or(SharedInstant::ZERO);
        let generated_us = (vector.generated_at - zero).as_micros();
        if let Some(row) = VectorRow::new(vector.generated_at, vector)
            && let Some(second) = self.seconds.back_mut()
        {
            let (entity, life, viewer) = (row.entity, row.life, Some(SERVER));
            second.trace.vectors.push(VectorRow { t_us, generated_us, ..row });
            second.trace.followed.push(FollowedRow { t_us, viewer, entity, life, generated_us });
        }
    }

    /// Notes what the ledger has a client follow, when it changes, and when the client's receipt is
    /// known.
    fn note_view(
        &mut self,
        session: &Server<Vec2>,
        client: ClientId,
        object: EntityId,
        now: SharedInstant,
        t_us: i64,
        places_due: bool,
    ) {
        let Some(ledger) = session.dispatcher().ledger(object) else { return };
        let Some(path) = ledger.placed_at(client.receiver(), now) else { return };
        let Some(recent) = self.entities.get(&object.0) else { return };
        let Some(vector) = recent.iter().rev().find(|vector| self.is_path_of(path, vector)).copied() else {
            return;
        };
        let zero = self.zero.unwrap_or(SharedInstant::ZERO);
        let (viewer, entity) = (Some(client.0), object.0);
        let generated_us = (vector.generated_at - zero).as_micros();
        let view = self.views.entry((client.0, entity)).or_insert(View {
            followed: SharedInstant::ZERO,
            since: now,
            is_confirmed: false,
        });
        let Some(second) = self.seconds.back_mut() else { return };
        if view.followed != vector.generated_at {
            *view = View { followed: vector.generated_at, since: now, is_confirmed: false };
            let life = vector.life.number().into();
            second.trace.followed.push(FollowedRow { t_us, viewer, entity, life, generated_us });
        }
        let is_newest = recent.back().is_some_and(|newest| newest.generated_at == vector.generated_at);
        if is_newest && !view.is_confirmed && ledger.has_confirmed(client.receiver(), 0.0, now) {
            view.is_confirmed = true;
            let sent = ledger.standing(client.receiver()).and_then(|standing| standing.last_sent);
            second.trace.receipts.push(ReceiptRow {
                t_us: (view.since - zero).as_micros(),
                receiver: client.0,
                entity,
                life: vector.life.number().into(),
                generation: vector.generation.0.into(),
                sent_us: sent.map_or(t_us, |sent| (sent - zero).as_micros()),
                kind: ReceiptKind::Used,
                known_us: Some(t_us),
                ..ReceiptRow::default()
            });
        }
        if places_due {
            let mut replica = Replica::new(Placement::Global).with_horizon(self.horizon);
            replica.accept(&vector, &Arrival::at(Now::synchronised(now.max(vector.generated_at))));
            if let Some(state) = replica.place(Now::synchronised(now)) {
                let row = StateRow::new(now, object, StateKind::Placed, &state);
                self.push(StateRow { t_us, viewer, ..row });
            }
        }
    }

    /// Whether the ledger's path is that of a DR vector: until the horizon, or without it.
    fn is_path_of(&self, path: &PredictedPath<Vec2>, vector: &DrVector<Vec2>) -> bool {
        let whole = PredictedPath::new(vector.motion, vector.generated_at);
        *path == whole.frozen_from(vector.generated_at + self.horizon) || *path == whole
    }

    fn begin_second(&mut self, now: SharedInstant) {
        let is_due = self.seconds.back().is_none_or(|second| now - second.began >= Span::from_secs(1));
        if is_due {
            self.seconds.push_back(Second { began: now, trace: Trace::default() });
        }
        let oldest = now - Span::from_micros(self.keep.as_micros() as i64);
        while self.seconds.len() > 1
            && (self.states > STATES_MAX
                || self.seconds.front().is_some_and(|second| second.began + Span::from_secs(1) < oldest))
        {
            let gone = self.seconds.pop_front();
            self.states -= gone.map_or(0, |second| second.trace.states.len());
        }
    }

    fn push(&mut self, row: StateRow) {
        if let Some(second) = self.seconds.back_mut() {
            second.trace.states.push(row);
            self.states += 1;
        }
    }

    /// Saves if there is a reason. Call it outside the session: it writes to the disk on a thread.
    pub(super) fn save_if_due(&mut self) {
        // One at a time: each takes a copy.
        if self.saving.as_ref().is_some_and(|saving| !saving.is_finished()) {
            return;
        }
        let is_asked = self.wish.swap(false, Ordering::Relaxed);
        // Trouble soon after a save waits: the next one still has all that led to it.
        let is_due =
            self.unasked < UNASKED_SAVES_MAX && self.saved_at.is_none_or(|at| at.elapsed() >= self.keep);
        if !is_asked && (self.trouble.is_none() || !is_due) {
            return;
        }
        let trouble = self.trouble.take().filter(|_| !is_asked);
        self.unasked += u32::from(trouble.is_some());
        let why = trouble.unwrap_or("asked for");
        self.saved_at = Some(Instant::now());
        let (trace, folder, name) = (self.trace(), self.folder.clone(), name_of_now());
        let said = Arc::clone(&self.said);
        self.saving = Some(std::thread::spawn(move || {
            let line = say(save(&trace, &folder, &name), why);
            *said.lock().unwrap_or_else(PoisonError::into_inner) = Some(line);
        }));
    }

    /// Returns what was printed about the last save. A status screen clears the terminal.
    pub(super) fn said(&self) -> Option<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Saves before the process ends with an error.
    pub(super) fn save_at_end(&self, why: &str) {
        say(save(&self.trace(), &self.folder, &name_of_now()), why);
    }

    fn trace(&self) -> Trace {
        let mut whole = Trace::new(metadata("tanks-flight", self.seed));
        for second in &self.seconds {
            whole.states.extend(&second.trace.states);
            whole.followed.extend(&second.trace.followed);
            whole.vectors.extend(&second.trace.vectors);
            whole.receipts.extend(&second.trace.receipts);
        }
        whole
    }
}

/// Waits for a save that has begun. A panic on this thread unwinds through the loop of the server:
/// what was kept is saved.
impl Drop for FlightRecorder {
    fn drop(&mut self) {
        if let Some(saving) = self.saving.take() {
            // If it panicked, it has said so.
            let _ = saving.join();
        }
        if std::thread::panicking() {
            self.save_at_end("the server panicked");
        }
    }
}

fn name_of_now() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("flight-{}", now.as_millis())
}

fn save(trace: &Trace, folder: &Path, name: &str) -> Result<PathBuf, String> {
    let mut files = to_files(trace, name, TraceFormat::Csv).map_err(|error| error.to_string())?;
    // A server does not know the players' inputs.
    files.retain(|file| !file.name.ends_with(".inputs.csv"));
    write_together(folder, &files).map_err(|error| error.to_string())?;
    Ok(folder.join(format!("{name}.csv")))
}

/// Prints what came of a save, and returns it.
fn say(saved: Result<PathBuf, String>, why: &str) -> String {
    let line = match saved {
        Ok(path) => {
            format!("{why}: saved {}; see it with `fairpath replay {}`", path.display(), path.display())
        }
        Err(error) => format!("{why}: cannot save the last seconds: {error}"),
    };
    // A closed stderr is no error.
    let _ = writeln!(std::io::stderr(), "{line}");
    line
}
