//! Placing with a predictor what comes over a network.
//!
//! A sender must know what its receivers show, but receivers hold different parts of the world, so
//! a live prediction may not look at whatever happens to be there. It is a function of one DR
//! vector and of a [`Context`] *named in it*, and of nothing else: who was where when both ends
//! last agreed, or a line that laps have worn into a track.
//!
//! ```text
//! owner                                          receiver
//! Publisher::publish ── snapshot 7 ────────────▶ Contexts::hold
//!                    ◀──────────── holds 7 ─────
//! Publisher::guide ──── DR vector, "by 7" ─────▶ LivePath::new ── place(t): where 7 leads
//!        │                                           │ 7 is gone? place(t): the line, and it says so
//!        └ Publisher::path: the same path            └── lacks 7 ──▶ Publisher::on_lacking: plain lines from now on
//! ```
//!
//! The owner names only what a receiver has confirmed, and receivers keep it for as long as it can
//! be named, so that the owner's view of a receiver is what the receiver places, bit for bit. What
//! learns, learns at the owner: its choice is which context it names.
//!
//! On the wire a name would take one bit where there is none, and where there is one, another for
//! its kind and the low 6 bits of a snapshot's number (receivers keep [`SNAPSHOTS_HELD`], so 64
//! tell them apart) or the 8 of a lasting one. The wire format does not carry it yet.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::sync::Arc;

use super::patterns::{Patterns, Straight};
use super::{Body, Condition, EkbConfig, Other, Relation, TICK_RATE, TICK_SECS, TICKS_AHEAD_MAX};
use fairpath::DrVector;
use fairpath::number::{EntityId, ReceiverId};
use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;

/// How many snapshots a receiver keeps. 32: at two a second the oldest is 16 s old, and tells
/// nothing any more.
pub const SNAPSHOTS_HELD: u32 = 32;

/// How old a snapshot may be, in snapshots, for an owner to name it. Half of what receivers keep:
/// the other half may overtake the DR vector on its way.
pub const SNAPSHOTS_NAMED: u32 = SNAPSHOTS_HELD / 2;

/// The name of a context. The same name means the same bits at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContextId {
    /// Something that grows old: the others as they were. Numbered by the owner in the order of
    /// publishing.
    Snapshot(u32),
    /// Something that stays: a trend line, a track. Numbered by the session.
    Lasting(u8),
}

/// Something both ends hold, that bends a path away from its line.
pub trait Context: Debug + Send + Sync {
    /// Whether it has anything to say about the entity of this DR vector.
    fn guides(&self, vector: &DrVector<Vec2>) -> bool;

    /// Lengthens `path` to at least `len` places: `path[k]` is where the entity is k ticks after
    /// the DR vector was generated. The first is there already. In whatever pieces it is asked
    /// for, the path is the same.
    fn lengthen(&self, vector: &DrVector<Vec2>, path: &mut Vec<Vec2>, len: usize);
}

/// A DR vector for one receiver, and by what to bend it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guided {
    /// What every receiver gets.
    pub vector: DrVector<Vec2>,
    /// What this receiver is known to hold; nothing where it should follow the line.
    pub context: Option<ContextId>,
}

/// Where an entity is placed, and after what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Where.
    pub position: Vec2,
    /// After what.
    pub followed: Followed,
}

/// What a placement followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The context that the DR vector names.
    Context(ContextId),
    /// The DR vector's own motion, as it asked for.
    Line,
    /// The DR vector's own motion, because this context is not here or does not know the entity.
    /// Tell the owner.
    LineForLackOf(ContextId),
}

/// All contexts that one end holds.
#[derive(Clone, Debug, Default)]
pub struct Contexts {
    /// Ascending, none older than [`SNAPSHOTS_HELD`] before the newest.
    snapshots: VecDeque<(u32, Arc<dyn Context>)>,
    lasting: BTreeMap<u8, Arc<dyn Context>>,
}

impl Contexts {
    /// Holds one more. False if it is too old to be kept; otherwise tell the owner that it is held.
    /// What is held already stays as it is.
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

    /// The context of that name.
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

/// The path that one DR vector leads along, tick by tick as far as it was asked for.
#[derive(Clone, Debug)]
pub struct LivePath {
    vector: DrVector<Vec2>,
    followed: Followed,
    context: Option<Arc<dyn Context>>,
    places: Vec<Vec2>,
}

impl LivePath {
    /// How many ticks are reckoned at once: whoever asks frame by frame asks for the next ones
    /// soon.
    const TICKS_AT_ONCE: usize = 16;

    /// The path of a DR vector for who holds these contexts.
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

    /// Where the entity is at `t`; between ticks on the straight way from one to the next. A bent
    /// path ends [`TICKS_AHEAD_MAX`] after its start; what was before the start is the line.
    pub fn place(&mut self, t: SharedInstant) -> Placed {
        let secs = (t - self.vector.generated_at).as_secs_f64();
        let position = match self.context.clone() {
            Some(context) if secs > 0.0 => self.bent(&*context, secs),
            _ => self.vector.motion.position_at(secs),
        };
        Placed { position, followed: self.followed }
    }

    /// What it follows.
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

/// What an owner has published, and who is known to hold it.
#[derive(Clone, Debug, Default)]
pub struct Publisher {
    contexts: Contexts,
    /// The number of the next snapshot.
    next: u32,
    confirmed: BTreeMap<ReceiverId, Confirmed>,
}

#[derive(Clone, Debug, Default)]
struct Confirmed {
    newest_snapshot: Option<u32>,
    lasting: BTreeSet<u8>,
}

impl Publisher {
    /// Holds a snapshot under the next number, to be sent to whoever may need it. Receivers may be
    /// sent different ones.
    pub fn publish(&mut self, snapshot: Arc<dyn Context>) -> ContextId {
        let id = ContextId::Snapshot(self.next);
        self.next += 1;
        self.contexts.hold(id, snapshot);
        id
    }

    /// Holds something that stays.
    pub fn publish_lasting(&mut self, number: u8, context: Arc<dyn Context>) -> ContextId {
        let id = ContextId::Lasting(number);
        self.contexts.hold(id, context);
        id
    }

    /// A receiver says that it holds a context. One that was never published is not believed.
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

    /// A receiver says that it lacks a context that was named to it, and placed by the line.
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

    /// Forgets a receiver that is gone.
    pub fn forget(&mut self, receiver: ReceiverId) {
        self.confirmed.remove(&receiver);
    }

    /// The newest snapshot that a receiver is known to hold, unless it is too old to be named.
    pub fn snapshot_of(&self, receiver: ReceiverId) -> Option<ContextId> {
        let number = self.confirmed.get(&receiver)?.newest_snapshot?;
        (self.next - 1 - number < SNAPSHOTS_NAMED).then_some(ContextId::Snapshot(number))
    }

    /// Whether a context may be named to a receiver: it is known to hold it, and will until the
    /// name arrives.
    pub fn may_name(&self, receiver: ReceiverId, id: ContextId) -> bool {
        match id {
            ContextId::Snapshot(_) => self.snapshot_of(receiver) == Some(id),
            ContextId::Lasting(number) => {
                self.confirmed.get(&receiver).is_some_and(|held| held.lasting.contains(&number))
            }
        }
    }

    /// A DR vector for one receiver, bent by this context if it may be named and knows the entity,
    /// or straight.
    pub fn guide_by(&self, id: ContextId, vector: &DrVector<Vec2>, receiver: ReceiverId) -> Guided {
        let knows = || self.contexts.get(id).is_some_and(|held| held.guides(vector));
        let context = (self.may_name(receiver, id) && knows()).then_some(id);
        Guided { vector: *vector, context }
    }

    /// The same by the newest snapshot that the receiver is known to hold.
    pub fn guide(&self, vector: &DrVector<Vec2>, receiver: ReceiverId) -> Guided {
        match self.snapshot_of(receiver) {
            Some(id) => self.guide_by(id, vector, receiver),
            None => Guided { vector: *vector, context: None },
        }
    }

    /// What a receiver makes of a DR vector: what to compare the truth with, and to book in its
    /// ledger.
    pub fn path(&self, guided: &Guided) -> LivePath {
        LivePath::new(guided, &self.contexts)
    }
}

/// EKB among the others as they were at one instant.
///
/// Both ends must hold it to the bit: round what is in it as the wire does before publishing it.
#[derive(Clone, Debug, PartialEq)]
pub struct EkbContext {
    /// The parameters. The session agrees on them once.
    pub config: EkbConfig,
    /// When they were like that.
    pub taken_at: SharedInstant,
    /// Everybody in it, the predicted too.
    pub players: Vec<SnapshotPlayer>,
}

/// Somebody in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SnapshotPlayer {
    /// Who.
    pub entity: EntityId,
    /// For whom it plays.
    pub team: u8,
    /// Where it was and how it moved.
    pub body: Body,
    /// How strong it was.
    pub condition: Condition,
}

impl EkbContext {
    fn player(&self, entity: EntityId) -> Option<&SnapshotPlayer> {
        self.players.iter().find(|player| player.entity == entity)
    }

    /// Everybody else, as seen by one of them at a DR vector's instant.
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
