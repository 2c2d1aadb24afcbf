//! Goal: an experiment written against the frame leaves behind results, plots and a report that are
//! whole, repeatable and say what was found. Method: run a small one whose answers are known, and
//! read what it wrote.

mod common;
#[path = "common/names.rs"]
mod names;

use std::fs;
use std::path::Path;

use common::Throw;
use fairpath_experiments::experiment::{Settings, Silent};
use fairpath_experiments::run::{RunError, run};
use names::names_in;
use serde_json::Value;

const COMMAND: &str = "fairpath lab run T1 --seed 7";

fn run_into(out: &Path, seed: u64) -> Result<fairpath_experiments::run::Finished, RunError> {
    run(&Throw, &Settings { seed, ..Settings::default() }, COMMAND, out, &Silent)
}

#[test]
fn a_run_writes_results_plots_and_report_and_nothing_else() {
    let room = tempfile::tempdir().unwrap();
    let out = room.path().join("deep/T1");
    let finished = run_into(&out, 7).unwrap();
    assert_eq!(finished.report, out.join("report.html"));
    let expected = [
        "report.html",
        "results.json",
        "t1-compare.svg",
        "t1-flight.svg",
        "t1-miss.svg",
        "t1-range.svg",
        "t1-scatter.svg",
    ];
    assert_eq!(names_in(&out), expected);
    assert_eq!(names_in(&room.path().join("deep")), ["T1"], "no trace of the hidden directory");
}

#[test]
fn results_have_the_documented_fields_in_order_and_finite_numbers() {
    let room = tempfile::tempdir().unwrap();
    run_into(room.path(), 7).unwrap();
    let text = fs::read_to_string(room.path().join("results.json")).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let fields = [
        "schema",
        "experiment",
        "name",
        "title",
        "source",
        "seed",
        "version",
        "command",
        "motion",
        "delays_ms",
        "jitter_ms",
        "rows",
        "counts",
        "claims",
        "figures",
        "notes",
    ];
    let places: Vec<usize> =
        fields.iter().map(|field| text.find(&format!("\n  \"{field}\"")).expect(field)).collect();
    assert!(places.is_sorted(), "the order of fields is stable");
    assert_eq!(json.as_object().unwrap().len(), fields.len());
    assert_eq!(json["experiment"], "T1");
    assert_eq!(json["seed"], 7);
    assert_eq!(json["command"], COMMAND);
    assert_eq!(json["rows"].as_array().unwrap().len(), 8);
    assert_eq!(json["rows"][0]["throws"], 200);
    assert_eq!(json["rows"][0]["style"], "flat");
    assert!(json["rows"][3]["range_m"].as_f64().unwrap() > 39.0);
    let claims = json["claims"].as_array().unwrap();
    let held: Vec<&Value> = claims.iter().map(|claim| &claim["held"]).collect();
    assert_eq!(held, [&Value::Bool(true), &Value::Bool(false), &Value::Null]);
    assert!(
        claims[0]["measured"].is_f64()
            && claims[0]["expected"].as_str().unwrap().starts_with("within 5 % of")
    );
    assert_eq!(claims[0]["paper"], "equal");
    assert_eq!(claims[0]["class"], "our stricter reading");
    assert_eq!(claims[0]["reading"], "about is within 5 %");
    assert_eq!(claims[2]["class"], "ours alone");
    let classes: Vec<&Value> =
        json["counts"].as_array().unwrap().iter().map(|count| &count["class"]).collect();
    assert_eq!(classes, ["our stricter reading", "ours alone"]);
    assert_eq!(claims[2]["measured"], Value::Null);
    assert_eq!(claims[2]["remark"], "There is no water.");
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_one_does_not() {
    let room = tempfile::tempdir().unwrap();
    for (name, seed) in [("a", 7), ("b", 7), ("c", 8)] {
        run_into(&room.path().join(name), seed).unwrap();
    }
    let read = |run: &str, file: &str| fs::read(room.path().join(run).join(file)).unwrap();
    for file in names_in(&room.path().join("a")) {
        assert_eq!(read("a", &file), read("b", &file), "{file}");
    }
    assert_ne!(read("a", "results.json"), read("c", "results.json"));
}

#[test]
fn the_report_stands_alone_and_says_it_all() {
    let room = tempfile::tempdir().unwrap();
    run_into(room.path(), 7).unwrap();
    let html = fs::read_to_string(room.path().join("report.html")).unwrap();
    for said in [
        "How far does a ball fly?",
        COMMAND,
        "not held",
        "There is no water.",
        "high &amp; steep",
        "schoolbook &lt;1&gt;",
    ] {
        assert!(html.contains(said), "the report does not say {said:?}");
    }
    assert_eq!(html.matches("<svg ").count(), 5);
    assert_eq!(html.matches("<svg ").count(), html.matches("</svg>").count());
    for fetched in ["<script", "<link", "<img", "src=", "@import", "url("] {
        assert!(!html.contains(fetched), "the report must not need anything else, but has {fetched:?}");
    }
}

#[test]
fn an_experiment_that_refuses_writes_nothing() {
    let room = tempfile::tempdir().unwrap();
    let csv = room.path().join("walk.csv");
    fs::write(&csv, "t,entity,team,x,y\n0,1,1,0,0\n0.02,1,1,0,0\n0.04,1,1,0,0\n").unwrap();
    let motion = Some(fairpath_experiments::files::open_recording(&csv).unwrap());
    let out = room.path().join("out");
    let refused =
        run(&Throw, &Settings { motion, ..Settings::default() }, COMMAND, &out, &Silent).unwrap_err();
    let expected =
        "throw does not take --motion; leave it out, or run one of placement, scheduling-discard, ";
    assert!(refused.to_string().starts_with(expected), "{refused}");
    assert_eq!(names_in(room.path()), ["walk.csv"]);
}

#[test]
fn an_existing_directory_keeps_what_is_not_ours() {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("diary.txt"), "mine").unwrap();
    fs::write(room.path().join("results.json"), "old").unwrap();
    run_into(room.path(), 7).unwrap();
    assert_eq!(fs::read_to_string(room.path().join("diary.txt")).unwrap(), "mine");
    assert!(fs::read_to_string(room.path().join("results.json")).unwrap().starts_with("{\n"));
    assert!(names_in(room.path()).iter().all(|name| !name.starts_with('.')));
}

#[test]
fn a_file_in_the_way_is_refused_before_anything_runs() {
    let room = tempfile::tempdir().unwrap();
    let in_the_way = room.path().join("out");
    fs::write(&in_the_way, "a file").unwrap();
    for out in [in_the_way.clone(), in_the_way.join("deeper")] {
        let refused = run_into(&out, 7).unwrap_err();
        assert!(refused.to_string().contains("choose another directory with --out"), "{refused}");
    }
    assert_eq!(names_in(room.path()), ["out"]);
}
