//! `cargo xtask bench fan-out`: the server's cost of sending many entities to many receivers, with
//! Fairpath and with other libraries.
//!
//! Every method replicates the same recorded tanks. One process is the server and is measured
//! alone. A second process runs all receivers and compares what each shows with the truth, by the
//! machine's clock. A proxy between them counts the bytes and datagrams that the sockets send,
//! without IP and UDP headers.
#![forbid(unsafe_code)]

mod chart;
mod contest;
mod growth;
mod roles;
mod snapshot;
mod table;
mod ways;

use std::process::ExitCode;

const HELP: &str = "\
fan-out [WORD…]    send 64 tanks to 16 and to 64 receivers with every method; WORDs choose methods and numbers of receivers,
                   such as `fan-out raw fairpath 16`; `x5` runs all of them five times in turns and shows the best
growth [DIR]       measure how the cost grows with entities, receivers and loss; write charts to DIR (default fairpath-out/growth)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [roles::AS_SERVER, rest @ ..] => roles::serve(rest),
        [roles::AS_RECEIVERS, rest @ ..] => roles::receive(rest),
        ["fan-out", chosen @ ..] => return contest::fan_out(chosen),
        ["growth"] => return growth::measure("fairpath-out/growth"),
        ["growth", folder] => return growth::measure(folder),
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
