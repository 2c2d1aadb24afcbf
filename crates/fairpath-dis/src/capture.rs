//! Recordings of a network, in the format of tcpdump and Wireshark (pcap).
//!
//! Written files hold IPv4 packets without a link layer (type 101), so that Wireshark dissects the
//! PDUs in them. Read files may come from Ethernet, from Linux' `any` device or from a loopback, in
//! either byte order, with microseconds or nanoseconds.

use std::fmt::{self, Display, Formatter};
use std::io::{self, Write};
use std::net::SocketAddrV4;

/// A datagram of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// When it arrived: UTC, microseconds since 1970.
    pub unix_us: i64,
    /// Its sender.
    pub from: SocketAddrV4,
    /// Its destination.
    pub to: SocketAddrV4,
    /// The payload.
    pub bytes: Vec<u8>,
}

/// Why a file is not a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CaptureError {
    /// Not a pcap file.
    Format,
    /// A pcapng file.
    NextGeneration,
    /// A link layer that is not supported.
    LinkType(u32),
}

impl Display for CaptureError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format => {
                f.write_str("not a pcap file; record one with `fairpath dis record` or tcpdump -w")
            }
            Self::NextGeneration => {
                f.write_str("a pcapng file; convert it with `editcap -F pcap in.pcapng out.pcap`")
            }
            Self::LinkType(number) => {
                write!(
                    f,
                    "packets of link type {number}; Ethernet, Linux cooked, loopback and raw IP are read"
                )
            }
        }
    }
}

impl std::error::Error for CaptureError {}

const MAGIC_US: u32 = 0xA1B2_C3D4;
const MAGIC_NS: u32 = 0xA1B2_3C4D;
const LINK_RAW: u32 = 101;
/// Bytes of an IPv4 and a UDP header.
const HEADERS: usize = 28;

/// Writes a recording.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
}

impl<W: Write> Writer<W> {
    /// Begins a recording.
    pub fn new(mut out: W) -> io::Result<Self> {
        let mut header = Vec::with_capacity(24);
        header.extend(MAGIC_US.to_le_bytes());
        header.extend(2u16.to_le_bytes());
        header.extend(4u16.to_le_bytes());
        header.extend([0; 8]);
        header.extend(65_535u32.to_le_bytes());
        header.extend(LINK_RAW.to_le_bytes());
        out.write_all(&header)?;
        Ok(Self { out })
    }

    /// Appends a datagram. Payloads longer than UDP allows are cut.
    pub fn write(&mut self, datagram: &Recorded) -> io::Result<()> {
        let payload = &datagram.bytes[..datagram.bytes.len().min(65_535 - HEADERS)];
        let length = (HEADERS + payload.len()) as u32;
        let mut record = Vec::with_capacity(16 + length as usize);
        let (secs, us) = (datagram.unix_us.div_euclid(1_000_000), datagram.unix_us.rem_euclid(1_000_000));
        for word in [secs as u32, us as u32, length, length] {
            record.extend(word.to_le_bytes());
        }
        let mut ip = [0u8; 20];
        ip[0] = 0x45;
        ip[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        (ip[8], ip[9]) = (64, 17);
        ip[12..16].copy_from_slice(&datagram.from.ip().octets());
        ip[16..20].copy_from_slice(&datagram.to.ip().octets());
        let checksum = checksum(&ip);
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        record.extend(ip);
        record.extend(datagram.from.port().to_be_bytes());
        record.extend(datagram.to.port().to_be_bytes());
        record.extend(((payload.len() + 8) as u16).to_be_bytes());
        record.extend([0, 0]);
        record.extend(payload);
        self.out.write_all(&record)
    }

    /// Writes what is buffered: a recording that is cut off later can still be read up to here.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn checksum(header: &[u8; 20]) -> u16 {
    let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    !((folded & 0xFFFF) + (folded >> 16)) as u16
}

/// Returns the UDP datagrams of a recording. Other packets, fragments and a cut end are skipped.
pub fn read(file: &[u8]) -> Result<Vec<Recorded>, CaptureError> {
    let header = file.get(..24).ok_or(CaptureError::Format)?;
    let magic: [u8; 4] = [header[0], header[1], header[2], header[3]];
    let (is_little, is_ns) = match (u32::from_le_bytes(magic), u32::from_be_bytes(magic)) {
        (MAGIC_US, _) => (true, false),
        (MAGIC_NS, _) => (true, true),
        (_, MAGIC_US) => (false, false),
        (_, MAGIC_NS) => (false, true),
        (0x0A0D_0D0A, _) => return Err(CaptureError::NextGeneration),
        _ => return Err(CaptureError::Format),
    };
    let word = |bytes: &[u8], at: usize| {
        let it = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if is_little { u32::from_le_bytes(it) } else { u32::from_be_bytes(it) }
    };
    let link = word(header, 20) & 0xFFFF;
    if !matches!(link, 0 | 1 | 101 | 108 | 113 | 228 | 276) {
        return Err(CaptureError::LinkType(link));
    }
    let mut found = Vec::new();
    let mut rest = &file[24..];
    while let Some(record) = rest.get(..16) {
        let (secs, fraction, length) = (word(record, 0), word(record, 4), word(record, 8) as usize);
        let Some(packet) = rest.get(16..).and_then(|rest| rest.get(..length)) else { break };
        rest = &rest[16 + length..];
        let us = i64::from(if is_ns { fraction / 1000 } else { fraction });
        let unix_us = i64::from(secs) * 1_000_000 + us;
        found.extend(ip_packet(packet, link).and_then(udp).map(|(from, to, bytes)| Recorded {
            unix_us,
            from,
            to,
            bytes: bytes.to_vec(),
        }));
    }
    Ok(found)
}

/// Returns the IPv4 packet in a frame of this link type.
fn ip_packet(frame: &[u8], link: u32) -> Option<&[u8]> {
    let ether_type = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    match link {
        0 | 108 => frame.get(4..),
        1 => match ether_type(12)? {
            0x0800 => frame.get(14..),
            0x8100 if ether_type(16)? == 0x0800 => frame.get(18..),
            _ => None,
        },
        113 if ether_type(14)? == 0x0800 => frame.get(16..),
        276 if ether_type(0)? == 0x0800 => frame.get(20..),
        101 | 228 => Some(frame),
        _ => None,
    }
}

fn udp(packet: &[u8]) -> Option<(SocketAddrV4, SocketAddrV4, &[u8])> {
    let header = packet.get(..20)?;
    let is_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3FFF != 0;
    if header[0] >> 4 != 4 || header[9] != 17 || is_fragment {
        return None;
    }
    let udp = packet.get(usize::from(header[0] & 15) * 4..)?;
    let number = |at: usize| Some(u16::from_be_bytes([*udp.get(at)?, *udp.get(at + 1)?]));
    let address =
        |at: usize| std::net::Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
    let from = SocketAddrV4::new(address(12), number(0)?);
    let to = SocketAddrV4::new(address(16), number(2)?);
    Some((from, to, udp.get(8..usize::from(number(4)?))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(number: u8) -> Recorded {
        Recorded {
            unix_us: 1_700_000_000_123_456 + i64::from(number),
            from: SocketAddrV4::new([10, 0, 0, number].into(), 3000),
            to: SocketAddrV4::new([10, 0, 0, 255].into(), 3001),
            bytes: vec![number; 144],
        }
    }

    #[test]
    fn recordings_come_back_and_a_cut_end_is_no_harm() {
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file).unwrap();
        (0..3).for_each(|number| writer.write(&datagram(number)).unwrap());
        assert_eq!(read(&file).unwrap(), (0..3).map(datagram).collect::<Vec<_>>());
        file.truncate(file.len() - 5);
        assert_eq!(read(&file).unwrap().len(), 2);
    }

    #[test]
    fn frames_of_ethernet_are_read_and_other_files_explained() {
        let mut file = Vec::new();
        Writer::new(&mut file).unwrap().write(&datagram(1)).unwrap();
        // The same packet behind an Ethernet header.
        let packet = file.split_off(24 + 16);
        file[20] = 1;
        let length = (packet.len() as u32 + 14).to_le_bytes();
        file[24 + 8..24 + 12].copy_from_slice(&length);
        file.extend([0; 12]);
        file.extend([8, 0]);
        file.extend(packet);
        assert_eq!(read(&file).unwrap(), [datagram(1)]);
        assert_eq!(read(&[0x0A, 0x0D, 0x0D, 0x0A].repeat(10)), Err(CaptureError::NextGeneration));
        assert_eq!(read(b"GIF89a"), Err(CaptureError::Format));
    }
}
