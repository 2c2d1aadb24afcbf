//! Goal: predictions are scored where the player really was, never across a break, and no predictor
//! looks ahead. Method: small recordings whose errors are known, and recordings whose future was
//! changed.

use std::fmt::Write;

use fairpath::vector::{Vec2, Vector};
use fairpath_eval::candidates::{self, Candidate, MatchSetup};
use fairpath_eval::evaluate::{PlayerScore, Question, Summary, WalkStep, score, walk};
use fairpath_eval::live::{self, LiveCandidate};
use fairpath_eval::play::{EtherealError, Play};
use fairpath_eval::recording::{self, Recording, Source};
use fairpath_games::ethereal::{EtherealConfig, Match, Recording as Foreign};
use fairpath_predict::{Missing, Relation, TICK_SECS};

/// Rows of a team recording at `hertz`: positions of players over time.
fn recorded(hertz: u32, secs: u32, who: &[(&str, u32)], place: impl Fn(usize, f64) -> Vec2) -> String {
    let mut text = String::from("t,entity,team,x,y\n");
    for frame in 0..hertz * secs {
        let t = f64::from(frame) / f64::from(hertz);
        for (number, (name, team)) in who.iter().enumerate() {
            let Vec2 { x, y } = place(number, t);
            writeln!(text, "{t:.6},{name},{team},{x},{y}").unwrap();
        }
    }
    text
}

fn read(text: &str, breaks: Option<&str>) -> Recording {
    let source = |name, text: &'static str| Source { name, bytes: text.as_bytes() };
    let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
    recording::read(source("t.csv", leak(text)), breaks.map(|text| source("t.breaks.csv", leak(text))))
        .unwrap()
}

fn play_of(text: &str) -> Play {
    Play::from_recording(&read(text, None))
}

fn question() -> Question {
    Question::new(vec![60, 18, 36], 1.0, 1.0).unwrap()
}

fn scores(play: &Play, name: &str) -> Vec<PlayerScore> {
    let candidate = Candidate::by_names(name).unwrap()[0];
    let setup = MatchSetup::of(play);
    score(play, &mut *candidate.make(&setup), &question()).unwrap()
}

/// A weaving path, different for each number.
fn weaving(number: usize, t: f64) -> Vec2 {
    let phase = 1.7 * number as f64;
    let (quick, slow) = (Vec2::from_heading(2.1 * t + phase), Vec2::from_heading(1.3 * t + phase));
    Vec2::new(8.0 * t + 3.0 * quick.y, 5.0 * slow.x + number as f64)
}

#[test]
fn a_line_predicts_a_line() {
    for hertz in [29, 60, 70] {
        let play = play_of(&recorded(hertz, 10, &[("a", 1), ("b", 2)], |number, t| {
            Vec2::new(3.0 * t, number as f64)
        }));
        assert!((play.top_speed() - 3.0).abs() < 1e-3, "{}", play.top_speed());
        let summary = Summary::of(&scores(&play, "line"));
        for horizon in &summary.horizons {
            assert!(horizon.mean < 1e-3 && horizon.median < 1e-3 && horizon.hits_percent == 100.0);
        }
        assert_eq!(summary.horizons[0].ticks, 18, "ascending");
        assert_eq!(summary.hits_total, 100.0);
    }
}

#[test]
fn the_error_of_a_line_under_acceleration_is_the_one_on_paper() {
    // p = ½·a·t² with a = 2; the velocity is the slope over two frames, so it lags by one.
    let play = play_of(&recorded(60, 10, &[("a", 1)], |_, t| Vec2::new(t * t, 0.0)));
    let summary = Summary::of(&scores(&play, "line"));
    for horizon in &summary.horizons {
        let ahead = f64::from(horizon.ticks) * TICK_SECS;
        let expected = ahead * ahead + 2.0 * ahead * TICK_SECS;
        // The ticks are half a millisecond after the samples; meanwhile the player moves on at the
        // lagging velocity.
        assert!((horizon.mean - expected).abs() < 2e-3, "{} is not {expected}", horizon.mean);
        assert!((horizon.median - expected).abs() < 2e-3);
    }
    let tdm = Summary::of(&scores(&play, "tdm"));
    assert!(tdm.horizons[2].mean < 0.1 * summary.horizons[2].mean, "the acceleration was there to be seen");
}

#[test]
fn nothing_is_scored_across_a_break() {
    let text =
        recorded(60, 10, &[("a", 1)], |_, t| if t < 5.0 { Vec2::new(t, 0.0) } else { Vec2::new(t, 900.0) });
    let whole = read(&text, None);
    let cut = read(&text, Some("t,entity,reason\n5.0,a,teleport\n"));
    let whole = Summary::of(&scores(&Play::from_recording(&whole), "line"));
    let play = Play::from_recording(&cut);
    let cut = Summary::of(&scores(&play, "line"));
    assert!(whole.horizons[2].mean > 50.0 && cut.horizons[2].mean < 1e-2);
    let runs = &play.players[0].runs;
    assert_eq!(runs.len(), 2);
    let scorable: usize = runs.iter().map(|run| run.truth.len() - 60).sum();
    assert_eq!(cut.horizons[2].predictions, scorable as u64);
    assert_eq!(cut.packets_per_sec * play.secs(), 2.0, "one at each beginning");
}

#[test]
fn packets_are_counted_when_the_error_exceeds_the_threshold() {
    // Corners every second: a straight line is off by 1 some 0.35 s after each.
    let corners = |_, t: f64| {
        let leg = t.floor();
        let (along, up) = ((leg / 2.0).ceil(), (leg / 2.0).floor());
        let rest = t - leg;
        if (leg as u64).is_multiple_of(2) {
            Vec2::new(2.0 * (along + rest), 2.0 * up)
        } else {
            Vec2::new(2.0 * along, 2.0 * (up + rest))
        }
    };
    let play = play_of(&recorded(60, 20, &[("a", 1)], corners));
    let packets = scores(&play, "line")[0].packets;
    assert_eq!(packets, 20, "one to begin with, and one for each of 19 corners");
}

#[test]
fn the_ball_is_nobody_and_teams_are_friends_and_enemies() {
    let who = [("0", 1), ("7", 2), ("ball", 0), ("9", 1)];
    let play = play_of(&recorded(60, 2, &who, weaving));
    let names: Vec<&str> = play.players.iter().map(|player| player.name.as_str()).collect();
    assert_eq!(names, ["0", "7", "9"]);
    let mut others = Vec::new();
    let known = play.look(0, &play.players[0].runs[0], 30, &mut others);
    let relations: Vec<Relation> = known.others.iter().map(|other| other.relation).collect();
    assert_eq!(relations, [Relation::Enemy, Relation::Friend]);
    assert_eq!(known.history.len(), 31);
    assert!(known.inputs.is_empty() && known.world.is_none());
    assert_eq!(known.condition.influence(), 2.0, "unknown means full strength");
}

/// All predictions of one predictor for all players up to a tick, as bits.
fn predictions(play: &Play, candidate: &Candidate, until: usize) -> Vec<(usize, usize, [u64; 2])> {
    let ticks = [1, 18, 60, 126];
    let setup = MatchSetup { top_speed: 12.0, game: None };
    let mut made = Vec::new();
    let mut positions = [Vec2::ZERO; 4];
    let mut predictor = candidate.make(&setup);
    // A predictor that lacks something makes no prediction, with any future.
    let _ = walk(play, &mut *predictor, |predictor, known, WalkStep { subject, run, index }| {
        if run.first_tick + index <= until {
            predictor.predict(subject, known, &ticks, &mut positions)?;
            let bits =
                |place: &Vec2| (subject, run.first_tick + index, [place.x.to_bits(), place.y.to_bits()]);
            made.extend(positions.iter().map(bits));
        }
        Ok(())
    });
    made
}

#[test]
fn nobody_looks_ahead() {
    let who = [("a", 1), ("b", 1), ("c", 2), ("d", 2), ("ball", 0)];
    for hertz in [30, 60] {
        let text = recorded(hertz, 9, &who, weaving);
        // The present is 4.3 s; the tick before is the last that may be compared.
        let (now, last_tick) = (4.3, 257);
        let changed = recorded(hertz, 9, &who, |number, t| {
            if t <= now { weaving(number, t) } else { weaving(number + 3, t * 1.9) * -7.0 }
        });
        let ended: String = text
            .lines()
            .filter(|line| line.split(',').next().unwrap().parse::<f64>().map_or(true, |t| t <= now))
            .map(|line| format!("{line}\n"))
            .collect();
        let teleports: String = who.iter().map(|(name, _)| format!("4.35,{name},teleport\n")).collect();
        let as_it_was = play_of(&text);
        let futures = [
            play_of(&changed),
            play_of(&ended),
            Play::from_recording(&read(&text, Some(&format!("t,entity,reason\n{teleports}")))),
        ];
        for candidate in candidates::all() {
            let expected = predictions(&as_it_was, candidate, last_tick);
            for (number, future) in futures.iter().enumerate() {
                // Where the recording ends, fewer ticks are visited. All visited ticks must be the
                // same.
                let made = predictions(future, candidate, last_tick);
                assert!(made.len() + 16 * 4 * 4 >= expected.len(), "{} future {number}", candidate.name);
                assert!(
                    made.iter().all(|each| expected.contains(each) || expected.is_empty()),
                    "{} knows future {number} at {hertz} Hz",
                    candidate.name
                );
            }
            let other = predictions(&futures[0], candidate, last_tick + 60);
            let later = predictions(&as_it_was, candidate, last_tick + 60);
            assert!(
                expected.is_empty() || other != later,
                "{}: the change was not seen at all",
                candidate.name
            );
        }
    }
}

#[test]
fn live_models_send_when_they_are_off() {
    let setup = MatchSetup { top_speed: 3.0, game: None };
    let packets = |name: &str, place: fn(usize, f64) -> Vec2| {
        let recording = read(&recorded(60, 20, &[("a", 1)], place), None);
        let path = live::path_of_stretch(&recording.stretches[0]).expect("it has samples");
        live::packets(&[vec![path]], &mut *LiveCandidate::by_name(name).unwrap().make(&setup, 0.5), 0.5)
    };
    let circle = |_, t: f64| Vec2::from_heading(0.6 * t) * 5.0;
    assert_eq!(packets("line", |_, t| Vec2::new(3.0 * t, 1.0)), 1);
    let (line, quadratic, circular) =
        (packets("line", circle), packets("tdm", circle), packets("circular", circle));
    assert!(circular < quadratic && quadratic < line, "{circular} {quadratic} {line}");
}

#[test]
fn a_live_model_that_learns_does_so_from_everybody() {
    let setup = MatchSetup { top_speed: 8.0, game: None };
    let circle = |_, t: f64| Vec2::from_heading(1.5 * t) * 5.0;
    let recording = read(&recorded(60, 6, &[("a", 1)], circle), None);
    let path = live::path_of_stretch(&recording.stretches[0]).expect("it has samples");
    // One after the other: what the first players taught helps with the last.
    let players: Vec<Vec<live::Path>> = (0..5)
        .map(|number| {
            let mut path = path.clone();
            path.moments.iter_mut().for_each(|moment| moment.secs += 10.0 * f64::from(number));
            vec![path]
        })
        .collect();
    let packets = |name: &str, players: &[Vec<live::Path>]| {
        live::packets(players, &mut *LiveCandidate::by_name(name).unwrap().make(&setup, 0.5), 0.5)
    };
    let one_by_one = |name: &str| -> usize { players.chunks(1).map(|player| packets(name, player)).sum() };
    assert_eq!(
        packets("line", &players),
        one_by_one("line"),
        "a model that does not learn ignores other players"
    );
    let (together, alone) = (packets("adaptive", &players), one_by_one("adaptive"));
    assert!(2 * together < alone, "{together} together, {alone} one by one");
}

#[test]
fn ethereal_is_seen_with_health_keys_and_walls() {
    let mut game = Match::of_bots(EtherealConfig::default(), 7).unwrap().with_recording();
    for _ in 0..1800 {
        game.step();
    }
    let play = Play::from_ethereal(game.recording().unwrap(), None).unwrap();
    assert_eq!(play.players.len(), 8);
    assert!((play.top_speed() - 360.0).abs() < 1.0);
    let world = play.world.as_ref().unwrap();
    let mut hurt = 0;
    for run in play.players.iter().flat_map(|player| &player.runs) {
        assert!([run.inputs.len(), run.conditions.len(), run.truth.len()] == [run.bodies.len(); 3]);
        assert!(run.truth.windows(2).all(|pair| pair[0].distance(pair[1]) < 7.0), "no jump within a run");
        assert!(run.truth.iter().all(|place| world.cell_at(*place).is_some_and(|cell| !world.is_wall(cell))));
        hurt += run.conditions.iter().filter(|condition| condition.health < 1.0).count();
    }
    assert!(hurt > 0, "a player was shot in half a minute");
    for candidate in candidates::all() {
        let setup = MatchSetup::of(&play);
        match score(&play, &mut *candidate.make(&setup), &question()) {
            Ok(scores) => {
                assert!(
                    scores.iter().all(|score| score.horizons[0].mean().is_finite()),
                    "{}",
                    candidate.name
                );
            }
            Err(missing) => {
                assert_eq!(missing, Missing::TrendLine, "{}: all else is known here", candidate.name);
            }
        }
    }
}

#[test]
fn another_games_recording_is_retraced_on_a_map_that_is_given() {
    let mut game = Match::of_bots(EtherealConfig::default(), 7).unwrap().with_recording();
    for _ in 0..600 {
        game.step();
    }
    let xml = game.recording().unwrap().to_xml();
    let (begin, end) = (xml.find("<Seed>").unwrap(), xml.find("<Us>").unwrap());
    let foreign = Foreign::from_xml((xml[..begin].to_owned() + &xml[end..]).as_bytes()).unwrap();
    assert!(matches!(Play::from_ethereal(&foreign, None), Err(EtherealError::NoMap)));
    let play = Play::from_ethereal(&foreign, Some(game.ethereal().map())).unwrap();
    let own = Play::from_ethereal(game.recording().unwrap(), None).unwrap();
    assert_eq!(play.players.len(), 8);
    assert!(play.players[0].runs[0].conditions.is_empty(), "what full health is, only the rules know");
    assert_eq!(play.players[0].runs[0].truth[..200], own.players[0].runs[0].truth[..200]);
}

#[test]
fn wrong_names_list_the_right_ones() {
    let error = Candidate::by_names("line,nobody").unwrap_err().to_string();
    assert!(error.contains("\"nobody\"") && error.contains("line, tdm"), "{error}");
    assert_eq!(Candidate::by_names("TDM, line,tdm").unwrap().len(), 2);
    let all = Candidate::by_names("all").unwrap();
    assert_eq!(all.len(), candidates::all().len() + candidates::LEARNED.len());
    assert_eq!(Candidate::by_names("Neural,fuzzy").unwrap()[0].name, "neural");
    assert_eq!(candidates::all()[0].name, "line");
    assert_eq!(live::all()[0].name, "line");
}

#[test]
fn questions_that_cannot_be_asked() {
    assert!(Question::new(vec![], 1.0, 1.0).is_err());
    assert!(Question::new(vec![0], 1.0, 1.0).is_err());
    assert!(Question::new(vec![301], 1.0, 1.0).is_err());
    assert!(Question::new(vec![60], 0.0, 1.0).is_err());
    assert!(Question::new(vec![60], 1.0, f64::NAN).is_err());
}
