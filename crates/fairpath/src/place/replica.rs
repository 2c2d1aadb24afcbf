use super::{Anchor, Arrival, Clip, Placement};
use crate::converge::{Convergence, Drawn};
use crate::dr_vector::DrVector;
use crate::state::State;
use crate::time::{Now, Span};
use crate::vector::Planar;

/// One entity as one receiver sees it.
///
/// Feed it with [`accept`](Self::accept). Ask [`place`](Self::place) for what to simulate with, and
/// [`draw`](Self::draw) for what to show: the same, with corrections bent so that the eye can
/// follow.
#[derive(Clone, Debug)]
pub struct Replica<V: Planar> {
    placement: Placement,
    horizon: Span,
    clip: Option<Clip<V>>,
    belief: Option<Belief<V>>,
    drawn: Drawn<V>,
}

/// The newest DR vector and the instant its motion is taken to start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Belief<V: Planar> {
    pub(crate) vector: DrVector<V>,
    pub(crate) anchor: Anchor,
}

/// What became of a DR vector that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// It is the newest, and placement follows it from now on.
    Used,
    /// Something newer is already known. Nothing changed.
    Stale,
    /// It is the one already followed. Nothing changed.
    Duplicate,
    /// It claims to be from the future by more than clocks can differ, or leads to where nothing is
    /// finite, or is about another entity. Nothing changed.
    Refused,
}

impl<V: Planar> Replica<V> {
    /// How long a replica goes on guessing after the DR vector it follows was generated.
    ///
    /// 3 s: three one-second heartbeats, so two may be lost on the slowest link we promise to serve
    /// before anything freezes. Below heartbeat + delay a straight-driving tank would stutter;
    /// far above it, a player who is gone drives through the world.
    pub const HORIZON: Span = Span::from_secs(3);

    /// How far ahead of the shared clock a generation time may lie.
    ///
    /// 1 s: the difference at which clocks start a new epoch, so honest clocks are never farther
    /// apart. Were it unbounded, one false stamp would make every honest DR vector after it
    /// stale.
    pub const AHEAD_MAX: Span = Span::from_secs(1);

    /// A replica that has heard nothing yet.
    pub fn new(placement: Placement) -> Self {
        let drawn = Drawn::new(Convergence::default());
        Self { placement, horizon: Self::HORIZON, clip: None, belief: None, drawn }
    }

    /// Freezes when the DR vector followed is older than `horizon`; see [`HORIZON`](Self::HORIZON).
    /// At least the heartbeat plus the delay that 99 % of packets keep.
    #[must_use]
    pub fn with_horizon(mut self, horizon: Span) -> Self {
        self.horizon = horizon;
        self
    }

    /// Keeps every guess within what the game allows.
    #[must_use]
    pub fn with_clip(mut self, clip: Clip<V>) -> Self {
        self.clip = Some(clip);
        self
    }

    /// Shows corrections in another way.
    #[must_use]
    pub fn with_convergence(mut self, convergence: Convergence) -> Self {
        self.drawn = Drawn::new(convergence);
        self
    }

    /// Hears a DR vector. Late, repeated and reordered ones never take the entity back to older
    /// information.
    pub fn accept(&mut self, vector: &DrVector<V>, arrival: &Arrival) -> Acceptance {
        let verdict = self.judge(vector, arrival);
        if verdict == Acceptance::Used {
            let before = self.place(arrival.now).filter(|_| self.is_same_life(vector));
            self.belief =
                Some(Belief { vector: *vector, anchor: Anchor::new(self.placement, vector, arrival) });
            match before.zip(self.place(arrival.now)) {
                Some((before, after)) => self.drawn.correct(arrival.now, &before, &after),
                None => self.drawn.snap(),
            }
        }
        verdict
    }

    /// Where the entity is now, and how it moves; `None` before anything was heard.
    pub fn place(&self, now: Now) -> Option<State<V>> {
        let belief = self.belief.as_ref()?;
        let age = belief.anchor.age(now);
        let mut guess = belief.vector.state_after(age.min(self.horizon).as_secs_f64());
        if age > self.horizon {
            guess = at_rest(guess);
        }
        Some(match &self.clip {
            Some(clip) => clip.apply(&belief.vector, guess),
            None => guess,
        })
    }

    /// What to show now: [`place`](Self::place), less what is left of past corrections.
    pub fn draw(&self, now: Now) -> Option<State<V>> {
        self.place(now).map(|placed| self.drawn.at(now, &placed))
    }

    /// Where the entity is now: the position alone of what [`place`](Self::place) answers, for a
    /// fraction of the cost.
    pub fn position(&self, now: Now) -> Option<V> {
        if self.clip.is_some() {
            return self.place(now).map(|state| state.position);
        }
        let belief = self.belief.as_ref()?;
        let age = belief.anchor.age(now).min(self.horizon);
        Some(belief.vector.motion.position_at(age.as_secs_f64()))
    }

    /// Whether it has guessed for as long as it may and stands still now.
    pub fn is_frozen(&self, now: Now) -> bool {
        self.belief.is_some_and(|belief| belief.anchor.age(now) > self.horizon)
    }

    /// The DR vector it follows.
    pub fn followed(&self) -> Option<&DrVector<V>> {
        self.belief.as_ref().map(|belief| &belief.vector)
    }

    /// How long it goes on guessing.
    pub fn horizon(&self) -> Span {
        self.horizon
    }

    pub(crate) fn belief(&self) -> Option<&Belief<V>> {
        self.belief.as_ref()
    }

    fn is_same_life(&self, vector: &DrVector<V>) -> bool {
        self.followed().is_some_and(|followed| followed.life == vector.life)
    }

    fn judge(&self, vector: &DrVector<V>, arrival: &Arrival) -> Acceptance {
        let from_the_future =
            self.placement == Placement::Global && vector.generated_at > arrival.now.shared + Self::AHEAD_MAX;
        if from_the_future || !vector.stays_finite() {
            return Acceptance::Refused;
        }
        let Some(followed) = self.followed() else { return Acceptance::Used };
        if vector.entity != followed.entity {
            return Acceptance::Refused;
        }
        match vector.generated_at.cmp(&followed.generated_at) {
            std::cmp::Ordering::Greater => Acceptance::Used,
            std::cmp::Ordering::Equal => Acceptance::Duplicate,
            std::cmp::Ordering::Less => Acceptance::Stale,
        }
    }
}

fn at_rest<V: Planar>(state: State<V>) -> State<V> {
    State { velocity: V::ZERO, acceleration: V::ZERO, spin: V::Spin::default(), ..state }
}
