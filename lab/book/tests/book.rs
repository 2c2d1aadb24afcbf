//! Goal: no page of the book is lost and no link is dead. Method: read README.md, the other
//! documents at the root and every page of the book, and follow each relative link and anchor.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository's root")
}

fn markdown_below(folder: &Path, is_deep: bool, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder").flatten() {
        let path = entry.path();
        if path.is_dir() && is_deep {
            markdown_below(&path, is_deep, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// Every page of the book and every document at the root, with its text.
fn documents() -> BTreeMap<PathBuf, String> {
    let mut paths = Vec::new();
    markdown_below(&root(), false, &mut paths);
    markdown_below(&root().join("docs/src"), true, &mut paths);
    paths.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).expect("text"))).collect()
}

/// The text without fenced blocks: brackets in code are no links.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut kept = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// The targets of all inline links and pictures: what stands in `](…)`.
fn links(text: &str) -> Vec<String> {
    let without_code: String = prose(text).split('`').step_by(2).collect::<Vec<_>>().join("``");
    let targets = without_code.split("](").skip(1);
    targets.filter_map(|rest| Some(rest.split_once(')')?.0.trim().to_owned())).collect()
}

/// The anchors that mdBook and GitHub make of the headings, and those given by hand.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text);
    let headings = headings.lines().filter(|line| line.starts_with('#'));
    let made = headings.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'));
        kept.map(|char| if char == ' ' { '-' } else { char }).collect()
    });
    let given = text.split("id=\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()));
    made.chain(given).collect()
}

/// Joins the path of a link to the folder of its page, without touching the disk.
fn resolve(page: &Path, link: &str) -> PathBuf {
    let mut path = page.parent().expect("a folder").to_owned();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => assert!(path.pop(), "{link} leaves the disk"),
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path
}

#[test]
fn every_relative_link_leads_somewhere() {
    let documents = documents();
    let mut dead = Vec::new();
    for (page, text) in &documents {
        for link in links(text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { page.clone() } else { resolve(page, path) };
            let is_there = target.exists();
            let has_anchor =
                anchor.is_empty() || documents.get(&target).is_none_or(|text| anchors(text).contains(anchor));
            if !is_there || !has_anchor {
                dead.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

#[test]
fn the_summary_lists_every_page_once() {
    let summary = root().join("docs/src/SUMMARY.md");
    let text = std::fs::read_to_string(&summary).expect("docs/src/SUMMARY.md");
    let listed: Vec<PathBuf> = links(&text).iter().map(|link| resolve(&summary, link)).collect();
    let unique: BTreeSet<&PathBuf> = listed.iter().collect();
    assert_eq!(unique.len(), listed.len(), "SUMMARY.md lists a page twice");
    for page in documents().keys().filter(|page| page.starts_with(root().join("docs/src"))) {
        assert!(*page == summary || unique.contains(page), "SUMMARY.md does not list {}", page.display());
    }
}

#[test]
fn every_fenced_block_names_its_language() {
    // rustdoc takes a block without a language for Rust.
    for (page, text) in documents() {
        let mut is_open = false;
        for line in text.lines().map(str::trim_start).filter(|line| line.starts_with("```")) {
            assert!(is_open || line.len() > 3, "{}: a block without a language", page.display());
            is_open = !is_open;
        }
        assert!(!is_open, "{}: a block is never closed", page.display());
    }
}

/// The glossary's terms: its headings of the third level.
fn glossary() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("docs/src/glossary.md")).expect("docs/src/glossary.md");
    let terms = text.lines().filter_map(|line| line.strip_prefix("### "));
    terms.map(|term| term.trim().to_owned()).collect()
}

#[test]
fn every_term_of_the_glossary_is_used_in_the_book() {
    let terms = glossary();
    assert!(terms.len() > 20, "only {} terms: is the glossary's form `### term`?", terms.len());
    let pages: String = documents()
        .iter()
        .filter(|(page, _)| !page.ends_with("glossary.md"))
        .map(|(_, text)| text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for term in terms {
        let wanted = term.to_lowercase();
        assert!(pages.contains(&wanted), "the glossary explains {term:?}, which no page uses");
    }
}

#[test]
fn every_concept_page_leads_to_the_glossary() {
    // The other way round: a term that a concept page introduces in bold stands in the glossary.
    let terms: BTreeSet<String> = glossary().iter().map(|term| term.to_lowercase()).collect();
    for (page, text) in documents().iter().filter(|(page, _)| page.to_string_lossy().contains("/concepts/")) {
        let text = prose(text);
        for bold in text.split("**").skip(1).step_by(2) {
            let term = bold.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
            assert!(terms.contains(&term), "{} introduces **{term}**, not in the glossary", page.display());
        }
    }
}
