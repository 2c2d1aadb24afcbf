//! Goal: what the compiler says about the usual mistakes helps. Method: compile programs with one
//! mistake each, and look for the sentences that the program lists after `//~`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn the_compiler_explains_the_usual_mistakes() {
    let crates = built_crates();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut cases: Vec<PathBuf> =
        fs::read_dir(folder).expect("cases").map(|entry| entry.expect("readable").path()).collect();
    cases.sort();
    for case in cases {
        let text = fs::read_to_string(&case).expect("text");
        let expected: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("//~ ")).collect();
        let (compiles, said) = compile(&case, &crates);
        let case = case.display();
        assert_eq!(compiles, expected.is_empty(), "{case} compiles: {compiles}\n{said}");
        for sentence in expected {
            assert!(said.contains(sentence), "{case}: the compiler does not say {sentence:?} but\n{said}");
        }
    }
}

/// Compiles a program, without linking. Returns whether that succeeds, and what the compiler says.
fn compile(program: &Path, crates: &[(String, String)]) -> (bool, String) {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition", "2024", "--crate-type", "bin", "--emit", "metadata", "--color", "never"]);
    rustc.args(["--cap-lints", "deny", "-A", "dead_code"]).arg("--out-dir").arg(out).arg(program);
    for (name, file) in crates {
        rustc.arg("--extern").arg(format!("{name}={file}"));
        rustc.arg("-L").arg(format!("dependency={}", Path::new(file).parent().expect("a folder").display()));
    }
    let output = rustc.output().expect("rustc runs");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Returns the crates that programs use, as (name, file with its metadata). Cargo knows which files
/// in its target folder belong together.
fn built_crates() -> Vec<(String, String)> {
    let output = Command::new(env!("CARGO"))
        .args(["check", "--package", "fairpath-mistakes", "--lib", "--message-format", "json"])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("JSON is text");
    let crates = text.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let name = message["target"]["name"].as_str()?;
        let mut files = message["filenames"].as_array()?.iter().filter_map(|file| file.as_str());
        let file = files.find(|file| file.ends_with(".rmeta"))?;
        ["fairpath", "fairpath_net", "serde"].contains(&name).then(|| (name.to_owned(), file.to_owned()))
    });
    crates.collect()
}
