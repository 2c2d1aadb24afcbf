//! Goal: the proxy works with a `bzfs` that nobody here wrote. Method: two clients of a few lines
//! join through the proxy, over TCP and UDP, drive and see each other.
//!
//! Needs Debian's `bzflag-server`, which `cargo xtask test` installs where it may. Without it the
//! test says so and passes, except under `CI=true`.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use fairpath::vector::{Vec3, Vector as _};
use fairpath_bzflag::PlayerStatus;
use fairpath_bzflag::driver::{DriverConfig, RunningProxy};
use fairpath_bzflag::message::{Code, Message, Piece, StreamCutter};
use fairpath_bzflag::update::{PlayerUpdate, status};
use fairpath_bzflag_lab::programs;

/// Everything here takes milliseconds; a busy machine may take longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Enough of a BZFlag client to join, come to life and drive.
struct MinimalClient {
    stream: TcpStream,
    cutter: StreamCutter,
    datagrams: UdpSocket,
    began: Instant,
    player: Option<u8>,
    has_udp: bool,
    /// Where the tank came to life, and its heading.
    spawned: Option<(Vec3, f64)>,
    order: i32,
    seen: Vec<PlayerUpdate>,
    chat: Vec<String>,
}

impl MinimalClient {
    fn join(server: SocketAddr, callsign: &str) -> io::Result<Self> {
        let mut stream = TcpStream::connect(server)?;
        stream.set_read_timeout(Some(Duration::from_millis(5)))?;
        stream.set_nodelay(true)?;
        let datagrams = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        datagrams.connect(server)?;
        datagrams.set_nonblocking(true)?;
        stream.write_all(b"BZFLAG\r\n\r\n")?;
        // Type and team, the name, and room for motto, token and version.
        let mut enter = vec![0; 247];
        enter[..4].copy_from_slice(&[0, 0, 0, 0]);
        enter[4..4 + callsign.len()].copy_from_slice(callsign.as_bytes());
        enter[186..192].copy_from_slice(b"2.4.26");
        let mut client = Self {
            stream,
            cutter: StreamCutter::of_server(),
            datagrams,
            began: Instant::now(),
            player: None,
            has_udp: false,
            spawned: None,
            order: 0,
            seen: Vec::new(),
            chat: Vec::new(),
        };
        client.say(Code::ENTER, &enter)?;
        Ok(client)
    }

    /// Joins, again and again until datagrams work both ways. With the proxy and without it, bzfs
    /// forgets a link request now and then: if another connection of the same host is new, too.
    fn join_with_datagrams(server: SocketAddr, callsign: &str) -> io::Result<Self> {
        let end = Instant::now() + PATIENCE;
        loop {
            let mut client = Self::join(server, callsign)?;
            let patience = Instant::now() + Duration::from_secs(5);
            while !client.has_udp && Instant::now() < patience {
                client.pump()?;
            }
            if client.has_udp {
                return Ok(client);
            }
            if Instant::now() > end {
                return Err(io::Error::other("bzfs links no datagrams"));
            }
        }
    }

    fn say(&mut self, code: Code, payload: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::new();
        Message { code, payload }.write(&mut bytes);
        self.stream.write_all(&bytes)
    }

    /// Reads what has come, and answers as the game does.
    fn pump(&mut self) -> io::Result<()> {
        let mut buffer = [0; 65_536];
        match self.stream.read(&mut buffer) {
            Ok(0) => return Err(io::Error::other(format!("the server closed: {:?}", self.chat))),
            Ok(length) => self.cutter.push(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        let mut messages = Vec::new();
        while let Some(piece) = self.cutter.next_piece() {
            match piece {
                Piece::Greeting(greeting) => self.player = greeting.last().copied(),
                Piece::Message(message) => messages.push((message.code, message.payload.to_vec())),
                Piece::Opaque(bytes) => return Err(io::Error::other(format!("not BZFlag: {bytes:?}"))),
            }
        }
        while let Ok(length) = self.datagrams.recv(&mut buffer) {
            for message in Message::split_all(&buffer[..length]).unwrap_or_default() {
                messages.push((message.code, message.payload.to_vec()));
            }
        }
        messages.into_iter().try_for_each(|(code, payload)| self.handle(code, &payload))
    }

    fn handle(&mut self, code: Code, payload: &[u8]) -> io::Result<()> {
        let message = Message { code, payload };
        let is_mine = payload.first().copied() == self.player;
        match code {
            Code::LAG_PING => self.say(Code::LAG_PING, payload)?,
            Code::ACCEPT => self.ask_for_udp()?,
            // The server's datagram has arrived: datagrams work both ways.
            Code::UDP_LINK_REQUEST => {
                let mut bytes = Vec::new();
                Message { code: Code::UDP_LINK_ESTABLISHED, payload: &[] }.write(&mut bytes);
                self.datagrams.send(&bytes)?;
                self.has_udp = true;
            }
            Code::ALIVE if is_mine => {
                let number = |at: usize| {
                    let bytes = payload.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
                    f64::from(f32::from_be_bytes(bytes.unwrap_or_default()))
                };
                self.spawned = Some((Vec3::new(number(1), number(5), number(9)), number(13)));
            }
            Code::CHAT => {
                self.chat.push(String::from_utf8_lossy(payload.get(3..).unwrap_or_default()).into());
            }
            _ => self.seen.extend(PlayerUpdate::decode(&message)),
        }
        Ok(())
    }

    fn ask_for_udp(&self) -> io::Result<()> {
        let mut bytes = Vec::new();
        let player = self.player.unwrap_or_default();
        Message { code: Code::UDP_LINK_REQUEST, payload: &[player] }.write(&mut bytes);
        self.datagrams.send(&bytes).map(drop)
    }

    /// Tells where the tank is: it rolls slowly ahead from where it came to life.
    fn drive(&mut self) -> io::Result<()> {
        let (Some((start, azimuth)), Some(player)) = (self.spawned, self.player) else { return Ok(()) };
        self.order += 1;
        let stamp = self.began.elapsed().as_secs_f64();
        let velocity = Vec3::new(azimuth.cos(), azimuth.sin(), 0.0) * 0.5;
        let update = PlayerUpdate {
            is_small: true,
            stamp: stamp as f32,
            player,
            order: self.order,
            status: status::ALIVE,
            position: start + velocity * (f64::from(self.order) * 0.02),
            velocity,
            azimuth,
            turn_rate: 0.0,
            tail: Vec::new(),
        };
        let mut bytes = Vec::new();
        update.encode(&mut bytes);
        self.datagrams.send(&bytes).map(drop)
    }
}

/// Lets all clients work until `is_done`, and fails if that takes too long.
fn until(
    clients: &mut [MinimalClient],
    what: &str,
    mut is_done: impl FnMut(&[MinimalClient]) -> bool,
) -> io::Result<()> {
    let end = Instant::now() + PATIENCE;
    while !is_done(clients) {
        for client in clients.iter_mut() {
            client.pump()?;
            client.drive()?;
        }
        if Instant::now() > end {
            return Err(io::Error::other(format!("this did not happen: {what}")));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

#[test]
fn two_clients_join_a_real_server_and_see_each_other() -> io::Result<()> {
    if programs::find("bzfs").is_none() {
        let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!is_ci, "bzfs is not installed; run `apt-get install bzflag-server`");
        eprintln!("skipped: bzfs is not installed; run `apt-get install bzflag-server`");
        return Ok(());
    }
    let (_server, server) = programs::bzfs(&["-mp", "10"])?;
    let proxy = RunningProxy::start(DriverConfig::between((Ipv4Addr::LOCALHOST, 0).into(), server))?;
    let names = ["near", "far"];
    let mut clients = Vec::new();
    for name in names {
        clients.push(MinimalClient::join_with_datagrams(proxy.address(), name)?);
    }
    for client in &mut clients {
        client.say(Code::ALIVE, &[])?;
    }
    until(&mut clients, "both are alive", |all| all.iter().all(|it| it.spawned.is_some()))?;
    until(&mut clients, "both see the other", |all| all.iter().all(|it| it.seen.len() > 40))?;
    let is_known = |player: &PlayerStatus| {
        player.round_trip.is_some() && player.uses_datagrams && player.updates_sent > 40
    };
    until(&mut clients, "the proxy knows round trips and counts updates", |_| {
        proxy.players().iter().filter(|(_, player)| is_known(player)).count() == 2
    })?;

    for (client, other) in [(0, 1), (1, 0)] {
        let seen = &clients[client].seen;
        let (start, _) = clients[other].spawned.unwrap_or_default();
        assert!(seen.iter().all(|update| Some(update.player) == clients[other].player));
        assert!(seen.windows(2).all(|pair| pair[0].order < pair[1].order), "every order is above the last");
        let farthest = seen.iter().map(|update| update.position.distance(start)).fold(0.0, f64::max);
        assert!(farthest < 20.0, "the tank rolled away by {farthest}");
    }
    let players = proxy.players();
    assert_eq!(players.iter().map(|(_, player)| player.callsign.as_str()).collect::<Vec<_>>(), names);
    assert!(proxy.drain_problems().is_empty());

    // Everything else passes too: a greeting to all, over TCP.
    clients[0].say(Code::CHAT, &[&[0xfe][..], b"hello there", &[0; 117]].concat())?;
    until(&mut clients, "chat arrives", |all| all[1].chat.iter().any(|line| line.contains("hello there")))?;
    Ok(())
}

#[test]
fn a_missing_server_is_a_problem_and_the_proxy_goes_on() -> io::Result<()> {
    let nobody = programs::free_address()?;
    let proxy = RunningProxy::start(DriverConfig::between((Ipv4Addr::LOCALHOST, 0).into(), nobody))?;
    let mut client = TcpStream::connect(proxy.address())?;
    client.set_read_timeout(Some(PATIENCE))?;
    assert_eq!(client.read(&mut [0; 10])?, 0, "the connection ends");
    let end = Instant::now() + PATIENCE;
    let mut problems = Vec::new();
    while problems.is_empty() && Instant::now() < end {
        problems = proxy.drain_problems();
    }
    assert!(problems.iter().any(|it| it.to_string().contains("is bzfs running there?")), "{problems:?}");
    Ok(())
}
