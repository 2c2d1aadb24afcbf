//! Prints the meaning of a golden message, bit by bit: `cargo run -p spec-check
//! lab/vectors/one_linear_2d.hex`.

use std::path::Path;
use std::process::ExitCode;

use spec_check::{Bits, Given, Rejected, decode, decode_sealed, decode_session};

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!(
            "usage: spec-check FILE.hex, with FILE.txt beside it\nexample: spec-check lab/vectors/one_linear_2d.hex"
        );
        return ExitCode::from(2);
    };
    let path = Path::new(&path);
    let (hex, given) =
        match (std::fs::read_to_string(path), std::fs::read_to_string(path.with_extension("txt"))) {
            (Ok(hex), Ok(given)) => (hex, given),
            (Err(error), _) | (_, Err(error)) => {
                eprintln!("error: cannot read {} and the .txt beside it: {error}", path.display());
                return ExitCode::from(2);
            }
        };
    let given = given.replace('\r', "");
    if let Some((given, _)) = given.split_once("\n\n")
        && given.starts_with("sealed\n")
    {
        match decode_sealed(given, &hex) {
            Ok(text) => println!("{text}"),
            Err(Rejected(reason)) => println!("refused: {reason}"),
        }
        return ExitCode::SUCCESS;
    }
    if let Some((room @ ("stream" | "message" | "datagram" | "lobby"), _)) = given.split_once("\n\n") {
        match decode_session(room, &hex) {
            Ok(text) => println!("{text}"),
            Err(Rejected(reason)) => println!("refused: {reason}"),
        }
        return ExitCode::SUCCESS;
    }
    let mut bits = Bits::from_hex(&hex);
    let answer = decode(&mut bits, &Given::from_text(&given));
    bits.story().iter().for_each(|line| println!("{line}"));
    match answer {
        Ok(text) => println!("\n{text}"),
        Err(Rejected(reason)) => println!("\nrefused: {reason}"),
    }
    ExitCode::SUCCESS
}
