//! The server: `cargo run --bin server [ADDRESS]`, by default on 0.0.0.0:7777.

use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use fairpath_net::NetServer;
use fairpath_template::{ServerGame, ctrl_c, protocol};

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
    let address = std::env::args().nth(1).unwrap_or_else(|| "0.0.0.0:7777".into());
    let is_over = ctrl_c()?;
    let server = NetServer::listen(address.as_str(), &protocol())?;
    println!("address {}", server.address());
    println!("pin {}", server.fingerprint());
    println!("on this machine: cargo run --bin client");
    let mut game = ServerGame::default();
    while !is_over.load(Ordering::Relaxed) {
        server.frame(|frame| game.frame(frame))?;
        while let Some(ended) = server.poll_ended() {
            println!("client {} at {}: {}", ended.client.0, ended.address, ended.problem);
        }
        sleep(Duration::from_millis(16));
    }
    println!("stopping");
    server.shutdown(Duration::from_secs(1));
    Ok(())
}
