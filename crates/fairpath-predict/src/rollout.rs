use fairpath::vector::Vec2;

/// Runs tick by tick from `start` to the last tick asked for, and writes down where it is at those
/// asked for.
///
/// `step` gets the number of the tick, counted from 1, and where the tick before ended.
pub(super) fn roll_out(
    start: Vec2,
    ticks: &[u32],
    positions: &mut [Vec2],
    mut step: impl FnMut(u32, Vec2) -> Vec2,
) {
    let (mut tick, mut at) = (0, start);
    for (until, position) in ticks.iter().zip(positions) {
        while tick < *until {
            tick += 1;
            at = step(tick, at);
        }
        *position = at;
    }
}
