//! Where will players be?

pub(super) mod play_pattern_error;
pub(super) mod play_pattern_hits;
pub(super) mod play_pattern_packets;
mod play_patterns;
pub(super) mod trend_line;
