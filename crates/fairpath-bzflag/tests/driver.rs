//! Goal: the driver carries bytes both ways, finds a client's datagrams, and keeps its address
//! where that is asked for. Method: real sockets on the loopback interface, and a server of a few
//! lines.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use fairpath_bzflag::driver::{DriverConfig, RunningProxy};
use fairpath_bzflag::message::{Code, Message};
use socket2::{Domain, Socket, Type};

/// Everything here takes milliseconds; a busy machine may take longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Both ends of a connection through a proxy.
struct Ends {
    _proxy: RunningProxy,
    client: TcpStream,
    client_udp: UdpSocket,
    server: TcpStream,
    server_udp: UdpSocket,
    /// The client's address as the server sees it.
    seen: SocketAddr,
}

fn connected(from: Ipv4Addr, is_transparent: bool) -> io::Result<Ends> {
    let (listener, server_udp) = loop {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        if let Ok(udp) = UdpSocket::bind(listener.local_addr()?) {
            break (listener, udp);
        }
    };
    let between = DriverConfig::between((Ipv4Addr::LOCALHOST, 0).into(), listener.local_addr()?);
    let proxy = RunningProxy::start(DriverConfig { is_transparent, ..between })?;
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((from, 0)).into())?;
    socket.connect(&proxy.address().into())?;
    let client: TcpStream = socket.into();
    let (server, seen) = listener.accept()?;
    let client_udp = UdpSocket::bind((from, 0))?;
    client_udp.connect(proxy.address())?;
    for stream in [&client, &server] {
        stream.set_read_timeout(Some(PATIENCE))?;
    }
    for socket in [&client_udp, &server_udp] {
        socket.set_read_timeout(Some(PATIENCE))?;
    }
    Ok(Ends { _proxy: proxy, client, client_udp, server, server_udp, seen })
}

fn message(code: Code, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Message { code, payload }.write(&mut bytes);
    bytes
}

fn carried(from: &mut TcpStream, to: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    from.write_all(bytes)?;
    let mut arrived = vec![0; bytes.len()];
    to.read_exact(&mut arrived)?;
    assert_eq!(arrived, bytes);
    Ok(())
}

#[test]
fn streams_and_datagrams_pass_both_ways() -> io::Result<()> {
    let mut ends = connected(Ipv4Addr::LOCALHOST, false)?;
    carried(&mut ends.client, &mut ends.server, b"BZFLAG\r\n\r\n")?;
    carried(&mut ends.server, &mut ends.client, b"BZFS0221\x07")?;
    carried(&mut ends.client, &mut ends.server, &message(Code::CHAT, b"hello"))?;
    carried(&mut ends.server, &mut ends.client, &message(Code::CHAT, &[9; 5000]))?;

    // Datagrams from an unknown port are nobody's until one asks for a link of a known player.
    let mut buffer = [0; 2000];
    ends.client_udp.send(&message(Code::CHAT, b"lost"))?;
    ends.client_udp.send(&message(Code::UDP_LINK_REQUEST, &[8]))?;
    ends.client_udp.send(&message(Code::UDP_LINK_REQUEST, &[7]))?;
    let (length, back) = ends.server_udp.recv_from(&mut buffer)?;
    assert_eq!(buffer[..length], message(Code::UDP_LINK_REQUEST, &[7]));
    ends.server_udp.send_to(&message(Code::LAG_PING, &[0, 4]), back)?;
    let length = ends.client_udp.recv(&mut buffer)?;
    assert_eq!(buffer[..length], message(Code::LAG_PING, &[0, 4]));

    // A client that leaves is gone at the server too.
    drop(ends.client);
    assert_eq!(ends.server.read(&mut buffer)?, 0);
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_transparent_proxy_uses_the_clients_address() -> io::Result<()> {
    let own = Ipv4Addr::new(127, 0, 0, 7);
    assert_eq!(connected(own, false)?.seen.ip(), IpAddr::from(Ipv4Addr::LOCALHOST));
    let mut ends = connected(own, true)?;
    assert_eq!(ends.seen.ip(), IpAddr::from(own));
    carried(&mut ends.client, &mut ends.server, b"BZFLAG\r\n\r\n")?;
    carried(&mut ends.server, &mut ends.client, b"BZFS0221\x07")?;
    ends.client_udp.send(&message(Code::UDP_LINK_REQUEST, &[7]))?;
    let (_, from) = ends.server_udp.recv_from(&mut [0; 100])?;
    assert_eq!(from.ip(), IpAddr::from(own));
    Ok(())
}
