//! Plays every arm once and prints what was measured:
//! `cargo run --release -p fairpath-bzflag-lab --example arms -- FAIRPATH SECONDS RUNS`.

use std::path::PathBuf;

use fairpath_bzflag_lab::run::{Arm, ArmConfig, play};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let executable = PathBuf::from(arguments.next().ok_or("name the fairpath program")?);
    let seconds: f64 = arguments.next().as_deref().unwrap_or("60").parse()?;
    let runs: usize = arguments.next().as_deref().unwrap_or("1").parse()?;
    let only = arguments.next();
    let proxy = |options: &[&str]| Arm::Proxy(options.iter().map(|it| (*it).to_owned()).collect());
    let arms = [
        ("unmodified", Arm::Unmodified),
        ("restated", proxy(&[])),
        ("every-third", proxy(&["--scheduler", "every-nth:3"])),
        ("error-index", proxy(&["--scheduler", "error-index", "--budget", "1"])),
    ];
    for run in 0..runs {
        for (name, arm) in &arms {
            if only.as_deref().is_some_and(|only| !only.split(',').any(|it| it == *name)) {
                continue;
            }
            let config = ArmConfig {
                arm: arm.clone(),
                delays_ms: vec![0, 800, 500, 200],
                seconds,
                executable: executable.clone(),
            };
            let result = match play(&config) {
                Ok(result) => result,
                Err(error) => {
                    println!("{run} {name}: {error}");
                    continue;
                }
            };
            print!("{run} {name:<12}");
            for (owner, receiver, error) in &result.pairs {
                print!(" {owner}>{receiver} {:.2}/{}", error.mean(), error.samples);
            }
            println!(
                " offered {} delivered {} shots {:?} kills {:?} deaths {:?} cpu {:?}",
                result.offered,
                result.delivered,
                result.shots,
                result.kills,
                result.deaths,
                result.proxy_cpu_secs
            );
        }
    }
    Ok(())
}
