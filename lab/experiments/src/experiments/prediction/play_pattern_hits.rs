//! X11: how often do predictions that know how people play hit?

use fairpath_eval::evaluate::Summary;

use super::DECLARATION;
use super::play_patterns::{
    Beside, EKB, EVERYBODY, Field, HORIZONS, HYBRIDS, IS, OAEKB, PaperNumbers, Reading, Season, TDM,
    columns_begin, millis,
};
use crate::cells;
use crate::experiment::{CannotRun, Declaration, DeclaredExperiment, Progress, Settings};
use crate::figure::{Axis, Figure, Plot};
use crate::judge::{self, Judgement};
use crate::outcome::{Claim, Column, Outcome, Rows};

pub(in crate::experiments) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        name: "play-pattern-hits",
        alias: "X11",
        title: "Play patterns: how often do predictions hit?",
        source: "Shi 2014 tables 4, 6, fig 8, 12",
        about: "The predictions of play-pattern-error (X10), counted instead of averaged: a hit is within 45 pixels of where the player really \
                was (scaled by top speed on a recording), and the total is the mean over the seven delays. TDM keeps the acceleration; EKB follows friends and fights as strength \
                allows; OAEKB does so around walls; a hybrid is TDM on a straight course. Shi 2014's table 6 stands beside \
                ours.",
        ..DECLARATION
    },
    run,
};

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let season = Season::of(settings, progress)?;
    Ok(outcome(&season, progress))
}

fn outcome(season: &Season, progress: &dyn Progress) -> Outcome {
    let field = season.field(&HORIZONS, progress);
    let mut outcome = Outcome::new(rows(&field)).headline(headline(&field));
    outcome.claims = Reading::JUDGED.into_iter().flat_map(|reading| claims(&field, reading)).collect();
    outcome.figures = vec![totals(&field)];
    outcome.figures.extend(Reading::JUDGED.map(|reading| hits(&field, reading)));
    outcome.notes = season.notes();
    outcome
}

pub(super) fn claims(field: &Field, reading: Reading) -> [Claim; 3] {
    let (when, suffix) = (reading.label(), reading.suffix());
    let claim = |id: &str, text: &str, why: &str, judge: &dyn Fn(&Field) -> Option<Judgement>| {
        field.claim(format!("X11.{id}{suffix}"), format!("{when}: {text}"), (why, reading), judge)
    };
    let total = |name: &str| field.of(name, reading).map(|summary| summary.hits_total);
    let totals = |names: &[&str]| names.iter().filter_map(|name| total(name)).collect::<Vec<f64>>();
    let highest = |totals: &[f64]| totals.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    [
        claim("hybrids-highest", "the hybrids have the most hits in total", WHY_NOT_HIGHEST, &|_| {
            let hybrids = totals(&HYBRIDS);
            let others = highest(&totals(&[TDM, IS, EKB, OAEKB]));
            Some(judge::above_in_every(hybrids.into_iter().map(|hybrid| (hybrid, others))))
        })
        .unit("× the best of the others, at worst")
        .paper("17.7 and 17.6 %, the best other 16.9 %"),
        claim("tdm-close", "TDM's total is close to the better hybrid's", WHY_NOT_CLOSE, &|_| {
            Some(judge::about_points(total(TDM)?, highest(&totals(&HYBRIDS))))
        })
        .unit("%")
        .paper("16.9 % beside 17.7 %"),
        claim("oaekb-above-ekb", "OAEKB has more hits in total than EKB", WHY_NOT_ABOVE, &|_| {
            Some(judge::above(total(OAEKB)?, total(EKB)?))
        })
        .unit("%")
        .paper("14.1 % above 12.9 %"),
    ]
}

const WHY_NOT_HIGHEST: &str = "In Shi 2014 the hybrids hit as often as TDM at every delay, so where they hit they must have been TDM. Here their hits stay near EKB's: the \
     direction has too often changed by more than 40° at some tick of the time looked back on, and EKB's point is hit less often than the line's";
const WHY_NOT_CLOSE: &str = "TDM is ahead and not behind: see the claim above";
const WHY_NOT_ABOVE: &str =
    "They are tenths of a point apart: walls make next to no difference on these maps";

fn headline(field: &Field) -> Rows {
    let beside = Beside { unit: "%", paper_unit: "%", decimals: 1, total: Some("total") };
    let with_total = |mut hits: Vec<f64>, total: f64| {
        hits.push(total);
        hits
    };
    field.beside_the_paper(
        beside,
        |summary| with_total(percents(summary), summary.hits_total),
        |paper| with_total(paper.hits.to_vec(), paper.hits_total),
    )
}

fn percents(summary: &Summary) -> Vec<f64> {
    summary.horizons.iter().map(|at| at.hits_percent).collect()
}

fn rows(field: &Field) -> Rows {
    let mut columns = columns_begin();
    columns.extend([
        Column::number("horizon_ms", "delay", "ms").decimals(0),
        Column::number("hits_percent", "hits", "%").decimals(1),
        Column::number("players_hits_low_percent", "over players, from", "%").decimals(1),
        Column::number("players_hits_high_percent", "to", "%").decimals(1),
        Column::number("hits_total_percent", "hits, all delays", "%").decimals(1),
        Column::number("predictions", "predictions", ""),
        Column::number("paper_hits_percent", "Shi 2014's hits", "%").decimals(1),
        Column::number("paper_hits_total_percent", "Shi 2014's hits, all delays", "%").decimals(1),
    ]);
    let mut rows = Rows::new(columns);
    for (entrant, summary) in field.scored() {
        let paper = PaperNumbers::of(entrant.name);
        for (index, at) in summary.horizons.iter().enumerate() {
            let mut row = field.row_begin(&entrant);
            row.extend(cells![
                millis(at.ticks),
                at.hits_percent,
                at.hits_over_players.low(),
                at.hits_over_players.high(),
                summary.hits_total,
                at.predictions,
                paper.map(|paper| paper.hits[index]),
                paper.map(|paper| paper.hits_total),
            ]);
            rows.push(row);
        }
    }
    rows
}

fn hits(field: &Field, reading: Reading) -> Figure {
    Figure::new(
        format!("x11-hits{}", reading.suffix()),
        format!("Hits by delay, {}", reading.label()),
        Axis::new("delay", "ms"),
        Axis::new("within the hit radius", "%"),
        field.lines(reading, percents),
    )
    .caption("How many predictions are near enough to hit. Higher is better. Shi 2014's figures 8 and 12.")
}

fn totals(field: &Field) -> Figure {
    let total = |summary: &Summary| (summary.hits_total, (f64::NAN, f64::NAN));
    // NaN draws nothing: the predictor is not in Shi 2014.
    let in_paper = |name: &&str| PaperNumbers::of(name).map_or(f64::NAN, |paper| paper.hits_total);
    Figure::new(
        "x11-totals",
        "Hits over all delays, beside Shi 2014's",
        Axis::new("", ""),
        Axis::new("hits, mean over the delays", "%"),
        Plot::Bars(field.bars(total).series("Shi 2014", EVERYBODY.iter().map(in_paper).collect::<Vec<_>>())),
    )
    .caption("Shi 2014's people are not our bots: compare the order, not the height.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Silent;

    #[test]
    fn a_short_match_has_a_total_for_everybody() {
        let season = Season::of_ethereal(22, 1, 20, &Silent).unwrap();
        let outcome = outcome(&season, &Silent);
        assert_eq!(outcome.rows.len(), 31 * 7);
        assert_eq!(outcome.claims.len(), 4 * 3);
        let headline = outcome.headline.as_ref().unwrap();
        assert_eq!(headline.len(), 19 + 6);
        let totals: Vec<f64> = headline.shown().iter().map(|row| row[10].parse().unwrap()).collect();
        assert!(totals.iter().all(|total| (0.0..=100.0).contains(total)), "{totals:?}");
    }
}
