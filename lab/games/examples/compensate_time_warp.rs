//! A shooter 200 ms away aims at what its screen shows, and the server judges: where the victim is
//! now, or where the shooter saw it. A cap on the rewinding bounds how far behind cover a player is
//! hit.
//!
//! `cargo run --release -p fairpath-games --example compensate_time_warp`

use fairpath::State;
use fairpath::number::{EntityId, Life};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath_compensate::{Moment, TimeWarp, TimeWarpConfig};

/// What a shot that passes this near hits.
const REACH: f64 = 2.0;
/// Beyond this the victim is behind a wall.
const WALL: f64 = 100.0;

fn main() {
    let now = SharedInstant::from_millis(4_100);
    let seen_at = now - Span::from_millis(200);
    println!(
        "at {:.1} the victim is {:.1} behind the wall",
        running(now).position.x,
        running(now).position.x - WALL
    );
    let [unwarped, capped, whole] =
        [0, 100, 1_000].map(|millis| judge(now, seen_at, Span::from_millis(millis)));
    println!("no rewinding: {unwarped:?}\nat most 100 ms: {capped:?}\nall of it: {whole:?}");
    assert!(!unwarped.is_hit && whole.is_hit, "with warp what the shooter saw is hit");
    assert!(!capped.is_hit, "100 ms back the victim is not where the shooter saw it");
}

#[derive(Debug)]
struct Verdict {
    is_hit: bool,
    #[expect(dead_code, reason = "for the eye")]
    rewound: Span,
}

/// The shooter aims at where the victim was on its screen. Was it hit?
fn judge(now: SharedInstant, seen_at: SharedInstant, rewind_max: Span) -> Verdict {
    let mut warp = TimeWarp::new(TimeWarpConfig { rewind_max, ..TimeWarpConfig::default() });
    for tick in 0..=now.as_micros() / 20_000 {
        let at = SharedInstant::from_millis(20 * tick);
        warp.record(at, [Moment { entity: EntityId(2), life: Life::default(), state: running(at) }]);
    }
    let aimed_at = running(seen_at).position;
    let mut seen = Vec::new();
    let at = warp.rewind(now, seen_at, &mut seen).unwrap_or(now);
    Verdict { is_hit: seen[0].state.position.distance(aimed_at) < REACH, rewound: now - at }
}

/// A player that runs for cover.
fn running(at: SharedInstant) -> State<Vec2> {
    State::moving(Vec2::new(25.0 * at.as_secs_f64(), 0.0), Vec2::new(25.0, 0.0))
}

#[test]
fn it_runs_as_written() {
    main();
}
