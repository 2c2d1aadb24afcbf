//! Placeholder.
use crate::dr_vector::DrVector;
use crate::time::Span;
use crate::vector::Planar;

/// Placeholder.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Precision;
impl Precision {
    /// Placeholder.
    pub fn time_step(&self) -> Span {
        Span::from_millis(1)
    }
    /// Placeholder.
    pub fn as_decoded<V: Planar>(&self, vector: &DrVector<V>) -> DrVector<V> {
        *vector
    }
}
