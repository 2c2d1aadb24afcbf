//! Opening sealed packets.

use super::content::{FirstByte, widen};
use super::{
    AEAD_TAG_BYTES, Content, Direction, DropReason, Drops, Exporter, NUMBER_BYTES, NoKey, PacketKey,
    REPLAY_WINDOW, ReplayWindow, TAG_BYTES, Tag,
};

/// Opens the packets of one direction of a connection, each of them once.
///
/// It holds the keys of three epochs. The next one's is derived in advance, so that no packet can
/// make it derive keys. The one before is forgotten [`REPLAY_WINDOW`] numbers after the change:
/// then the replay window refuses all of its packets anyway.
#[derive(Debug)]
pub struct Opener {
    direction: Direction,
    epoch: u32,
    current: PacketKey,
    /// The first number that was opened with the current key.
    current_from: u64,
    next: Option<PacketKey>,
    previous: Option<PacketKey>,
    window: ReplayWindow,
    drops: Drops,
}

/// An authentic packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// Its number.
    pub number: u64,
    /// Whether its number is above all that were opened before.
    pub is_newest: bool,
    /// What it carries.
    pub content: Content<'a>,
}

/// Which of the three keys a packet names.
#[derive(Clone, Copy, PartialEq)]
enum KeyChoice {
    Previous,
    Current,
    Next,
}

impl Opener {
    /// Opens packets of this direction.
    pub fn new(exporter: &(impl Exporter + ?Sized), direction: Direction) -> Result<Self, NoKey> {
        Ok(Self {
            direction,
            epoch: 0,
            current: PacketKey::derive(exporter, direction, 0)?,
            current_from: 0,
            next: Some(PacketKey::derive(exporter, direction, 1)?),
            previous: None,
            window: ReplayWindow::default(),
            drops: Drops::default(),
        })
    }

    /// The tag of a packet to the server. The first step at the server, before there is a key.
    pub fn tag_of(packet: &[u8]) -> Result<Tag, DropReason> {
        if packet.len() < super::OVERHEAD_TO_SERVER {
            return Err(DropReason::TooShort);
        }
        FirstByte::decode(packet[0])?;
        Ok(packet[1..=TAG_BYTES].try_into().expect("four bytes"))
    }

    /// Opens a packet in place, and never again. Counts it if it has to be dropped.
    pub fn open<'a>(&mut self, packet: &'a mut [u8]) -> Result<Opened<'a>, DropReason> {
        let opened = self.decrypt(packet);
        match opened {
            Ok((opened, choice)) => {
                self.window.mark(opened.number);
                self.turn_epoch(opened.number, choice);
                Ok(opened)
            }
            Err(reason) => {
                self.drops.count(reason);
                Err(reason)
            }
        }
    }

    /// Reads a packet that came from an unproven address: says what it is, and leaves the opener as
    /// it was, so that a copy which overtakes the original does not make the original a replay.
    pub fn inspect<'a>(&mut self, packet: &'a mut [u8]) -> Result<Opened<'a>, DropReason> {
        let opened = self.decrypt(packet);
        opened.map(|(opened, _)| opened).inspect_err(|reason| self.drops.count(*reason))
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

    /// What was dropped so far.
    pub fn drops(&self) -> Drops {
        self.drops
    }

    /// Counts a packet that was dropped after it was opened.
    pub(super) fn count_drop(&mut self, reason: DropReason) {
        self.drops.count(reason);
    }

    /// The low 16 bits of the highest number opened so far, for a report.
    pub fn newest_low(&self) -> u16 {
        self.window.expected().wrapping_sub(1) as u16
    }

    fn decrypt<'a>(&self, packet: &'a mut [u8]) -> Result<(Opened<'a>, KeyChoice), DropReason> {
        let header_bytes = self.header_bytes();
        if packet.len() < header_bytes + AEAD_TAG_BYTES {
            return Err(DropReason::TooShort);
        }
        let (header, sealed) = packet.split_at_mut(header_bytes);
        let first = FirstByte::decode(header[0])?;
        let low = header[header_bytes - NUMBER_BYTES..].try_into().expect("two bytes");
        let number = widen(low, self.window.expected());
        let (key, choice) = self.key(first.epoch)?;
        self.window.check(number)?;
        let plain = key.open(number, header, sealed).ok_or(DropReason::NotAuthentic)?;
        let content = first.content(plain)?;
        let is_newest = number >= self.window.expected();
        Ok((Opened { number, is_newest, content }, choice))
    }

    fn header_bytes(&self) -> usize {
        match self.direction {
            Direction::ToClient => 1 + NUMBER_BYTES,
            Direction::ToServer => 1 + TAG_BYTES + NUMBER_BYTES,
        }
    }

    fn key(&self, epoch_low: u8) -> Result<(&PacketKey, KeyChoice), DropReason> {
        let ahead = epoch_low.wrapping_sub(self.epoch as u8) & 0b11;
        let choice = match ahead {
            0 => Some((&self.current, KeyChoice::Current)),
            1 => self.next.as_ref().map(|key| (key, KeyChoice::Next)),
            3 => self.previous.as_ref().map(|key| (key, KeyChoice::Previous)),
            _ => None,
        };
        choice.ok_or(DropReason::WrongEpoch)
    }

    /// Follows the sender to its next key, and forgets the previous one in time.
    fn turn_epoch(&mut self, number: u64, choice: KeyChoice) {
        if choice == KeyChoice::Next
            && let Some(next) = self.next.take()
        {
            self.previous = Some(std::mem::replace(&mut self.current, next));
            self.epoch += 1;
            self.current_from = number;
        }
        if self.window.expected() > self.current_from + REPLAY_WINDOW {
            self.previous = None;
        }
    }
}
