//! Trend lines: exact where the world is, the same wherever it lies, one line round a circuit, and
//! the same at both ends of a network. The recursion of Jawad 2017 beside it.

use super::*;
use fairpath::number::{EntityId, Generation, Life, ReceiverId};
use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span};
use fairpath::{DrVector, MotionKind, State};
use fairpath_laws::law;
use fairpath_predict::live::{Contexts, Followed, LivePath, Publisher};
use fairpath_predict::{
    LapPart, LapShape, SpeedRule, TangentPredictor, TrendLine, TrendLineError, TrendLinePredictor,
};
use std::sync::{Arc, LazyLock};

const AHEAD: [u32; 6] = [3, 6, 18, 60, 120, 300];

/// Ticks of a path given as a function of time; velocity and acceleration are exact enough.
fn bodies(path: impl Fn(f64) -> Vec2, ticks: usize) -> Vec<Body> {
    let small = 1e-3;
    let body = |tick: usize| {
        let secs = tick as f64 * TICK_SECS;
        let [before, now, after] = [path(secs - small), path(secs), path(secs + small)];
        Body {
            position: now,
            velocity: (after - before) * (0.5 / small),
            acceleration: (after + before - now * 2.0) * (1.0 / (small * small)),
        }
    };
    (0..ticks).map(body).collect()
}

fn line_of(laps: &[Vec<Body>], shape: LapShape) -> Result<TrendLine, TrendLineError> {
    let places: Vec<Vec<Vec2>> =
        laps.iter().map(|lap| lap.iter().map(|body| body.position).collect()).collect();
    let parts = laps.iter().zip(&places).map(|(known, places)| vec![LapPart { known, places }]);
    TrendLine::from_laps(&parts.collect::<Vec<_>>(), shape, TrendLine::SMOOTHING)
}

fn circle(radius: f64, speed: f64) -> impl Fn(f64) -> Vec2 {
    move |secs| Vec2::from_heading(speed / radius * secs) * radius
}

/// Laps round an eight that crosses itself, a little different each time, fast outside and slow in
/// the middle.
fn eights(count: usize, seed: u64) -> Vec<Vec<Body>> {
    let mut random = Random::from_seed(seed);
    let mut lap = || {
        let (size, phase) = (random.between(0.98, 1.02), random.between(0.0, 6.0));
        let path = move |secs: f64| {
            let turn = secs * 0.25 + 0.05 * libm::sin(secs * 0.5 + phase) - 0.05 * libm::sin(phase);
            Vec2::new(220.0 * libm::sin(turn), 90.0 * libm::sin(2.0 * turn)) * size
        };
        bodies(path, 1500)
    };
    (0..count).map(|_| lap()).collect()
}

static EIGHT: LazyLock<Arc<TrendLine>> =
    LazyLock::new(|| Arc::new(line_of(&eights(3, 1), LapShape::Circuit).expect("laps")));

fn predict(predictor: &mut dyn Predictor, history: &[Body]) -> [Vec2; AHEAD.len()] {
    let scene = Scene { history: history.to_vec(), ..Scene::alone(Vec2::ZERO) };
    let mut positions = [Vec2::ZERO; AHEAD.len()];
    predictor.predict(0, &scene.known(), &AHEAD, &mut positions).expect("needs nothing else");
    positions
}

#[test]
fn on_an_exact_line_at_constant_speed_it_is_exact() {
    let (radius, speed) = (80.0, 25.0);
    let around = 2.0 * std::f64::consts::PI * radius / speed;
    let ticks = (around / TICK_SECS) as usize;
    let laps = vec![bodies(circle(radius, speed), ticks), bodies(circle(radius, speed), ticks)];
    let line = Arc::new(line_of(&laps, LapShape::Circuit).expect("laps"));
    assert!((line.length() - speed * around).abs() < 0.1, "{}", line.length());
    law!((0.0..around, 1usize..90), |(from, seen)| {
        let at = |secs: f64| circle(radius, speed)(from + secs);
        let known = bodies(at, seen);
        let answers = predict(&mut TrendLinePredictor::new(line.clone()), &known);
        for (ticks, answer) in AHEAD.into_iter().zip(answers) {
            let truth = at((seen - 1 + ticks as usize) as f64 * TICK_SECS);
            // 125 m in five seconds.
            prop_assert!(answer.distance(truth) < 0.05, "{ticks}: off by {}", answer.distance(truth));
        }
        Ok(())
    });
}

#[test]
fn what_is_turned_and_shifted_is_predicted_turned_and_shifted() {
    for (seed, turn) in (1..4).zip([0.7, 2.9, -1.3]) {
        let moved = |place: Vec2| {
            let way = Vec2::from_heading(turn);
            way * place.x + way.perpendicular() * place.y + Vec2::new(3e3, -7e2)
        };
        let turned = |body: &Body| Body {
            position: moved(body.position),
            velocity: moved(body.velocity) - moved(Vec2::ZERO),
            acceleration: moved(body.acceleration) - moved(Vec2::ZERO),
        };
        let (laps, judged) = (eights(3, seed), &eights(1, seed + 100)[0]);
        let there: Vec<Vec<Body>> = laps.iter().map(|lap| lap.iter().map(turned).collect()).collect();
        let one = Arc::new(line_of(&laps, LapShape::Circuit).expect("laps"));
        let other = Arc::new(line_of(&there, LapShape::Circuit).expect("laps"));
        assert!((one.length() - other.length()).abs() < 1e-6);
        let (mut one, mut other) = (TrendLinePredictor::new(one), TrendLinePredictor::new(other));
        for now in (1..judged.len()).step_by(97) {
            let here = predict(&mut one, &judged[..now]);
            let there = predict(&mut other, &judged[..now].iter().map(turned).collect::<Vec<_>>());
            for (here, there) in here.into_iter().zip(there) {
                assert!(moved(here).distance(there) < 1e-3, "{now}: {:?} {there:?}", moved(here));
            }
        }
    }
}

#[test]
fn a_circuit_has_no_end_and_a_stage_goes_on_straight() {
    law!((0.0..2_000.0f64, -3i32..3), |(along, rounds)| {
        let further = along + f64::from(rounds) * EIGHT.length();
        let (one, other) = (EIGHT.position_at(along), EIGHT.position_at(further));
        prop_assert!(one.distance(other) < 1e-6);
        Ok(())
    });
    let straight = bodies(|secs| Vec2::new(20.0 * secs, 0.0), 600);
    let stage = line_of(&[straight.clone(), straight], LapShape::Stage).expect("laps");
    for along in [-50.0, -1.0, 0.0, 77.7, stage.length(), stage.length() + 40.0] {
        let off = stage.position_at(along) - Vec2::new(along, 0.0);
        assert!(off.length() < 0.01, "{along}: {off:?}");
    }
}

#[test]
fn where_a_lap_ends_the_next_begins() {
    // Driven across the line between the last node and the first.
    let laps = eights(3, 5);
    let mut predictor = TrendLinePredictor::new(EIGHT.clone());
    let lap = &laps[0];
    for now in (lap.len() - 50..lap.len() - 20).step_by(7) {
        let answers = predict(&mut predictor, &lap[..now]);
        let truth = lap[now - 1 + 18].position;
        assert!(answers[2].distance(truth) < 0.5, "{now}: {:?} {truth:?}", answers[2]);
        // A lap later it is at the same place at about the same speed.
        let next = lap[now - 1 + 60 - 1508].position;
        assert!(answers[3].distance(next) < 8.0, "{now}: {:?} {next:?}", answers[3]);
    }
}

#[test]
fn a_hint_changes_nothing_but_the_time_it_takes() {
    law!((0.0..1_200.0f64, -40.0..40.0f64, 0.0..1_200.0f64, prop::option::of(0.0..6.3f64)), |(
        along,
        aside,
        hint,
        heading,
    )| {
        let place = EIGHT.position_at(along) + EIGHT.tangent_at(along).perpendicular() * aside;
        let way = heading.map_or(Vec2::ZERO, Vec2::from_heading);
        let foot = EIGHT.foot(place, way);
        prop_assert_eq!(EIGHT.foot_near(place, way, hint), foot);
        prop_assert_eq!(EIGHT.foot_near(place, way, along), foot);
        // No point of the line that runs along the direction is nearer.
        let far = EIGHT.position_at(foot.along).distance(place);
        for step in 0..2400 {
            let other = f64::from(step) * EIGHT.length() / 2400.0;
            let is_wanted = way == Vec2::ZERO || EIGHT.tangent_at(other).dot(way) > 0.05;
            let distance = EIGHT.position_at(other).distance(place);
            prop_assert!(!is_wanted || distance > far - 0.15, "{other} is at {distance}, not {far}");
        }
        Ok(())
    });
}

#[test]
fn an_offset_is_to_the_left() {
    let place = EIGHT.position_at(150.0) + EIGHT.tangent_at(150.0).perpendicular() * 2.5;
    let foot = EIGHT.foot(place, EIGHT.tangent_at(150.0));
    assert!((foot.along - 150.0).abs() < 0.01 && (foot.offset - 2.5).abs() < 0.01, "{foot:?}");
}

#[test]
fn whatever_moves_is_predicted_finitely() {
    let body = (vec2(1e6), vec2(1e3), vec2(1e3)).prop_map(|(position, velocity, acceleration)| Body {
        position,
        velocity,
        acceleration,
    });
    let near = (vec2(250.0), vec2(1e-9), vec2(50.0)).prop_map(|(position, velocity, acceleration)| Body {
        position,
        velocity,
        acceleration,
    });
    law!(prop::collection::vec(prop_oneof![body, near], 1..80), |history| {
        let scene = Scene { history: history.clone(), ..Scene::alone(Vec2::ZERO) };
        let predictors: [Box<dyn Predictor>; 3] = [
            Box::new(TrendLinePredictor::new(EIGHT.clone())),
            Box::new(TangentPredictor::new(EIGHT.clone(), SpeedRule::Recursion)),
            Box::new(TangentPredictor::new(EIGHT.clone(), SpeedRule::Differences)),
        ];
        for mut predictor in predictors {
            predictor.learn(0, &scene.known());
            for position in predict(&mut *predictor, &history) {
                prop_assert!(position.is_finite(), "{}: {position:?}", predictor.name());
            }
        }
        Ok(())
    });
}

#[test]
fn who_drives_against_the_laps_or_elsewhere_keeps_its_velocity() {
    let mut predictor = TrendLinePredictor::new(EIGHT.clone());
    let circle = Arc::new(line_of(&[bodies(circle(80.0, 25.0), 1200)], LapShape::Circuit).expect("a lap"));
    let mut round = TrendLinePredictor::new(circle);
    let against = Body { velocity: Vec2::new(0.0, -20.0), position: Vec2::new(80.0, 0.0), ..Body::default() };
    let elsewhere = Body { velocity: Vec2::new(9.0, 9.0), position: Vec2::new(0.0, 4e3), ..Body::default() };
    for (body, answers) in
        [(against, predict(&mut round, &[against])), (elsewhere, predict(&mut predictor, &[elsewhere]))]
    {
        for (ticks, answer) in AHEAD.into_iter().zip(answers) {
            assert_eq!(answer, body.position + body.velocity * (f64::from(ticks) * TICK_SECS));
        }
    }
}

#[test]
fn it_is_nearer_than_line_and_tdm_on_laps_it_has_not_seen() {
    let mut random = Random::from_seed(9);
    let mut noisy = |lap: &Vec<Body>| -> Vec<Body> {
        let mut jitter = |size: f64| Vec2::new(random.between(-size, size), random.between(-size, size));
        lap.iter()
            .map(|body| Body {
                position: body.position + jitter(0.05),
                velocity: body.velocity + jitter(0.5),
                acceleration: body.acceleration + jitter(2.0),
            })
            .collect()
    };
    let laps: Vec<Vec<Body>> = eights(4, 20).iter().map(&mut noisy).collect();
    let truth = &eights(1, 21)[0];
    let judged = noisy(truth);
    let line = Arc::new(line_of(&laps, LapShape::Circuit).expect("laps"));
    let off = |predictor: &mut dyn Predictor| {
        let mut sums = [0.0; AHEAD.len()];
        for now in (70..judged.len() - 300).step_by(11) {
            let answers = predict(predictor, &judged[..now]);
            for ((sum, ticks), answer) in sums.iter_mut().zip(AHEAD).zip(answers) {
                *sum += answer.distance(truth[now - 1 + ticks as usize].position);
            }
        }
        sums
    };
    let ours = off(&mut TrendLinePredictor::new(line));
    for others in [off(&mut Linear), off(&mut Tdm)] {
        assert!(ours.iter().zip(others).all(|(ours, other)| *ours < other), "{ours:?} {others:?}");
    }
}

#[test]
fn the_papers_recursion_swings_for_ever_and_differences_do_not() {
    let straight = bodies(|secs| Vec2::new(10.0 * secs, 0.0), 900);
    let line = Arc::new(line_of(&[straight.clone(), straight.clone()], LapShape::Stage).expect("laps"));
    let mut printed = TangentPredictor::new(line.clone(), SpeedRule::Recursion);
    let mut coded = TangentPredictor::new(line.clone(), SpeedRule::Differences);
    let mut ours = TrendLinePredictor::new(line);
    for now in 1..=200 {
        let scene = Scene { history: straight[..now].to_vec(), ..Scene::alone(Vec2::ZERO) };
        printed.learn(0, &scene.known());
        coded.learn(0, &scene.known());
        let ahead = |answers: [Vec2; AHEAD.len()]| answers[0].x - straight[now - 1].position.x;
        let said = ahead(predict(&mut printed, &straight[..now]));
        // From 0 at a true 10: 20, 0, 20, 0; and 20 with an acceleration that makes it 80 within a
        // tick and a half.
        match now {
            1 => assert_eq!(said, 0.0),
            even if even % 2 == 0 => assert!((said - 2.5).abs() < 1e-6, "{even}: {said}"),
            _ => assert!(said.abs() < 1e-9, "{now}: {said}"),
        }
        if now > 2 {
            assert!((ahead(predict(&mut coded, &straight[..now])) - 0.5).abs() < 1e-6);
        }
        assert!((ahead(predict(&mut ours, &straight[..now])) - 0.5).abs() < 1e-3);
    }
}

/// With a sample every 0.2 s the recursion swings as far, at every twelfth tick.
#[test]
fn between_samples_the_papers_speed_stays() {
    let straight = bodies(|secs| Vec2::new(10.0 * secs, 0.0), 900);
    let line = Arc::new(line_of(&[straight.clone(), straight.clone()], LapShape::Stage).expect("laps"));
    let sampled =
        |rule| TangentPredictor::new(line.clone(), rule).sampled_every(TangentPredictor::PAPER_SAMPLE_TICKS);
    let (mut printed, mut coded) = (sampled(SpeedRule::Recursion), sampled(SpeedRule::Differences));
    for now in 1..=200 {
        let scene = Scene { history: straight[..now].to_vec(), ..Scene::alone(Vec2::ZERO) };
        printed.learn(0, &scene.known());
        coded.learn(0, &scene.known());
        let ahead = |answers: [Vec2; AHEAD.len()]| answers[0].x - straight[now - 1].position.x;
        // The first sample is that of tick 0: a speed is known from tick 12 on.
        let samples = (now - 1) / 12;
        let said = ahead(predict(&mut printed, &straight[..now]));
        match samples {
            0 => assert_eq!(said, 0.0),
            // 20 with an acceleration of 100 for 0.05 s, and then nothing with one that brakes.
            odd if odd % 2 == 1 => assert!((said - 1.125).abs() < 1e-6, "{now}: {said}"),
            _ => assert!(said.abs() < 1e-9, "{now}: {said}"),
        }
        if samples > 1 {
            assert!((ahead(predict(&mut coded, &straight[..now])) - 0.5).abs() < 1e-6);
        }
    }
}

#[test]
fn the_papers_step_stops_and_does_not_go_back() {
    // Braking from 10 at 20 per second and second: stands after half a second, 2.5 ahead.
    let braking = bodies(|secs| Vec2::new(30.0 * secs - 10.0 * secs * secs, 0.0), 61);
    let straight = bodies(|secs| Vec2::new(10.0 * secs, 0.0), 900);
    let line = Arc::new(line_of(&[straight.clone(), straight], LapShape::Stage).expect("laps"));
    let mut coded = TangentPredictor::new(line, SpeedRule::Differences);
    for now in 1..=braking.len() {
        let scene = Scene { history: braking[..now].to_vec(), ..Scene::alone(Vec2::ZERO) };
        coded.learn(0, &scene.known());
    }
    let answers = predict(&mut coded, &braking);
    let came = answers.map(|answer| answer.x - braking[60].position.x);
    assert!((came[3] - 2.5).abs() < 0.2, "{came:?}");
    assert!(came[3] == came[4] && came[4] == came[5], "it stands: {came:?}");
}

#[test]
fn laps_that_cannot_be_say_why() {
    let lap = bodies(circle(80.0, 25.0), 1200);
    let short = bodies(circle(2.0, 2.0), 300);
    let mut broken = lap.clone();
    broken[7].position.x = f64::NAN;
    assert_eq!(line_of(&[], LapShape::Circuit), Err(TrendLineError::NoLaps));
    assert_eq!(line_of(&[vec![]], LapShape::Circuit), Err(TrendLineError::NoLaps));
    assert_eq!(line_of(&[short], LapShape::Circuit), Err(TrendLineError::TooShort));
    assert_eq!(line_of(&[lap.clone(), broken], LapShape::Circuit), Err(TrendLineError::BadLap));
    let places: Vec<Vec2> = lap.iter().map(|body| body.position).collect();
    let part = vec![LapPart { known: &lap, places: &places }];
    for smoothing in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let line = TrendLine::from_laps(std::slice::from_ref(&part), LapShape::Circuit, smoothing);
        assert_eq!(line, Err(TrendLineError::BadSmoothing));
    }
    let line = TrendLine::from_laps(&[part], LapShape::Circuit, 0.01);
    assert_eq!(line, Err(TrendLineError::TooLong));
}

fn vector(body: &Body) -> DrVector<Vec2> {
    DrVector {
        entity: EntityId(4),
        life: Life::default(),
        generation: Generation::default(),
        generated_at: SharedInstant::from_millis(5_000),
        motion: MotionKind::Linear.from_state(&State::moving(body.position, body.velocity)),
        attitude: None,
        parent: None,
    }
}

#[test]
fn live_both_ends_follow_the_same_line_and_who_lacks_it_says_so() {
    let (with, without) = (ReceiverId(1), ReceiverId(2));
    let mut owner = Publisher::default();
    let id = owner.publish_lasting(3, EIGHT.clone());
    owner.on_confirmed(with, id);
    let mut holds = Contexts::default();
    assert!(holds.hold(id, EIGHT.clone()));
    let lap = &eights(1, 33)[0];
    let (mut bent, mut straight) = (0.0, 0.0);
    for (now, body) in lap.iter().enumerate().step_by(131).take_while(|(now, _)| now + 60 < lap.len()) {
        let vector = vector(body);
        let second_later = vector.generated_at + Span::from_secs(1);

        // A receiver that has confirmed the line is told to follow it, and does, as the owner knows
        // to the bit.
        let guided = owner.guide_by(id, &vector, with);
        let mut shown = LivePath::new(&guided, &holds);
        let mut believed = owner.path(&guided);
        assert_eq!(shown.followed(), Followed::Context(id));
        for millis in [900, 33, 1000, 2500, 0] {
            let at = vector.generated_at + Span::from_millis(millis);
            assert_eq!(shown.place(at), believed.place(at));
        }
        let truth = lap[now + 60].position;
        bent += shown.place(second_later).position.distance(truth);
        straight += vector.position_at(second_later).distance(truth);

        // A receiver that has not confirmed it is not told, and follows the plain line.
        let plain = owner.guide_by(id, &vector, without);
        let placed = LivePath::new(&plain, &Contexts::default()).place(second_later);
        assert_eq!(placed.followed, Followed::Line);
        assert_eq!(placed, owner.path(&plain).place(second_later));

        // A receiver that has lost it falls back to the plain line, and says so.
        let lost = LivePath::new(&guided, &Contexts::default()).place(second_later);
        assert_eq!((lost.followed, lost.position), (Followed::LineForLackOf(id), placed.position));
    }
    assert!(bent < 0.5 * straight, "{bent} {straight}");
}

#[test]
fn live_nobody_is_guided_who_is_not_on_the_track() {
    let mut owner = Publisher::default();
    let id = owner.publish_lasting(3, EIGHT.clone());
    owner.on_confirmed(ReceiverId(1), id);
    let far = Body { position: Vec2::new(0.0, 4e3), velocity: Vec2::new(9.0, 0.0), ..Body::default() };
    assert_eq!(owner.guide_by(id, &vector(&far), ReceiverId(1)).context, None);
}
