//! WebTransport on a QUIC connection: as much of HTTP/3 as a browser needs to open one session.
//!
//! The server sends SETTINGS on a control stream, answers the extended CONNECT request with 200,
//! and finds the streams of the session by their first bytes (RFC 9220, WebTransport over HTTP/3).
//! Everything else that a browser sends (its own settings, QPACK instructions, grease) is
//! discarded.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use quinn_proto::{Connection, Dir, ReadError, Side, StreamId, VarInt};
use wtransport_proto::bytes::{BufferReader, BufferWriter};
use wtransport_proto::datagram::Datagram;
use wtransport_proto::frame::{Frame, FrameKind};
use wtransport_proto::headers::Headers;
use wtransport_proto::ids::{QStreamId, SessionId};
use wtransport_proto::session::{SessionRequest, SessionResponse};
use wtransport_proto::settings::Settings;
use wtransport_proto::stream_header::{StreamHeader, StreamKind};
use wtransport_proto::varint::VarInt as WebVarInt;

/// The HTTP/3 side of a browser's connection.
#[derive(Debug)]
pub(super) struct Web {
    session: Option<SessionId>,
    /// Streams whose kind is not known yet, and what they brought. QUIC limits their number, and
    /// [`PREFIX_BYTES_MAX`] each.
    unsorted: BTreeMap<StreamId, Vec<u8>>,
    /// Streams that are read and discarded.
    discarded: BTreeSet<StreamId>,
}

/// What a stream turned out to be.
#[derive(Debug)]
pub(super) enum Sorted {
    /// Not known yet, or nothing for the session.
    Nothing,
    /// The session's first stream in both directions, and its first bytes.
    Ordered(StreamId, Vec<u8>),
    /// The beginning of an unordered message.
    Unordered(StreamId, Vec<u8>),
    /// A whole unordered message.
    Message(Vec<u8>),
}

/// The browser broke HTTP/3 or WebTransport, or has closed the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WebEnded;

/// The longest beginning of a stream: a request with its headers.
const PREFIX_BYTES_MAX: usize = 8 * 1024;

impl Web {
    /// Opens the control stream and sends the settings. `None` if the client permits no stream.
    pub(super) fn open(connection: &mut Connection) -> Option<Self> {
        let settings = Settings::builder()
            .qpack_max_table_capacity(WebVarInt::from_u32(0))
            .qpack_blocked_streams(WebVarInt::from_u32(0))
            .enable_connect_protocol()
            .enable_webtransport()
            .enable_h3_datagrams()
            .webtransport_max_sessions(WebVarInt::from_u32(1))
            .build();
        let control = connection.streams().open(Dir::Uni)?;
        let frame = settings.generate_frame();
        let mut bytes = header_bytes(&StreamHeader::new_control());
        bytes.extend(frame_bytes(&frame));
        write_all(connection, control, bytes)?;
        Some(Self { session: None, unsorted: BTreeMap::new(), discarded: BTreeSet::new() })
    }

    /// Takes the new streams of a kind. Returns the streams to [sort](Self::sort).
    pub(super) fn accept(&mut self, connection: &mut Connection, dir: Dir) -> Vec<StreamId> {
        while let Some(id) = connection.streams().accept(dir) {
            self.unsorted.insert(id, Vec::new());
        }
        self.unsorted()
    }

    /// Whether the browser has opened the session.
    pub(super) fn has_session(&self) -> bool {
        self.session.is_some()
    }

    /// Streams that are not sorted yet.
    pub(super) fn unsorted(&self) -> Vec<StreamId> {
        self.unsorted.keys().copied().collect()
    }

    /// Reads a stream that is not the session's.
    pub(super) fn sort(&mut self, connection: &mut Connection, id: StreamId) -> Result<Sorted, WebEnded> {
        if self.session.is_some_and(|session| session.into_u64() == u64::from(id)) {
            // Nothing but the end of the session comes on the stream of its request.
            return if discard(connection, id) { Err(WebEnded) } else { Ok(Sorted::Nothing) };
        }
        if self.discarded.contains(&id) {
            if discard(connection, id) {
                self.discarded.remove(&id);
            }
            return Ok(Sorted::Nothing);
        }
        let Some(prefix) = self.unsorted.get_mut(&id) else { return Ok(Sorted::Nothing) };
        let read = read_prefix(connection, id, prefix);
        let sorted = match id.dir() {
            Dir::Uni => self.sort_uni(id)?,
            Dir::Bi => self.sort_bi(connection, id)?,
        };
        let is_too_long = self.unsorted.get(&id).is_some_and(|prefix| prefix.len() > PREFIX_BYTES_MAX);
        match (sorted, read) {
            (Sorted::Unordered(_, bytes), Read::Finished) => Ok(Sorted::Message(bytes)),
            (Sorted::Unordered(..), Read::Reset) => Ok(Sorted::Nothing),
            (sorted, Read::More) if !is_too_long => Ok(sorted),
            // Short streams in one direction are nothing to us. Others must not end.
            (Sorted::Nothing, Read::Finished | Read::Reset) if id.dir() == Dir::Uni => {
                if !self.is_overtaking(id) {
                    self.unsorted.remove(&id);
                    self.discarded.remove(&id);
                }
                Ok(Sorted::Nothing)
            }
            _ => Err(WebEnded),
        }
    }

    /// Whether a stream of a session came before the request that opens the session.
    fn is_overtaking(&self, id: StreamId) -> bool {
        let Some(prefix) = self.unsorted.get(&id).filter(|_| self.session.is_none()) else { return false };
        let header = StreamHeader::read_from_buffer(&mut BufferReader::new(prefix));
        matches!(header, Ok(Some(header)) if matches!(header.kind(), StreamKind::WebTransport))
    }

    fn sort_uni(&mut self, id: StreamId) -> Result<Sorted, WebEnded> {
        let prefix = &self.unsorted[&id];
        let mut reader = BufferReader::new(prefix);
        let Some(header) = StreamHeader::read_from_buffer(&mut reader).map_err(|_| WebEnded)? else {
            return Ok(Sorted::Nothing);
        };
        let rest = reader.buffer_remaining().to_vec();
        match (header.kind(), header.session_id()) {
            // It overtook the request.
            (StreamKind::WebTransport, Some(_)) if self.session.is_none() => return Ok(Sorted::Nothing),
            (StreamKind::WebTransport, session) if session == self.session => {
                self.unsorted.remove(&id);
                return Ok(Sorted::Unordered(id, rest));
            }
            (StreamKind::WebTransport, _) => return Err(WebEnded),
            _ => {}
        }
        self.unsorted.remove(&id);
        self.discarded.insert(id);
        Ok(Sorted::Nothing)
    }

    fn sort_bi(&mut self, connection: &mut Connection, id: StreamId) -> Result<Sorted, WebEnded> {
        let prefix = &self.unsorted[&id];
        let mut reader = BufferReader::new(prefix);
        let Some(frame) = Frame::read_from_buffer(&mut reader).map_err(|_| WebEnded)? else {
            return Ok(Sorted::Nothing);
        };
        match frame.kind() {
            FrameKind::Headers if self.session.is_none() => {
                let session = accept_request(connection, id, &frame)?;
                self.unsorted.remove(&id);
                self.session = Some(session);
                Ok(Sorted::Nothing)
            }
            // It overtook the request.
            FrameKind::WebTransport if self.session.is_none() => Ok(Sorted::Nothing),
            FrameKind::WebTransport if frame.session_id() == self.session => {
                let rest = reader.buffer_remaining().to_vec();
                self.unsorted.remove(&id);
                Ok(Sorted::Ordered(id, rest))
            }
            _ => Err(WebEnded),
        }
    }

    /// How many bytes a datagram of the session begins with.
    pub(super) fn datagram_prefix(&self) -> Option<usize> {
        Some(Datagram::header_size(QStreamId::from_session_id(self.session?)))
    }

    /// Makes a QUIC datagram of a session's.
    pub(super) fn wrap_datagram(&self, bytes: &[u8]) -> Vec<u8> {
        let Some(session) = self.session else { return Vec::new() };
        let datagram = Datagram::new(QStreamId::from_session_id(session), bytes);
        let mut wrapped = vec![0; datagram.write_size()];
        datagram.write(&mut wrapped).expect("there is room for it");
        wrapped
    }
}

/// Makes the content of a stream of an unordered message, which native clients get as it is.
pub(super) fn wrap_message(web: Option<&Web>, bytes: Vec<u8>) -> Vec<u8> {
    let Some(session) = web.and_then(|web| web.session) else { return bytes };
    [&header_bytes(&StreamHeader::new_webtransport(session))[..], &bytes].concat()
}

/// The session's datagram in a QUIC datagram, which native clients send as it is. `None` if it is of
/// no session.
pub(super) fn unwrap_datagram(web: Option<&Web>, bytes: Bytes) -> Option<Bytes> {
    let Some(web) = web else { return Some(bytes) };
    let datagram = Datagram::read(&bytes).ok()?;
    let is_ours = Some(datagram.qstream_id().into_session_id()) == web.session;
    is_ours.then(|| bytes.slice_ref(datagram.payload()))
}

/// Answers the request that opens the session.
fn accept_request(
    connection: &mut Connection,
    id: StreamId,
    frame: &Frame<'_>,
) -> Result<SessionId, WebEnded> {
    let headers = Headers::with_frame(frame).map_err(|_| WebEnded)?;
    SessionRequest::try_from(headers).map_err(|_| WebEnded)?;
    let id_number = WebVarInt::try_from_u64(id.into()).map_err(|_| WebEnded)?;
    let session = SessionId::try_from_session_stream(wtransport_proto::ids::StreamId::new(id_number));
    let session = session.map_err(|_| WebEnded)?;
    debug_assert_eq!(connection.side(), Side::Server);
    let response = SessionResponse::ok().headers().generate_frame();
    write_all(connection, id, frame_bytes(&response)).ok_or(WebEnded)?;
    Ok(session)
}

/// How reading a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    More,
    Finished,
    Reset,
}

/// Reads what a stream has.
fn read_prefix(connection: &mut Connection, id: StreamId, prefix: &mut Vec<u8>) -> Read {
    let mut stream = connection.recv_stream(id);
    // It was read to its end before.
    let Ok(mut chunks) = stream.read(true) else { return Read::Finished };
    let read = loop {
        match chunks.next(PREFIX_BYTES_MAX) {
            Ok(Some(chunk)) => prefix.extend_from_slice(&chunk.bytes),
            Ok(None) => break Read::Finished,
            Err(ReadError::Reset(_)) => break Read::Reset,
            Err(ReadError::Blocked) => break Read::More,
        }
        if prefix.len() > PREFIX_BYTES_MAX {
            break Read::More;
        }
    };
    let _ = chunks.finalize();
    read
}

/// Reads a stream without keeping anything. Returns whether it is over.
fn discard(connection: &mut Connection, id: StreamId) -> bool {
    let mut stream = connection.recv_stream(id);
    let Ok(mut chunks) = stream.read(true) else { return true };
    let is_over = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(_)) => {}
            Ok(None) | Err(ReadError::Reset(_)) => break true,
            Err(ReadError::Blocked) => break false,
        }
    };
    let _ = chunks.finalize();
    is_over
}

/// Writes a few bytes to a fresh stream. `None` if the client does not take even these.
fn write_all(connection: &mut Connection, id: StreamId, bytes: Vec<u8>) -> Option<()> {
    let written = connection.send_stream(id).write(&bytes).ok()?;
    (written == bytes.len()).then_some(())
}

fn header_bytes(header: &StreamHeader) -> Vec<u8> {
    let mut bytes = vec![0; header.write_size()];
    header.write_to_buffer(&mut BufferWriter::new(&mut bytes)).expect("there is room for it");
    bytes
}

fn frame_bytes(frame: &Frame<'_>) -> Vec<u8> {
    let mut bytes = vec![0; frame.write_size()];
    frame.write_to_buffer(&mut BufferWriter::new(&mut bytes)).expect("there is room for it");
    bytes
}

/// The code that HTTP/3 closes a connection with when nothing is wrong.
pub(super) const NO_ERROR: VarInt = VarInt::from_u32(0x100);
