//! Bytes that IP, UDP and QUIC add to a datagram.

/// Bytes of an IPv4 header without options (RFC 791).
pub const IPV4_BYTES: usize = 20;

/// Bytes of an IPv6 header without extensions (RFC 8200).
pub const IPV6_BYTES: usize = 40;

/// Bytes of a UDP header (RFC 768).
pub const UDP_BYTES: usize = 8;

/// Bytes that QUIC adds to one datagram: a short header of 1 byte, a connection id of 8 (quinn's
/// default; the peer chooses 0 to 20) and a packet number of 2 (1 to 4 are possible) (RFC 9000,
/// 17.3); a DATAGRAM frame's type and length, 1 and 2 bytes (RFC 9221); and the authentication tag
/// of 16 (RFC 9001, 5.3).
pub const QUIC_BYTES: usize = 1 + 8 + 2 + 1 + 2 + 16;

/// Bytes of the largest message that passes every path that QUIC works on, without path discovery:
/// 1200 bytes of UDP payload (RFC 9000, 14), minus QUIC's own.
pub const DATAGRAM_BYTES_MAX: usize = 1200 - QUIC_BYTES;

/// Returns the size on the line of a message of `datagram_bytes`, over QUIC, UDP and IPv4.
pub const fn with_quic_udp_ip(datagram_bytes: usize) -> usize {
    datagram_bytes + QUIC_BYTES + UDP_BYTES + IPV4_BYTES
}
