//! A client: `cargo run --bin client [ADDRESS PIN]`, by default of the server on this machine.

use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use fairpath::prelude::*;
use fairpath_net::{Identity, NetClient};
use fairpath_template::{ClientGame, NAME, ctrl_c, protocol};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:7777".into());
    let pin = match arguments.next() {
        Some(pin) => pin.parse()?,
        // A server on this machine uses this certificate.
        None => Identity::stored(NAME)?.fingerprint(),
    };
    let is_over = ctrl_c()?;
    let client = NetClient::join(address.as_str(), pin, &protocol())?;
    println!("joining {address}");
    let number = std::process::id();
    let start = Vec2::from_heading(f64::from(number)) * 10.0;
    let mut game = ClientGame::new(&format!("player {number}"), start);
    for frame_number in 0_u64.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let ships = client.frame(|frame| game.frame(frame).map(|()| game.ships(frame)))?;
        while let Some(problem) = client.poll_problem() {
            if problem.is_final() {
                return Err(problem.into());
            }
            eprintln!("{problem}");
        }
        // Draw here. This client has no display and prints once a second.
        if frame_number % 60 == 0 {
            for (name, score, state) in ships {
                println!("{name}: {} coins, at {:.1} {:.1}", score.0, state.position.x, state.position.y);
            }
        }
        sleep(Duration::from_millis(16));
    }
    println!("leaving");
    client.leave(Duration::from_secs(1));
    Ok(())
}
