//! TCP connections through the middleman, each delayed as the packets of its client are.
//!
//! Only the constant delay of a link applies: TCP hides loss, copies and order from both ends.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::sockets::Sockets;
use super::{Direction, StartError};

/// Chunks of 16 KiB that wait in one direction: 4 MiB, as [`Bounds`](super::Bounds) allow packets.
const CHUNKS_MAX: usize = 256;
const CHUNK_BYTES: usize = 16 * 1024;

/// Accepts connections and passes them on to the server.
pub(super) struct Streams {
    runtime: Runtime,
    listener: TcpListener,
    to: SocketAddr,
}

impl Streams {
    pub(super) fn open(listen: SocketAddr, to: SocketAddr) -> Result<Self, StartError> {
        let cannot_listen = |error| StartError::Listen { address: listen, error };
        let listener = std::net::TcpListener::bind(listen).map_err(cannot_listen)?;
        listener.set_nonblocking(true).map_err(cannot_listen)?;
        let runtime = Builder::new_current_thread().enable_all().build().map_err(StartError::System)?;
        let inside = runtime.enter();
        let listener = TcpListener::from_std(listener).map_err(StartError::System)?;
        drop(inside);
        Ok(Self { runtime, listener, to })
    }

    /// Runs the thread until `stopped`. Open connections end with it.
    pub(super) fn run(self, sockets: &Arc<Sockets>, stopped: oneshot::Receiver<()>) {
        self.runtime.block_on(async {
            tokio::select! {
                _ = stopped => {}
                () = accept(&self.listener, self.to, sockets) => {}
            }
        });
    }
}

async fn accept(listener: &TcpListener, to: SocketAddr, sockets: &Arc<Sockets>) {
    loop {
        let Ok((accepted, peer)) = listener.accept().await else { continue };
        let [up, down] = [Direction::Up, Direction::Down].map(|way| sockets.stream_delay(peer, way));
        tokio::spawn(async move {
            // The client sees a connection that ends, as from a server that is not there.
            let _ = carry(accepted, to, up, down).await;
        });
    }
}

async fn carry(accepted: TcpStream, to: SocketAddr, up: Duration, down: Duration) -> io::Result<()> {
    let server = TcpStream::connect(to).await?;
    accepted.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = accepted.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::spawn(delay(from_client, to_server, up));
    tokio::spawn(delay(from_server, to_client, down));
    Ok(())
}

/// Passes one direction on, each chunk so much later than it came.
async fn delay(mut from: OwnedReadHalf, to: OwnedWriteHalf, delay: Duration) {
    let (sender, receiver) = mpsc::channel(CHUNKS_MAX);
    tokio::spawn(write(to, receiver));
    let mut buffer = vec![0; CHUNK_BYTES];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if sender.send((Instant::now() + delay, buffer[..length].to_vec())).await.is_err() {
            return;
        }
    }
}

async fn write(mut to: OwnedWriteHalf, mut chunks: mpsc::Receiver<(Instant, Vec<u8>)>) {
    while let Some((due, bytes)) = chunks.recv().await {
        sleep_until(due).await;
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
    // The other end has closed; this one learns of it after all bytes.
    let _ = to.shutdown().await;
}
