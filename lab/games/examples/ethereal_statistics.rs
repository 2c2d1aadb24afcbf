//! What a match of Ethereal looks like in numbers, over several seeds, and how far a straight line
//! from the last known velocity goes wrong in it, beside what Shi 2014 measured for its players.
//!
//! `cargo run --release -p fairpath-games --example ethereal_statistics -- [MINUTES] [SEEDS]`

use std::process::ExitCode;

use fairpath::vector::Vector;
use fairpath_games::ethereal::{
    EtherealConfig, Ground, Match, PlayStatistics, PlayerFrame, TICKS_PER_SECOND, Temperament,
};

/// Shi 2014's table 5: the horizon in milliseconds, and the mean error of its TDM in pixels.
const S2_TDM: [(u64, f64); 7] =
    [(300, 35.6), (600, 109.1), (900, 198.7), (1_200, 293.3), (1_500, 388.8), (1_800, 484.2), (2_100, 579.5)];

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let mut number_or = |default: u64| numbers.next().unwrap_or(Ok(default));
    let (Ok(minutes), Ok(seeds)) = (number_or(10), number_or(4)) else {
        eprintln!("error: minutes and seeds are whole numbers");
        return ExitCode::from(2);
    };
    for (name, ground) in [("crossing", Ground::Crossing), ("generated maps", Ground::Generated)] {
        let mut watched = Watched::default();
        for seed in 0..seeds {
            let config = EtherealConfig { ground: ground.clone(), ..EtherealConfig::default() };
            let Ok(mut game) = Match::of_bots(config, seed) else { unreachable!("sound rules") };
            watched.past.clear();
            for _ in 0..minutes * 60 * u64::from(TICKS_PER_SECOND) {
                game.step();
                watched.watch(&game);
            }
        }
        println!("== {name}\n{}\n", watched.play);
        watched.print_temperaments();
        watched.print_line_errors();
    }
    ExitCode::SUCCESS
}

#[derive(Default)]
struct Watched {
    play: PlayStatistics,
    by_temperament: [ByTemperament; 4],
    /// The last few seconds, newest last.
    past: Vec<Vec<PlayerFrame>>,
    line_errors: [(f64, u64, u64); S2_TDM.len()],
}

#[derive(Clone, Copy, Default)]
struct ByTemperament {
    alive: u64,
    speed: f64,
    friend: f64,
    kills: u32,
    deaths: u32,
}

impl Watched {
    fn watch(&mut self, game: &Match) {
        self.play.watch(game.ethereal());
        let frames: Vec<PlayerFrame> = game.ethereal().frames().collect();
        for (frame, seat) in frames.iter().zip(game.drivers()) {
            let Some(kind) = seat.temperament().filter(|_| frame.is_alive) else { continue };
            let row = &mut self.by_temperament[kind as usize];
            let friends = frames.iter().filter(|other| other.team == frame.team && other.id != frame.id);
            let distances =
                friends.filter(|other| other.is_alive).map(|other| other.position.distance(frame.position));
            row.alive += 1;
            row.speed += frame.velocity.length();
            row.friend += distances.min_by(f64::total_cmp).unwrap_or(0.0);
        }
        for event in game.ethereal().events() {
            if let fairpath_games::ethereal::Event::Died { player, by, .. } = event {
                let kind = |id: &fairpath::number::EntityId| game.drivers()[id.0 as usize].temperament();
                if let (Some(victim), Some(killer)) = (kind(player), kind(by)) {
                    self.by_temperament[victim as usize].deaths += 1;
                    self.by_temperament[killer as usize].kills += 1;
                }
            }
        }
        self.measure_lines(&frames);
        self.past.push(frames);
    }

    fn measure_lines(&mut self, frames: &[PlayerFrame]) {
        for ((millis, _), (sum, hits, count)) in S2_TDM.iter().zip(&mut self.line_errors) {
            let ticks = (millis * u64::from(TICKS_PER_SECOND) / 1_000) as usize;
            let Some(past) = self.past.len().checked_sub(ticks).map(|at| &self.past[at]) else { continue };
            let secs = *millis as f64 * 1e-3;
            for (now, then) in frames.iter().zip(past) {
                if now.is_alive && then.is_alive && now.life == then.life {
                    let error = (then.position + then.velocity * secs).distance(now.position);
                    *sum += error;
                    *hits += u64::from(error <= 45.0);
                    *count += 1;
                }
            }
        }
    }

    fn print_temperaments(&self) {
        println!("temperament   speed  friend  kills  deaths");
        for (kind, row) in Temperament::ALL.iter().zip(&self.by_temperament) {
            let mean = |sum: f64| sum / row.alive as f64;
            println!(
                "{:12} {:6.1} {:7.1} {:6} {:7}",
                format!("{kind:?}"),
                mean(row.speed),
                mean(row.friend),
                row.kills,
                row.deaths
            );
        }
        println!();
    }

    fn print_line_errors(&self) {
        println!("horizon ms   line error px   hits %   Shi 2014's TDM px");
        for ((millis, tdm), (sum, hits, count)) in S2_TDM.iter().zip(&self.line_errors) {
            let share = |part: f64| part / *count as f64;
            println!("{millis:10} {:15.1} {:8.1} {tdm:13.1}", share(*sum), 100.0 * share(*hits as f64));
        }
        println!();
    }
}
