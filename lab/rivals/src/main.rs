//! `cargo xtask bench fan-out`: what it costs a server to tell many receivers of many things,
//! Fairpath beside the other ways.
//!
//! The same tanks drive for everybody. A server process tells, another process receives for all
//! receivers and compares what each of them shows with the truth, by the machine's one clock; so
//! the server's processor time is measured alone. Between them is a proxy, the same for all, which
//! counts bytes and datagrams: what the sockets send, without IP and UDP.
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
fan-out [WORD…]    tells of 64 tanks to 16 and to 64 receivers, in every way; WORDs choose ways and numbers of receivers,
                   such as `fan-out raw fairpath 16`
growth [DIR]       how Fairpath's cost grows with entities, receivers and loss, beside the raw loop; pictures into DIR
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
