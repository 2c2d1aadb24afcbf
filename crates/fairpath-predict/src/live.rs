//! Places entities with a predictor over a network.
//!
//! An owner must know what its receivers show. Receivers hold different parts of the world, so a
//! live prediction may not use whatever a receiver happens to know. It is a function of one DR
//! vector and of one [`Context`] *named in it*: the positions of all players when both ends last
//! agreed, or a trend line.
//!
//! ```text
//! owner                                       receiver
//! Publisher::publish ── snapshot 7 ─────────▶ Contexts::hold
//!                    ◀─────────── holds 7 ───
//! Publisher::guide ──── DR vector, "by 7" ──▶ LivePath::new ── place(t): where 7 leads
//! Publisher::path: the same path                │ 7 is gone? place(t): the line, and says so
//! Publisher::on_lacking ◀────── lacks 7 ────────┘
//!   (plain lines from now on)
//! ```
//!
//! The owner names only contexts that a receiver has confirmed, and receivers keep each context for
//! as long as the owner may name it. So the owner computes what the receiver places, bit for bit.
//! All learning happens at the owner: it chooses which context to name.
//!
//! On the wire a name would take one bit if there is none. Otherwise it takes one more bit for its
//! kind and the low 6 bits of the number of a snapshot (receivers keep [`SNAPSHOTS_HELD`], so 64
//! values suffice), or the 8 bits of a lasting context. The wire format does not carry names yet.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::sync::Arc;

use super::patterns::{Patterns, Straight};
use super::{Body, Condition, EkbConfig, Other, Relation, TICK_RATE, TICK_SECS, TICKS_AHEAD_MAX};
use fairpath::DrVector;
use fairpath::number::{EntityId, ReceiverId};
use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;

/// Snapshots that a receiver keeps. 32: at two per second the oldest, 16 s old, tells nothing.
pub const SNAPSHOTS_HELD: u32 = 32;

/// The age up to which an owner names a snapshot, counted in snapshots. Half of what receivers
/// keep: newer snapshots may overtake the DR vector on its way.
pub const SNAPSHOTS_NAMED: u32 = SNAPSHOTS_HELD / 2;

/// The name of a context. The same name means the same bits at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContextId {
    /// A context that ages: the state of all players at one instant. The owner numbers snapshots in
    /// the order of publishing.
    Snapshot(u32),
    /// A context that stays: a trend line, a track. The session numbers them.
    Lasting(u8),
}

/// Knowledge that both ends hold and that bends a path away from its line.
pub trait Context: Debug + Send + Sync {
    /// Returns whether this context can predict the entity of `vector`.
    fn guides(&self, vector: &DrVector<Vec2>) -> bool;

    /// Extends `path` to at least `len` positions: `path[k]` is the entity's position k ticks after
    /// `vector` was generated.
    ///
    /// `path[0]` is given. Several steps must give the same positions as one.
    fn lengthen(&self, vector: &DrVector<Vec2>, path: &mut Vec<Vec2>, len: usize);
}

/// A DR vector for one receiver, and the context that bends it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guided {
    /// The DR vector, the same for every receiver.
    pub vector: DrVector<Vec2>,
    /// A context that this receiver is known to hold; `None` if it should follow the line.
    pub context: Option<ContextId>,
}

/// A placed position, and what it follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Position.
    pub position: Vec2,
    /// What it follows.
    pub followed: Followed,
}

/// What a placed position follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The context that the DR vector names.
    Context(ContextId),
    /// The DR vector's own motion, because the DR vector names no context.
    Line,
    /// The DR vector's own motion, because the receiver lacks this context or the context does not
    /// know the entity. The receiver should tell the owner.
    LineForLackOf(ContextId),
}

/// All contexts that one end holds.
#[derive(Clone, Debug, Default)]
pub struct Contexts {
    /// Ascending; none is [`SNAPSHOTS_HELD`] or more before the newest.
    snapshots: VecDeque<(u32, Arc<dyn Context>)>,
    lasting: BTreeMap<u8, Arc<dyn Context>>,
}

impl Contexts {
    /// Stores a context. A context that is already held stays as it is.
    ///
    /// Returns false if a snapshot is too old to be kept. If it returns true, tell the owner that
    /// the context is held.
    pub fn hold(&mut self, id: ContextId, context: Arc<dyn Context>) -> bool {
        match id {
            ContextId::Lasting(number) => {
                self.lasting.entry(number).or_insert(context);
                true
            }
            ContextId::Snapshot(number) => self.hold_snapshot(number, context),
        }
    }

    fn hold_snapshot(&mut self, number: u32, context: Arc<dyn Context>) -> bool {
        let newest = self.snapshots.back().map_or(number, |(newest, _)| number.max(*newest));
        if newest - number >= SNAPSHOTS_HELD {
            return false;
        }
        if let Err(place) = self.snapshots.binary_search_by_key(&number, |(number, _)| *number) {
            self.snapshots.insert(place, (number, context));
        }
        while self.snapshots.front().is_some_and(|(oldest, _)| newest - oldest >= SNAPSHOTS_HELD) {
            self.snapshots.pop_front();
        }
        true
    }

    /// Returns the context with this name.
    pub fn get(&self, id: ContextId) -> Option<&Arc<dyn Context>> {
        match id {
            ContextId::Lasting(number) => self.lasting.get(&number),
            ContextId::Snapshot(number) => {
                let place = self.snapshots.binary_search_by_key(&number, |(number, _)| *number).ok()?;
                self.snapshots.get(place).map(|(_, context)| context)
            }
        }
    }
}

/// The path of one DR vector, computed tick by tick as far as needed.
#[derive(Clone, Debug)]
pub struct LivePath {
    vector: DrVector<Vec2>,
    followed: Followed,
    context: Option<Arc<dyn Context>>,
    places: Vec<Vec2>,
}

impl LivePath {
    /// Ticks computed at once: a caller that asks frame by frame soon needs the next ones.
    const TICKS_AT_ONCE: usize = 16;

    /// Creates the path of a DR vector for a receiver that holds `contexts`.
    pub fn new(guided: &Guided, contexts: &Contexts) -> Self {
        let vector = guided.vector;
        let context = guided.context.and_then(|id| contexts.get(id)).filter(|held| held.guides(&vector));
        let followed = match guided.context {
            None => Followed::Line,
            Some(id) if context.is_some() => Followed::Context(id),
            Some(id) => Followed::LineForLackOf(id),
        };
        Self { vector, followed, context: context.cloned(), places: vec![vector.motion.origin()] }
    }

    /// Returns the entity's position at `t`, interpolated linearly between ticks.
    ///
    /// A bent path ends [`TICKS_AHEAD_MAX`] after its start. Before its start it is on the line.
    pub fn place(&mut self, t: SharedInstant) -> Placed {
        let secs = (t - self.vector.generated_at).as_secs_f64();
        let position = match self.context.clone() {
            Some(context) if secs > 0.0 => self.bent(&*context, secs),
            _ => self.vector.motion.position_at(secs),
        };
        Placed { position, followed: self.followed }
    }

    /// Returns what the path follows.
    pub fn followed(&self) -> Followed {
        self.followed
    }

    fn bent(&mut self, context: &dyn Context, secs: f64) -> Vec2 {
        let ticks = (secs / TICK_SECS).min(f64::from(TICKS_AHEAD_MAX));
        let before = ticks.floor();
        let needed = before as usize + 2;
        if self.places.len() < needed {
            context.lengthen(&self.vector, &mut self.places, needed + Self::TICKS_AT_ONCE);
        }
        let (from, to) = (self.places[needed - 2], self.places[needed - 1]);
        from + (to - from) * (ticks - before)
    }
}

/// The contexts that an owner has published, and which receivers are known to hold them.
#[derive(Clone, Debug, Default)]
pub struct Publisher {
    contexts: Contexts,
    next: u32,
    confirmed: BTreeMap<ReceiverId, Confirmed>,
}

#[derive(Clone, Debug, Default)]
struct Confirmed {
    newest_snapshot: Option<u32>,
    lasting: BTreeSet<u8>,
}

impl Publisher {
    /// Stores a snapshot under the next number. The caller sends it to the receivers that need it.
    /// Different receivers may be sent different snapshots.
    pub fn publish(&mut self, snapshot: Arc<dyn Context>) -> ContextId {
        let id = ContextId::Snapshot(self.next);
        self.next += 1;
        self.contexts.hold(id, snapshot);
        id
    }

    /// Stores a context that stays valid.
    pub fn publish_lasting(&mut self, number: u8, context: Arc<dyn Context>) -> ContextId {
        let id = ContextId::Lasting(number);
        self.contexts.hold(id, context);
        id
    }

    /// Notes that a receiver holds a context. Ignores a context that was never published.
    pub fn on_confirmed(&mut self, receiver: ReceiverId, id: ContextId) {
        if self.contexts.get(id).is_none() {
            return;
        }
        let confirmed = self.confirmed.entry(receiver).or_default();
        match id {
            ContextId::Snapshot(number) => {
                confirmed.newest_snapshot = confirmed.newest_snapshot.max(Some(number));
            }
            ContextId::Lasting(number) => {
                confirmed.lasting.insert(number);
            }
        }
    }

    /// Notes that a receiver lacks a context named to it and placed the entity on the line.
    pub fn on_lacking(&mut self, receiver: ReceiverId, id: ContextId) {
        let Some(confirmed) = self.confirmed.get_mut(&receiver) else { return };
        match id {
            ContextId::Snapshot(number) => {
                confirmed.newest_snapshot = confirmed.newest_snapshot.filter(|newest| *newest > number);
            }
            ContextId::Lasting(number) => {
                confirmed.lasting.remove(&number);
            }
        }
    }

    /// Forgets a receiver that has left.
    pub fn forget(&mut self, receiver: ReceiverId) {
        self.confirmed.remove(&receiver);
    }

    /// Returns the newest snapshot that a receiver is known to hold, unless too old to be named.
    pub fn snapshot_of(&self, receiver: ReceiverId) -> Option<ContextId> {
        let number = self.confirmed.get(&receiver)?.newest_snapshot?;
        (self.next - 1 - number < SNAPSHOTS_NAMED).then_some(ContextId::Snapshot(number))
    }

    /// Returns whether a context may be named to a receiver: the receiver is known to hold it, and
    /// will still hold it when the DR vector arrives.
    pub fn may_name(&self, receiver: ReceiverId, id: ContextId) -> bool {
        match id {
            ContextId::Snapshot(_) => self.snapshot_of(receiver) == Some(id),
            ContextId::Lasting(number) => {
                self.confirmed.get(&receiver).is_some_and(|held| held.lasting.contains(&number))
            }
        }
    }

    /// Returns the DR vector for one receiver, bent by context `id` if it may be named and knows
    /// the entity; otherwise straight.
    pub fn guide_by(&self, id: ContextId, vector: &DrVector<Vec2>, receiver: ReceiverId) -> Guided {
        let knows = || self.contexts.get(id).is_some_and(|held| held.guides(vector));
        let context = (self.may_name(receiver, id) && knows()).then_some(id);
        Guided { vector: *vector, context }
    }

    /// Returns the DR vector for one receiver, bent by the newest snapshot it is known to hold.
    pub fn guide(&self, vector: &DrVector<Vec2>, receiver: ReceiverId) -> Guided {
        match self.snapshot_of(receiver) {
            Some(id) => self.guide_by(id, vector, receiver),
            None => Guided { vector: *vector, context: None },
        }
    }

    /// Returns the path that a receiver computes from a DR vector. Compare the truth with it, and
    /// record it in the receiver's ledger.
    pub fn path(&self, guided: &Guided) -> LivePath {
        LivePath::new(guided, &self.contexts)
    }
}

/// [`Ekb`](super::Ekb) among all players as they were at one instant.
///
/// Both ends must hold the same bits: round the numbers as the wire does before publishing.
#[derive(Clone, Debug, PartialEq)]
pub struct EkbContext {
    /// The parameters. The session agrees on them once.
    pub config: EkbConfig,
    /// The instant of the snapshot.
    pub taken_at: SharedInstant,
    /// All players, including the predicted one.
    pub players: Vec<SnapshotPlayer>,
}

/// A player in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SnapshotPlayer {
    /// The player's entity.
    pub entity: EntityId,
    /// The player's team.
    pub team: u8,
    /// Position and motion.
    pub body: Body,
    /// Strength.
    pub condition: Condition,
}

impl EkbContext {
    fn player(&self, entity: EntityId) -> Option<&SnapshotPlayer> {
        self.players.iter().find(|player| player.entity == entity)
    }

    /// Returns all other players, as `subject` sees them at the instant of a DR vector.
    fn others(&self, subject: &SnapshotPlayer, at: SharedInstant) -> Vec<Other> {
        let ticks_ago = TICK_RATE.running_at(at - self.taken_at).clamp(0, i64::from(u32::MAX)) as u32;
        let everybody_else = self.players.iter().filter(|player| player.entity != subject.entity);
        everybody_else
            .map(|player| Other {
                relation: if player.team == subject.team { Relation::Friend } else { Relation::Enemy },
                body: player.body,
                ticks_ago,
                condition: player.condition,
            })
            .collect()
    }
}

impl Context for EkbContext {
    fn guides(&self, vector: &DrVector<Vec2>) -> bool {
        self.player(vector.entity).is_some()
    }

    fn lengthen(&self, vector: &DrVector<Vec2>, path: &mut Vec<Vec2>, len: usize) {
        let start = vector.motion.state_at(0.0);
        let body =
            Body { position: start.position, velocity: start.velocity, acceleration: start.acceleration };
        let (condition, others) = self
            .player(vector.entity)
            .map(|subject| (subject.condition, self.others(subject, vector.generated_at)))
            .unwrap_or_default();
        let patterns = Patterns::new(&self.config, &body, condition, &others);
        let mut from = path.last().copied().unwrap_or(body.position);
        for tick in path.len()..len {
            from = patterns.step(tick as u32, from, &mut Straight);
            path.push(from);
        }
    }
}
