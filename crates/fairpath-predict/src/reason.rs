//! Why a prediction is what it is, in numbers: to explain one that failed.

use fairpath::vector::Vec2;

/// The numbers behind a prediction. Velocities are per second, offsets are relative to the subject.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The predictor does not explain itself.
    Untold,
    /// Constant velocity.
    Velocity(Vec2),
    /// Constant acceleration.
    Acceleration {
        /// Velocity at the start.
        velocity: Vec2,
        /// Acceleration, per second squared.
        acceleration: Vec2,
    },
    /// A velocity that fades.
    Fading {
        /// Velocity at the start.
        velocity: Vec2,
        /// Time constant in seconds: 37 % of the velocity is left after it.
        secs: f64,
    },
    /// The expected input of the player, now and later.
    Pressing {
        /// Input at the last known tick.
        now: Vec2,
        /// Input at the tick of the prediction.
        then: Vec2,
    },
    /// Attraction and repulsion by other players.
    Interests {
        /// Velocity at the start; its length stays.
        velocity: Vec2,
        /// Sum of all attractions. A friend right next to the subject has length 1.
        pull: Vec2,
        /// Ticks before anything bends the direction.
        straight_ticks: u32,
    },
    /// Play patterns of [`Ekb`](super::Ekb).
    Patterns(PlayPatterns),
    /// Weights on the last second, learned during the match.
    Regression {
        /// How many samples the weights were learned from.
        lessons: u64,
    },
    /// The best of five guesses in situations like this one.
    Experts {
        /// Index of the chosen guess in `expected`.
        leader: usize,
        /// Expected cost of each guess; for the least mean error, its expected distance from the
        /// truth. In order: the regression, the line, a velocity that fades in 1 s, one that fades
        /// in 0.3 s, and standing still.
        expected: [f64; 5],
    },
}

/// What [`Ekb`](super::Ekb) sees at the first tick: friends, battle, and the resulting velocity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlayPatterns {
    /// Number of friends in sight.
    pub friends: u32,
    /// Number of enemies in sight.
    pub enemies: u32,
    /// Offset to the mean position of the friends.
    pub to_friends: Vec2,
    /// Distance to the nearest enemy; infinite if none is in sight.
    pub nearest_enemy: f64,
    /// Whether that enemy is near enough for a battle.
    pub is_battle: bool,
    /// Own strength, plus a part of the friends' strength.
    pub ours: f64,
    /// Strength of the enemies.
    pub theirs: f64,
    /// Offset to the place where a player of that strength fights.
    pub to_battle_place: Vec2,
    /// Velocity that these patterns ask for.
    pub wanted: Vec2,
    /// Ticks after which that velocity has replaced the last known one.
    pub transition_ticks: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adaptive, Body, Condition, Ekb, Hybrid, Known, Objective, Other, Predictor, Relation};
    use fairpath::vector::Vector;

    fn among<'a>(history: &'a [Body], others: &'a [Other]) -> Known<'a> {
        Known { history, others, ..Known::default() }
    }

    fn at(relation: Relation, x: f64) -> Other {
        let body = Body { position: Vec2::new(x, 0.0), ..Body::default() };
        Other { relation, body, ticks_ago: 0, condition: Condition::default() }
    }

    #[test]
    fn ekb_tells_whom_it_sees_and_where_it_wants_to_go() {
        let history = [Body::default()];
        let others = [at(Relation::Friend, 300.0), at(Relation::Enemy, -500.0)];
        let Reason::Patterns(seen) = Ekb::default().reason(0, &among(&history, &others), 18) else {
            panic!("it goes by patterns")
        };
        assert_eq!((seen.friends, seen.enemies, seen.nearest_enemy), (1, 1, 500.0));
        assert!(seen.is_battle && seen.ours == 2.8 && seen.theirs == 2.0, "{seen:?}");
        // Stronger by 2/7: that much of 200 from the friend towards the enemy.
        assert!((seen.to_battle_place.x - (300.0 - 200.0 * 0.8 / 2.8)).abs() < 1e-9, "{seen:?}");
        assert!(seen.wanted.x > 0.0 && seen.wanted.y == 0.0, "{seen:?}");
    }

    #[test]
    fn a_hybrid_tells_which_half_of_it_answered() {
        let body = Body { velocity: Vec2::new(100.0, 0.0), ..Body::default() };
        let straight = vec![body; 200];
        let known = among(&straight, &[]);
        let mut hybrid = Hybrid::<Ekb>::default();
        assert!(matches!(hybrid.reason(0, &known, 6), Reason::Patterns(_)));
        let expected = Reason::Acceleration { velocity: body.velocity, acceleration: Vec2::ZERO };
        assert_eq!(hybrid.reason(0, &known, 60), expected);
    }

    #[test]
    fn the_leader_is_who_is_expected_to_cost_least_and_is_who_answered() {
        let mut predictor = Adaptive::new(10.0, Objective::Mean);
        let place = |tick: usize| Vec2::new(0.3 * libm::sin(tick as f64 * 0.4), 0.0);
        let history: Vec<Body> = (1..1800)
            .map(|tick| Body {
                position: place(tick),
                velocity: (place(tick) - place(tick - 1)) * 60.0,
                ..Body::default()
            })
            .collect();
        let mut simple = 0;
        for now in 1..=history.len() {
            let known = among(&history[..now], &[]);
            predictor.learn(0, &known);
            let mut answer = [Vec2::ZERO];
            predictor.predict(0, &known, &[72], &mut answer).expect("always answers");
            let Reason::Experts { leader, expected } = predictor.reason(0, &known, 72) else {
                panic!("it goes by experts")
            };
            assert!(expected.iter().all(|cost| *cost >= expected[leader]), "{expected:?}");
            let newest = known.newest();
            let way = answer[0] - newest.position;
            match leader {
                1 => assert!(way.distance(newest.velocity * 1.2) < 1e-9),
                4 => assert!(way.length() < 1e-9, "standing still goes nowhere"),
                _ => continue,
            }
            simple += 1;
        }
        assert!(simple > 0, "a dodging player is best predicted to stay");
    }
}
