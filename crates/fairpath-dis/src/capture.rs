//! Recordings of a network, in the format of tcpdump and Wireshark (pcap).
//!
//! Written files hold IPv4 packets without a link layer (type 101), so that Wireshark dissects the
//! PDUs in them. Read files may come from Ethernet, from Linux' `any` device or from a loopback, in
//! either byte order, with microseconds or nanoseconds.

use std::fmt::{self, Display, Formatter};
use std::io::{self, Read, Write};
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
    /// A packet that claims more than [`PACKET_BYTES_MAX`] bytes.
    LongPacket(u32),
    /// The file could not be read.
    Unreadable(io::ErrorKind),
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
            Self::LongPacket(length) => write!(
                f,
                "a packet that claims {length} bytes, where at most {PACKET_BYTES_MAX} are possible; the file is \
                 broken: record it again"
            ),
            Self::Unreadable(kind) => write!(f, "cannot be read ({kind}); check the file"),
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

/// The longest packet of a recording: what tcpdump and Wireshark capture of one at most.
pub const PACKET_BYTES_MAX: u32 = 1 << 18;

/// Returns the UDP datagrams of a recording. Other packets, fragments and a cut end are skipped.
///
/// All of it is in memory; [`Reader`] keeps one packet.
pub fn read(file: &[u8]) -> Result<Vec<Recorded>, CaptureError> {
    Reader::new(file)?.collect()
}

/// Reads the UDP datagrams of a recording one by one, so that a recording of hours takes as much
/// memory as a packet. Other packets, fragments and a cut end are skipped.
#[derive(Debug)]
pub struct Reader<R: Read> {
    input: R,
    is_little: bool,
    is_ns: bool,
    link: u32,
    packet: Vec<u8>,
    is_over: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the header of the file. Give it a buffered input.
    pub fn new(mut input: R) -> Result<Self, CaptureError> {
        let mut header = Vec::with_capacity(24);
        input.by_ref().take(24).read_to_end(&mut header).map_err(CaptureError::unreadable)?;
        let magic = *header.first_chunk::<4>().ok_or(CaptureError::Format)?;
        let (is_little, is_ns) = match (u32::from_le_bytes(magic), u32::from_be_bytes(magic)) {
            (MAGIC_US, _) => (true, false),
            (MAGIC_NS, _) => (true, true),
            (_, MAGIC_US) => (false, false),
            (_, MAGIC_NS) => (false, true),
            (0x0A0D_0D0A, _) => return Err(CaptureError::NextGeneration),
            _ => return Err(CaptureError::Format),
        };
        if header.len() < 24 {
            return Err(CaptureError::Format);
        }
        let link = word(&header, 20, is_little) & 0xFFFF;
        if !matches!(link, 0 | 1 | 101 | 108 | 113 | 228 | 276) {
            return Err(CaptureError::LinkType(link));
        }
        Ok(Self { input, is_little, is_ns, link, packet: Vec::new(), is_over: false })
    }

    /// Reads the next record into `packet`. Returns its time, or `None` at the end.
    fn next_packet(&mut self) -> Result<Option<i64>, CaptureError> {
        if !self.take(16)? {
            return Ok(None);
        }
        let number = |at| word(&self.packet, at, self.is_little);
        let (secs, fraction, length) = (number(0), number(4), number(8));
        if length > PACKET_BYTES_MAX {
            return Err(CaptureError::LongPacket(length));
        }
        let us = i64::from(if self.is_ns { fraction / 1000 } else { fraction });
        Ok(self.take(length)?.then_some(i64::from(secs) * 1_000_000 + us))
    }

    /// Reads so many bytes into `packet`. Returns whether all were there.
    fn take(&mut self, length: u32) -> Result<bool, CaptureError> {
        self.packet.clear();
        let read = self.input.by_ref().take(length.into()).read_to_end(&mut self.packet);
        Ok(read.map_err(CaptureError::unreadable)? == length as usize)
    }

    fn next_datagram(&mut self) -> Result<Option<Recorded>, CaptureError> {
        while let Some(unix_us) = self.next_packet()? {
            if let Some((from, to, bytes)) = ip_packet(&self.packet, self.link).and_then(udp) {
                return Ok(Some(Recorded { unix_us, from, to, bytes: bytes.to_vec() }));
            }
        }
        Ok(None)
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Recorded, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = self.next_datagram().transpose();
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}

impl CaptureError {
    fn unreadable(error: io::Error) -> Self {
        Self::Unreadable(error.kind())
    }
}

fn word(bytes: &[u8], at: usize, is_little: bool) -> u32 {
    let it = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    if is_little { u32::from_le_bytes(it) } else { u32::from_be_bytes(it) }
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

    /// Endless packets of one recording, and a packet that claims four gigabytes: neither takes
    /// more memory than a packet.
    #[test]
    fn a_recording_is_read_packet_by_packet() {
        let mut file = Vec::new();
        Writer::new(&mut file).unwrap().write(&datagram(1)).unwrap();
        let (header, record) = file.split_at(24);
        let endless = header.chain(Endless { record, at: 0 });
        let mut reader = Reader::new(endless).unwrap();
        let packets = Iterator::take(reader.by_ref(), 100_000);
        assert_eq!(packets.filter(|packet| *packet == Ok(datagram(1))).count(), 100_000);
        assert!(reader.packet.capacity() < 4 * record.len(), "{}", reader.packet.capacity());
        file[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
        let mut reader = Reader::new(&file[..]).unwrap();
        assert_eq!(reader.next(), Some(Err(CaptureError::LongPacket(u32::MAX))));
        assert_eq!((reader.next(), reader.packet.capacity() < 1000), (None, true));
    }

    struct Endless<'a> {
        record: &'a [u8],
        at: usize,
    }

    impl Read for Endless<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            for byte in to.iter_mut() {
                *byte = self.record[self.at];
                self.at = (self.at + 1) % self.record.len();
            }
            Ok(to.len())
        }
    }
}
