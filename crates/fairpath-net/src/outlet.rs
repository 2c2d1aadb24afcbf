//! What leaves for one peer: streams as fast as they go, and never more than one datagram ahead of
//! the wire.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fairpath::session::CloseReason;
use tokio::sync::{Notify, mpsc};

use crate::link::{Link, Sending};

/// Whoever has something to say to the peer.
pub(crate) trait Outbound {
    fn poll_stream(&mut self) -> Option<Vec<u8>>;
    fn poll_unordered(&mut self) -> Option<Vec<u8>>;
    fn poll_datagram(&mut self, bytes_max: usize) -> Option<Vec<u8>>;
}

/// How datagrams left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Departures {
    /// How many left.
    pub count: u64,
    /// How long they waited for it, together.
    pub waited: Duration,
    /// How long the one waited that waited longest.
    pub waited_max: Duration,
    /// How many waited longer than a tick of 60 Hz: held back, or the machine was busy.
    pub late: u64,
    /// How many were held back: the connection had its turn, and they were still there.
    pub held_back: u64,
}

/// What leaves for one peer.
#[derive(Debug)]
pub(crate) struct Outlet {
    link: Arc<Link>,
    stream: mpsc::Sender<Vec<u8>>,
    unordered: mpsc::Sender<Vec<u8>>,
    /// When the datagram was handed over that may not have left yet.
    handed_at: Option<Instant>,
    is_held_back: bool,
    departures: Departures,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pumped {
    /// Something left: there may be more.
    pub(crate) has_sent: bool,
    /// A datagram waits to leave; look again soon.
    pub(crate) is_blocked: bool,
}

/// Messages that wait for the streams. The session's outbox has the rest, and bounds it.
const WAITING_MAX: usize = 32;
/// One tick of 60 Hz: what waits longer is older than the next frame.
const TICK: Duration = Duration::from_micros(16_667);

impl Outlet {
    /// Begins to send. `wake` is told whenever there is room again.
    pub(crate) fn open(link: Arc<Link>, sending: Sending, wake: &Arc<Notify>) -> Self {
        let (stream, waiting) = mpsc::channel(WAITING_MAX);
        tokio::spawn(write_stream(sending, waiting, Arc::clone(wake)));
        let (unordered, waiting) = mpsc::channel(WAITING_MAX);
        tokio::spawn(write_unordered(Arc::clone(&link), waiting, Arc::clone(wake)));
        Self {
            link,
            stream,
            unordered,
            handed_at: None,
            is_held_back: false,
            departures: Departures::default(),
        }
    }

    /// Lets out what the outbound has to say, as far as it can leave now.
    pub(crate) fn pump(&mut self, outbound: &mut impl Outbound) -> Pumped {
        let mut pumped = Pumped::default();
        while let Some((bytes, place)) = waiting_place(&self.stream, || outbound.poll_stream()) {
            place.send(bytes);
            pumped.has_sent = true;
        }
        while let Some((bytes, place)) = waiting_place(&self.unordered, || outbound.poll_unordered()) {
            place.send(bytes);
            pumped.has_sent = true;
        }
        if !self.has_left() {
            pumped.is_blocked = true;
            return pumped;
        }
        let Some(bytes_max) = self.link.datagram_bytes_max() else { return pumped };
        if let Some(bytes) = outbound.poll_datagram(bytes_max) {
            self.link.send_datagram(bytes);
            self.handed_at = Some(Instant::now());
            pumped.has_sent = true;
        }
        pumped
    }

    /// Whether a datagram was handed over of which it is not known that it has left.
    pub(crate) fn is_sending(&self) -> bool {
        self.handed_at.is_some()
    }

    /// Whether the last datagram has left; it is booked then.
    pub(crate) fn has_left(&mut self) -> bool {
        let is_clear = self.link.is_clear();
        if is_clear {
            self.book_departure();
        } else {
            self.is_held_back = true;
        }
        is_clear
    }

    pub(crate) fn departures(&self) -> Departures {
        self.departures
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    pub(crate) fn close(&self, reason: CloseReason) {
        self.link.close(reason);
    }

    fn book_departure(&mut self) {
        let Some(handed_at) = self.handed_at.take() else { return };
        let waited = handed_at.elapsed();
        self.departures.count += 1;
        self.departures.waited += waited;
        self.departures.waited_max = self.departures.waited_max.max(waited);
        self.departures.late += u64::from(waited > TICK);
        self.departures.held_back += u64::from(std::mem::take(&mut self.is_held_back));
    }
}

/// A message and a place for it; the message is not fetched before there is one.
fn waiting_place(
    queue: &mpsc::Sender<Vec<u8>>,
    poll: impl FnOnce() -> Option<Vec<u8>>,
) -> Option<(Vec<u8>, mpsc::Permit<'_, Vec<u8>>)> {
    let place = queue.try_reserve().ok()?;
    Some((poll()?, place))
}

async fn write_stream(mut stream: Sending, mut waiting: mpsc::Receiver<Vec<u8>>, wake: Arc<Notify>) {
    while let Some(bytes) = waiting.recv().await {
        if stream.write(&bytes).await.is_err() {
            return;
        }
        wake.notify_one();
    }
}

async fn write_unordered(link: Arc<Link>, mut waiting: mpsc::Receiver<Vec<u8>>, wake: Arc<Notify>) {
    while let Some(bytes) = waiting.recv().await {
        if link.send_unordered(&bytes).await.is_err() {
            return;
        }
        wake.notify_one();
    }
}
