use fairpath::vector::Vec2;

/// Runs from `start` to the last of `ticks`, one tick at a time, and writes the position at each of
/// `ticks`. `step` gets the tick's number, from 1, and the position at the end of the last.
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
