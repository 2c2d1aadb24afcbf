//! Sections 11 to 14: sessions.

use std::fmt::Write as _;

use crate::Rejected;

/// The reasons of refusals.
const REASONS: std::ops::RangeInclusive<u8> = 0..=14;

/// Returns a session message as text, one fact per line. `room` is the channel: `stream`, `message`
/// or `datagram` of a session, or `lobby`.
pub fn decode_session(room: &str, hex: &str) -> Result<String, Rejected> {
    let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    let bytes: Vec<u8> = digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect();
    let mut reader = MessageReader { bytes: &bytes, text: String::new() };
    match room {
        "stream" => reader.message()?,
        "message" => {
            let number = reader.varint()?;
            reader.say(format!("number {number}\n"));
            reader.call(16384)?;
        }
        "datagram" => {
            let updates = reader.counted(usize::MAX)?;
            reader.say(format!("updates {}\n", hex_of(updates)));
            while !reader.bytes.is_empty() {
                reader.part()?;
            }
        }
        "lobby" => reader.lobby()?,
        _ => return Err(Rejected("no such room")),
    }
    if reader.bytes.is_empty() { Ok(reader.text) } else { Err(Rejected("a byte too many")) }
}

pub(crate) struct MessageReader<'a> {
    bytes: &'a [u8],
    text: String,
}

impl<'a> MessageReader<'a> {
    pub(crate) fn say(&mut self, words: impl std::fmt::Display) {
        write!(self.text, "{words}").expect("a string");
    }

    // ── section 11 ──

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Rejected> {
        if count > self.bytes.len() {
            return Err(Rejected("ends too early"));
        }
        let (taken, rest) = self.bytes.split_at(count);
        self.bytes = rest;
        Ok(taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Rejected> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn le(&mut self, count: usize) -> Result<u64, Rejected> {
        Ok(self.take(count)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    pub(crate) fn varint(&mut self) -> Result<u64, Rejected> {
        let mut number: u128 = 0;
        for group in 0.. {
            let byte = self.u8()?;
            number |= u128::from(byte & 127) << (7 * group);
            if number > u128::from(u64::MAX) || group > 9 {
                return Err(Rejected("varint too large"));
            }
            if byte < 128 {
                if byte == 0 && group > 0 {
                    return Err(Rejected("varint longer than it need be"));
                }
                break;
            }
        }
        Ok(number as u64)
    }

    pub(crate) fn small(&mut self) -> Result<u64, Rejected> {
        let number = self.varint()?;
        if number < 1 << 32 { Ok(number) } else { Err(Rejected("not below 2^32")) }
    }

    fn signed(&mut self) -> Result<i128, Rejected> {
        let code = i128::from(self.varint()?);
        Ok(if code % 2 == 0 { code / 2 } else { -(code + 1) / 2 })
    }

    pub(crate) fn counted(&mut self, most: usize) -> Result<&'a [u8], Rejected> {
        let length = self.varint()?;
        if length > most as u64 {
            return Err(Rejected("too long"));
        }
        self.take(length as usize)
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Rejected> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Rejected("neither 0 nor 1")),
        }
    }

    fn at_most(&mut self, most: u64) -> Result<u64, Rejected> {
        let count = self.varint()?;
        if count <= most { Ok(count) } else { Err(Rejected("too many")) }
    }

    fn span(&mut self) -> Result<u64, Rejected> {
        let micros = self.varint()?;
        if micros < 1 << 63 { Ok(micros) } else { Err(Rejected("not below 2^63")) }
    }

    fn number(&mut self) -> Result<f64, Rejected> {
        let number = f64::from_bits(self.le(8)?);
        if number >= 0.0 { Ok(number) } else { Err(Rejected("negative or not a number")) }
    }

    fn party(&mut self) -> Result<String, Rejected> {
        match self.varint()? {
            0 => Ok("server".to_owned()),
            client if client <= 1 << 32 => Ok(format!("client {}", client - 1)),
            _ => Err(Rejected("no such client")),
        }
    }

    fn reply(&mut self) -> Result<(), Rejected> {
        let (number, received, held) = (self.small()?, self.signed()?, self.varint()?);
        let sent = received + i128::from(held);
        if held > i64::MAX as u64 || sent > i128::from(i64::MAX) {
            return Err(Rejected("beyond the ends of time"));
        }
        self.say(format!("clock reply {number} received {received} sent {sent}\n"));
        Ok(())
    }

    fn received(&mut self) -> Result<u64, Rejected> {
        let (ordered, unordered, count) = (self.varint()?, self.varint()?, self.varint()?);
        if count > 256 {
            return Err(Rejected("too many beyond"));
        }
        self.say(format!("received ordered {ordered} unordered {unordered} beyond"));
        let mut last = unordered;
        for _ in 0..count {
            let next = u128::from(last) + u128::from(self.varint()?) + 1;
            last = u64::try_from(next).map_err(|_| Rejected("beyond what there is"))?;
            self.say(format!(" {last}"));
        }
        self.say("\n");
        Ok(ordered)
    }

    fn arrivals(&mut self, ordered: u64) -> Result<(), Rejected> {
        let count = self.at_most(1024)?;
        let (mut instant, mut number) = (0, 0);
        for place in 0..count {
            if place == 0 {
                instant = self.signed()?;
                number = i128::from(ordered) - i128::from(self.varint()?) - 1;
            } else {
                number += i128::from(self.varint()?) + 1;
                instant += self.signed()?;
            }
            if !(0..i128::from(ordered)).contains(&number) {
                return Err(Rejected("an arrival of no message"));
            }
            if instant.abs() > 1 << 60 {
                return Err(Rejected("beyond the ends of time"));
            }
            self.say(format!("arrival {number} at {instant}\n"));
        }
        Ok(())
    }

    fn call(&mut self, most: usize) -> Result<(), Rejected> {
        let target = match self.u8()? {
            0 => "connection".to_owned(),
            1 => format!("owner {}", self.small()?),
            2 => format!("viewers {}", self.small()?),
            _ => return Err(Rejected("no such target")),
        };
        let (from, method) = (self.party()?, self.small()?);
        let bytes = hex_of(self.counted(most)?);
        self.say(format!("call {target} from {from} method {method} bytes {bytes}\n"));
        Ok(())
    }

    fn group(&mut self) -> Result<u8, Rejected> {
        let (group, number) = (self.u8()?, self.varint()?);
        if group > 31 {
            return Err(Rejected("no such group"));
        }
        let bytes = hex_of(self.counted(900)?);
        self.say(format!("group {group} number {number} bytes {bytes}\n"));
        Ok(group)
    }

    // ── section 12 ──

    fn part(&mut self) -> Result<(), Rejected> {
        match self.u8()? {
            0 => {
                let number = self.small()?;
                self.say(format!("clock request {number}\n"));
                Ok(())
            }
            1 => self.reply(),
            2 => {
                let feedback = hex_of(self.counted(usize::MAX)?);
                self.say(format!("feedback {feedback}\n"));
                Ok(())
            }
            3 => self.numbered("quickest", 200),
            4 => {
                self.say("unreliable ");
                self.call(900)
            }
            5 => {
                let object = self.small()?;
                self.say(format!("state object {object} "));
                self.group().map(drop)
            }
            6 => self.numbered("newest", 900),
            _ => Err(Rejected("no such part")),
        }
    }

    fn numbered(&mut self, name: &str, most: usize) -> Result<(), Rejected> {
        let number = self.varint()?;
        self.say(format!("{name} {number} "));
        self.call(most)
    }

    // ── section 13 ──

    fn message(&mut self) -> Result<(), Rejected> {
        match self.u8()? {
            0 => self.hello(),
            1 => self.welcome(),
            2 => {
                self.say("confirm ");
                let ordered = self.received()?;
                self.arrivals(ordered)
            }
            8 => self.announcement("create"),
            9 => self.numbers("destroy", &["object"]),
            10 => self.numbers("claim", &["object", "term"]),
            11 => self.numbers("release", &["object", "term"]),
            12 => self.call(16384),
            16 => self.announcement("enter"),
            17 => {
                let (object, destroyed) = (self.small()?, self.flag()?);
                self.say(format!("leave object {object} destroyed {destroyed}\n"));
                Ok(())
            }
            18 => {
                let (object, owner, term) = (self.small()?, self.party()?, self.varint()?);
                self.say(format!("owned object {object} owner {owner} term {term}\n"));
                Ok(())
            }
            19 => self.ids("ids"),
            20 => {
                let (object, reason) = (self.small()?, self.u8()?);
                if !REASONS.contains(&reason) {
                    return Err(Rejected("no such reason"));
                }
                self.say(format!("refused object {object} reason {reason}\n"));
                Ok(())
            }
            _ => Err(Rejected("no such message")),
        }
    }

    fn numbers(&mut self, name: &str, fields: &[&str]) -> Result<(), Rejected> {
        self.say(name);
        for field in fields {
            let number = if *field == "object" { self.small()? } else { self.varint()? };
            self.say(format!(" {field} {number}"));
        }
        self.say("\n");
        Ok(())
    }

    fn ids(&mut self, name: &str) -> Result<(), Rejected> {
        let (first, count) = (self.small()?, self.small()?);
        if first + count >= 1 << 32 {
            return Err(Rejected("ids beyond 2^32"));
        }
        self.say(format!("{name} {first} {count}\n"));
        Ok(())
    }

    fn hello(&mut self) -> Result<(), Rejected> {
        let version = self.u8()?;
        if version != 3 {
            return Err(Rejected("another version"));
        }
        let (dimensions, precision) = (self.u8()?, self.le(4)?);
        let name = self.counted(64)?;
        std::str::from_utf8(name).map_err(|_| Rejected("a name that is not UTF-8"))?;
        let (game_version, fingerprint) = (self.small()?, self.le(8)?);
        let authentication = hex_of(self.counted(1024)?);
        let clock = self.small()?;
        self.say(format!(
            "hello version {version} dimensions {dimensions} precision {precision:08x} \
             authentication {authentication} clock {clock}\n\
             game {} version {game_version} fingerprint {fingerprint:016x}\n",
            hex_of(name)
        ));
        if !self.flag()? {
            self.say("resume none\n");
            return Ok(());
        }
        let (token, epoch) = (hex_of(self.take(16)?), self.le(8)?);
        self.say(format!("resume token {token} epoch {epoch} "));
        self.received().map(drop)
    }

    fn welcome(&mut self) -> Result<(), Rejected> {
        let (client, token, epoch) = (self.small()?, hex_of(self.take(16)?), self.le(8)?);
        let placement = match self.u8()? {
            0 => "local",
            1 => "global",
            2 => "hop",
            _ => return Err(Rejected("no such placement")),
        };
        self.say(format!("welcome client {client} token {token} epoch {epoch} placement {placement}\n"));
        self.settings()?;
        self.reply()?;
        if self.flag()? {
            self.say("resumed ");
            self.received().map(drop)
        } else {
            self.ids("new ids")
        }
    }

    fn settings(&mut self) -> Result<(), Rejected> {
        let (horizon, classes) = (self.span()?, self.at_most(512)?);
        self.say(format!("horizon {horizon}\n"));
        let mut last = None;
        for _ in 0..classes {
            let class = self.small()?;
            if Some(class) <= last {
                return Err(Rejected("classes must ascend"));
            }
            last = Some(class);
            let count = self.at_most(16)?;
            let rules: Result<String, Rejected> = (0..count).map(|_| self.rule()).collect();
            let (rules, shortest, longest) = (rules?, self.span()?, self.span()?);
            let (curve, least, most, jump) = (self.u8()?, self.span()?, self.span()?, self.number()?);
            if curve > 4 {
                return Err(Rejected("no such curve"));
            }
            if least > 10_000_000 || most > 10_000_000 || jump > 1e30 {
                return Err(Rejected("a correction is too long"));
            }
            self.say(format!(
                "class {class} interval {shortest} {longest} smoothing {curve} {least} {most} {jump}\n{rules}"
            ));
        }
        Ok(())
    }

    fn rule(&mut self) -> Result<String, Rejected> {
        let (name, count) = match self.u8()? {
            0 => ("distance", 1),
            1 => ("cross-track", 1),
            2 => ("angle", 1),
            3 => return Ok(format!("rule every {}\n", self.span()?)),
            4 => ("pre-reckoning", 2),
            5 => ("adaptive", 3),
            _ => return Err(Rejected("no such rule")),
        };
        let mut rule = format!("rule {name}");
        for _ in 0..count {
            write!(rule, " {}", self.number()?).expect("a string");
        }
        Ok(rule + "\n")
    }

    fn announcement(&mut self, name: &str) -> Result<(), Rejected> {
        let (object, class, owner, term) = (self.small()?, self.small()?, self.party()?, self.varint()?);
        let (creation, motion) = (hex_of(self.counted(1024)?), hex_of(self.counted(512)?));
        self.say(format!(
            "{name} object {object} class {class} owner {owner} term {term} creation {creation} \
             motion {motion}\n"
        ));
        let count = self.u8()?;
        if count > 32 {
            return Err(Rejected("too many groups"));
        }
        let mut last = None;
        for _ in 0..count {
            let group = Some(self.group()?);
            if group <= last {
                return Err(Rejected("groups must ascend"));
            }
            last = group;
        }
        Ok(())
    }
}

/// Returns the fingerprint of a game: section 13. The strings describe its classes and calls.
pub fn game_fingerprint<'a>(strings: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let mut hash: u64 = 0xCBF2_9CE4_8422_2325;
    for string in strings {
        for byte in (string.len() as u32).to_le_bytes().iter().chain(string) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
    hash
}

pub(crate) fn hex_of(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    if digits.is_empty() { "-".to_owned() } else { digits }
}
