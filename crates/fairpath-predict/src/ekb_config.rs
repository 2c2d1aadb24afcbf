use std::f64::consts::PI;

use super::TICK_RATE;
use fairpath::vector::Vec2;

/// The parameters of EKB and all its relatives: Shi 2014's table 1, and the numbers that stand only
/// in its text.
///
/// Lengths are pixels of Ethereal and its top speed is 360 pixels per second; for other data take
/// [`scaled`](Self::scaled). Health and ammunition are shares and need no scale. Shi 2014 found its
/// values by trial on sessions of its own game.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EkbConfig {
    /// S, how fast a player can get, in units per second. Default 360. Too low, and everybody is
    /// predicted to lag behind; too high, and to run past their friends. At 360 a player covers
    /// 756 pixels in 2.1 s.
    pub top_speed: f64,
    /// Who counts: those at most that far away along x and along y. Default 1280 × 960, the size of
    /// a screen. Smaller, and players seem alone; larger, and they follow friends they cannot
    /// see.
    pub sight: Vec2,
    /// W, how near an enemy must be for a battle. Default 800. At 0 nobody fights, above 1600 (the
    /// diagonal of a screen) everybody who sees an enemy does.
    pub battle_within: f64,
    /// k, how much the strength of friends counts beside one's own. Default 0.4, positive. At 0 a
    /// player looks at itself only; at 1 two friends make it as brave as being twice as strong.
    /// With one healthy friend and the own strength 2 it is 2.8 against the enemies.
    pub friend_strength: f64,
    /// u, how far from its friends a player goes towards the enemy, or away from it. Default 200.
    /// At 0 bravery is the same as following.
    pub bravery_reach: f64,
    /// l, how many ticks the change to the predicted velocity takes per unit of distance to the
    /// nearest player. Default 0.1: 30 ticks where the nearest is 300 away. At 0 the last known
    /// velocity is forgotten at once.
    pub transition_ticks_per_unit: f64,
    /// R, how many ticks that change takes at most. Default 60, one second.
    pub transition_ticks_max: u32,
    /// q, how much following counts in battle, between 0 and 1; bravery is the rest. Default 0.5.
    pub follow_in_battle: f64,
    /// r, how much following counts out of battle, between 0 and 1; alignment is the rest. Default
    /// 0.6.
    pub follow_out_of_battle: f64,
    /// D_fMIN: a friend nearer than that is followed in its direction with full weight. Default 60,
    /// a player's width.
    pub align_fully_within: f64,
    /// D_fMAX: a friend beyond that does not matter for the direction. Default 1000; more than
    /// [`align_fully_within`](Self::align_fully_within).
    pub align_within: f64,
    /// h, by how much the direction may have differed for the hybrids to call it the same, in
    /// radians, 0 to π. Default 40°: with eight directions on the keys, a change to the next
    /// one is noticed. At 0 the hybrids are EKB, at π they are TDM for all that moves and is
    /// asked for beyond [`ekb_ticks`](Self::ekb_ticks).
    pub same_direction_within: f64,
    /// x, up to how many ticks ahead the hybrids always use EKB. Default 21, which is 350 ms.
    pub ekb_ticks: u32,
    /// What the others do meanwhile.
    pub others: Others,
    /// Where OAEKB aims.
    pub aim: Aim,
}

/// What the others are taken to do while somebody is predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Others {
    /// They stay where they were last known to be, as in Shi 2014.
    #[default]
    Stay,
    /// They keep the velocity they were last known to have.
    KeepVelocity,
}

/// At which node of a path around walls a player is taken to aim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aim {
    /// At the next one, as in Shi 2014: the middle of a neighbouring cell.
    #[default]
    NextNode,
    /// At the farthest that can be walked to in a straight line; in the open that is where the path
    /// ends. For grids whose cells are large beside a player.
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
            transition_ticks_per_unit: 0.1,
            transition_ticks_max: 60,
            follow_in_battle: 0.5,
            follow_out_of_battle: 0.6,
            align_fully_within: 60.0,
            align_within: 1_000.0,
            same_direction_within: 40.0 / 180.0 * PI,
            ekb_ticks: 350 * TICK_RATE.as_hz() / 1_000,
            others: Others::Stay,
            aim: Aim::NextNode,
        }
    }
}

impl EkbConfig {
    /// The same where everything is `factor` times as long: its top speed divided by the one here.
    /// Times and shares stay as they are; ticks per unit become fewer where units become more.
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

    /// The same for data whose fastest player makes `top_speed` units per second.
    #[must_use]
    pub fn for_top_speed(self, top_speed: f64) -> Self {
        self.scaled(top_speed / self.top_speed)
    }
}
