use fairpath::vector::Vector;

use super::config::TICKS_PER_SECOND;
use super::frame::PlayerFrame;
use super::world::{Ethereal, Event, ShotEnd};

/// Statistics over all ticks passed to [`watch`](Self::watch).
///
/// Only living players count. A second is one of one living player, a minute one of play.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlayStatistics {
    ticks: u64,
    alive: u64,
    moving: u64,
    speed: f64,
    with_friend: u64,
    friend_distance: f64,
    near_enemy: u64,
    direction_changes: u64,
    kills: u64,
    shots: u64,
    hits: u64,
    picked_up: u64,
    /// The last direction pressed by each player, and its life.
    pressed: Vec<(u8, u16)>,
}

/// The distance of a [near](PlayStatistics::near_enemy_share) enemy: Shi 2014's battle.
const NEAR_ENEMY: f64 = 800.0;
/// A slower player counts as standing, in pixels per second.
const MOVING_ABOVE: f64 = 30.0;

impl PlayStatistics {
    /// Adds the tick that was just played.
    pub fn watch(&mut self, ethereal: &Ethereal) {
        self.ticks += 1;
        self.watch_events(ethereal.events());
        let frames: Vec<PlayerFrame> = ethereal.frames().filter(|frame| frame.is_alive).collect();
        for frame in &frames {
            self.watch_player(frame, &frames);
        }
        self.pressed.resize(ethereal.players().len(), (0, 0));
        for (player, pressed) in ethereal.players().iter().zip(&mut self.pressed) {
            let now = (player.input().keys.without_fire().bits(), player.life());
            let is_change = player.is_alive() && now.0 != pressed.0 && now.1 == pressed.1;
            self.direction_changes += u64::from(is_change);
            *pressed = now;
        }
    }

    pub fn minutes(&self) -> f64 {
        self.ticks as f64 / (60.0 * f64::from(TICKS_PER_SECOND))
    }

    pub fn kills_per_minute(&self) -> f64 {
        self.kills as f64 / self.minutes()
    }

    pub fn items_per_minute(&self) -> f64 {
        self.picked_up as f64 / self.minutes()
    }

    pub fn shots_per_minute(&self) -> f64 {
        self.shots as f64 / self.minutes()
    }

    pub fn hit_share(&self) -> f64 {
        self.hits as f64 / self.shots as f64
    }

    /// Returns the mean speed, in pixels per second.
    pub fn mean_speed(&self) -> f64 {
        self.speed / self.alive as f64
    }

    pub fn moving_share(&self) -> f64 {
        self.moving as f64 / self.alive as f64
    }

    /// Returns the share of time for which players had an enemy within 800 pixels.
    pub fn near_enemy_share(&self) -> f64 {
        self.near_enemy as f64 / self.alive as f64
    }

    /// Returns the mean distance to the nearest living friend, in pixels, while there was one.
    pub fn mean_friend_distance(&self) -> f64 {
        self.friend_distance / self.with_friend as f64
    }

    /// Returns how often per second a player pressed another direction, standing included.
    pub fn direction_changes_per_second(&self) -> f64 {
        self.direction_changes as f64 * f64::from(TICKS_PER_SECOND) / self.alive as f64
    }

    fn watch_events(&mut self, events: &[Event]) {
        for event in events {
            match event {
                Event::Died { .. } => self.kills += 1,
                Event::PickedUp { .. } => self.picked_up += 1,
                Event::Fired { end, .. } => {
                    self.shots += 1;
                    self.hits += u64::from(matches!(end, ShotEnd::Player(_)));
                }
                Event::Born { .. } | Event::RoundWon { .. } => {}
            }
        }
    }

    fn watch_player(&mut self, frame: &PlayerFrame, all: &[PlayerFrame]) {
        let nearest = |is_friend: bool| {
            let others = all.iter().filter(|other| other.id != frame.id);
            others
                .filter(|other| (other.team == frame.team) == is_friend)
                .map(|other| other.position.distance(frame.position))
                .min_by(f64::total_cmp)
        };
        let speed = frame.velocity.length();
        self.alive += 1;
        self.speed += speed;
        self.moving += u64::from(speed > MOVING_ABOVE);
        self.near_enemy += u64::from(nearest(false).is_some_and(|distance| distance <= NEAR_ENEMY));
        if let Some(distance) = nearest(true) {
            self.with_friend += 1;
            self.friend_distance += distance;
        }
    }
}

impl std::fmt::Display for PlayStatistics {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(out, "minutes of play             {:8.1}", self.minutes())?;
        writeln!(out, "kills per minute            {:8.2}", self.kills_per_minute())?;
        writeln!(out, "shots per minute            {:8.1}", self.shots_per_minute())?;
        writeln!(out, "share of shots that hit     {:8.3}", self.hit_share())?;
        writeln!(out, "items per minute            {:8.2}", self.items_per_minute())?;
        writeln!(out, "mean speed, px/s            {:8.1}", self.mean_speed())?;
        writeln!(out, "share of time moving        {:8.3}", self.moving_share())?;
        writeln!(out, "share of time near an enemy {:8.3}", self.near_enemy_share())?;
        writeln!(out, "mean distance to friend, px {:8.1}", self.mean_friend_distance())?;
        write!(out, "direction changes per second{:8.2}", self.direction_changes_per_second())
    }
}
