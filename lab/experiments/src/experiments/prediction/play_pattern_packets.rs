//! X12: how many packets do predictions that know how people play cost?

use fairpath_eval::evaluate::Summary;

use super::DECLARATION;
use super::play_patterns::{
    EKB, Field, HORIZONS, HYBRID_EKB, HYBRIDS, IS, Reading, Season, TDM, columns_begin,
};
use crate::cells;
use crate::experiment::{CannotRun, Declaration, DeclaredExperiment, Progress, Settings};
use crate::figure::{Axis, Figure, Plot};
use crate::judge::{self, Judgement};
use crate::outcome::{Claim, Column, Outcome, Rows};

pub(in crate::experiments) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        name: "play-pattern-packets",
        alias: "X12",
        title: "Play patterns: how many packets do predictions cost?",
        source: "Shi 2014 fig 9, 13",
        about: "Packets per player and second without lag: a predictor starts again from what is known whenever it is off by more than 45 pixels \
                (scaled by top speed on a recording), at the beginning of every life, and after five seconds. The matches are those of \
                play-pattern-error (X10). TDM keeps the acceleration; EKB follows friends and fights as strength \
                allows; OAEKB does so around walls; a hybrid is TDM on a straight course. Shi 2014 shows this as figures only. Intervals are 95 %, Student's t over players.",
        ..DECLARATION
    },
    run,
};

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let season = Season::of(settings, progress)?;
    Ok(outcome(&season, progress))
}

fn outcome(season: &Season, progress: &dyn Progress) -> Outcome {
    // Packets are counted whatever is asked besides: one delay is the least one can ask.
    let field = season.field(&HORIZONS[..1], progress);
    let mut outcome = Outcome::new(rows(&field));
    outcome.claims = Reading::JUDGED.into_iter().flat_map(|reading| claims(&field, reading)).collect();
    outcome.figures = vec![packets(&field)];
    outcome.notes = season.notes();
    outcome
}

pub(super) fn claims(field: &Field, reading: Reading) -> [Claim; 2] {
    let (when, suffix) = (reading.label(), reading.suffix());
    let claim = |id: &str, text: &str, why: &str, judge: &dyn Fn(&Field) -> Option<Judgement>| {
        field.claim(format!("X12.{id}{suffix}"), format!("{when}: {text}"), (why, reading), judge)
    };
    let rate = |name: &str| field.of(name, reading).map(|summary| summary.packets_per_sec);
    [
        claim("hybrids-tdm", "the hybrids need about as many packets as TDM", WHY_NOT_AS_MANY, &|_| {
            let tdm = rate(TDM)?;
            let ratios: Vec<f64> =
                HYBRIDS.iter().filter_map(|name| rate(name)).map(|hybrid| hybrid / tdm).collect();
            let farthest = ratios.into_iter().max_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs()))?;
            Some(judge::about(farthest, 1.0))
        })
        .unit("× TDM, the farther of the two")
        .paper("about equal (figures 9 and 13)"),
        claim(
            "others-more",
            "IS and plain EKB need more packets than TDM and the hybrid",
            WHY_NOT_MORE,
            &|_| {
                let fewer = rate(TDM)?.max(rate(HYBRID_EKB)?);
                Some(judge::above_in_every([(rate(IS)?, fewer), (rate(EKB)?, fewer)]))
            },
        )
        .unit("× the more of TDM and hybrid EKB, at worst")
        .paper("more (figures 9 and 13)"),
    ]
}

const WHY_NOT_AS_MANY: &str = "A prediction lasts for about half a second, and for the first 350 ms of it a hybrid is EKB by Shi 2014's algorithm 3: it costs what EKB costs";
const WHY_NOT_MORE: &str =
    "The hybrids cost as much as EKB, and IS, which bends the line only a little, costs less than both";

fn rows(field: &Field) -> Rows {
    let mut columns = columns_begin();
    columns.extend([
        Column::number("packets_per_s", "packets per player", "1/s").decimals(3),
        Column::number("ratio_to_line", "times the line's", "").decimals(3),
        Column::number("players_packets_per_s", "mean over players", "1/s").decimals(3),
        Column::number("players_packets_low_per_s", "from", "1/s").decimals(3),
        Column::number("players_packets_high_per_s", "to", "1/s").decimals(3),
    ]);
    let mut rows = Rows::new(columns);
    let line = field.of(TDM, Reading::USUAL).map_or(f64::NAN, |line| line.packets_per_sec);
    for (entrant, summary) in field.scored() {
        let over_players = summary.packets_over_players;
        let mut row = field.row_begin(&entrant);
        row.extend(cells![
            summary.packets_per_sec,
            summary.packets_per_sec / line,
            over_players.mean,
            over_players.low(),
            over_players.high(),
        ]);
        rows.push(row);
    }
    rows
}

fn packets(field: &Field) -> Figure {
    let rate = |summary: &Summary| {
        let over_players = summary.packets_over_players;
        (summary.packets_per_sec, (over_players.low(), over_players.high()))
    };
    Figure::new(
        "x12-packets",
        "Packets per player and second",
        Axis::new("", ""),
        Axis::new("packets per player", "1/s"),
        Plot::Bars(field.bars(rate)),
    )
    .caption("How often a prediction had to be replaced to stay within the threshold; whiskers are 95 % over players. Lower is better.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Silent;

    #[test]
    fn everybody_needs_a_packet_for_every_life_at_least() {
        let season = Season::of_ethereal(23, 1, 20, &Silent).unwrap();
        let outcome = outcome(&season, &Silent);
        assert_eq!((outcome.rows.len(), outcome.claims.len()), (31, 8));
        let rates: Vec<f64> = outcome.rows.shown().iter().map(|row| row[5].parse().unwrap()).collect();
        // Twenty seconds in stretches of five at most.
        assert!(rates.iter().all(|rate| (0.2..60.0).contains(rate)), "{rates:?}");
        assert!(rates[29] < rates[1], "adaptive {} needs fewer than TDM {}", rates[13], rates[1]);
    }
}
