//! How the cost of telling grows, with whom and what there is to tell, and with what gets lost.

use std::path::Path;
use std::process::ExitCode;

use fairpath_sim::LinkConfig;

use crate::chart::{ChartAxis, GrowthChart, ChartLine, AxisScale};
use crate::contest::{lossy, play};
use crate::roles::RunTerms;
use crate::ways::Method;

/// What is the same where something else varies.
const TANKS: usize = 64;
const RECEIVERS: usize = 16;
const HZ: f64 = 30.0;
const SECS: f64 = 5.0;

const ENTITIES: [usize; 4] = [16, 64, 128, 256];
const AUDIENCES: [usize; 4] = [4, 16, 64, 128];
const LOSSES: [f64; 4] = [0.0, 0.1, 0.2, 0.3];

/// The ways that are drawn, and what their lines are called.
const DRAWN: [(&str, &str); 3] =
    [("raw", "raw UDP loop, every state"), ("quinn", "quinn alone, every state"), ("fairpath", "Fairpath")];
const PROCESSOR: &str = "server's processor time, % of a core";
const LOST: ChartAxis<'_> = ChartAxis { name: "datagrams lost each way, %", scale: AxisScale::Even };

/// Measures, prints, and draws into a folder.
pub(crate) fn measure(folder: &str) -> ExitCode {
    let folder = Path::new(folder);
    if let Err(error) = std::fs::create_dir_all(folder) {
        eprintln!("error: pictures cannot be put into {}: {error}", folder.display());
        eprintln!("name another folder: growth DIR");
        return ExitCode::from(2);
    }
    let draw = |name: &str, chart: GrowthChart<'_>| {
        let file = folder.join(format!("growth-{name}.svg"));
        chart.draw(&file);
        println!("{}", file.display());
    };
    let lines = lines(&ENTITIES, |way, tanks| percent(way, tanks, RECEIVERS));
    let title = format!("Cost by entities, {RECEIVERS} receivers at {HZ} Hz");
    let powers = |name| ChartAxis { name, scale: AxisScale::Powers };
    draw(
        "entities",
        GrowthChart { title: &title, across: powers("entities"), up: powers(PROCESSOR), lines: &lines },
    );
    let lines = self::lines(&AUDIENCES, |way, receivers| percent(way, TANKS, receivers));
    let title = format!("Cost by receivers, {TANKS} entities at {HZ} Hz");
    draw(
        "receivers",
        GrowthChart { title: &title, across: powers("receivers"), up: powers(PROCESSOR), lines: &lines },
    );
    let (costs, errors) = by_loss();
    let title = format!("Cost by loss, {TANKS} entities, {RECEIVERS} receivers at {HZ} Hz");
    let up = ChartAxis { name: PROCESSOR, scale: AxisScale::Even };
    draw("loss", GrowthChart { title: &title, across: LOST, up, lines: &costs });
    let title = format!("Error by loss, {TANKS} entities, {RECEIVERS} receivers at {HZ} Hz");
    // Who is held back by its congestion control is a hundred times as wrong as the others.
    let up = powers("error, root mean square, units");
    draw("loss-error", GrowthChart { title: &title, across: LOST, up, lines: &errors });
    ExitCode::SUCCESS
}

/// A line for each way that is drawn.
fn lines(sizes: &[usize], cost: impl Fn(&Method, usize) -> f64) -> Vec<ChartLine> {
    let line = |(name, label): &(&str, &'static str)| {
        let way = Method::named(name).expect("it is one of ours");
        let points: Vec<(f64, f64)> = sizes.iter().map(|size| (*size as f64, cost(way, *size))).collect();
        println!("{label}: {points:.2?}");
        ChartLine { label, points }
    };
    DRAWN.iter().map(line).collect()
}

fn terms(way: &Method, tanks: usize, receivers: usize) -> RunTerms {
    RunTerms { way: way.name.to_owned(), tanks, receivers, hz: HZ, secs: SECS }
}

/// Processor time of the server, in per cent of a core.
fn percent(way: &Method, tanks: usize, receivers: usize) -> f64 {
    eprintln!("   {}: {tanks} entities, {receivers} receivers", way.name);
    let played = play(&terms(way, tanks, receivers), LinkConfig::default());
    played.used.processor_secs / played.secs * 100.0
}

/// Processor time and error by how much is lost.
fn by_loss() -> (Vec<ChartLine>, Vec<ChartLine>) {
    let (mut costs, mut errors) = (Vec::new(), Vec::new());
    for (name, label) in DRAWN {
        let way = Method::named(name).expect("it is one of ours");
        let played = LOSSES.map(|loss| {
            eprintln!("   {name}: {loss} lost");
            (loss * 100.0, play(&terms(way, TANKS, RECEIVERS), lossy(loss)))
        });
        let cost =
            played.iter().map(|(loss, it)| (*loss, it.used.processor_secs / it.secs * 100.0)).collect();
        let rms = played.iter().map(|(loss, it)| (*loss, it.errors.rms())).collect();
        println!("{label}: % of a core {cost:.2?}, error {rms:.3?}");
        costs.push(ChartLine { label, points: cost });
        errors.push(ChartLine { label, points: rms });
    }
    (costs, errors)
}
