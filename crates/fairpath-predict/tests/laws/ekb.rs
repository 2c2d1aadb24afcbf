//! EKB and its hybrid: the formulas of Shi 2014, written again as printed, and the limits that
//! follow from them.

use super::*;
use fairpath_laws::law;
use fairpath_predict::{EkbConfig, HybridRule, Others, TICKS_AHEAD_MAX};

/// S in units per tick.
const SPEED_MAX: f64 = 360.0 * TICK_SECS;

fn mean(places: &[Vec2]) -> Vec2 {
    places.iter().fold(Vec2::ZERO, |sum, place| sum + *place) * (1.0 / places.len() as f64)
}

/// One tick of EKB by equations 2–17 of Shi 2014, in its order and with its names, on plain lists.
/// Also returns the length of the shortest vector whose direction counts: if it is tiny, the last
/// bit decides the direction.
fn by_the_book(scene: &Scene, j: u32, m: u32, c: Vec2) -> (Vec2, f64) {
    let mut shortest = f64::INFINITY;
    let mut unit = |v: Vec2| {
        shortest = shortest.min(v.length());
        if v == Vec2::ZERO { v } else { v * (1.0 / v.length()) }
    };
    let near = |other: &&Other| {
        let d = other.body.position - c;
        d.x.abs() <= 1280.0 && d.y.abs() <= 960.0
    };
    let side = |relation| scene.others.iter().filter(near).filter(move |other| other.relation == relation);
    let places = |relation| side(relation).map(|other| other.body.position).collect::<Vec<_>>();
    let strength =
        |relation| side(relation).map(|other| other.condition.health + other.condition.ammo).sum::<f64>();
    let (friends, enemies) = (places(Relation::Friend), places(Relation::Enemy));
    let v0 = scene.newest().velocity * TICK_SECS;
    let e_f = if friends.is_empty() { c } else { mean(&friends) };
    let follow = if friends.is_empty() { v0 } else { unit(e_f - c) * SPEED_MAX };
    let v_r = if enemies.iter().any(|enemy| enemy.distance(c) <= 800.0) {
        let (ours, z_e) = (
            0.4 * strength(Relation::Friend) + scene.condition.health + scene.condition.ammo,
            strength(Relation::Enemy),
        );
        let ratio = if ours == 0.0 && z_e == 0.0 { 0.0 } else { (ours - z_e) / ours.max(z_e) };
        let target = e_f + unit(mean(&enemies) - e_f) * (200.0 * ratio);
        follow * 0.5 + unit(target - c) * SPEED_MAX * 0.5
    } else {
        let mut align = if friends.is_empty() { v0 } else { Vec2::ZERO };
        for friend in side(Relation::Friend) {
            let d = friend.body.position.distance(c).clamp(60.0, 1000.0);
            align += friend.body.velocity * TICK_SECS * (1.0 - (d - 60.0) / (1000.0 - 60.0));
        }
        if !friends.is_empty() && align.length() > SPEED_MAX {
            align = unit(align) * SPEED_MAX;
        }
        follow * 0.6 + align * 0.4
    };
    if j <= m {
        let (j, m) = (f64::from(j), f64::from(m));
        return (v0 * ((m - j) / m) + v_r * (j / m), shortest);
    }
    (v_r, shortest)
}

/// m by equation 17 with a factor: 1 as printed, 0.1 by the text.
fn transition_ticks(scene: &Scene, l: f64) -> u32 {
    let c = scene.newest().position;
    let near = scene.others.iter().map(|other| other.body.position - c);
    let near = near.filter(|d| d.x.abs() <= 1280.0 && d.y.abs() <= 960.0);
    let nearest = near.map(|d| d.length()).fold(f64::INFINITY, f64::min);
    if nearest.is_finite() { ((l * nearest).ceil() as u32).min(60) } else { 60 }
}

#[test]
fn ekb_is_what_the_paper_says() {
    law!(scene(), |scene| {
        let text = EkbConfig::TICKS_PER_UNIT_IN_THE_TEXT;
        let in_the_text = EkbConfig { transition_ticks_per_unit: text, ..EkbConfig::default() };
        for (mut ekb, l) in [(Ekb::default(), 1.0), (Ekb::new(in_the_text), 0.1)] {
            let m = transition_ticks(&scene, l);
            for (j, step) in (1..).zip(path(&mut ekb, &scene).windows(2)) {
                let (expected, shortest) = by_the_book(&scene, j, m, step[0]);
                let off = (step[1] - step[0]).distance(expected);
                prop_assert!(off < 1e-6 || shortest < 1e-5, "l = {l}, tick {j} is off by {off}");
            }
        }
        Ok(())
    });
}

#[test]
fn whoever_is_alone_keeps_its_velocity() {
    law!(scene(), |mut scene| {
        let far = Vec2::new(1e5, 0.0);
        for other in &mut scene.others {
            other.body.position += far;
        }
        let line = path(&mut Linear, &scene);
        for (one, other) in path(&mut Ekb::default(), &scene).iter().zip(&line) {
            prop_assert!(one.distance(*other) < 1e-6);
        }
        Ok(())
    });
}

#[test]
fn without_friends_half_of_it_goes_on_and_half_of_it_fights() {
    // Two equals: no advantage, so the place in the battle is the player's own position, and only
    // the old velocity is left.
    let scene = Scene::alone(Vec2::new(0.0, 120.0)).with(Relation::Enemy, Vec2::new(500.0, 0.0), Vec2::ZERO);
    let at = predict(&mut Ekb::default(), &scene, &[120]).unwrap()[0];
    assert!(at.x.abs() < 1e-9 && at.y > 120.0, "{at:?}");
    // Ten times as strong, the player moves at the enemy; half dead and out of ammunition, away.
    for (own, theirs, expected) in [(1.0, 0.1, 1.0), (0.1, 1.0, -1.0)] {
        let mut scene = scene.clone();
        scene.condition = Condition { health: own, ammo: own };
        scene.others[0].condition = Condition { health: theirs, ammo: theirs };
        let at = predict(&mut Ekb::default(), &scene, &[120]).unwrap()[0];
        assert!(at.x * expected > 50.0, "{own} against {theirs}: {at:?}");
    }
    // No player has any strength: 0/0 is no advantage.
    let mut scene = scene;
    let nothing = Condition { health: 0.0, ammo: 0.0 };
    (scene.condition, scene.others[0].condition) = (nothing, nothing);
    assert!(predict(&mut Ekb::default(), &scene, &[120]).unwrap()[0].x.abs() < 1e-9);
}

#[test]
fn a_pure_follower_arrives_among_its_friends_and_stays() {
    let config = EkbConfig { follow_out_of_battle: 1.0, ..EkbConfig::default() };
    law!((vec2(250.0), vec2(600.0), vec2(600.0)), |(velocity, one, other)| {
        let scene = Scene::alone(velocity).with(Relation::Friend, one, Vec2::ZERO).with(
            Relation::Friend,
            other,
            Vec2::ZERO,
        );
        let middle = (one + other) * 0.5;
        for ticks in [240, TICKS_AHEAD_MAX] {
            let at = predict(&mut Ekb::new(config), &scene, &[ticks]).unwrap()[0];
            prop_assert!(at.distance(middle) <= SPEED_MAX + 1e-9, "{at:?} is not at {middle:?}");
        }
        Ok(())
    });
}

#[test]
fn nobody_among_friends_is_faster_than_the_fastest() {
    law!(scene(), |scene| {
        let beside = scene.newest().position + Vec2::new(10.0, 0.0);
        let mut scene = scene.with(Relation::Friend, beside, Vec2::ZERO);
        for body in &mut scene.history {
            body.velocity = body.velocity.clamp_length(360.0);
        }
        for step in path(&mut Ekb::default(), &scene).windows(2) {
            let is_in_sight = |other: &Other| {
                let d = other.body.position - step[0];
                other.relation == Relation::Friend && d.x.abs() <= 1280.0 && d.y.abs() <= 960.0
            };
            if scene.others.iter().any(is_in_sight) {
                prop_assert!(step[1].distance(step[0]) <= SPEED_MAX + 1e-9);
            }
        }
        Ok(())
    });
}

#[test]
fn the_last_velocity_passes_smoothly_into_the_predicted_one() {
    law!((vec2(250.0), 200.0..900.0f64), |(velocity, distance)| {
        let scene = Scene::alone(velocity).with(Relation::Friend, Vec2::new(0.0, distance), Vec2::ZERO);
        let m = transition_ticks(&scene, 1.0);
        let velocities: Vec<Vec2> =
            path(&mut Ekb::default(), &scene).windows(2).map(|step| step[1] - step[0]).collect();
        let most = (velocity.length() * TICK_SECS + SPEED_MAX) / f64::from(m);
        prop_assert!(velocities[0].distance(velocity * TICK_SECS) <= most + 1e-9, "at the start");
        let end = m as usize;
        prop_assert!(velocities[end].distance(velocities[end - 1]) <= most + 1e-9, "at the end");
        Ok(())
    });
}

#[test]
fn a_friend_at_ones_feet_is_reacted_to_at_once() {
    let scene = Scene::alone(Vec2::new(300.0, 0.0)).with(Relation::Friend, Vec2::ZERO, Vec2::ZERO).with(
        Relation::Friend,
        Vec2::new(0.0, 500.0),
        Vec2::ZERO,
    );
    let first = predict(&mut Ekb::default(), &scene, &[1]).unwrap()[0];
    assert!(first.x.abs() < 1e-12 && first.y > 3.0, "nothing is left of the old velocity: {first:?}");
}

#[test]
fn extrapolated_friends_are_followed_where_they_go() {
    let config = EkbConfig { others: Others::KeepVelocity, ..EkbConfig::default() };
    let scene = Scene::alone(Vec2::ZERO).with(Relation::Friend, Vec2::new(0.0, 300.0), Vec2::new(200.0, 0.0));
    let staying = predict(&mut Ekb::default(), &scene, &[120]).unwrap()[0];
    let going = predict(&mut Ekb::new(config), &scene, &[120]).unwrap()[0];
    assert!(going.x > staying.x + 50.0, "{going:?} is not ahead of {staying:?}");
}

#[test]
fn replayed_friends_are_followed_where_they_really_go_and_only_if_asked_for() {
    let scene = Scene::alone(Vec2::ZERO).with(Relation::Friend, Vec2::new(0.0, 300.0), Vec2::ZERO);
    // The friend turns back at once, and passes the subject on the left.
    let really: Vec<Vec2> = (1..=60).map(|tick| Vec2::new(-200.0, 300.0 - 10.0 * f64::from(tick))).collect();
    let ahead = |others: Others, replayed: &[&[Vec2]]| {
        let known = Known { replayed, ..scene.known() };
        let mut at = [Vec2::ZERO; 1];
        Ekb::new(EkbConfig { others, ..EkbConfig::default() }).predict(0, &known, &[120], &mut at).unwrap();
        at[0]
    };
    let stays = ahead(Others::Stay, &[]);
    assert_eq!(ahead(Others::Stay, &[&really]), stays, "nobody else sees the future");
    assert_eq!(ahead(Others::Replayed, &[]), stays, "where there is none, the others stay");
    let replayed = ahead(Others::Replayed, &[&really]);
    assert!(replayed.x < -100.0 && replayed.y < -100.0, "{replayed:?} beside {stays:?}");
}

#[test]
fn the_hybrid_of_the_text_is_the_contrary_of_the_algorithms() {
    law!(scene(), |scene| {
        let ticks: Vec<u32> = (1..=126).collect();
        let config = EkbConfig { hybrid: HybridRule::Text, ..EkbConfig::default() };
        let text = predict(&mut Hybrid::new(Ekb::default(), config), &scene, &ticks).unwrap();
        let algorithm = predict(&mut Hybrid::<Ekb>::default(), &scene, &ticks).unwrap();
        let ekb = predict(&mut Ekb::default(), &scene, &ticks).unwrap();
        let tdm = predict(&mut Tdm, &scene, &ticks).unwrap();
        prop_assert_eq!(&text[..21], &ekb[..21]);
        for tick in 21..126 {
            // Both are TDM where the direction was kept for exactly as long.
            let is_either = (text[tick], algorithm[tick]) == (ekb[tick], tdm[tick])
                || (text[tick], algorithm[tick]) == (tdm[tick], ekb[tick])
                || (text[tick], algorithm[tick]) == (tdm[tick], tdm[tick]);
            prop_assert!(is_either, "tick {}", tick + 1);
        }
        Ok(())
    });
}

#[test]
fn hybrid_ekb_is_ekb_up_to_350_ms_and_then_one_or_the_other() {
    law!(scene(), |scene| {
        let ticks: Vec<u32> = (1..=126).collect();
        let hybrid = predict(&mut Hybrid::<Ekb>::default(), &scene, &ticks).unwrap();
        let ekb = predict(&mut Ekb::default(), &scene, &ticks).unwrap();
        let tdm = predict(&mut Tdm, &scene, &ticks).unwrap();
        prop_assert_eq!(&hybrid[..21], &ekb[..21]);
        for tick in 21..126 {
            let newest = scene.newest().velocity;
            let turned = scene.history.iter().rev().skip(1).take(tick + 1).any(|past| {
                let angle = Vec2::angle_between(past.velocity.heading(), newest.heading());
                let is_standing = (past.velocity == Vec2::ZERO, newest == Vec2::ZERO);
                is_standing.0 != is_standing.1 || (!is_standing.0 && angle > 40f64.to_radians())
            });
            let expected = if turned { ekb[tick] } else { tdm[tick] };
            prop_assert_eq!(hybrid[tick], expected, "tick {}", tick + 1);
        }
        Ok(())
    });
}
