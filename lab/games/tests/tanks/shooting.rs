//! Goal: shots keep the rules. Method: a shooter, a target, and a box.

use fairpath::Observation;
use fairpath::motion::MotionKind;
use fairpath::random::Random;
use fairpath::rotation::wrap_angle;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath_games::tanks::{
    Barrier, Condition, Event, Ground, Input, MUZZLE_FRONT, Map, MovingKind, Rectangle, ShotEnd, Tanks,
    TanksConfig,
};
use fairpath_laws::{law, proptest::prelude::*};

use super::{assert_sound, empty_field, on_map, random_inputs};

const FIRE: Input = Input { throttle: 0.0, turn: 0.0, fire: true };

/// Steps until an event of interest turns up, for at most so many ticks.
fn until<T>(
    tanks: &mut Tanks,
    ticks: u32,
    mut hands: impl FnMut(&Tanks) -> Vec<Input>,
    wanted: impl Fn(&Event) -> Option<T>,
) -> Option<T> {
    (0..ticks).find_map(|_| {
        let inputs = hands(tanks);
        tanks.step(&inputs);
        tanks.events().iter().find_map(&wanted)
    })
}

/// Hands that turn the first tank towards the second and fire when they bear.
fn at_the_other(tanks: &Tanks) -> Vec<Input> {
    let [shooter, target] = [0, 1].map(|number: usize| tanks.tanks()[number].state());
    let off = wrap_angle((target.position - shooter.position).heading() - shooter.orientation);
    vec![Input { throttle: 0.0, turn: off * 20.0, fire: off.abs() < 0.005 }]
}

#[test]
fn reloading_takes_three_and_a_half_seconds() {
    let mut tanks = empty_field([1, 0], 1);
    let mut fired = Vec::new();
    for _ in 0..60 * 12 {
        tanks.step(&[FIRE]);
        if tanks.events().iter().any(|event| matches!(event, Event::Fired { .. })) {
            fired.push(tanks.tick());
        }
    }
    assert_eq!(fired, [1, 211, 421, 631], "every 210 ticks");
}

#[test]
fn nobody_fires_faster_than_the_rules() {
    law!(any::<u64>(), |seed| {
        let mut tanks = Tanks::new(TanksConfig::default(), seed).expect("sound rules");
        let mut random = Random::from_seed(seed);
        let mut last_fired = [(u16::MAX, SharedInstant::from_millis(-10_000)); 10];
        let mut inputs = Vec::new();
        for _ in 0..400 {
            random_inputs(10, &mut random, &mut inputs);
            tanks.step(&inputs);
            for event in tanks.events() {
                let Event::Fired { tank, .. } = event else { continue };
                let (life, before) = last_fired[tank.0 as usize];
                let now = (tanks.tanks()[tank.0 as usize].life(), tanks.now());
                prop_assert!(life != now.0 || now.1 - before >= Span::from_millis(3_499));
                last_fired[tank.0 as usize] = now;
            }
            prop_assert!(tanks.shots().len() <= 10, "one in the air per tank");
        }
        Ok(())
    });
}

#[test]
fn a_shot_flies_350_units_at_100_per_second() {
    // From red's base the way is free for 350 units only towards the other side: look that way.
    let mut tanks = empty_field([1, 0], 1);
    let facing_blue = |tanks: &Tanks| {
        let off = wrap_angle(-tanks.tanks()[0].state().orientation);
        vec![Input { throttle: 0.0, turn: off * 20.0, fire: off.abs() < 0.005 }]
    };
    let fired = until(&mut tanks, 600, facing_blue, |event| match event {
        Event::Fired { .. } => Some(()),
        _ => None,
    });
    assert!(fired.is_some());
    let shot = tanks.shots()[0];
    assert!(shot.is_new());
    let barrel = tanks.tanks()[0].state().position;
    let motion = MotionKind::Linear.from_state(&shot.state());
    let began = tanks.now();
    let mut ticks = 1;
    while let Some(shot) = tanks.shots().first() {
        assert!((shot.state().velocity.length() - 100.0).abs() < 1e-12);
        let guess = motion.position_at((tanks.now() - began).as_secs_f64());
        assert!(guess.distance(shot.state().position) < 1e-9, "a linear DR vector follows it");
        tanks.step(&[]);
        ticks += 1;
    }
    assert_eq!(ticks, 210, "3.5 s");
    let Some(Event::ShotEnded { position, end, .. }) = tanks.events().first() else {
        panic!("{:?}", tanks.events())
    };
    assert_eq!(*end, ShotEnd::Spent);
    assert!((position.distance(barrel) - MUZZLE_FRONT - 350.0).abs() < 1e-6);
}

#[test]
fn boxes_and_walls_stop_shots() {
    let bases = [Vec2::new(-100.0, 0.0), Vec2::new(200.0, 0.0)];
    let wall = Rectangle::new(Vec2::ZERO, 0.0, 10.0, 700.0);
    let mut tanks = on_map(Map::new(400.0, vec![wall], bases).expect("sound"), [1, 1], 2);
    let ended = |event: &Event| match event {
        Event::ShotEnded { end, position, .. } => Some((*end, *position)),
        _ => None,
    };
    let (end, position) = until(&mut tanks, 900, at_the_other, ended).expect("a shot ends");
    assert_eq!(end, ShotEnd::Barrier(Barrier::Box));
    assert!((position.x + 5.0).abs() < 1e-9, "at the near side: {position:?}");
    assert!(tanks.tanks()[1].is_alive());

    // Backwards is the field's own wall, 300 units away.
    let to_the_wall = |tanks: &Tanks| {
        let off = wrap_angle(std::f64::consts::PI - tanks.tanks()[0].state().orientation);
        vec![Input { throttle: 0.0, turn: off * 20.0, fire: off.abs() < 0.005 }]
    };
    let (end, position) = until(&mut tanks, 900, to_the_wall, ended).expect("a shot ends");
    assert_eq!(end, ShotEnd::Barrier(Barrier::Wall));
    assert!((position.x + 400.0).abs() < 1e-9, "{position:?}");
}

#[test]
fn a_hit_destroys_and_a_new_life_begins() {
    let bases = [Vec2::new(-60.0, 0.0), Vec2::new(60.0, 0.0)];
    let mut tanks = on_map(Map::new(400.0, vec![], bases).expect("sound"), [1, 1], 5);
    assert!(matches!(tanks.tanks()[1].observation(), Some(Observation::Jumped(_))), "the first life begins");
    let killed = until(&mut tanks, 900, at_the_other, |event| match event {
        Event::Killed { tank, by } => Some((tank.0, by.0)),
        _ => None,
    });
    assert_eq!(killed, Some((1, 0)));
    let victim = &tanks.tanks()[1];
    assert!(!victim.is_alive());
    assert_eq!((victim.life(), victim.deaths(), victim.observation()), (0, 1, None));
    assert_eq!(tanks.tanks()[0].kills(), 1);
    assert_eq!(tanks.score(fairpath_games::tanks::Team::Red).kills, 1);
    assert!(tanks.shots().is_empty(), "the shot is used up");
    assert_eq!(tanks.moving().filter(|(kind, _)| *kind == MovingKind::Tank).count(), 1);

    let died_at = tanks.now();
    let born = until(
        &mut tanks,
        600,
        |_| vec![],
        |event| match event {
            Event::Spawned { tank, life } => Some((tank.0, *life)),
            _ => None,
        },
    );
    assert_eq!(born, Some((1, 1)));
    assert_eq!(tanks.now() - died_at, Span::from_secs(5));
    assert_eq!(tanks.tanks()[1].condition(), Condition::Spawned);
    assert!(matches!(tanks.tanks()[1].observation(), Some(Observation::Jumped(_))));
    tanks.step(&[]);
    assert!(matches!(tanks.tanks()[1].observation(), Some(Observation::Moved(_))));
}

#[test]
fn friends_are_spared_unless_the_rules_say_otherwise() {
    for friendly_fire in [false, true] {
        let bases = [Vec2::new(-60.0, 0.0), Vec2::new(60.0, 0.0)];
        let ground = Ground::Given(Map::new(400.0, vec![], bases).expect("sound"));
        let config = TanksConfig { tanks: [2, 0], ground, friendly_fire, ..TanksConfig::default() };
        let mut tanks = Tanks::new(config, 5).expect("sound rules");
        let killed = until(&mut tanks, 900, at_the_other, |event| match event {
            Event::Killed { tank, .. } => Some(tank.0),
            _ => None,
        });
        assert_eq!(killed, friendly_fire.then_some(1));
        assert_eq!(tanks.tanks()[0].kills(), 0, "a friend is no prey");
    }
}

#[test]
fn a_moving_tank_is_not_shot_through() {
    // The target drives across the line of fire; the shooter leads. Some shots must hit.
    let bases = [Vec2::new(-60.0, 0.0), Vec2::new(60.0, 0.0)];
    let mut hits = 0;
    for seed in 0..10 {
        let mut tanks = on_map(Map::new(400.0, vec![], bases).expect("sound"), [1, 1], seed);
        let leading = |tanks: &Tanks| {
            let [shooter, target] = [0, 1].map(|number: usize| tanks.tanks()[number].state());
            let distance = target.position.distance(shooter.position);
            let meeting =
                MotionKind::Circular.from_state(&target).position_at((distance - MUZZLE_FRONT) / 100.0);
            let off = wrap_angle((meeting - shooter.position).heading() - shooter.orientation);
            let fire = off.abs() < 0.01;
            vec![Input { throttle: 0.0, turn: off * 20.0, fire }, Input::drive(0.6, 0.8)]
        };
        let end = until(&mut tanks, 900, leading, |event| match event {
            Event::ShotEnded { end, .. } => Some(*end),
            _ => None,
        });
        hits += u32::from(matches!(end, Some(ShotEnd::Tank(_))));
        assert_sound(&tanks);
    }
    assert!(hits >= 8, "{hits} of 10");
}
