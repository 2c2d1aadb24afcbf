use std::f64::consts::PI;

use super::TICK_RATE;
use fairpath::vector::Vec2;

/// The parameters of [`Ekb`](super::Ekb), [`Oaekb`](super::Oaekb) and [`Hybrid`](super::Hybrid):
/// table 1 of Shi 2014, and the numbers that are only in its text.
///
/// Lengths are pixels of the game Ethereal, whose top speed is 360 pixels per second; for other
/// data use [`scaled`](Self::scaled). Health and ammunition are ratios and need no scale. Shi 2014
/// found the values by trial on sessions of Ethereal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EkbConfig {
    /// S, the top speed of a player in units per second. Default 360. Too low, and predicted
    /// players lag behind; too high, and they run past their friends. 360 is 756 pixels in 2.1 s.
    pub top_speed: f64,
    /// Distance along x and along y up to which another player counts. Default 1280 × 960, the size
    /// of a screen. Smaller, and players seem alone; larger, and they follow unseen friends.
    pub sight: Vec2,
    /// W, the distance to an enemy at which a battle begins. Default 800. At 0 no player fights;
    /// above 1600 (the diagonal of a screen) every player that sees an enemy fights.
    pub battle_within: f64,
    /// k, the weight of the friends' strength beside the player's own. Default 0.4, positive. At 0
    /// a player counts only itself; at 1 two friends count as much as being twice as strong. With
    /// one healthy friend and a strength of 2, a player counts 2.8 against the enemies.
    pub friend_strength: f64,
    /// u, how far from its friends a player moves towards the enemy, or away from it. Default 200.
    /// At 0 bravery is the same as following.
    pub bravery_reach: f64,
    /// l, how many ticks the change to the predicted velocity takes per unit of distance to the
    /// nearest player. Default 1, equation 17 of Shi 2014 as printed: with a player farther than 60
    /// away the change takes [`transition_ticks_max`](Self::transition_ticks_max). The text and
    /// table 1 of Shi 2014 say [0.1](Self::TICKS_PER_UNIT_IN_THE_TEXT), 30 ticks if the nearest
    /// player is 300 away, but its results need equation 17: the mean error of EKB 300 ms ahead is
    /// 38 pixels with 1, 60 with 0.1, and 37.8 in Shi 2014. At 0 the last known velocity is dropped
    /// at once.
    pub transition_ticks_per_unit: f64,
    /// R, the maximum number of ticks of that change. Default 60, one second.
    pub transition_ticks_max: u32,
    /// q, the weight of following in battle, between 0 and 1; bravery has the rest. Default 0.5.
    pub follow_in_battle: f64,
    /// r, the weight of following out of battle, between 0 and 1; alignment has the rest. Default
    /// 0.6.
    pub follow_out_of_battle: f64,
    /// D_fMIN: the direction of a nearer friend has full weight. Default 60, a player's width.
    pub align_fully_within: f64,
    /// D_fMAX: the direction of a friend farther than this has no weight. Default 1000; must exceed
    /// [`align_fully_within`](Self::align_fully_within).
    pub align_within: f64,
    /// h, the angle within which [`Hybrid`](super::Hybrid) calls two directions the same, in
    /// radians from 0 to π. Default 40°: with eight directions on the keys, a change to the next
    /// one is noticed. At 0 a hybrid is EKB; at π it keeps the acceleration of everything that
    /// moves, farther ahead than [`ekb_ticks`](Self::ekb_ticks).
    pub same_direction_within: f64,
    /// x, ticks ahead up to which [`Hybrid`](super::Hybrid) uses play patterns. Default 21, 350 ms.
    pub ekb_ticks: u32,
    /// Expected motion of the other players.
    pub others: Others,
    /// Node of a path that [`Oaekb`](super::Oaekb) aims at.
    pub aim: Aim,
    /// When [`Hybrid`](super::Hybrid) keeps the acceleration.
    pub hybrid: HybridRule,
}

/// How the other players are expected to move while one player is predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Others {
    /// They stay at their last known position, as in Shi 2014.
    #[default]
    Stay,
    /// They keep their last known velocity.
    KeepVelocity,
    /// They are where they really are at every tick: [`Known::replayed`](crate::Known::replayed).
    /// For replays of finished matches, such as that of Shi 2014 may have been. After the end of
    /// what is replayed they stay.
    Replayed,
}

/// When [`Hybrid`](super::Hybrid) keeps the acceleration instead of the play patterns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HybridRule {
    /// If the subject has kept its direction for at least as long as the prediction looks ahead:
    /// algorithm 3 of Shi 2014.
    #[default]
    Algorithm,
    /// If it has kept its direction for at most as long as the prediction looks ahead: section 4.3
    /// (ii) of Shi 2014 as written, the contrary of algorithm 3.
    Text,
}

/// The node of a path around walls that a player aims at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aim {
    /// The next node, as in Shi 2014: the middle of a neighbouring cell.
    #[default]
    NextNode,
    /// The farthest node that a straight line reaches without a wall; in the open, the end of the
    /// path. For grids whose cells are large compared to a player.
    FarthestInSight,
}

impl Default for EkbConfig {
    fn default() -> Self {
        Self {
            top_speed: 360.0,
            sight: Vec2::new(1_280.0, 960.0),
            battle_within: 800.0,
            friend_strength: 0.4,
            bravery_reach: 200.0,
            transition_ticks_per_unit: 1.0,
            transition_ticks_max: 60,
            follow_in_battle: 0.5,
            follow_out_of_battle: 0.6,
            align_fully_within: 60.0,
            align_within: 1_000.0,
            same_direction_within: 40.0 / 180.0 * PI,
            ekb_ticks: 350 * TICK_RATE.as_hz() / 1_000,
            others: Others::Stay,
            aim: Aim::NextNode,
            hybrid: HybridRule::Algorithm,
        }
    }
}

impl EkbConfig {
    /// [`transition_ticks_per_unit`](Self::transition_ticks_per_unit) by the text and table 1 of
    /// Shi 2014, for the default scale.
    pub const TICKS_PER_UNIT_IN_THE_TEXT: f64 = 0.1;

    /// Returns the same parameters for a world in which every length is `factor` times as long: the
    /// other world's top speed divided by this one's.
    ///
    /// Times and ratios stay. Ticks per unit are divided by `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            top_speed: self.top_speed * factor,
            sight: self.sight * factor,
            battle_within: self.battle_within * factor,
            bravery_reach: self.bravery_reach * factor,
            transition_ticks_per_unit: self.transition_ticks_per_unit / factor,
            align_fully_within: self.align_fully_within * factor,
            align_within: self.align_within * factor,
            ..self
        }
    }

    /// Returns the parameters for data whose fastest player moves at `top_speed` units per second.
    #[must_use]
    pub fn for_top_speed(self, top_speed: f64) -> Self {
        self.scaled(top_speed / self.top_speed)
    }
}
