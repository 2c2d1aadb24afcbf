//! A relay next to a client that writes down when which message passed.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use fairpath_bzflag::End;
use fairpath_bzflag::message::{Code, Message, Piece, StreamCutter};
use fairpath_bzflag::update::PlayerUpdate;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::oneshot;

use crate::programs::free_address;

/// What a message said, as far as measuring needs it.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// The server's greeting: the client plays as this player.
    Greeting(u8),
    /// The state of a tank.
    Update(PlayerUpdate),
    /// A tank came to life, said by the server.
    Alive(u8),
    /// A tank was destroyed: from a client its own, from the server the named one.
    Killed(Option<u8>),
    /// The client's tank was destroyed by this player.
    KilledBy(u8),
    /// The client fired.
    Shot,
    /// A flag was captured.
    Captured,
    /// Chat.
    Chat,
}

/// A message that passed a tap.
#[derive(Clone, Debug, PartialEq)]
pub struct Passed {
    /// Seconds since the start of the run, on the clock that all taps share.
    pub at: f64,
    /// The end that sent it.
    pub from: End,
    /// What it said.
    pub said: Said,
}

/// A running tap. Dropping it stops it and closes the client's connections.
#[derive(Debug)]
pub struct Tap {
    address: SocketAddr,
    log: Arc<Log>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Log {
    began: Instant,
    passed: Mutex<Vec<Passed>>,
}

impl Tap {
    /// Starts a tap on a free port of the loopback interface. Times count from `began`.
    pub fn start(to: SocketAddr, began: Instant) -> io::Result<Self> {
        let address = free_address()?;
        let tcp = std::net::TcpListener::bind(address)?;
        let udp = std::net::UdpSocket::bind(address)?;
        tcp.set_nonblocking(true)?;
        udp.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let log = Arc::new(Log { began, passed: Mutex::default() });
        let (stop, stopped) = oneshot::channel();
        let writing = Arc::clone(&log);
        let thread = std::thread::Builder::new().name("tap".into()).spawn(move || {
            runtime.block_on(async {
                let (Ok(tcp), Ok(udp)) = (TcpListener::from_std(tcp), UdpSocket::from_std(udp)) else {
                    return;
                };
                tokio::select! {
                    _ = stopped => {}
                    () = relay_streams(tcp, to, &writing) => {}
                    () = relay_datagrams(Arc::new(udp), to, &writing) => {}
                }
            });
        })?;
        Ok(Self { address, log, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the address that the client connects to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns what has passed so far.
    pub fn passed(&self) -> Vec<Passed> {
        self.log.passed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Log {
    fn add(&self, from: End, said: Said) {
        let at = self.began.elapsed().as_secs_f64();
        self.passed.lock().unwrap_or_else(PoisonError::into_inner).push(Passed { at, from, said });
    }

    fn add_message(&self, from: End, message: &Message<'_>) {
        let about = message.payload.first().copied();
        let said = match (message.code, from) {
            (Code::ALIVE, End::Server) => about.map(Said::Alive),
            (Code::KILLED, End::Server) => Some(Said::Killed(about)),
            (Code::KILLED, End::Client) => {
                self.add(from, Said::Killed(None));
                about.map(Said::KilledBy)
            }
            (Code::SHOT_BEGIN, End::Client) => Some(Said::Shot),
            (Code::CAPTURE_FLAG, End::Server) => Some(Said::Captured),
            (Code::CHAT, End::Server) => Some(Said::Chat),
            _ => PlayerUpdate::decode(message).map(Said::Update),
        };
        if let Some(said) = said {
            self.add(from, said);
        }
    }

    fn add_datagram(&self, from: End, bytes: &[u8]) {
        for message in Message::split_all(bytes).unwrap_or_default() {
            self.add_message(from, &message);
        }
    }
}

async fn relay_streams(listener: TcpListener, to: SocketAddr, log: &Arc<Log>) {
    loop {
        let Ok((client, _)) = listener.accept().await else { continue };
        let log = Arc::clone(log);
        tokio::spawn(async move {
            let Ok(server) = TcpStream::connect(to).await else { return };
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            tokio::spawn(copy(from_client, to_server, End::Client, Arc::clone(&log)));
            copy(from_server, to_client, End::Server, log).await;
        });
    }
}

async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, end: End, log: Arc<Log>) {
    let mut cutter = match end {
        End::Client => StreamCutter::of_client(),
        End::Server => StreamCutter::of_server(),
    };
    let mut buffer = vec![0; 16_384];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
        cutter.push(&buffer[..length]);
        while let Some(piece) = cutter.next_piece() {
            match piece {
                Piece::Message(message) => log.add_message(end, &message),
                Piece::Greeting(greeting) if end == End::Server => {
                    log.add(end, Said::Greeting(greeting.last().copied().unwrap_or(u8::MAX)));
                }
                _ => {}
            }
        }
    }
}

/// One client has one UDP port; its robots use TCP.
async fn relay_datagrams(front: Arc<UdpSocket>, to: SocketAddr, log: &Arc<Log>) {
    let Ok(back) = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await else { return };
    if back.connect(to).await.is_err() {
        return;
    }
    let (mut up, mut down) = (vec![0; 65_536], vec![0; 65_536]);
    let mut client = None;
    loop {
        tokio::select! {
            Ok((length, from)) = front.recv_from(&mut up) => {
                client = Some(from);
                let _ = back.send(&up[..length]).await;
                log.add_datagram(End::Client, &up[..length]);
            }
            Ok(length) = back.recv(&mut down) => {
                if let Some(client) = client {
                    let _ = front.send_to(&down[..length], client).await;
                    log.add_datagram(End::Server, &down[..length]);
                }
            }
        }
    }
}
