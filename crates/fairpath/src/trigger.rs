//! Triggers: rules that say when receivers need a new DR vector.
//!
//! Every rule compares the truth with the last DR vector *generated*, never with the previous
//! frame: a frame-to-frame test would never notice slow drift.

use crate::dr_vector::DrVector;
use crate::state::State;
use crate::time::{SharedInstant, Span};
use crate::vector::{Planar, Vector};

/// A rule that says when a new DR vector is due.
#[derive(Clone, Debug, PartialEq)]
pub enum Trigger {
    /// Fires when the truth is farther than `threshold` from the exported position.
    Distance {
        /// In world units. Half of it sends a turning entity about 1.4 times as often (the error
        /// grows with t²). Above a body width, hits look unfair. 0.3 for a tank of 6 × 2.8 at 25
        /// u/s.
        threshold: f64,
    },
    /// Fires when the truth is farther than `threshold` from the *line* of the exported path.
    ///
    /// Sends less than `Distance` for an entity that changes its speed on a road. Does not notice
    /// an entity that stops on its line: combine it with [`Every`](Self::Every).
    CrossTrack {
        /// In world units.
        threshold: f64,
    },
    /// Fires when the orientation differs from the exported one by more than `threshold`.
    Angle {
        /// In radians.
        threshold: f64,
    },
    /// Fires when the last DR vector is this old: a heartbeat. Any trigger restarts the interval.
    Every(Span),
    /// Fires when the direction of movement differs from the exported one by more than `angle`:
    /// reports a turn before it has grown into a distance. Starting and stopping count as a turn.
    PreReckoning {
        /// In radians. The literature around Banavar 2005 uses a few degrees up to a quarter turn.
        /// Too small a value fires on noise.
        angle: f64,
        /// Speed in units per second below which the entity stands: its direction is only noise.
        speed_min: f64,
    },
    /// `Distance` with a threshold that grows with the distance to the receiver. Generates at the
    /// smallest threshold; [`AdaptiveThreshold::passes`] then filters for each receiver.
    Adaptive(AdaptiveThreshold),
    /// Fires when any of these rules fires.
    AnyOf(Vec<Self>),
}

impl Trigger {
    /// Returns the usual rule: fires at a distance of `threshold`, and once a second.
    ///
    /// The heartbeat bounds how long a receiver that lost the last DR vector stays wrong. One
    /// second is what BZFlag uses. It is a third of the default horizon, so a receiver can lose two
    /// heartbeats before its replica freezes.
    pub fn within(threshold: f64) -> Self {
        Self::AnyOf(vec![Self::Distance { threshold }, Self::Every(Span::from_secs(1))])
    }

    /// Returns why a new DR vector is due, or `None` if the exported one is good enough.
    pub fn check<V: Planar>(
        &self,
        truth: &State<V>,
        exported: &DrVector<V>,
        now: SharedInstant,
    ) -> Option<TriggerReason> {
        let believed = || exported.state_at(now);
        let (fires, reason) = match self {
            Self::Distance { threshold } => {
                (distance(truth, exported, now) > *threshold, TriggerReason::Distance)
            }
            Self::CrossTrack { threshold } => {
                (cross_track(truth, &believed()) > *threshold, TriggerReason::CrossTrack)
            }
            Self::Angle { threshold } => (
                V::angle_between(truth.orientation, believed().orientation) > *threshold,
                TriggerReason::Angle,
            ),
            Self::Every(interval) => (now - exported.generated_at >= *interval, TriggerReason::Heartbeat),
            Self::PreReckoning { angle, speed_min } => (
                has_turned(truth.velocity, believed().velocity, *angle, *speed_min),
                TriggerReason::PreReckoning,
            ),
            Self::Adaptive(adaptive) => {
                (distance(truth, exported, now) > adaptive.near, TriggerReason::Distance)
            }
            Self::AnyOf(rules) => return rules.iter().find_map(|rule| rule.check(truth, exported, now)),
        };
        fires.then_some(reason)
    }
}

impl Trigger {
    /// Whether the rule reads nothing of the true state but its position.
    pub(crate) fn reads_position_only(&self) -> bool {
        match self {
            Self::Distance { .. } | Self::CrossTrack { .. } | Self::Every(_) | Self::Adaptive(_) => true,
            Self::Angle { .. } | Self::PreReckoning { .. } => false,
            Self::AnyOf(rules) => rules.iter().all(Self::reads_position_only),
        }
    }
}

/// Why a DR vector was generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerReason {
    /// It is the first one of the entity.
    Born,
    /// The entity was teleported, respawned or attached to another parent: a new life begins.
    Jumped,
    /// The truth left the exported path.
    Distance,
    /// The truth left the exported line.
    CrossTrack,
    /// The orientation changed.
    Angle,
    /// The heartbeat interval has passed.
    Heartbeat,
    /// The direction of movement changed.
    PreReckoning,
}

/// A threshold that grows with the distance between entity and receiver: level of detail.
///
/// ε(d) = `near` + `per_distance`·d, at most `far`. With `near` 0.1, `per_distance` 0.01 and `far`
/// 2, a receiver 50 units away is kept within 0.6.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveThreshold {
    /// Threshold at distance zero, in world units. It decides when DR vectors are generated.
    pub near: f64,
    /// Threshold added per unit of distance.
    pub per_distance: f64,
    /// Upper limit of the threshold, at any distance.
    pub far: f64,
}

impl AdaptiveThreshold {
    /// Returns the threshold for a receiver `distance` away.
    pub fn threshold_at(&self, distance: f64) -> f64 {
        (self.near + self.per_distance * distance).min(self.far).max(self.near)
    }

    /// Returns whether a receiver that looks from `viewpoint` needs a new DR vector. `last_sent` is
    /// the last one sent to it. A receiver without one of this life always does.
    pub fn passes<V: Planar>(
        &self,
        truth: &State<V>,
        exported: &DrVector<V>,
        last_sent: Option<&DrVector<V>>,
        viewpoint: V,
        now: SharedInstant,
    ) -> bool {
        let Some(last_sent) = last_sent.filter(|sent| sent.shares_life(exported)) else { return true };
        let threshold = self.threshold_at(truth.position.distance(viewpoint));
        distance(truth, last_sent, now) > threshold
    }
}

fn distance<V: Planar>(truth: &State<V>, exported: &DrVector<V>, now: SharedInstant) -> f64 {
    truth.position.distance(exported.position_at(now))
}

/// Distance from the line through `believed` along its velocity, or from the point if it stands.
fn cross_track<V: Vector>(truth: &State<V>, believed: &State<V>) -> f64 {
    let off = truth.position - believed.position;
    let speed = believed.velocity.length();
    if speed > 0.0 { off.cross_length(believed.velocity) / speed } else { off.length() }
}

fn has_turned<V: Vector>(current: V, believed: V, angle: f64, speed_min: f64) -> bool {
    match (current.length() > speed_min, believed.length() > speed_min) {
        (true, true) => libm::atan2(current.cross_length(believed), current.dot(believed)) > angle,
        (moves, moved) => moves != moved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::MotionKind;
    use crate::number::{EntityId, Generation, Life};
    use crate::vector::Vec2;

    const START: SharedInstant = SharedInstant::ZERO;

    /// Exported: from the origin along +x at 10 u/s.
    fn exported() -> DrVector<Vec2> {
        let state = State::moving(Vec2::ZERO, Vec2::new(10.0, 0.0));
        DrVector {
            entity: EntityId(1),
            life: Life::default(),
            generation: Generation(0),
            generated_at: START,
            motion: MotionKind::Linear.from_state(&state),
            attitude: None,
            parent: None,
        }
    }

    fn check(trigger: &Trigger, x: f64, y: f64, velocity: Vec2, at_ms: i64) -> Option<TriggerReason> {
        let truth = State::moving(Vec2::new(x, y), velocity);
        trigger.check(&truth, &exported(), SharedInstant::from_millis(at_ms))
    }

    const AHEAD: Vec2 = Vec2::new(10.0, 0.0);

    #[test]
    fn distance_compares_at_the_same_instant() {
        let rule = Trigger::Distance { threshold: 0.5 };
        assert_eq!(check(&rule, 10.0, 0.4, AHEAD, 1000), None);
        assert_eq!(check(&rule, 9.4, 0.0, AHEAD, 1000), Some(TriggerReason::Distance));
    }

    #[test]
    fn cross_track_is_blind_along_the_line() {
        let rule = Trigger::CrossTrack { threshold: 0.5 };
        assert_eq!(check(&rule, 3.0, 0.4, AHEAD, 1000), None, "7 behind, but on the line");
        assert_eq!(check(&rule, 10.0, 0.6, AHEAD, 1000), Some(TriggerReason::CrossTrack));
    }

    #[test]
    fn a_turn_a_stop_and_a_start_are_told_before_they_show() {
        let rule = Trigger::PreReckoning { angle: 0.2, speed_min: 0.1 };
        assert_eq!(check(&rule, 0.0, 0.0, Vec2::from_heading(0.19) * 10.0, 0), None);
        assert_eq!(
            check(&rule, 0.0, 0.0, Vec2::from_heading(0.21) * 10.0, 0),
            Some(TriggerReason::PreReckoning)
        );
        assert_eq!(check(&rule, 0.0, 0.0, Vec2::ZERO, 0), Some(TriggerReason::PreReckoning));
    }

    #[test]
    fn any_of_reports_what_fired() {
        let rule = Trigger::within(0.5);
        assert_eq!(check(&rule, 9.99, 0.0, AHEAD, 999), None);
        assert_eq!(check(&rule, 10.0, 0.0, AHEAD, 1000), Some(TriggerReason::Heartbeat));
        assert_eq!(check(&rule, 12.0, 0.0, AHEAD, 1000), Some(TriggerReason::Distance));
    }

    #[test]
    fn the_far_receiver_hears_less() {
        let adaptive = AdaptiveThreshold { near: 0.1, per_distance: 0.01, far: 2.0 };
        assert_eq!(adaptive.threshold_at(50.0), 0.6);
        assert_eq!(adaptive.threshold_at(1e6), 2.0);
        let told = exported();
        let truth = State::moving(Vec2::new(10.0, 0.5), AHEAD);
        let now = SharedInstant::from_millis(1000);
        let hears = |viewpoint| adaptive.passes(&truth, &told, Some(&told), viewpoint, now);
        assert!(hears(Vec2::new(10.0, 10.0)));
        assert!(!hears(Vec2::new(10.0, 100.0)));
        assert!(adaptive.passes(&truth, &told, None, Vec2::ZERO, now), "never told: must hear");
    }
}
