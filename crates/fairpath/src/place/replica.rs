use super::{Anchor, Arrival, Clip, Placement};
use crate::converge::{Convergence, Drawn};
use crate::dr_vector::DrVector;
use crate::state::State;
use crate::time::{Now, Span};
use crate::vector::Planar;

/// One entity as one receiver sees it.
///
/// Feed it with [`accept`](Self::accept). Use [`place`](Self::place) for simulation, and
/// [`draw`](Self::draw) for rendering: the same state with corrections smoothed for the eye. Both
/// are relative to the parent of the followed DR vector, if it has one.
#[derive(Clone, Debug)]
pub struct Replica<V: Planar> {
    placement: Placement,
    horizon: Span,
    clip: Option<Clip<V>>,
    belief: Option<Belief<V>>,
    drawn: Drawn<V>,
}

/// The newest DR vector and the instant at which its motion starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Belief<V: Planar> {
    pub(crate) vector: DrVector<V>,
    pub(crate) anchor: Anchor,
}

/// The result of [`Replica::accept`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// The DR vector is the newest. Placement follows it from now on.
    Used,
    /// A newer DR vector is known. The replica is unchanged.
    Stale,
    /// The DR vector is the one already followed. The replica is unchanged.
    Duplicate,
    /// The DR vector lies further in the future than clocks can differ, predicts numbers that are
    /// not finite, or belongs to another entity. The replica is unchanged.
    Refused,
}

impl<V: Planar> Replica<V> {
    /// Default of the horizon: how long a replica predicts after the generation. Then it freezes.
    ///
    /// 3 s: three one-second heartbeats, so two may be lost on the slowest supported link before
    /// the entity freezes. Below heartbeat + delay a straight-driving tank would stutter; far above
    /// it, the tank of a disconnected player drives on through the world.
    pub const HORIZON: Span = Span::from_secs(3);

    /// How far ahead of the shared clock a generation time may lie.
    ///
    /// 1 s: the difference at which clocks start a new epoch, so honest clocks are never farther
    /// apart. Without a bound, one false stamp would make every honest DR vector after it stale.
    pub const AHEAD_MAX: Span = Span::from_secs(1);

    /// Returns a replica that has received nothing yet.
    pub fn new(placement: Placement) -> Self {
        let drawn = Drawn::new(Convergence::smooth());
        Self { placement, horizon: Self::HORIZON, clip: None, belief: None, drawn }
    }

    /// Sets the horizon: the replica freezes when its DR vector is older. Default
    /// [`HORIZON`](Self::HORIZON). At least the heartbeat plus the delay of 99 % of the packets.
    #[must_use]
    pub fn with_horizon(mut self, horizon: Span) -> Self {
        self.horizon = horizon;
        self
    }

    /// Sets the rule that keeps predicted states inside the world. Default: none.
    #[must_use]
    pub fn with_clip(mut self, clip: Clip<V>) -> Self {
        self.clip = Some(clip);
        self
    }

    /// Sets how corrections are smoothed. Default [`Convergence::smooth`].
    #[must_use]
    pub fn with_convergence(mut self, convergence: Convergence) -> Self {
        self.drawn = Drawn::new(convergence);
        self
    }

    /// Handles a DR vector. A late, repeated or reordered one never takes the entity back in time.
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

    /// Smooths the jump to another parent: the replica is drawn at `shown`, a state relative to the
    /// new parent, and blends from there.
    pub(crate) fn blend_from(&mut self, shown: &State<V>, now: Now) {
        if let Some(placed) = self.place(now) {
            self.drawn.correct(now, shown, &placed);
        }
    }

    /// Returns the state of the entity at `now`, for simulation; `None` before the first DR vector.
    pub fn place(&self, now: Now) -> Option<State<V>> {
        let belief = self.belief.as_ref()?;
        let age = belief.anchor.age(now);
        let mut guess = belief.vector.state_after(age.min(self.horizon).as_secs_f64());
        if age > self.horizon {
            guess = guess.at_rest();
        }
        Some(match &self.clip {
            Some(clip) => clip.apply(&belief.vector, guess),
            None => guess,
        })
    }

    /// Returns the state to draw at `now`: [`place`](Self::place) plus the rest of corrections.
    pub fn draw(&self, now: Now) -> Option<State<V>> {
        self.place(now).map(|placed| self.drawn.at(now, &placed))
    }

    /// Returns the position of [`place`](Self::place), for a fraction of the cost.
    pub fn position(&self, now: Now) -> Option<V> {
        if self.clip.is_some() {
            return self.place(now).map(|state| state.position);
        }
        let belief = self.belief.as_ref()?;
        let age = belief.anchor.age(now).min(self.horizon);
        Some(belief.vector.motion.position_at(age.as_secs_f64()))
    }

    /// Returns whether the horizon has passed and the entity stands still.
    pub fn is_frozen(&self, now: Now) -> bool {
        self.belief.is_some_and(|belief| belief.anchor.age(now) > self.horizon)
    }

    /// Returns the DR vector that the replica follows.
    pub fn followed(&self) -> Option<&DrVector<V>> {
        self.belief.as_ref().map(|belief| &belief.vector)
    }

    /// Returns the horizon.
    pub fn horizon(&self) -> Span {
        self.horizon
    }

    pub(crate) fn belief(&self) -> Option<&Belief<V>> {
        self.belief.as_ref()
    }

    fn is_same_life(&self, vector: &DrVector<V>) -> bool {
        self.followed().is_some_and(|followed| followed.shares_life(vector))
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
