use std::fmt;

/// Inputs stored at the server and applied at their event (an open idea in Buchheit 2004).
///
/// Prediction hides delay but does not shorten it: a player learns of an event half a round trip
/// late, and its reaction arrives another half later. A player that can say beforehand "if this
/// happens, do that" reacts at once. The game defines events; the server checks them every tick.
///
/// ```
/// use fairpath_compensate::{Contingencies, Contingency};
///
/// let mut held = Contingencies::new();
/// // If the cliff is nearer than 10: brake, for three ticks. It is not valid from tick 500 on.
/// held.hold(Contingency { number: 1, condition: 10, input: "brake", ticks: 3, expires: 500 })?;
/// let drive = |held: &mut Contingencies<i32, _>, tick, cliff: i32| {
///     held.play(tick, "go", |nearer_than| cliff < *nearer_than)
/// };
/// assert_eq!(drive(&mut held, 100, 12), "go");
/// assert_eq!(drive(&mut held, 101, 9), "brake");
/// assert_eq!(drive(&mut held, 102, 11), "brake");
/// assert_eq!(drive(&mut held, 103, 11), "brake");
/// assert_eq!(drive(&mut held, 104, 11), "go", "and it fires once");
/// # Ok::<(), fairpath_compensate::TooMany>(())
/// ```
#[derive(Clone, Debug)]
pub struct Contingencies<C, I> {
    held: Vec<Contingency<C, I>>,
    firing: Option<Firing<I>>,
}

/// An input that an event triggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contingency<C, I> {
    /// Identifies the contingency: another one with the same number replaces it.
    pub number: u32,
    /// The event, in the game's own terms.
    pub condition: C,
    /// The input that replaces the player's own.
    pub input: I,
    /// For how many ticks.
    pub ticks: u32,
    /// The first tick at which it is no longer valid. A player that has changed plans or has left
    /// must not be bound by it.
    pub expires: u64,
}

#[derive(Clone, Debug)]
struct Firing<I> {
    input: I,
    until: u64,
}

/// The maximum number per player. 16: the server checks each of them every tick.
pub const CONTINGENCIES_MAX: usize = 16;

/// The player already has [`CONTINGENCIES_MAX`] contingencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

impl<C, I: Clone> Contingencies<C, I> {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self { held: Vec::new(), firing: None }
    }

    /// Stores a contingency.
    pub fn hold(&mut self, contingency: Contingency<C, I>) -> Result<(), TooMany> {
        self.withdraw(contingency.number);
        if self.held.len() == CONTINGENCIES_MAX {
            return Err(TooMany);
        }
        self.held.push(contingency);
        Ok(())
    }

    /// Removes a contingency. Returns false if there is none with this number.
    pub fn withdraw(&mut self, number: u32) -> bool {
        let before = self.held.len();
        self.held.retain(|held| held.number != number);
        self.held.len() < before
    }

    /// Returns the input for `tick`: `input`, or that of a contingency whose event happens now or
    /// is still being answered. If several events happen, the contingency stored first counts.
    pub fn play(&mut self, tick: u64, input: I, happens: impl Fn(&C) -> bool) -> I {
        self.held.retain(|held| tick < held.expires);
        if self.firing.as_ref().is_none_or(|firing| tick >= firing.until) {
            let met = self.held.iter().position(|held| happens(&held.condition));
            self.firing = met.map(|index| {
                let Contingency { input, ticks, .. } = self.held.remove(index);
                Firing { input, until: tick.saturating_add(ticks.into()) }
            });
        }
        match &self.firing {
            Some(firing) if tick < firing.until => firing.input.clone(),
            _ => input,
        }
    }

    /// Returns the number of stored contingencies.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Returns whether none is stored.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

impl<C, I: Clone> Default for Contingencies<C, I> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a player can hold at most {CONTINGENCIES_MAX} contingencies: withdraw one first")
    }
}

impl std::error::Error for TooMany {}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(number: u32, expires: u64) -> Contingency<(), char> {
        Contingency { number, condition: (), input: 'x', ticks: 1, expires }
    }

    #[test]
    fn they_expire_are_replaced_and_are_bounded() {
        let mut held = Contingencies::new();
        held.hold(order(1, 10)).unwrap();
        held.hold(order(1, 20)).unwrap();
        assert_eq!(held.len(), 1);
        assert_eq!(held.play(20, '-', |()| true), '-', "void by then");
        assert!(held.is_empty() && !held.withdraw(1));
        let refused = (0..100).filter(|number| held.hold(order(*number, 99)) == Err(TooMany)).count();
        assert_eq!(refused, 100 - CONTINGENCIES_MAX);
    }
}
