//! Goal: documents stay true and readable, and nothing unfinished lands. Method: read every file of
//! the repository and compare it with the tree.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root").to_owned()
}

/// Returns every text file of the repository as (path from the root, text).
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

/// Returns the texts between single backticks, line by line.
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

/// README.md is a door, not a manual.
const README_LINES_MAX: usize = 150;

#[test]
fn the_readme_is_short() {
    let text = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let lines = text.lines().count();
    assert!(lines <= README_LINES_MAX, "README.md has {lines} lines; move details into the book (docs/)");
}

/// The width of documents and of comments.
const COLUMNS_MAX: usize = 100;

#[test]
fn documents_are_wrapped() {
    for (path, text) in documents() {
        let mut is_block = false;
        for (number, line) in (1..).zip(text.lines()) {
            is_block ^= line.trim_start().starts_with("```");
            // A table's row or a link cannot be broken; a block is code or output.
            let is_exempt = is_block || line.trim_start().starts_with('|') || line.contains("](");
            let width = line.chars().count();
            assert!(is_exempt || width <= COLUMNS_MAX, "{path}:{number} is {width} columns wide");
        }
    }
}

#[test]
fn comments_are_wrapped() {
    for (path, text) in files().into_iter().filter(|(path, _)| path.ends_with(".rs")) {
        let mut is_sample = false;
        for (number, line) in (1..).zip(text.lines()) {
            let comment = line.trim_start();
            is_sample ^= comment.trim_start_matches(['/', '!']).trim_start().starts_with("```");
            // Samples, tables, diagrams and links cannot be broken.
            let is_prose = comment.starts_with("//")
                && !is_sample
                && !comment.contains(['|', '`', '─'])
                && !comment.contains("://");
            let width = line.chars().count();
            assert!(!is_prose || width <= COLUMNS_MAX, "{path}:{number} is {width} columns wide");
        }
    }
}

#[test]
fn papers_are_cited_by_author_and_year() {
    for (path, text) in files() {
        let is_ours = [".rs", ".md", ".js", ".html"].iter().any(|ending| path.ends_with(ending));
        if !is_ours || path == "xtask/tests/tidy.rs" {
            continue;
        }
        for (number, line) in (1..).zip(text.lines()) {
            let mut words = line.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
            let nickname = words.find(|word| matches!(*word, "S0" | "S1" | "S2" | "S3" | "S4"));
            assert!(nickname.is_none(), "{path}:{number} cites {nickname:?}: give author and year");
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

/// Returns what `cargo metadata` prints with these arguments.
fn metadata(arguments: &[&str]) -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--all-features"])
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("cargo metadata runs");
    serde_json::from_slice(&output.stdout).expect("metadata is JSON")
}

/// The published crate that is a workspace of its own.
const BEVY: [&str; 2] = ["--manifest-path", "crates/bevy_fairpath/Cargo.toml"];

/// Returns the packages of both published workspaces.
fn packages(arguments: &[&str]) -> Vec<serde_json::Value> {
    let of = |mut metadata: serde_json::Value| match metadata["packages"].take() {
        serde_json::Value::Array(packages) => packages,
        other => panic!("no packages but {other}"),
    };
    let mut packages = of(metadata(arguments));
    packages.extend(of(metadata(&[arguments, &BEVY].concat())));
    packages
}

#[test]
fn dependencies_point_from_the_laboratory_to_the_library() {
    for package in packages(&["--no-deps"]) {
        let (name, manifest) = (&package["name"], package["manifest_path"].as_str().expect("a path"));
        let is_published = Path::new(manifest).starts_with(root().join("crates"));
        let publish_off = package["publish"].as_array().is_some_and(Vec::is_empty);
        assert_eq!(publish_off, !is_published, "{name}: `publish = false` belongs to all outside crates/");
        if !is_published {
            continue;
        }
        for key in ["description", "repository", "readme", "license"] {
            assert!(package[key].is_string(), "{name} lacks `{key}` in Cargo.toml");
        }
        for key in ["keywords", "categories"] {
            assert!(package[key].as_array().is_some_and(|list| !list.is_empty()), "{name} lacks `{key}`");
        }
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let Some(path) = dependency["path"].as_str() else { continue };
            let is_library = Path::new(path).starts_with(root().join("crates"));
            // Packaging strips a dev-dependency without a version.
            let is_stripped = dependency["kind"] == "dev" && dependency["req"] == "*";
            assert!(
                is_stripped || (is_library && dependency["req"] != "*"),
                "{name} depends on {}: a published crate depends on published crates, with a version",
                dependency["name"]
            );
        }
    }
}

#[test]
fn every_dependency_has_a_licence_we_accept() {
    let accepted = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    let accepts = |licence: &str| accepted.contains(&format!("\"{licence}\""));
    for package in packages(&[]) {
        let (name, licence) = (&package["name"], package["license"].as_str().unwrap_or("none stated"));
        // "A OR B" needs one of them, "A AND B" needs both; the old "A/B" means OR.
        let licence = licence.replace(['(', ')'], "").replace('/', " OR ");
        let fine = licence.split(" AND ").all(|all| all.split(" OR ").any(accepts));
        assert!(fine, "{name} is licensed {licence:?}, which deny.toml does not accept");
    }
}
