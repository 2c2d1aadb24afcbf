use std::fmt;

/// Inputs held at the server, and fired there when what they are for happens: Buchheit 2004's open
/// idea.
///
/// Prediction hides delay but does not shorten it: whoever must answer an event hears of it half a
/// round trip late and is heard another half later. A player who can say beforehand "if this
/// happens, do that" is answered for at once. What an event is, the game decides; the server asks
/// in every tick.
///
/// ```
/// use fairpath_compensate::{Contingencies, Contingency};
///
/// let mut held = Contingencies::new();
/// // If the cliff is nearer than 10: brake, for three ticks. The order is void from tick 500 on.
/// held.hold(Contingency { number: 1, condition: 10, input: "brake", ticks: 3, expires: 500 })?;
/// let drive = |held: &mut Contingencies<i32, _>, tick, cliff: i32| held.play(tick, "go", |nearer_than| cliff < *nearer_than);
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

/// An input to be fired by an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contingency<C, I> {
    /// Its name: another of the same number takes its place.
    pub number: u32,
    /// The event, in the game's words.
    pub condition: C,
    /// What the hands do then, instead of what they otherwise do.
    pub input: I,
    /// For how many ticks.
    pub ticks: u32,
    /// From this tick on it is void: a player who has changed plans, or is gone, must not be bound
    /// by it.
    pub expires: u64,
}

#[derive(Clone, Debug)]
struct Firing<I> {
    input: I,
    until: u64,
}

/// How many a player may hold. 16: the server asks about each in every tick.
pub const CONTINGENCIES_MAX: usize = 16;

/// The player holds [`CONTINGENCIES_MAX`] already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

impl<C, I: Clone> Contingencies<C, I> {
    /// None held.
    pub fn new() -> Self {
        Self { held: Vec::new(), firing: None }
    }

    /// Holds one.
    pub fn hold(&mut self, contingency: Contingency<C, I>) -> Result<(), TooMany> {
        self.withdraw(contingency.number);
        if self.held.len() == CONTINGENCIES_MAX {
            return Err(TooMany);
        }
        self.held.push(contingency);
        Ok(())
    }

    /// Takes one back; `false` if there is none of that number.
    pub fn withdraw(&mut self, number: u32) -> bool {
        let before = self.held.len();
        self.held.retain(|held| held.number != number);
        self.held.len() < before
    }

    /// What the hands do in `tick`: `input`, or what was held for an event that happens now or is
    /// still being answered. Of several events the one held first counts.
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

    /// How many are held.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether none is.
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
        write!(f, "no more than {CONTINGENCIES_MAX} contingencies are held for one player")
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
