//! How the cost of replication grows with entities, with receivers and with loss.

use std::path::Path;
use std::process::ExitCode;

use fairpath_sim::LinkConfig;

use crate::chart::{AxisScale, ChartAxis, ChartLine, GrowthChart};
use crate::contest::{lossy, play};
use crate::roles::Terms;
use crate::ways::Method;

/// The values that stay the same while one other varies.
const TANKS: usize = 64;
const RECEIVERS: usize = 16;
const HZ: f64 = 30.0;
const SECS: f64 = 5.0;

const ENTITIES: [usize; 4] = [16, 64, 128, 256];
const AUDIENCES: [usize; 4] = [4, 16, 64, 128];
const LOSSES: [f64; 4] = [0.0, 0.1, 0.2, 0.3];

/// The methods that are drawn, and the labels of their lines.
const DRAWN: [(&str, &str); 3] =
    [("raw", "raw UDP loop, every state"), ("quinn", "quinn alone, every state"), ("fairpath", "Fairpath")];
const PROCESSOR: &str = "server's processor time, % of a core";
const LOST: ChartAxis<'_> = ChartAxis { name: "datagrams lost each method, %", scale: AxisScale::Even };

/// Measures, prints, and writes the charts to a folder.
pub(crate) fn measure(folder: &str) -> ExitCode {
    let folder = Path::new(folder);
    if let Err(error) = std::fs::create_dir_all(folder) {
        eprintln!("error: cannot create the folder {}: {error}", folder.display());
        eprintln!("help: pass another folder: growth DIR");
        return ExitCode::from(2);
    }
    let draw = |name: &str, chart: GrowthChart<'_>| {
        let file = folder.join(format!("growth-{name}.svg"));
        chart.draw(&file);
        println!("{}", file.display());
    };
    let lines = lines(&ENTITIES, |method, tanks| percent(method, tanks, RECEIVERS));
    let title = format!("Cost by entities, {RECEIVERS} receivers at {HZ} Hz");
    let powers = |name| ChartAxis { name, scale: AxisScale::Powers };
    draw(
        "entities",
        GrowthChart { title: &title, across: powers("entities"), up: powers(PROCESSOR), lines: &lines },
    );
    let lines = self::lines(&AUDIENCES, |method, receivers| percent(method, TANKS, receivers));
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
    // A method that its congestion control holds back has a hundred times the error of the others.
    let up = powers("error, root mean square, units");
    draw("loss-error", GrowthChart { title: &title, across: LOST, up, lines: &errors });
    ExitCode::SUCCESS
}

/// Returns a line for each method that is drawn.
fn lines(sizes: &[usize], cost: impl Fn(&Method, usize) -> f64) -> Vec<ChartLine> {
    let line = |(name, label): &(&str, &'static str)| {
        let method = Method::named(name).expect("DRAWN names existing methods");
        let points: Vec<(f64, f64)> = sizes.iter().map(|size| (*size as f64, cost(method, *size))).collect();
        println!("{label}: {points:.2?}");
        ChartLine { label, points }
    };
    DRAWN.iter().map(line).collect()
}

fn terms(method: &Method, tanks: usize, receivers: usize) -> Terms {
    Terms { method: method.name.to_owned(), tanks, receivers, hz: HZ, secs: SECS }
}

/// Returns the processor time of the server, in per cent of a core.
fn percent(method: &Method, tanks: usize, receivers: usize) -> f64 {
    eprintln!("   {}: {tanks} entities, {receivers} receivers", method.name);
    let played = play(&terms(method, tanks, receivers), LinkConfig::default());
    played.used.processor_secs / played.secs * 100.0
}

/// Returns processor time and error by loss.
fn by_loss() -> (Vec<ChartLine>, Vec<ChartLine>) {
    let (mut costs, mut errors) = (Vec::new(), Vec::new());
    for (name, label) in DRAWN {
        let method = Method::named(name).expect("DRAWN names existing methods");
        let played = LOSSES.map(|loss| {
            eprintln!("   {name}: {loss} lost");
            (loss * 100.0, play(&terms(method, TANKS, RECEIVERS), lossy(loss)))
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
