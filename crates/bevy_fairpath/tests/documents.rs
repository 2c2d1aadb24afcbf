//! Goal: the samples of the book's page about Bevy are code that compiles.
//! Method: the book is not built with Bevy, so each of its samples must be a part of an example,
//! line by line.

use std::fs;
use std::path::Path;

#[test]
fn samples_of_the_book_are_parts_of_examples() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = here.join("../../docs/src/guides/bevy.md");
    // The archive of the crate has no book.
    let Ok(page) = fs::read_to_string(page) else { return };
    let mut examples = String::new();
    for example in fs::read_dir(here.join("examples")).expect("examples") {
        examples += &fs::read_to_string(example.expect("a file").path()).expect("text");
    }
    let mut samples = 0;
    for sample in page.split("```rs\n").skip(1) {
        let (sample, _) = sample.split_once("```").expect("a sample ends");
        assert!(examples.contains(sample), "no example contains:\n{sample}");
        samples += 1;
    }
    assert!(samples >= 6, "{samples} samples");
}
