//! Identifiers and counters. Numbers wrap only on the wire, and only [`widen`] undoes the wrapping.

/// Identifies an entity, a moving thing.
///
/// In a session it means an object from its creation or `ObjectEntered` to its destruction,
/// `ObjectLeft` or `SessionLost`. Afterwards it may be given to another object: see
/// [`ObjectHandle`](crate::session::ObjectHandle).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(pub u32);

/// Identifies a receiver: a peer that is sent updates of entities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReceiverId(pub u32);

/// Number of a DR vector among those of its entity, modulo 256.
///
/// A scheduler may leave most of them out for one receiver, so a gap says nothing about loss.
/// Deliberately not `Ord`: wrapped order is not transitive. Compare generation *times* instead:
/// they do not wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Generation(pub u8);

impl Generation {
    /// Returns the next generation.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// Returns the full count, given any full count less than 128 away from it.
    pub fn widen(self, near: u64) -> u64 {
        widen(u64::from(self.0), 8, near)
    }
}

/// The life of an entity, modulo 4: a respawn, a teleport or another parent starts the next life.
///
/// History, convergence and error integrals never cross from one life to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Life(u8);

impl Life {
    /// Returns life `number` modulo 4.
    pub const fn new(number: u8) -> Self {
        Self(number & 3)
    }

    /// Returns the number, 0 to 3.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Returns the next life.
    #[must_use]
    pub const fn next(self) -> Self {
        Self::new(self.0 + 1)
    }
}

/// Number of a datagram on one link, from zero, without wrapping. Loss is inferred from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketNumber(pub u64);

impl PacketNumber {
    /// Returns the next packet number.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// Returns the low 16 bits, which the wire carries.
    pub const fn on_wire(self) -> WirePacketNumber {
        WirePacketNumber(self.0 as u16)
    }
}

/// The low 16 bits of a packet number. Deliberately not `Ord`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WirePacketNumber(pub u16);

impl WirePacketNumber {
    /// Returns the full packet number, given any packet number less than 32 768 away from it.
    pub fn widen(self, near: PacketNumber) -> PacketNumber {
        PacketNumber(widen(u64::from(self.0), 16, near.0))
    }
}

/// Undoes wrapping: returns the number nearest to `near` with the low `bits` bits of `low`.
///
/// Of two equally near numbers it returns the later; near zero it returns the smallest possible
/// number, never a negative one.
pub fn widen(low: u64, bits: u32, near: u64) -> u64 {
    assert!((1..64).contains(&bits), "bits must be 1 to 63");
    let modulus = 1u64 << bits;
    let ahead = low.wrapping_sub(near) & (modulus - 1);
    if ahead <= modulus / 2 || near < modulus - ahead {
        near.saturating_add(ahead)
    } else {
        near - (modulus - ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrap_is_seamless() {
        assert_eq!(Generation(255).next(), Generation(0));
        assert_eq!(Generation(2).widen(254), 258);
        assert_eq!(Generation(254).widen(258), 254);
        assert_eq!(WirePacketNumber(0xFFFF).widen(PacketNumber(0x1_0000)), PacketNumber(0xFFFF));
        assert_eq!(Life::new(3).next(), Life::new(0));
    }

    #[test]
    fn nothing_is_before_zero() {
        assert_eq!(Generation(255).widen(0), 255);
        assert_eq!(widen(3, 2, 0), 3);
    }
}
