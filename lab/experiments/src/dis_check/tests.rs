//! Goal: right values pass and wrong ones are found and named, whatever the file looks like.
//! Method: one start that every model can be worked out for on paper.
//!
//! The body faces +y (ψ = π/2), moves ahead at 1 m/s, and makes half a turn to the left (ω = π/2
//! about z) in dt = 2 s. In its starting axes R1·v = (0, 2/ω) = (0, 4/π), and an acceleration of 1
//! m/s² ahead that turns with it adds R2·a = dt²·(−2/π², 1/π) = (−8/π², 4/π).

use std::f64::consts::{FRAC_PI_2, PI};

use serde_json::{Value, json};

use super::*;

/// Facing +y: the body's axes in the world's.
const FACING_Y: [[f64; 3]; 3] = [[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
/// Facing −y, half a turn later.
const FACING_BACK: [[f64; 3]; 3] = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];

const AHEAD: [f64; 3] = [1.0, 0.0, 0.0];
/// What an accelerometer feels at 1 m/s² ahead while the velocity turns: a + ω × v.
const AHEAD_AND_INWARDS: [f64; 3] = [1.0, FRAC_PI_2, 0.0];

fn entry(
    drm: u8,
    semantics: &str,
    primary: bool,
    a0: [f64; 3],
    displacement: [f64; 2],
    matrix: [[f64; 3]; 3],
) -> Value {
    let [x, y] = displacement;
    json!({
        "id": format!("model {drm}"), "drm": drm, "semantics": semantics, "primary": primary,
        "p0": [6.4e6, 0, 0], "v0": AHEAD, "a0": a0, "euler0": [FRAC_PI_2, 0, 0], "omega": [0, 0, FRAC_PI_2], "dt": 2,
        "expect": { "disp": [x, y, 0], "matrix_w2b": matrix },
    })
}

/// One entry for each reading of each model, worked out on paper.
fn every_reading() -> Vec<Value> {
    // In the world, (x, y) of the body's starting axes are (−y, x).
    let half_circle = [-4.0 / PI, 0.0];
    let growing_half_circle = [-8.0 / PI, -8.0 / (PI * PI)];
    let inertial = "a0_is_inertial_accel (A_b=a0-w x V)";
    let (literal, literal_inertial) =
        ("literal_R1R2_with_omega, A_b=a0", "literal_R1R2_with_omega, A_b=a0-w x V");
    vec![
        entry(1, "std", true, AHEAD, [0.0, 0.0], FACING_Y),
        entry(2, "std", true, AHEAD, [2.0, 0.0], FACING_Y),
        entry(3, "std", true, AHEAD, [2.0, 0.0], FACING_BACK),
        entry(4, "std", true, AHEAD, [4.0, 0.0], FACING_BACK),
        entry(5, "std", true, AHEAD, [4.0, 0.0], FACING_Y),
        entry(6, "omega_ignored", true, AHEAD, [0.0, 2.0], FACING_Y),
        entry(6, "literal_R1_with_omega", false, AHEAD, half_circle, FACING_Y),
        entry(7, "std", true, AHEAD, half_circle, FACING_BACK),
        entry(8, inertial, true, AHEAD_AND_INWARDS, growing_half_circle, FACING_BACK),
        entry(8, "a0_is_dVb_dt (A_b=a0)", true, AHEAD, growing_half_circle, FACING_BACK),
        entry(9, "omega_ignored", true, AHEAD, [0.0, 4.0], FACING_Y),
        entry(9, literal_inertial, false, AHEAD_AND_INWARDS, growing_half_circle, FACING_Y),
        entry(9, literal, false, AHEAD, growing_half_circle, FACING_Y),
    ]
}

fn checked(entries: &[Value]) -> Result<DisReport, DisFileError> {
    check(&serde_json::to_vec(entries).unwrap(), "cases.json")
}

/// The line a person sees when the second of two entries is changed like this.
fn complaint(change: impl FnOnce(&mut Value)) -> String {
    let mut entries = [every_reading().remove(7), every_reading().remove(7)];
    change(&mut entries[1]);
    let line = checked(&entries).unwrap_err().to_string();
    assert!(!line.contains('\n'), "{line}");
    line
}

#[test]
fn what_was_worked_out_on_paper_holds() {
    let report = checked(&every_reading()).unwrap();
    assert!(report.all_passed(), "{report}");
    assert_eq!(report.rows.len(), 13);
    assert_eq!(report.primary, DisTally { cases: 10, passed: 10 });
    assert_eq!(report.other, DisTally { cases: 3, passed: 3 });
    assert!(report.rows.iter().all(|row| row.displacement_error_max < 1e-15), "{report}");
    assert!(report.rows.iter().all(|row| row.matrix_error_max < 1e-15), "{report}");
}

#[test]
fn a_micrometre_in_a_metre_is_found_and_named() {
    let mut entries = every_reading();
    entries[7]["expect"]["disp"][1] = json!(1e-6);
    entries[12]["expect"]["matrix_w2b"][2][2] = json!(1.0 - 2e-9);
    let report = checked(&entries).unwrap();
    assert!(!report.all_passed());
    assert_eq!((report.primary.passed, report.other.passed), (9, 2));
    let names: Vec<_> =
        report.failures.iter().map(|failure| (failure.index, failure.id.as_deref())).collect();
    assert_eq!(names, [(7, Some("model 7")), (12, Some("model 9"))]);
    assert!((report.failures[0].displacement_error - 1e-6 * PI / 4.0).abs() < 1e-12);
    assert!((report.failures[1].matrix_error - 2e-9).abs() < 1e-15);
}

#[test]
fn readings_are_not_mixed_up() {
    // The same numbers under another name of the reading must fail, or the name would mean nothing.
    let others = [
        (5, "literal_R1_with_omega"),
        (8, "a0_is_dVb_dt (A_b=a0)"),
        (9, "a0_is_inertial_accel (A_b=a0-w x V)"),
        (10, "literal_R1R2_with_omega, A_b=a0"),
        (11, "literal_R1R2_with_omega, A_b=a0"),
        (12, "literal_R1R2_with_omega, A_b=a0-w x V"),
    ];
    for (index, semantics) in others {
        let mut entry = every_reading().remove(index);
        entry["semantics"] = json!(semantics);
        assert!(!checked(&[entry]).unwrap().all_passed(), "{index} {semantics}");
    }
}

#[test]
fn the_table_is_aligned_and_lists_the_first_failures() {
    let wrong = entry(2, "std", true, AHEAD, [3.0, 0.0], FACING_Y);
    let mut entries = vec![wrong; FAILURES_LISTED_MAX + 2];
    entries.extend(every_reading());
    let table = checked(&entries).unwrap().to_string();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[..14].iter().all(|line| line.chars().count() == lines[0].chars().count()), "{table}");
    assert_eq!(lines[15], "13 of 25 passed (10 of 22 primary, 3 of 3 other readings)");
    let first = r#"failed: entry 0 ("model 2"), drm 2: displacement off by 3.3e-1, matrix by "#;
    assert!(lines[16].starts_with(first), "{table}");
    assert_eq!(lines.last(), Some(&"and 2 more"));
}

#[test]
fn machines_read_stable_names() {
    let report = serde_json::to_value(checked(&every_reading()[..1]).unwrap()).unwrap();
    assert_eq!(
        report,
        json!({
            "rows": [{
                "drm": 1, "model": "Static", "semantics": "std", "primary": true, "cases": 1, "passed": 1,
                "displacement_error_max": 0.0, "matrix_error_max": report["rows"][0]["matrix_error_max"],
            }],
            "primary": { "cases": 1, "passed": 1 },
            "other": { "cases": 0, "passed": 0 },
            "failures": [],
        })
    );
}

#[test]
fn what_overflows_is_a_failure_and_stays_a_number() {
    let mut far = every_reading().remove(4);
    far["dt"] = json!(1e300);
    let report = checked(&[far]).unwrap();
    assert_eq!(report.failures[0].displacement_error, f64::MAX);
}

#[test]
fn an_entry_needs_no_name() {
    let mut nameless = every_reading().remove(0);
    nameless.as_object_mut().unwrap().remove("id");
    nameless["expect"]["disp"][0] = json!(1);
    let report = checked(&[nameless]).unwrap();
    assert!(report.to_string().contains("failed: entry 0, drm 1:"), "{report}");
}

#[test]
fn a_missing_field_is_named() {
    for field in ["drm", "semantics", "primary", "p0", "v0", "a0", "euler0", "omega", "dt", "expect"] {
        let line = complaint(|entry| {
            entry.as_object_mut().unwrap().remove(field);
        });
        assert_eq!(line, format!(r#"cases.json: entry 1 ("model 7"): field {field}: missing"#));
    }
    for field in ["disp", "matrix_w2b"] {
        let line = complaint(|entry| {
            entry["expect"].as_object_mut().unwrap().remove(field);
        });
        assert_eq!(line, format!(r#"cases.json: entry 1 ("model 7"): field expect.{field}: missing"#));
    }
}

#[test]
fn a_field_that_makes_no_sense_is_named() {
    let cases = [
        ("drm", json!(0), "expected a whole number from 1 to 9"),
        ("drm", json!(10), "expected a whole number from 1 to 9"),
        ("drm", json!(7.5), "expected a whole number from 1 to 9"),
        ("semantics", json!("turning\nleft"), r#"drm 7 has no reading "turning\nleft", only "std""#),
        ("semantics", json!(3), "expected a piece of text"),
        ("primary", json!("yes"), "expected true or false"),
        ("v0", json!([1, 2]), "expected three numbers"),
        ("omega", json!([0, null, 0]), "expected three numbers"),
        ("dt", json!(null), "expected a number"),
        ("expect", json!([]), "expected an object"),
    ];
    for (field, value, problem) in cases {
        let line = complaint(|entry| entry[field] = value);
        assert_eq!(line, format!(r#"cases.json: entry 1 ("model 7"): field {field}: {problem}"#));
    }
}

#[test]
fn what_is_not_json_is_placed_as_well_as_can_be() {
    let line = |json: &str| check(json.as_bytes(), "cases.json").unwrap_err().to_string();
    assert_eq!(line(""), "cases.json: there are no entries in it");
    assert_eq!(line("[]"), "cases.json: there are no entries in it");
    assert_eq!(line("{}"), "cases.json: invalid type: map, expected a list of entries at line 1 column 0");
    assert_eq!(
        line("[7]"),
        "cases.json: entry 0: invalid type: integer `7`, expected an object at line 1 column 2"
    );
    assert_eq!(
        line("[{\"drm\": 1},\n {\"dt\": NaN}]"),
        "cases.json: entry 1: field dt: expected value at line 2 column 9"
    );
    assert_eq!(
        line("[{\"dt\": 1e999}]"),
        "cases.json: entry 0: field dt: number out of range at line 1 column 13"
    );
}
