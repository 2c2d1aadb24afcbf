//! Goal: documents do not rot, and nothing lands that should not. Method: read every tracked file
//! and compare it with what is there.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root").to_owned()
}

/// Every file of the repository as (path from the root, text), leaving out what is not text.
fn files() -> Vec<(String, String)> {
    let mut found = Vec::new();
    collect(&root(), &mut found);
    assert!(found.len() > 50, "found only {} files: is this the repository?", found.len());
    found
}

fn collect(folder: &Path, found: &mut Vec<(String, String)>) {
    const NOT_OURS: [&str; 4] = [".git", "target", "fairpath-out", "corpus"];
    for entry in std::fs::read_dir(folder).expect("readable").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if NOT_OURS.iter().any(|skip| name == *skip) {
            continue;
        }
        if path.is_dir() {
            collect(&path, found);
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            let relative = path.strip_prefix(root()).expect("below the root");
            found.push((relative.to_string_lossy().replace('\\', "/"), text));
        }
    }
}

fn documents() -> Vec<(String, String)> {
    files().into_iter().filter(|(path, _)| path.ends_with(".md")).collect()
}

/// What stands between single backticks, line by line.
fn in_backticks(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with("```")).flat_map(|line| line.split('`').skip(1).step_by(2))
}

#[test]
fn documents_name_only_files_that_exist() {
    const ROOMS: [&str; 4] = ["crates/", "lab/", "xtask/", ".ci/"];
    for (path, text) in documents() {
        for name in in_backticks(&text) {
            let names_a_file =
                ROOMS.iter().any(|room| name.starts_with(room)) && !name.contains(['*', '{', ' ']);
            if names_a_file {
                assert!(root().join(name).exists(), "{path} names `{name}`, which does not exist");
            }
        }
    }
}

#[test]
fn documents_show_only_tasks_that_exist() {
    let help = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("--help").output().expect("xtask runs");
    let help = String::from_utf8(help.stdout).expect("help is text");
    for (path, text) in documents() {
        for line in text.lines() {
            for mention in line.split("cargo xtask ").skip(1) {
                let task: String = mention.chars().take_while(char::is_ascii_lowercase).collect();
                let known = help.contains(&format!("cargo xtask {task}"));
                assert!(task.is_empty() || known, "{path} shows `cargo xtask {task}`, which does not exist");
            }
        }
    }
}

#[test]
fn no_file_names_a_place_on_one_machine() {
    // Split, so that this file does not find itself.
    let shared = ["..", "/shared"].concat();
    let homes = [["/wo", "rk/"].concat(), ["/ro", "ot/"].concat(), ["/ho", "me/"].concat()];
    for (path, text) in files() {
        assert!(!text.contains(&shared), "{path} shows a path outside the repository");
        for home in &homes {
            assert!(!text.contains(home.as_str()), "{path} names {home}, a place on one machine");
        }
    }
}

#[test]
fn nothing_unfinished_lands() {
    let marks = [["todo", "!("].concat(), ["unimplemented", "!("].concat(), ["FIX", "ME"].concat()];
    let ignored = ["#[ign", "ore"].concat();
    for (path, text) in files().into_iter().filter(|(path, _)| path.ends_with(".rs")) {
        for mark in marks.iter().chain([&ignored]) {
            assert!(!text.contains(mark.as_str()), "{path} holds {mark}");
        }
    }
}

#[test]
fn every_dependency_has_a_licence_we_accept() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--all-features"])
        .current_dir(root())
        .output()
        .expect("cargo metadata runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
    let accepted = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    let accepts = |licence: &str| accepted.contains(&format!("\"{licence}\""));
    for package in metadata["packages"].as_array().expect("packages") {
        let (name, licence) = (&package["name"], package["license"].as_str().unwrap_or("none stated"));
        // "A OR B" needs one of them, "A AND B" needs both; the old "A/B" means OR.
        let licence = licence.replace(['(', ')'], "").replace('/', " OR ");
        let fine = licence.split(" AND ").all(|all| all.split(" OR ").any(accepts));
        assert!(fine, "{name} is licensed {licence:?}, which deny.toml does not accept");
    }
}
