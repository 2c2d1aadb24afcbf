use std::process::ExitCode;

use clap::Args;
use fairpath_bzflag_lab::programs;
use fairpath_bzflag_lab::report::{self, ARMS, ArmRuns};
use fairpath_bzflag_lab::run::{self, Arm, ArmConfig};
use serde_json::json;

use crate::BadInput;
use crate::print;

/// Play BZFlag's real programs under delay, with and without the proxy
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BzflagArguments {
    /// One-way delays of the far clients in ms; one more client is near the server
    #[arg(long, value_name = "MS,…", value_delimiter = ',', default_value = "800,500,200")]
    delays: Vec<u32>,
    /// How long each arm is measured, in seconds of real time
    #[arg(long, value_name = "S", default_value_t = 300, value_parser = clap::value_parser!(u32).range(10..=36_000))]
    seconds: u32,
    /// How often all arms are played
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// Only these arms: unmodified, restated, every third, error-index
    #[arg(long, value_name = "ARM,…", value_delimiter = ',', value_parser = ARMS.to_vec())]
    arms: Vec<String>,
    /// Print the numbers as JSON
    #[arg(long)]
    json: bool,
    /// Exit with 1 if a claim does not hold
    #[arg(long)]
    strict: bool,
}

const EXAMPLES: &str = "\
Examples:
  fairpath lab bzflag
  fairpath lab bzflag --seconds 60 --runs 1 --arms unmodified,restated

Needs Debian's bzflag-server, bzflag-client, xvfb, libgl1-mesa-dri and xdotool. Each client draws by software: it takes
a third of a processor, and numbers from a busy machine are of no use. Everything stays on the loopback interface.
Exit code: 0 done, 1 a claim does not hold (only with --strict), 2 bad input.";

/// The programs that are started, and the packages that have them.
const PROGRAMS: [(&str, &str); 4] =
    [("bzfs", "bzflag-server"), ("bzflag", "bzflag-client"), ("Xvfb", "xvfb"), ("xdotool", "xdotool")];

impl BzflagArguments {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        if let Some((program, package)) =
            PROGRAMS.iter().find(|(program, _)| programs::find(program).is_none())
        {
            return Err(BadInput(format!(
                "cannot find {program}; on Debian run `apt-get install {package}`"
            )));
        }
        let delays_ms: Vec<u32> = std::iter::once(0).chain(self.delays.iter().copied()).collect();
        let executable = std::env::current_exe()?;
        let mut played: Vec<ArmRuns> =
            ARMS.iter().map(|name| ArmRuns { name: (*name).into(), runs: Vec::new() }).collect();
        for number in 1..=self.runs {
            for (arm, played) in Arm::all(delays_ms.len()).into_iter().zip(&mut played) {
                if !self.arms.is_empty() && !self.arms.contains(&played.name) {
                    continue;
                }
                print::note!("run {number} of {}: {}, {} s", self.runs, played.name, self.seconds);
                let (seconds, delays_ms) = (f64::from(self.seconds), delays_ms.clone());
                let config = ArmConfig { arm, delays_ms, seconds, executable: executable.clone() };
                played.runs.push(run::play(&config)?);
            }
        }
        let claims = report::claims(&played);
        let text = if self.json {
            format!("{}\n", as_json(&played, &delays_ms))
        } else {
            report::as_text(&played, &delays_ms)
        };
        print::to_stdout(&text)?;
        let is_broken = self.strict && !claims.iter().all(report::Claim::holds);
        Ok(if is_broken { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }
}

fn as_json(arms: &[ArmRuns], delays_ms: &[u32]) -> serde_json::Value {
    let run = |run: &run::ArmResult| {
        let pairs = run.pairs.iter().map(|(owner, receiver, error)| {
            json!({ "owner": owner, "receiver": receiver, "error": error.mean(), "samples": error.samples })
        });
        json!({
            "pairs": pairs.collect::<Vec<_>>(),
            "offered": run.offered,
            "delivered": run.delivered,
            "shots": run.shots,
            "kills": run.kills,
            "deaths": run.deaths,
            "proxy_cpu_secs": run.proxy_cpu_secs,
        })
    };
    let arms = arms
        .iter()
        .map(|arm| json!({ "arm": arm.name, "runs": arm.runs.iter().map(run).collect::<Vec<_>>() }));
    json!({ "delays_ms": delays_ms, "arms": arms.collect::<Vec<_>>() })
}
