use std::fmt;
use std::sync::Arc;

use crate::dr_vector::DrVector;
use crate::state::State;
use crate::vector::Planar;

/// A game's rule for where a predicted state may not go: walls, the edge of the world, the ground.
///
/// A clip changes the placed path, so the sender's ledger must apply the same clip. It is a pure
/// function of the DR vector and the prediction, and carries a number by which two peers can check
/// that they use the same clip.
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
    /// Returns a clip. `function` takes the DR vector and the state it predicts, and returns the
    /// state to show.
    pub fn new(
        id: u32,
        function: impl Fn(&DrVector<V>, State<V>) -> State<V> + Send + Sync + 'static,
    ) -> Self {
        Self { id, function: Arc::new(function) }
    }

    /// Returns the number by which peers compare clips.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Returns the state to show for this prediction.
    pub fn apply(&self, vector: &DrVector<V>, guess: State<V>) -> State<V> {
        (self.function)(vector, guess)
    }
}

impl<V: Planar> fmt::Debug for Clip<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clip").field("id", &self.id).finish_non_exhaustive()
    }
}
