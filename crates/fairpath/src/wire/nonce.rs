use crate::random::Random;

/// A number that whoever has not received a datagram cannot know: the proof that it was received.
///
/// Each datagram of DR vectors carries one. Feedback carries the exclusive or of those of all
/// datagrams that it acknowledges ([`Nonce::of_all`]), so one number proves any number of receipts,
/// and one receipt that is made up spoils the proof (the cumulative nonce of Savage et al. 1999,
/// which RFC 3540 gave to TCP).
///
/// Eight bits: a guess is right once in 256 times, a wrong one closes the datagrams it was made
/// for, and three wrong ones in a row are enough for nothing more to be believed. Four bits would
/// let one guess in 16 pass, and 16 would take a datagram of 16 DR vectors above ten bytes for
/// each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Nonce(pub u8);

impl Nonce {
    /// A new one. It is as hard to guess as the generator's next number: good against receivers
    /// that cut corners. Who expects somebody to reconstruct the generator from what it has
    /// drawn takes the bits from the system instead.
    pub fn draw(random: &mut Random) -> Self {
        Self((random.bits() >> 56) as u8)
    }

    /// What proves that all of these were received: zero for none.
    pub fn of_all(nonces: impl IntoIterator<Item = Self>) -> Self {
        Self(nonces.into_iter().fold(0, |proof, Self(nonce)| proof ^ nonce))
    }
}
