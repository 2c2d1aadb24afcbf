use crate::random::Random;

/// A random number that only the receiver of a datagram knows: the proof of receipt.
///
/// Each datagram of DR vectors carries one. Feedback carries the exclusive or of the nonces of all
/// acknowledged datagrams ([`Nonce::of_all`]). So one number proves any number of receipts, and one
/// forged receipt spoils the proof (the cumulative nonce of Savage et al. 1999, which RFC 3540 gave
/// to TCP).
///
/// Eight bits: a guess is right once in 256 times, a wrong guess invalidates the datagrams it was
/// made for, and after three wrong ones in a row the sender believes no more receipts. Four bits
/// would let one guess in 16 pass; 16 bits would push a datagram of 16 DR vectors above ten bytes
/// for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Nonce(pub u8);

impl Nonce {
    /// Draws a new nonce. It is as hard to guess as the generator's next number, which stops
    /// receivers that cut corners. Against an attacker that reconstructs the generator from its
    /// output, use random bits of the operating system instead.
    pub fn draw(random: &mut Random) -> Self {
        Self((random.bits() >> 56) as u8)
    }

    /// Returns the proof that all these datagrams were received; zero for none.
    pub fn of_all(nonces: impl IntoIterator<Item = Self>) -> Self {
        Self(nonces.into_iter().fold(0, |proof, Self(nonce)| proof ^ nonce))
    }
}
