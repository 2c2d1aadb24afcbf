//! The experiments there are: one file each, and one line in [`all`].

use crate::experiment::Experiment;

mod x1;

/// All of them, in the order of their numbers.
pub fn all() -> &'static [&'static dyn Experiment] {
    &[&x1::X1]
}

/// The one with this id, upper or lower case.
pub fn find(id: &str) -> Option<&'static dyn Experiment> {
    all().iter().copied().find(|experiment| experiment.id().eq_ignore_ascii_case(id))
}
