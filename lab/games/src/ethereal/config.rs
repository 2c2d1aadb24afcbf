use fairpath::time::TickRate;
use fairpath::vector::Vec2;

use super::history::HISTORY_TICKS;
use super::map::Map;
use crate::shared::{OutOfRange, all_within, count_from, positive_up_to};

/// Ticks per second, as in Shi 2014.
pub const TICKS_PER_SECOND: u32 = 60;
/// Tick k begins at ⌊k·10⁶/60⌋ µs.
pub const TICK_RATE: TickRate = TickRate::hz(TICKS_PER_SECOND);
/// The top speed of a player, in pixels per second: six pixels per tick. Other data is scaled to
/// this game by the ratio of top speeds. [Where it comes from](super#scale).
pub const TOP_SPEED: f64 = 360.0;
/// The acceleration, in pixels per second squared: a tenth of a second from rest to top speed or
/// back. A player feels the inertia, but the keys decide where it goes, not the momentum.
pub const ACCELERATION: f64 = 3_600.0;
/// Width and height of a player's window, in pixels, as in Shi 2014.
pub const SCREEN: Vec2 = Vec2::new(1_280.0, 960.0);
/// The most players together. Every shot is tested against every player: bounds a tick's cost.
pub const PLAYERS_MAX: u32 = 64;

/// The rules of a match. Times are ticks of 1/60 s, lengths are pixels.
///
/// [`TOP_SPEED`] and [`ACCELERATION`] are constants, because they set the scale of the game.
#[derive(Clone, Debug, PartialEq)]
pub struct EtherealConfig {
    /// The number of players of red and of blue. Default 4 and 4, at most [`PLAYERS_MAX`] together.
    pub players: [u32; 2],
    /// The map. Default: the fixed map [`Map::crossing`].
    pub ground: Ground,
    /// Kills that win a round; then a new round begins. Default 25: with the default players a
    /// round takes a few minutes. Very low, and rounds end before the players spread over the map.
    pub score_limit: u32,
    /// Health of a new life. Default 100.
    pub health_max: u32,
    /// Ammunition of a new life, and the most carried. Default 80: enough for two or three fights.
    pub ammo_max: u32,
    /// Health lost per hit. Default 7: fifteen hits kill. At `health_max` one does.
    pub damage: u32,
    /// Ticks from one shot to the next. Default 12, five shots a second.
    pub reload_ticks: u32,
    /// Local lag for firing: ticks from trigger to shot. Default 3, 50 ms, is hardly felt and hides
    /// that much delay. Above about 9 players feel it. Must be less than `reload_ticks`.
    pub fire_lag_ticks: u32,
    /// Time warp: the most ticks that a shot is rewound to the positions that its shooter saw.
    /// Default 15, 250 ms. At 0 a shot is judged at current positions; the higher, the longer a
    /// player can be hit after reaching cover. At most [`HISTORY_TICKS`] − 1.
    pub rewind_ticks_max: u32,
    /// The range of shots. Default 640, half a window: a player sees every enemy that can hit it.
    pub shot_range: f64,
    /// Ticks until a dead player respawns. Default 180, 3 s.
    pub respawn_ticks: u32,
    /// Ticks until a picked-up item respawns. Default 900, 15 s.
    pub item_respawn_ticks: u32,
    /// Health of a health pack. Default 45.
    pub health_pack: u32,
    /// Ammunition of an ammunition pack. Default 40.
    pub ammo_pack: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Ground {
    /// [`Map::crossing`].
    Crossing,
    /// [`Map::generate`] with the match's seed.
    Generated,
    Given(Map),
}

impl Default for EtherealConfig {
    fn default() -> Self {
        Self {
            players: [4, 4],
            ground: Ground::Crossing,
            score_limit: 25,
            health_max: 100,
            ammo_max: 80,
            damage: 7,
            reload_ticks: 12,
            fire_lag_ticks: 3,
            rewind_ticks_max: 15,
            shot_range: 640.0,
            respawn_ticks: 180,
            item_respawn_ticks: 900,
            health_pack: 45,
            ammo_pack: 40,
        }
    }
}

impl EtherealConfig {
    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        all_within(&[
            ("players", f64::from(self.players[0]) + f64::from(self.players[1]), 0.0..=PLAYERS_MAX.into()),
            count_from("score_limit", self.score_limit, 1),
            count_from("health_max", self.health_max, 1),
            count_from("ammo_max", self.ammo_max, 1),
            count_from("damage", self.damage, 1),
            count_from("reload_ticks", self.reload_ticks, 1),
            count_from("respawn_ticks", self.respawn_ticks, 1),
            count_from("item_respawn_ticks", self.item_respawn_ticks, 1),
            ("shot_range", self.shot_range, positive_up_to(SHOT_RANGE_LIMIT)),
            // The trigger must not be free again before its shot has left.
            ("fire_lag_ticks", self.fire_lag_ticks.into(), 0.0..=f64::from(self.reload_ticks) - 1.0),
            ("rewind_ticks_max", self.rewind_ticks_max.into(), 0.0..=f64::from(HISTORY_TICKS - 1)),
        ])
    }
}

/// More than the diagonal of the largest map.
const SHOT_RANGE_LIMIT: f64 = 100_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused_by_name() {
        let broken = |change: fn(&mut EtherealConfig)| {
            let mut config = EtherealConfig::default();
            change(&mut config);
            config.check().map_err(|error| error.knob)
        };
        assert_eq!(broken(|_| ()), Ok(()));
        assert_eq!(broken(|c| c.players = [60, 5]), Err("players"));
        assert_eq!(broken(|c| c.health_max = 0), Err("health_max"));
        assert_eq!(broken(|c| c.shot_range = f64::NAN), Err("shot_range"));
        assert_eq!(broken(|c| c.shot_range = f64::INFINITY), Err("shot_range"));
        assert_eq!(broken(|c| c.fire_lag_ticks = 12), Err("fire_lag_ticks"));
        assert_eq!(broken(|c| c.rewind_ticks_max = HISTORY_TICKS), Err("rewind_ticks_max"));
    }
}
