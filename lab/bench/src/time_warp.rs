//! The cost of one shot on a server that rewinds: every player as the shooter saw it.

use fairpath::State;
use fairpath::number::{EntityId, Life};
use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span, TickRate};
use fairpath::vector::{Vec2, Vec3, Vector};
use fairpath_compensate::{Moment, TimeWarp, TimeWarpConfig};

use crate::measure::{BenchTable, Contender};

const PLAYERS: u32 = 64;
const TICK_RATE: TickRate = TickRate::hz(60);
const REWOUND: Span = Span::from_millis(500);

pub(crate) fn bench() -> BenchTable {
    let config = TimeWarpConfig { rewind_max: REWOUND, ..TimeWarpConfig::default() };
    let (plane, now) = recorded::<Vec2>(config);
    let (space, _) = recorded::<Vec3>(config);
    let (mut seen_plane, mut seen_space) = (Vec::new(), Vec::new());
    let mut recording = plane.clone();
    let (mut players, mut tick) = (Vec::new(), 10 * i64::from(TICK_RATE.as_hz()));
    plane.rewind(now, now, &mut players);
    let mut copied = players.clone();
    // Between two ticks, so that every player is interpolated.
    let seen_at = now - REWOUND + Span::from_millis(5);
    let memory = [plane.memory_bytes(), space.memory_bytes()];
    let table = BenchTable::measure(
        "Time warp: one shot rewinds 64 players by 500 ms, with 1 s of history at 60 Hz",
        vec![
            Contender::new("copying 64 states", 1, || {
                copied.copy_from_slice(&players);
                copied[7].state.position.x
            }),
            Contender::new("TimeWarp::rewind in the plane", 1, || {
                plane.rewind(now, seen_at, &mut seen_plane);
                seen_plane[7].state.position.x
            }),
            Contender::new("TimeWarp::rewind in space (quaternions)", 1, || {
                space.rewind(now, seen_at, &mut seen_space);
                seen_space[7].state.position.x
            }),
            Contender::new("TimeWarp::record in the plane, one tick", 1, || {
                tick += 1;
                recording.record(SharedInstant::ZERO + TICK_RATE.begin(tick), players.iter().copied());
                players[7].state.position.x
            }),
        ],
    );
    let [plane_kib, space_kib] = memory.map(|bytes| bytes as f64 / 1024.0);
    table
        .note("goal: below 10 µs")
        .note(format!("memory, constant: {plane_kib:.0} KiB in the plane, {space_kib:.0} KiB in space"))
}

/// Records ten seconds of running players, and returns the instant of the end.
fn recorded<V: Vector>(config: TimeWarpConfig) -> (TimeWarp<V>, SharedInstant) {
    let mut random = Random::from_seed(5);
    let mut warp = TimeWarp::new(config);
    let mut players: Vec<State<V>> = (0..PLAYERS)
        .map(|_| {
            let mut draw = |limit: f64| V::from_components(|_| random.between(-limit, limit));
            State::moving(draw(400.0), draw(25.0))
        })
        .collect();
    let mut now = SharedInstant::ZERO;
    for tick in 0..10 * i64::from(TICK_RATE.as_hz()) {
        now = SharedInstant::ZERO + TICK_RATE.begin(tick);
        for state in &mut players {
            state.position += state.velocity * TICK_RATE.step_secs();
            let push = V::from_components(|_| random.between(-1.0, 1.0));
            *state = State::moving(state.position, state.velocity + push);
        }
        let moments = (0..).map(EntityId).zip(&players);
        warp.record(
            now,
            moments.map(|(entity, state)| Moment { entity, life: Life::default(), state: *state }),
        );
    }
    (warp, now)
}
