//! `fairpath play …`: games in the terminal.
//!
//! | room | what is in it |
//! | --- | --- |
//! | `jet_car`, `sailing`, `race` | one game each: its options, its keys, its picture |
//! | `canvas` | a picture made of characters |
//! | `terminal` | raw mode, keys and colours, and everything put back in the end |
//!
//! The server, the player and the [`RoundTrip`](fairpath_games::shared::RoundTrip) between them
//! live in this one process, but meet only there: what is drawn is what arrived, with `--compensate
//! on` played on by the player's own inputs, and what the server plays is the input that arrived.
//! With `--connect` the server is elsewhere, and the link is the network.

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand, ValueEnum};
use fairpath::time::{SharedInstant, Span, TickRate};
use fairpath_experiments::online::{PlayerStatus, RemoteGame, RemotePlayer};
use fairpath_games::shared::CONVERGENCE;
use fairpath_net::{Fingerprint, Trust};

use crate::BadInput;
use canvas::TextCanvas;
use fairpath_games::online::ClientGame;
use terminal::{Key, Terminal};

mod canvas;
mod jet_car;
mod link;
mod race;
mod sailing;
mod terminal;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Steer a car with thrusters and no brakes among falling obstructions
    #[command(after_help = jet_car::HELP)]
    JetCar(jet_car::JetCarOptions),
    /// Sail to a buoy before the opponent
    #[command(after_help = sailing::HELP)]
    Sailing(sailing::SailingOptions),
    /// Race other cars to the finish, alone against bots or with others at a server
    #[command(after_help = race::HELP)]
    Race(race::RaceOptions),
}

/// The options of all games.
#[derive(Args)]
struct Common {
    /// Every random choice follows from it
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// The round trip to the server, in milliseconds
    #[arg(long, default_value_t = 0, value_name = "MS", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    lag: u32,
    /// Whether the screen simulates ahead of the server with your own inputs
    #[arg(long, value_enum, default_value_t = Switch::Off)]
    compensate: Switch,
    /// Let the bot play
    #[arg(long)]
    bot: bool,
    #[command(flatten)]
    online: Online,
}

/// A server elsewhere, if one is named. Rules and weather are then the server's, and the delay is
/// what the network has.
#[derive(Args, Clone, Default)]
struct Online {
    /// Play on this server, or through a middleman before it [default: in this process]
    #[arg(long, value_name = "HOST:PORT", requires = "pin", conflicts_with = "lag")]
    connect: Option<String>,
    /// The fingerprint of the server's certificate, as `serve` prints it
    #[arg(long, value_name = "FINGERPRINT", requires = "connect")]
    pin: Option<String>,
}

impl Online {
    /// Begins to connect, if a server is named.
    fn far_end<H: ClientGame + 'static>(
        &self,
        scene: &H::Scene,
    ) -> Result<Option<Box<dyn RemoteGame<H::Rules>>>, BadInput> {
        let (Some(connect), Some(pin)) = (&self.connect, &self.pin) else { return Ok(None) };
        let pin: Fingerprint = pin
            .parse()
            .map_err(|error: fairpath_net::NotAFingerprint| BadInput::of("--pin", pin, &error.to_string()))?;
        let server = crate::live::address("--connect", connect)?;
        let trust = Trust::Pinned(vec![pin]);
        let far = RemotePlayer::<H>::connect(server, trust, scene.clone(), CONVERGENCE)?;
        Ok(Some(Box::new(far)))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

impl Common {
    fn round_trip(&self) -> Span {
        Span::from_millis(self.lag.into())
    }

    fn compensates(&self) -> bool {
        self.compensate == Switch::On
    }

    /// The delay in a few words, for the status line.
    fn lag_in_words(&self, status: Option<PlayerStatus>) -> String {
        let compensated = if self.compensate == Switch::On { ", compensated" } else { "" };
        match status {
            None => format!("lag {} ms{compensated}", self.lag),
            Some(PlayerStatus::Playing(None)) => format!("connected{compensated}"),
            Some(PlayerStatus::Playing(Some(rtt))) => {
                format!("round trip {:.0} ms{compensated}", rtt.as_millis_f64())
            }
            Some(PlayerStatus::Waiting(words) | PlayerStatus::Over(words)) => words,
        }
    }
}

pub(crate) fn execute(command: Command) -> Result<ExitCode, BadInput> {
    match command {
        Command::JetCar(options) => play(options.game()?),
        Command::Sailing(options) => play(options.game()?),
        Command::Race(options) => play(options.game()?),
    }
}

/// A game as the loop below sees it.
trait Playable {
    const TICK_RATE: TickRate;

    fn press(&mut self, key: Key);

    /// Plays one tick on both sides of the link; `now` is when it ends.
    fn tick(&mut self, now: SharedInstant);

    fn draw(&self, canvas: &mut TextCanvas);

    /// One line for when the terminal is itself again.
    fn farewell(&self) -> String;
}

/// How often the picture is drawn: 25 times per second.
const FRAME: Duration = Duration::from_millis(40);
/// The longest stretch that is caught up with; after a longer one the game goes on where it was.
const CATCH_UP_MAX: Span = Span::from_millis(500);

fn play<G: Playable>(mut game: G) -> Result<ExitCode, BadInput> {
    let mut terminal = Terminal::open()?;
    let result = run(&mut game, &mut terminal);
    drop(terminal);
    result?;
    crate::print::to_stdout(&format!("{}\n", game.farewell()))?;
    Ok(ExitCode::SUCCESS)
}

fn run<G: Playable>(game: &mut G, terminal: &mut Terminal) -> io::Result<()> {
    let mut played: i64 = 0;
    let mut began = Instant::now();
    let mut next_frame = began;
    loop {
        // Ticks come more often than frames: what the hands do must not wait for a picture.
        let next_tick =
            began + Duration::from_micros(G::TICK_RATE.begin(played + 1).as_micros().unsigned_abs());
        while let Some(key) = terminal.key_until(next_frame.min(next_tick))? {
            if key == Key::Quit {
                return Ok(());
            }
            game.press(key);
        }
        let mut elapsed = Span::from_micros(began.elapsed().as_micros() as i64);
        let behind = elapsed - G::TICK_RATE.begin(played);
        if behind > CATCH_UP_MAX {
            began += Duration::from_micros(behind.as_micros().unsigned_abs());
            elapsed = G::TICK_RATE.begin(played);
        }
        while G::TICK_RATE.begin(played + 1) <= elapsed {
            played += 1;
            game.tick(SharedInstant::ZERO + G::TICK_RATE.begin(played));
        }
        if Instant::now() >= next_frame {
            next_frame = Instant::now() + FRAME;
            let mut canvas = terminal.canvas()?;
            game.draw(&mut canvas);
            terminal.show(&canvas)?;
        }
    }
}
