//! `cargo xtask bench [NAME]`: measures how fast Fairpath is.
//!
//! Every time is a ratio to a baseline that is measured in the same run, in alternation, best of
//! five: machines differ and stall, ratios can be repeated. Absolute times stand beside them.

mod allocator;
mod congestion;
mod crowd;
mod error;
mod fleet;
mod hostile;
mod idle;
mod interest;
mod latency;
mod measure;
mod memory;
mod middleman;
mod predict;
mod schedule;
mod send_path;
mod sizes;
mod thousand;
mod time_warp;
mod wire;
mod workload;

use std::process::ExitCode;

use measure::BenchTable;

/// A bench: its name on the command line, and the function that measures it.
type BenchEntry = (&'static str, fn() -> BenchTable);

const BENCHES: [BenchEntry; 16] = [
    ("place", crowd::bench),
    ("wire", wire::bench),
    ("error", error::bench),
    ("schedule-linear", schedule::bench_linear),
    ("schedule-circular", schedule::bench_circular),
    ("schedule-server", schedule::bench_server),
    ("send-path", send_path::bench),
    ("middleman", middleman::bench),
    ("predict", predict::bench),
    ("congestion", congestion::bench),
    ("interest", interest::bench),
    ("memory", memory::bench),
    ("idle", idle::bench),
    ("latency", latency::bench),
    ("hostile", hostile::bench),
    ("time-warp", time_warp::bench),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted = arguments.first().cloned();
    let rest = arguments.get(1..).unwrap_or_default();
    match wanted.as_deref() {
        Some(memory::AS_CLIENTS) => memory::run_clients(rest),
        Some(idle::AS_CLIENTS) => idle::run_clients(rest),
        Some(thousand::AS_SERVER) => thousand::run_server(rest),
        Some(thousand::AS_BOTS) => thousand::run_bots(rest),
        // It takes minutes, so it runs only when it is named.
        Some("thousand") => match thousand::bench(rest) {
            Some(table) => println!("{table}"),
            None => {
                eprint!("error: the arguments of `thousand` are not valid\n\n{}", thousand::HELP);
                return ExitCode::from(2);
            }
        },
        _ => return run(wanted.as_deref()),
    }
    ExitCode::SUCCESS
}

fn run(wanted: Option<&str>) -> ExitCode {
    let names = BENCHES.map(|(name, _)| name).join(", ");
    if let Some(unknown) = wanted.filter(|wanted| !BENCHES.iter().any(|(name, _)| name == wanted)) {
        eprintln!("error: there is no bench {unknown:?}; choose one of {names}, thousand, fan-out, growth");
        return ExitCode::from(2);
    }
    for (name, bench) in BENCHES {
        if wanted.is_none_or(|wanted| wanted == name) {
            println!("{}", bench());
        }
    }
    ExitCode::SUCCESS
}
