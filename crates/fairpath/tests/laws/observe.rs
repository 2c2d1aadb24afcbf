//! How often a game observes does not change what it sends: the number of DR vectors of a motion is
//! the same at every tick rate, frame rate and jitter.

use fairpath::motion::{Motion, MotionKind};
use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::trigger::Trigger;
use fairpath::vector::{Vec2, Vector};
use fairpath::{FixedSteps, Observation, ObserveError, Owner, State};
use fairpath_laws::{law, proptest::prelude::*};

const THRESHOLD: f64 = 0.2;
const VECTORS: usize = 120;

/// A motion whose state is known exactly at any instant.
#[derive(Clone, Debug)]
enum Path {
    /// Swings along both axes.
    Swing { reach: Vec2, radians_per_sec: Vec2 },
    /// Changes thrust or steering at random instants.
    Driven { from_secs: Vec<f64>, parts: Vec<Motion<Vec2>> },
}

impl Path {
    const SECS_MAX: f64 = VECTORS as f64 + 1.0;

    fn drawn() -> impl Strategy<Value = Self> {
        let axis = || (1.0..10.0f64, 0.3..2.0f64);
        prop_oneof![
            (axis(), axis()).prop_map(|(x, y)| Self::Swing {
                reach: Vec2::new(x.0, y.0),
                radians_per_sec: Vec2::new(x.1, y.1),
            }),
            (3.0..30.0f64, -2.0..2.0f64).prop_map(|(speed, turn_rate)| Self::circle(speed, turn_rate)),
            (any::<u64>(), any::<bool>()).prop_map(|(seed, steers)| Self::driven(seed, steers)),
        ]
    }

    fn circle(speed: f64, turn_rate: f64) -> Self {
        let start = State::moving(Vec2::ZERO, Vec2::new(speed, 0.0)).with_heading(0.0, turn_rate);
        Self::Driven { from_secs: vec![0.0], parts: vec![MotionKind::Circular.from_state(&start)] }
    }

    /// A tank that steers or a ship that thrusts, each for 0.7 s in the mean.
    fn driven(seed: u64, steers: bool) -> Self {
        let mut random = Random::from_seed(seed);
        let (mut at, mut state) = (0.0, State::moving(Vec2::ZERO, Vec2::new(10.0, 0.0)));
        let (mut from_secs, mut parts) = (Vec::new(), Vec::new());
        while at < Self::SECS_MAX {
            let motion: Motion<Vec2> = if steers {
                let ahead = Vec2::from_heading(state.orientation);
                state.velocity = ahead * random.between(-8.0, 20.0);
                state.spin = random.between(-1.5, 1.5);
                MotionKind::Circular.from_state(&state)
            } else {
                let thrust = Vec2::from_heading(random.between(-3.0, 3.0)) * random.between(0.0, 25.0);
                MotionKind::Quadratic.from_state(&state.with_acceleration(thrust - state.velocity * 0.5))
            };
            let lasts = 0.05 + 0.65 * random.exponential();
            state = motion.state_at(lasts);
            from_secs.push(at);
            parts.push(motion);
            at += lasts;
        }
        Self::Driven { from_secs, parts }
    }

    fn state_at(&self, at: SharedInstant) -> State<Vec2> {
        let secs = at.as_secs_f64();
        let state = match self {
            Self::Swing { reach, radians_per_sec: rate } => {
                let swing = |phase: f64| {
                    let (x, y) = (rate.x * secs + phase, rate.y * secs + phase);
                    Vec2::new(reach.x * libm::sin(x), reach.y * libm::sin(y))
                };
                let times = |v: Vec2, w: Vec2| Vec2::new(v.x * w.x, v.y * w.y);
                let quarter = std::f64::consts::FRAC_PI_2;
                State::moving(swing(0.0), times(swing(quarter), *rate))
                    .with_acceleration(times(times(swing(2.0 * quarter), *rate), *rate))
            }
            Self::Driven { from_secs, parts } => {
                let part = from_secs.partition_point(|from| *from <= secs) - 1;
                let state = parts[part].state_at(secs - from_secs[part]);
                if parts[part].kind() == MotionKind::Circular {
                    return state;
                }
                state
            }
        };
        let (v, a) = (state.velocity, state.acceleration);
        let turn_rate = (v.x * a.y - v.y * a.x) / v.length_squared().max(1.0);
        state.with_heading(v.heading(), turn_rate)
    }
}

/// How a game calls `observe`.
#[derive(Clone, Copy, Debug)]
struct Pace {
    hertz: u32,
    /// Fixed ticks below frames of any length, or one step of its own length per frame.
    has_ticks: bool,
    /// Some frames, one in five seconds, last 200 ms.
    stalls: bool,
    seed: u64,
}

impl Pace {
    fn drawn() -> impl Strategy<Value = Self> {
        let hertz = prop::sample::select(vec![20, 30, 60, 144, 1000]);
        (hertz, any::<bool>(), any::<bool>(), any::<u64>())
            .prop_map(|(hertz, has_ticks, stalls, seed)| Self { hertz, has_ticks, stalls, seed })
    }

    /// Frames whose lengths vary between 0.2 and 3 times a mean.
    fn frames(self) -> impl Iterator<Item = SharedInstant> {
        let mut random = Random::from_seed(self.seed);
        let mean = if self.has_ticks { 0.02 } else { 1.0 / f64::from(self.hertz) };
        std::iter::successors(Some(SharedInstant::ZERO), move |now| {
            let stalls = self.stalls && random.chance(mean / 5.0);
            let secs = if stalls { 0.2 } else { mean * random.between(0.2, 3.0) / 1.6 };
            Some(*now + Span::from_secs_f64(secs))
        })
    }

    /// The instants that the game observes.
    fn instants(self, end: SharedInstant) -> Vec<SharedInstant> {
        let frames = self.frames().take_while(|now| *now < end);
        if !self.has_ticks {
            return frames.collect();
        }
        let mut steps = FixedSteps::hz(self.hertz);
        let mut instants = Vec::new();
        for now in frames.chain([end]) {
            instants.extend(steps.until(now).map(|tick| tick.at()));
        }
        instants
    }
}

/// Returns the instants at which an owner that observes `path` generates.
fn cuts(
    path: &Path,
    kind: MotionKind,
    observed: impl IntoIterator<Item = SharedInstant>,
) -> impl Iterator<Item = SharedInstant> {
    let mut owner = Owner::new(EntityId(1), Trigger::within(THRESHOLD)).with_model(kind).anticipating();
    observed.into_iter().filter(move |at| {
        let truth = path.state_at(*at);
        let export = owner.observe(Observation::Moved(truth), *at).expect("finite and in order");
        let error = owner.exported().expect("born").position_at(*at).distance(truth.position);
        assert!(error <= THRESHOLD, "off by {error} at {at:?}");
        export.is_some()
    })
}

fn models() -> impl Strategy<Value = MotionKind> {
    prop::sample::select(vec![MotionKind::Linear, MotionKind::Quadratic, MotionKind::Circular])
}

#[test]
fn the_number_of_dr_vectors_depends_on_the_motion_alone() {
    law!((Path::drawn(), models(), Pace::drawn()), |(path, kind, pace)| {
        let every_ms = (0..).map(SharedInstant::from_millis);
        let end = cuts(&path, kind, every_ms).nth(VECTORS - 1).expect("a heartbeat every second");
        let hertz_min = 4.0 * VECTORS as f64 / end.as_secs_f64();
        let pace = Pace { hertz: pace.hertz.max(hertz_min.ceil() as u32), ..pace };
        let count = cuts(&path, kind, pace.instants(end)).count();
        let ratio = count as f64 / VECTORS as f64;
        prop_assert!((0.9..=1.1).contains(&ratio), "{count} instead of {VECTORS} at {} Hz", pace.hertz);
        Ok(())
    });
}

#[test]
fn a_straight_flight_costs_one_dr_vector_a_second_at_every_pace() {
    law!((models(), Pace::drawn()), |(kind, pace)| {
        let (path, end) = (Path::circle(100.0, 0.0), SharedInstant::from_millis(20_500));
        let count = cuts(&path, kind, pace.instants(end)).count();
        prop_assert!((20..=22).contains(&count), "{count}");
        Ok(())
    });
}

#[test]
fn an_older_observation_is_refused_and_changes_nothing() {
    let mut owner = Owner::new(EntityId(7), Trigger::within(THRESHOLD));
    let mut observe = |x: f64, millis| {
        let state = State::moving(Vec2::new(x, 0.0), Vec2::ZERO);
        owner
            .observe(Observation::Moved(state), SharedInstant::from_millis(millis))
            .map(|export| export.is_some())
    };
    assert_eq!(observe(0.0, 100), Ok(true));
    let older = ObserveError::Older { entity: EntityId(7), by: Span::from_micros(1_500) };
    assert_eq!(observe(50.0, 98), Err(ObserveError::Older { entity: EntityId(7), by: Span::from_millis(2) }));
    assert_eq!(
        older.to_string(),
        "cannot observe entity 7: the state is 1.5 ms older than the last observed one; \
         observe states in the order of their instants"
    );
    assert_eq!(observe(0.0, 100), Ok(false), "the same instant again is allowed");
    assert_eq!(observe(50.0, 101), Ok(true));
}

#[test]
fn the_ticks_are_the_grid_each_once() {
    let frames = prop::collection::vec(0..400_000i64, 1..60);
    law!((1..2000u32, -1_000_000..1_000_000i64, frames, 1..600i64), |(hertz, start, frames, most_ms)| {
        let most = Span::from_millis(most_ms);
        let mut steps = FixedSteps::hz(hertz).with_at_once_max(most);
        let rate = steps.rate();
        let start = LocalInstant::from_micros(start);
        let (mut now, mut next) = (start, 0);
        for frame in frames {
            let skipped = steps.skipped();
            let ticks: Vec<_> = steps.until(now).collect();
            next += (steps.skipped() - skipped) as i64;
            prop_assert!(ticks.len() as i64 <= rate.running_at(most).max(1));
            for tick in ticks {
                prop_assert_eq!((tick.number(), tick.at()), (next, start + rate.begin(next)));
                prop_assert!(tick.at() <= now);
                next += 1;
            }
            prop_assert!(start + rate.begin(next) > now, "tick {} is due", next);
            now += Span::from_micros(frame);
        }
        let early = steps.until(now - Span::from_secs(1)).count();
        prop_assert!(early == 0 || hertz < 3, "a clock that runs backwards gives no tick");
        Ok(())
    });
}

#[test]
fn ticks_that_are_not_taken_are_due_again() {
    let mut steps = FixedSteps::hz(100);
    let numbers = |steps: &mut FixedSteps<LocalInstant>, millis, most| {
        let ticks = steps.until(LocalInstant::from_millis(millis)).take(most);
        ticks.map(|tick| tick.number()).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&mut steps, 0, 9), [0]);
    assert_eq!(numbers(&mut steps, 35, 1), [1]);
    assert_eq!(numbers(&mut steps, 35, 9), [2, 3]);
    assert_eq!(numbers(&mut steps, 1035, 1), [79], "25 of 100 after a stall");
    assert_eq!(steps.skipped(), 75);
}
