//! Section 16: the lobby.

use crate::Rejected;
use crate::session::{MessageReader, hex_of};

impl MessageReader<'_> {
    /// Decodes a message to or from a lobby.
    pub(crate) fn lobby(&mut self) -> Result<(), Rejected> {
        match self.u8()? {
            0 => {
                self.say("announce\n");
                self.offer()?;
            }
            1 => self.say("withdraw\n"),
            2 => self.find()?,
            3 => {
                let entry = self.varint()?;
                self.say(format!("meet entry {entry}\n"));
            }
            4 => {
                let peer = self.print()?;
                self.say(format!("relay {peer}\n"));
            }
            16 => {
                let (entry, address) = (self.varint()?, self.address()?);
                self.say(format!("announced entry {entry} address {address}\n"));
            }
            17 => {
                let (entry, address, print) = (self.varint()?, self.address()?, self.print()?);
                self.say(format!("found entry {entry} address {address} fingerprint {print}\n"));
                self.offer()?;
            }
            18 => {
                let more = self.flag()?;
                self.say(format!("end more {more}\n"));
            }
            19 => {
                let (peer, address) = (self.print()?, self.address()?);
                self.say(format!("meet {peer} address {address}\n"));
            }
            20 => {
                let (peer, port) = (self.print()?, self.le(2)?);
                self.say(format!("relay {peer} port {port}\n"));
            }
            21 => {
                let reason = self.u8()?;
                if reason > 6 {
                    return Err(Rejected("no such reason"));
                }
                self.say(format!("refused reason {reason}\n"));
            }
            _ => return Err(Rejected("unknown kind")),
        }
        Ok(())
    }

    fn find(&mut self) -> Result<(), Rejected> {
        let game = self.counted(64)?;
        let game = if game.is_empty() { "any".to_owned() } else { format!("{:?}", text_of(game)?) };
        let free = self.small()?;
        self.say(format!("find game {game} free {free}\n"));
        self.attributes()?;
        let after = self.varint()?;
        self.say(format!("after {after}\n"));
        Ok(())
    }

    fn offer(&mut self) -> Result<(), Rejected> {
        let (game, name) = (self.words()?, self.words()?);
        let (protocol, players, seats, wants) = (self.u8()?, self.small()?, self.small()?, self.flag()?);
        self.say(format!(
            "game {game:?} name {name:?} protocol {protocol} players {players} seats {seats} introductions {wants}\n"
        ));
        self.attributes()
    }

    fn attributes(&mut self) -> Result<(), Rejected> {
        let count = self.u8()?;
        if count > 16 {
            return Err(Rejected("too many attributes"));
        }
        let mut last = String::new();
        for _ in 0..count {
            let (key, value) = (self.words()?, self.words()?);
            if key <= last {
                return Err(Rejected("keys must ascend"));
            }
            self.say(format!("attribute {key:?} {value:?}\n"));
            last = key;
        }
        Ok(())
    }

    fn words(&mut self) -> Result<String, Rejected> {
        text_of(self.counted(64)?)
    }

    fn print(&mut self) -> Result<String, Rejected> {
        Ok(hex_of(self.take(32)?))
    }

    fn address(&mut self) -> Result<String, Rejected> {
        let length = match self.u8()? {
            4 => 4,
            6 => 16,
            _ => return Err(Rejected("no such family")),
        };
        let address = self.take(length)?;
        if length == 16 && address[..12] == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF] {
            return Err(Rejected("an IPv4 address spelt as IPv6"));
        }
        let address = hex_of(address);
        Ok(format!("{address} port {}", self.le(2)?))
    }
}

fn text_of(bytes: &[u8]) -> Result<String, Rejected> {
    let text = std::str::from_utf8(bytes).map_err(|_| Rejected("no UTF-8"))?;
    let speaks = |c: char| matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}');
    if text.is_empty() || text.contains(speaks) {
        return Err(Rejected("an empty text, or control characters"));
    }
    Ok(text.to_owned())
}
