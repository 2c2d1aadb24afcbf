use std::fmt;
use std::sync::Arc;

use crate::dr_vector::DrVector;
use crate::state::State;
use crate::vector::Planar;

/// A game's word on where a guess may not go: walls, the edge of the world, the ground.
///
/// It changes the placed path, so whoever keeps account of errors must apply the same one: it is a
/// pure function of the DR vector and the guess, and carries a number by which two peers can tell
/// that theirs is the same.
///
/// ```
/// use fairpath::place::Clip;
/// use fairpath::vector::Vec2;
///
/// let field = Clip::<Vec2>::new(1, |_, mut guess| {
///     guess.position.x = guess.position.x.clamp(-400.0, 400.0);
///     guess.position.y = guess.position.y.clamp(-400.0, 400.0);
///     guess
/// });
/// assert_eq!(field.id(), 1);
/// ```
#[derive(Clone)]
pub struct Clip<V: Planar> {
    id: u32,
    function: Arc<ClipFunction<V>>,
}

type ClipFunction<V> = dyn Fn(&DrVector<V>, State<V>) -> State<V> + Send + Sync;

impl<V: Planar> Clip<V> {
    /// `function` gets the DR vector and the state it predicts, and answers with the state to show.
    pub fn new(
        id: u32,
        function: impl Fn(&DrVector<V>, State<V>) -> State<V> + Send + Sync + 'static,
    ) -> Self {
        Self { id, function: Arc::new(function) }
    }

    /// The number by which peers compare.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// What to show for this guess.
    pub fn apply(&self, vector: &DrVector<V>, guess: State<V>) -> State<V> {
        (self.function)(vector, guess)
    }
}

impl<V: Planar> fmt::Debug for Clip<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clip").field("id", &self.id).finish_non_exhaustive()
    }
}
