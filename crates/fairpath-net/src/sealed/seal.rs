//! Making sealed packets.

use std::fmt;

use super::content::FirstByte;
use super::{
    Content, Direction, EPOCH_PACKETS, EPOCH_PACKETS_MAX, Exporter, NUMBER_BYTES, NoKey, PacketKey, Tag,
};

/// Makes the packets of one direction of a connection.
///
/// It is the only owner of its numbers: there is one for a connection and direction, and it cannot
/// be cloned. Numbers count from 0 and go on when the key changes, so no key sees one twice.
#[derive(Debug)]
pub struct Sealer {
    direction: Direction,
    tag: Option<Tag>,
    key: PacketKey,
    epoch: u32,
    /// The number of the next packet.
    number: u64,
    /// The first number that `key` seals.
    epoch_began: u64,
    /// The next epoch's key, derived in advance by [`refill`](Self::refill).
    next: Option<PacketKey>,
}

/// The key may seal no more packets, and [`Sealer::refill`] has not brought the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

impl Sealer {
    /// The server's sealer.
    pub fn to_client(exporter: &(impl Exporter + ?Sized)) -> Result<Self, NoKey> {
        Self::new(exporter, Direction::ToClient, None)
    }

    /// The client's sealer. The server has chosen the tag.
    pub fn to_server(exporter: &(impl Exporter + ?Sized), tag: Tag) -> Result<Self, NoKey> {
        Self::new(exporter, Direction::ToServer, Some(tag))
    }

    fn new(
        exporter: &(impl Exporter + ?Sized),
        direction: Direction,
        tag: Option<Tag>,
    ) -> Result<Self, NoKey> {
        let key = PacketKey::derive(exporter, direction, 0)?;
        let next = Some(PacketKey::derive(exporter, direction, 1)?);
        Ok(Self { direction, tag, key, epoch: 0, number: 0, epoch_began: 0, next })
    }

    /// Appends a packet to `out`. Returns its number. Allocates only if `out` has to grow.
    pub fn seal(&mut self, content: &Content<'_>, out: &mut Vec<u8>) -> Result<u64, Exhausted> {
        self.turn_epoch()?;
        let number = self.number;
        self.number += 1;
        let start = out.len();
        out.push(FirstByte::new(self.epoch, content).encode());
        if let Some(tag) = &self.tag {
            out.extend_from_slice(tag);
        }
        out.extend_from_slice(&number.to_le_bytes()[..NUMBER_BYTES]);
        let header_end = out.len();
        content.encode(out);
        let (header, plain) = out[start..].split_at_mut(header_end - start);
        let aead_tag = self.key.seal(number, header, plain);
        out.extend_from_slice(&aead_tag);
        Ok(number)
    }

    /// Derives the next epoch's key if there is none in advance. Cheap if there is: call it once
    /// per pass of a driver.
    pub fn refill(&mut self, exporter: &(impl Exporter + ?Sized)) -> Result<(), NoKey> {
        if self.next.is_none()
            && let Some(epoch) = self.epoch.checked_add(1)
        {
            self.next = Some(PacketKey::derive(exporter, self.direction, epoch)?);
        }
        Ok(())
    }

    /// Takes the next epoch's key before it is due. Without one in advance nothing changes.
    pub fn change_key(&mut self) {
        if let Some(next) = self.next.take() {
            self.key = next;
            self.epoch += 1;
            self.epoch_began = self.number;
        }
    }

    /// The number of the next packet.
    pub fn next_number(&self) -> u64 {
        self.number
    }

    /// The epoch of the current key.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    fn turn_epoch(&mut self) -> Result<(), Exhausted> {
        if self.number - self.epoch_began >= EPOCH_PACKETS {
            self.change_key();
        }
        let is_spent = self.number - self.epoch_began >= EPOCH_PACKETS_MAX;
        if is_spent { Err(Exhausted) } else { Ok(()) }
    }

    /// As if this many packets had been sealed. Skips numbers, so none is used twice.
    #[cfg(test)]
    pub(super) fn skip(&mut self, packets: u64) {
        self.number += packets;
    }
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot seal: the key has sealed as many packets as it may; refill the sealer")
    }
}

impl std::error::Error for Exhausted {}

#[cfg(test)]
mod tests {
    //! Goal: a key never seals too many packets, and the peer follows every change of keys. Method:
    //! skip numbers up to the bounds.

    use ring::hmac;

    use super::*;
    use crate::sealed::{DropReason, Opener};

    struct TestExporter;

    impl Exporter for TestExporter {
        fn export(&self, output: &mut [u8], label: &[u8], context: &[u8]) -> Result<(), NoKey> {
            let secret = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, label), context);
            output.copy_from_slice(&secret.as_ref()[..output.len()]);
            Ok(())
        }
    }

    const DATAGRAM: Content<'static> = Content::Datagram(b"motion");

    /// Seals and opens packets until the sealer's next number is `number`, most of them skipped.
    fn advance(sealer: &mut Sealer, opener: &mut Opener, number: u64) {
        while sealer.next_number() < number {
            sealer.skip((number - 1 - sealer.next_number()).min(30_000));
            let mut packet = Vec::new();
            sealer.seal(&DATAGRAM, &mut packet).expect("a key");
            opener.open(&mut packet).expect("authentic");
            opener.refill(&TestExporter).expect("keys");
        }
    }

    #[test]
    fn keys_change_at_the_bound_and_the_peer_follows() {
        let mut sealer = Sealer::to_client(&TestExporter).expect("keys");
        let mut opener = Opener::new(&TestExporter, Direction::ToClient).expect("keys");
        for epoch in 0..6 {
            assert_eq!(sealer.epoch(), u32::try_from(epoch).expect("small"));
            advance(&mut sealer, &mut opener, (epoch + 1) * EPOCH_PACKETS + 1);
            sealer.refill(&TestExporter).expect("keys");
        }
        assert_eq!(opener.drops().total(), 0);
    }

    #[test]
    fn a_key_seals_no_more_than_it_may_even_without_a_next_one() {
        let mut sealer = Sealer::to_client(&TestExporter).expect("keys");
        let mut out = Vec::new();
        sealer.change_key();
        let began = sealer.next_number();
        sealer.skip(EPOCH_PACKETS_MAX - 1);
        assert_eq!(sealer.seal(&DATAGRAM, &mut out), Ok(began + EPOCH_PACKETS_MAX - 1));
        let written = out.len();
        assert_eq!(sealer.seal(&DATAGRAM, &mut out), Err(Exhausted));
        assert_eq!(out.len(), written, "nothing is appended");
        sealer.refill(&TestExporter).expect("keys");
        assert_eq!(sealer.seal(&DATAGRAM, &mut out), Ok(began + EPOCH_PACKETS_MAX));
    }

    #[test]
    fn the_peer_without_the_next_key_drops_and_counts() {
        let mut sealer = Sealer::to_client(&TestExporter).expect("keys");
        let mut opener = Opener::new(&TestExporter, Direction::ToClient).expect("keys");
        for _ in 0..2 {
            sealer.change_key();
            sealer.refill(&TestExporter).expect("keys");
        }
        let mut packet = Vec::new();
        sealer.seal(&DATAGRAM, &mut packet).expect("a key");
        assert_eq!(opener.open(&mut packet), Err(DropReason::WrongEpoch));
        assert_eq!(opener.drops().of(DropReason::WrongEpoch), 1);
    }
}
