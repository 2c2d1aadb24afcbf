//! Goal: capture the flag counts right. Method: a red tank that drives by hand, with and without a
//! blue one.

use fairpath::number::EntityId;
use fairpath::rotation::wrap_angle;
use fairpath::time::Span;
use fairpath::vector::Vec2;
use fairpath_games::tanks::{Event, FlagPlace, Ground, Input, Map, Tanks, TanksConfig, Team};

const BASES: [Vec2; 2] = [Vec2::new(-100.0, 0.0), Vec2::new(100.0, 0.0)];
const RED: EntityId = EntityId(0);

fn field(tanks: [u32; 2], flag_return_after: Span) -> Tanks {
    let ground = Ground::Given(Map::new(400.0, vec![], BASES).expect("sound"));
    let config = TanksConfig { tanks, ground, flag_return_after, ..TanksConfig::default() };
    Tanks::new(config, 6).expect("sound rules")
}

/// Hands that bring tank `number` to `goal`.
fn drive_to(tanks: &Tanks, number: usize, goal: Vec2) -> Input {
    let state = tanks.tanks()[number].state();
    let off = wrap_angle((goal - state.position).heading() - state.orientation);
    Input::drive(if off.abs() < 0.5 { 1.0 } else { 0.0 }, off * 5.0)
}

/// Steps with these hands until the event turns up; fails after half a minute.
fn wait_for(tanks: &mut Tanks, mut hands: impl FnMut(&Tanks) -> Vec<Input>, wanted: &Event) {
    for _ in 0..1_800 {
        let inputs = hands(tanks);
        tanks.step(&inputs);
        if tanks.events().contains(wanted) {
            return;
        }
    }
    panic!("never saw {wanted:?}");
}

/// Red fetches the flag, then blue shoots red, and the flag lies on the ground.
fn with_a_dropped_flag(flag_return_after: Span) -> Tanks {
    let mut tanks = field([1, 1], flag_return_after);
    // Blue keeps out of the way.
    let away = Vec2::new(100.0, 120.0);
    let taken = Event::FlagTaken { flag: Team::Blue, by: RED };
    wait_for(&mut tanks, |now| vec![drive_to(now, 0, BASES[1]), drive_to(now, 1, away)], &taken);
    let killed = Event::Killed { tank: RED, by: EntityId(1) };
    let blue_shoots = |now: &Tanks| {
        let [red, blue] = [0, 1].map(|number: usize| now.tanks()[number].state());
        let off = wrap_angle((red.position - blue.position).heading() - blue.orientation);
        vec![Input::IDLE, Input { throttle: 0.0, turn: off * 20.0, fire: off.abs() < 0.005 }]
    };
    wait_for(&mut tanks, blue_shoots, &killed);
    tanks
}

#[test]
fn fetching_the_flag_home_scores() {
    let mut tanks = field([1, 0], Span::from_secs(30));
    let taken = Event::FlagTaken { flag: Team::Blue, by: RED };
    wait_for(&mut tanks, |now| vec![drive_to(now, 0, BASES[1])], &taken);
    assert_eq!(tanks.flag(Team::Blue).place(), FlagPlace::Carried(RED));
    assert!(tanks.look(RED).expect("there").is_carrying());

    let captured = Event::Captured { flag: Team::Blue, by: RED };
    for _ in 0..100 {
        let inputs = [drive_to(&tanks, 0, BASES[0])];
        tanks.step(&inputs);
        assert_eq!(tanks.flag(Team::Blue).position(), tanks.tanks()[0].state().position, "it comes along");
    }
    assert_eq!(tanks.score(Team::Red).captures, 0, "not there yet");
    wait_for(&mut tanks, |now| vec![drive_to(now, 0, BASES[0])], &captured);
    assert_eq!(tanks.score(Team::Red).captures, 1);
    assert_eq!(tanks.score(Team::Blue).captures, 0);
    assert_eq!(tanks.flag(Team::Blue).place(), FlagPlace::Home);
    assert_eq!(tanks.flag(Team::Blue).position(), BASES[1]);
}

#[test]
fn nobody_takes_the_own_flag() {
    let mut tanks = field([1, 0], Span::from_secs(30));
    for _ in 0..300 {
        let inputs = [drive_to(&tanks, 0, BASES[0])];
        tanks.step(&inputs);
        assert_eq!(tanks.flag(Team::Red).place(), FlagPlace::Home);
    }
}

#[test]
fn who_is_shot_drops_the_flag_and_its_team_brings_it_home_by_touch() {
    let mut tanks = with_a_dropped_flag(Span::from_secs(30));
    let flag = *tanks.flag(Team::Blue);
    assert!(matches!(flag.place(), FlagPlace::Dropped { .. }));
    assert_eq!(flag.position(), tanks.tanks()[0].state().position);
    let returned = Event::FlagReturned { flag: Team::Blue, by: Some(EntityId(1)) };
    wait_for(&mut tanks, |now| vec![Input::IDLE, drive_to(now, 1, flag.position())], &returned);
    assert_eq!(tanks.flag(Team::Blue).position(), BASES[1]);
    assert_eq!(tanks.score(Team::Red).captures, 0);
}

#[test]
fn a_flag_nobody_touches_goes_home_by_itself() {
    let mut tanks = with_a_dropped_flag(Span::from_secs(2));
    let dropped_at = tanks.now();
    wait_for(&mut tanks, |_| vec![], &Event::FlagReturned { flag: Team::Blue, by: None });
    assert_eq!(tanks.now() - dropped_at, Span::from_secs(2));
    assert_eq!(tanks.flag(Team::Blue).place(), FlagPlace::Home);
}
