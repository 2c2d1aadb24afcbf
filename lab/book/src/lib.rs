//! Compiles and runs the samples of README.md and of the book as documentation tests.
//!
//! Each page is a module whose documentation is the page. The build script makes the list, so a new
//! page is compiled without being registered. `tests/book.rs` checks links and the table of
//! contents.

#[cfg(doctest)]
#[allow(missing_docs, reason = "the pages are the documentation")]
mod pages {
    include!(concat!(env!("OUT_DIR"), "/pages.rs"));
}
