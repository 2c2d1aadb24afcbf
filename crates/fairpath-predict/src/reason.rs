//! Why a prediction is what it is, in numbers: for whoever wants to explain one that failed.

use fairpath::vector::Vec2;

/// What a prediction rests on. Velocities are per second, offsets are from where the subject is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// It has nothing to say that numbers would explain.
    Untold,
    /// This velocity lasts.
    Velocity(Vec2),
    /// This velocity lasts, and so does its change.
    Acceleration {
        /// How fast.
        velocity: Vec2,
        /// How fast that changes, per second and second.
        acceleration: Vec2,
    },
    /// This velocity fades.
    Fading {
        /// How fast at first.
        velocity: Vec2,
        /// After how long 37 % of it are left.
        secs: f64,
    },
    /// The hands press this at the end: what they press now, or where that leads if it goes on
    /// changing as it did.
    Pressing {
        /// Now.
        now: Vec2,
        /// At the tick that is asked for.
        then: Vec2,
    },
    /// Others attract and repel.
    Interests {
        /// How fast, all the time.
        velocity: Vec2,
        /// Where they pull, all together; a friend next to the subject would be 1 long.
        pull: Vec2,
        /// For how many ticks nothing is bent yet.
        straight_ticks: u32,
    },
    /// The play patterns of EKB.
    Patterns(PlayPatterns),
    /// Weights on the last second, learned from so many moments.
    Regression {
        /// How many.
        lessons: u64,
    },
    /// One of five guesses, whichever has been wrong least in such situations.
    Experts {
        /// Which one is followed: a place in `expected`.
        leader: usize,
        /// What each is expected to cost: for the least mean error, how far it is expected to be
        /// off. In order: the regression, the line, a velocity that fades in 1 s, one that
        /// fades in 0.3 s, and standing still.
        expected: [f64; 5],
    },
}

/// How EKB sees the first tick: whom it follows, whether there is a battle, and where that leads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlayPatterns {
    /// Friends in sight.
    pub friends: u32,
    /// Enemies in sight.
    pub enemies: u32,
    /// The middle of the friends.
    pub to_friends: Vec2,
    /// How far the nearest enemy is; infinite if there is none in sight.
    pub nearest_enemy: f64,
    /// Whether that is near enough to fight.
    pub is_battle: bool,
    /// The own strength, friends counted in part.
    pub ours: f64,
    /// The enemies' strength.
    pub theirs: f64,
    /// Where a player of that strength fights.
    pub to_battle_place: Vec2,
    /// The velocity that all that asks for.
    pub wanted: Vec2,
    /// After how many ticks it has taken the place of the last known velocity.
    pub transition_ticks: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adaptive, Body, Condition, Ekb, Hybrid, Known, Objective, Other, Predictor, Relation};
    use fairpath::vector::Vector;

    fn among<'a>(history: &'a [Body], others: &'a [Other]) -> Known<'a> {
        Known { history, condition: Condition::default(), others, world: None, inputs: &[] }
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
                4 => assert!(way.length() < 1e-9, "who stands still goes nowhere"),
                _ => continue,
            }
            simple += 1;
        }
        assert!(simple > 0, "somebody who dodges is best expected where they are");
    }
}
