//! A server's numbers, for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fairpath::session::{Budget, ClientId, CloseReason, Queues, Refusal, ServerEvent, Statistics};
use fairpath::vector::Planar;

use crate::connection::Transport;
use crate::lock;
use crate::sealed::DropReason;
use crate::server::{NetServer, PeerStatus};

/// Collects the numbers of a [`NetServer`], and writes them as Prometheus reads them.
///
/// Labels have few values each (a direction, a reason, a bucket), never a client or an address: the
/// number of time series does not grow with the players. `docs/src/guides/operations.md` lists
/// them.
///
/// ```no_run
/// # use fairpath_net::{MetricsListener, NetServer, ServerMetrics};
/// # use fairpath::{session::Budget, vector::Vec2};
/// # fn run(server: NetServer<Vec2>) -> std::io::Result<()> {
/// let listener = MetricsListener::start("127.0.0.1:9100".parse().expect("an address"))?;
/// let mut metrics = ServerMetrics::new(Budget::default());
/// // Every second:
/// metrics.observe(&server);
/// listener.publish(metrics.to_text());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ServerMetrics {
    budget: Budget,
    observed_at: Option<Instant>,
    last: BTreeMap<ClientId, Totals>,
    totals: Totals,
    gauges: Gauges,
    round_trip: Histogram,
    error: Histogram,
    budget_used: Histogram,
    tick_late: Histogram,
    closed: BTreeMap<CloseReason, u64>,
    refused: BTreeMap<Refusal, u64>,
}

/// Counters of one connection or of all, which only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    udp_sent: u64,
    udp_received: u64,
    quic_lost: u64,
    datagrams_sent: u64,
    datagrams_received: u64,
    datagrams_lost: u64,
    vectors_sent: u64,
    vectors_received: u64,
    session_bytes_sent: u64,
    late: u64,
}

/// What is true at the moment.
#[derive(Clone, Debug, Default)]
struct Gauges {
    seats: usize,
    connected: usize,
    absent: usize,
    quic: usize,
    web: usize,
    sealed: usize,
    error_mean: f64,
    error_spread: f64,
    queues_max: Queues,
    admission: crate::server::AdmissionStatistics,
    drops: [u64; DropReason::ALL.len()],
}

impl ServerMetrics {
    /// Metrics of a server whose clients have this budget.
    pub fn new(budget: Budget) -> Self {
        Self {
            budget,
            observed_at: None,
            last: BTreeMap::new(),
            totals: Totals::default(),
            gauges: Gauges::default(),
            round_trip: Histogram::new(&[0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0]),
            error: Histogram::new(&[0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]),
            budget_used: Histogram::new(&[0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.5]),
            tick_late: Histogram::new(&[0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5]),
            closed: BTreeMap::new(),
            refused: BTreeMap::new(),
        }
    }

    /// Reads the numbers of a server. Call it every second or so: each call adds one sample of
    /// every client to the histograms.
    ///
    /// # Panics
    /// Inside [`NetServer::frame`].
    #[track_caller]
    pub fn observe<V: Planar>(&mut self, server: &NetServer<V>) {
        let now = Instant::now();
        let elapsed = self.observed_at.replace(now).map(|before| now.saturating_duration_since(before));
        let peers = server.status();
        let (admission, sealed) = (server.admission_statistics(), server.sealed_statistics());
        let (mut gauges, mut queues) = (Gauges::default(), Vec::new());
        server.with_session(|session, _| {
            gauges.seats = session.seats();
            let clients: Vec<ClientId> = session.clients().collect();
            gauges.connected = clients.iter().filter(|client| session.is_connected(**client)).count();
            gauges.absent = clients.len() - gauges.connected;
            queues.extend(clients.iter().filter_map(|client| session.queues(*client)));
        });
        gauges.quic = peers.iter().filter(|peer| peer.transport == Transport::Quic).count();
        gauges.web = peers.len() - gauges.quic;
        gauges.sealed = sealed.in_use;
        gauges.admission = admission;
        gauges.drops = DropReason::ALL.map(|reason| sealed.total.drops.of(reason));
        queues.iter().for_each(|of_client| gauges.queues_max = longest(gauges.queues_max, *of_client));
        let played: Vec<(ClientId, &PeerStatus, Statistics)> =
            peers.iter().filter_map(|peer| Some((peer.client?, peer, peer.session?))).collect();
        (gauges.error_mean, gauges.error_spread) =
            mean_and_deviation(played.iter().map(|(.., session)| session.error_per_sec));
        self.gauges = gauges;
        for (client, peer, session) in &played {
            self.sample(*client, peer, session, elapsed);
        }
        self.last.retain(|client, _| played.iter().any(|(other, ..)| other == client));
    }

    fn sample(
        &mut self,
        client: ClientId,
        peer: &PeerStatus,
        session: &Statistics,
        elapsed: Option<Duration>,
    ) {
        let totals = Totals::of(peer, session);
        let before = self.last.insert(client, totals).unwrap_or_default();
        let grown = totals.since(&before);
        self.totals.add(&grown);
        self.error.add(session.error_per_sec);
        if let Some(round_trip) = session.round_trip {
            self.round_trip.add(round_trip.as_secs_f64());
        }
        if let Some(elapsed) = elapsed.filter(|elapsed| !elapsed.is_zero()) {
            let per_sec = grown.session_bytes_sent as f64 / elapsed.as_secs_f64();
            self.budget_used.add(per_sec / f64::from(self.budget.bytes_per_sec));
        }
    }

    /// Counts an event of the session: why connections were closed, and updates refused.
    pub fn on_event(&mut self, event: &ServerEvent) {
        match event {
            ServerEvent::Closed { reason, .. } => *self.closed.entry(*reason).or_default() += 1,
            ServerEvent::Refused { refusal, .. } => *self.refused.entry(*refusal).or_default() += 1,
            _ => {}
        }
    }

    /// Counts a tick of the game that began this much too late.
    pub fn on_tick(&mut self, late: Duration) {
        self.tick_late.add(late.as_secs_f64());
    }

    /// Writes all numbers in Prometheus' text format, version 0.0.4.
    pub fn to_text(&self) -> String {
        let mut out = Exposition::default();
        self.write_sessions(&mut out);
        self.write_queues(&mut out);
        self.write_traffic(&mut out);
        self.write_admission(&mut out);
        self.write_reasons(&mut out);
        self.write_distributions(&mut out);
        out.0
    }

    fn write_sessions(&self, out: &mut Exposition) {
        let gauges = &self.gauges;
        out.gauge("seats", "Clients that may have a session.", &[("", gauges.seats as f64)]);
        out.gauge(
            "sessions",
            "Sessions, with and without a connection.",
            &[("state=\"connected\"", gauges.connected as f64), ("state=\"absent\"", gauges.absent as f64)],
        );
        out.gauge(
            "connections",
            "Connections, by transport.",
            &[("transport=\"quic\"", gauges.quic as f64), ("transport=\"webtransport\"", gauges.web as f64)],
        );
        let sealed = gauges.sealed as f64;
        out.gauge("sealed_connections", "Connections whose motion leaves sealed.", &[("", sealed)]);
        out.gauge(
            "receiver_error_mean_units",
            "Mean over clients of their error, summed over the objects that they see, in world units.",
            &[("", gauges.error_mean)],
        );
        out.gauge(
            "receiver_error_spread_units",
            "Standard deviation of the same between clients: how unfair the server is.",
            &[("", gauges.error_spread)],
        );
    }

    fn write_queues(&self, out: &mut Exposition) {
        let queues = &self.gauges.queues_max;
        out.gauge(
            "queue_length_max",
            "The longest queue of a client, by kind.",
            &[
                ("queue=\"outbox_bytes\"", queues.outbox_bytes as f64),
                ("queue=\"outbox_messages\"", queues.outbox_messages as f64),
                ("queue=\"waiting_objects\"", queues.waiting as f64),
                ("queue=\"datagrams_open\"", queues.datagrams_open as f64),
                ("queue=\"events\"", queues.events as f64),
            ],
        );
    }

    fn write_traffic(&self, out: &mut Exposition) {
        let totals = &self.totals;
        let ways =
            |sent: u64, received: u64| [("direction=\"sent\"", sent), ("direction=\"received\"", received)];
        let udp = ways(totals.udp_sent, totals.udp_received);
        out.counter("udp_bytes_total", "UDP payload bytes of clients with a session.", &udp);
        let datagrams = ways(totals.datagrams_sent, totals.datagrams_received);
        out.counter("datagrams_total", "Session datagrams.", &datagrams);
        let lost = [("", totals.datagrams_lost)];
        out.counter("datagrams_lost_total", "Clients' datagrams that did not arrive.", &lost);
        let lost = [("", totals.quic_lost)];
        out.counter("quic_packets_lost_total", "QUIC packets to clients that are considered lost.", &lost);
        let vectors = ways(totals.vectors_sent, totals.vectors_received);
        out.counter("dr_vectors_total", "Dead-reckoning vectors.", &vectors);
        let late = [("", totals.late)];
        out.counter("datagrams_late_total", "Datagrams that waited longer than 1/60 s to leave.", &late);
    }

    fn write_admission(&self, out: &mut Exposition) {
        let admission = &self.gauges.admission;
        out.counter(
            "connections_refused_total",
            "Connections refused by the limits, by reason.",
            &[
                ("reason=\"address\"", admission.refused_by_address),
                ("reason=\"rate\"", admission.refused_by_rate),
                ("reason=\"handshakes\"", admission.refused_by_handshakes),
            ],
        );
        out.counter(
            "first_packets_total",
            "First packets of unproven addresses, by whether they were answered with a Retry.",
            &[("answer=\"retry\"", admission.retried), ("answer=\"none\"", admission.ignored)],
        );
        let failed = [("", admission.failed)];
        out.counter("handshakes_failed_total", "Admitted connections without a greeting in time.", &failed);
        let thrown_out = [("", admission.thrown_out)];
        out.counter("thrown_out_total", "Connections closed for breaking the protocol.", &thrown_out);
    }

    fn write_reasons(&self, out: &mut Exposition) {
        let drops: Vec<(String, u64)> = DropReason::ALL
            .iter()
            .zip(self.gauges.drops)
            .map(|(reason, count)| (by_reason(reason), count))
            .collect();
        out.counter("sealed_packets_dropped_total", "Sealed packets dropped, by reason.", &borrowed(&drops));
        let closed: Vec<(String, u64)> =
            self.closed.iter().map(|(reason, count)| (by_reason(reason), *count)).collect();
        out.counter(
            "connections_closed_total",
            "Connections that the session closed, by reason.",
            &borrowed(&closed),
        );
        let refused: Vec<(String, u64)> =
            self.refused.iter().map(|(reason, count)| (by_reason(reason), *count)).collect();
        out.counter(
            "updates_refused_total",
            "Clients' actions that were refused, by reason.",
            &borrowed(&refused),
        );
    }

    fn write_distributions(&self, out: &mut Exposition) {
        out.histogram("round_trip_seconds", "Clients' round trips, sampled.", &self.round_trip);
        out.histogram(
            "receiver_error_units",
            "Clients' errors, each summed over the objects that the client sees, sampled.",
            &self.error,
        );
        let help = "The part of its budget that a client was sent, sampled.";
        out.histogram("budget_used_ratio", help, &self.budget_used);
        out.histogram("tick_late_seconds", "How late the game's ticks began.", &self.tick_late);
    }
}

fn by_reason(reason: &impl std::fmt::Debug) -> String {
    format!("reason=\"{reason:?}\"")
}

fn borrowed(samples: &[(String, u64)]) -> Vec<(&str, u64)> {
    samples.iter().map(|(labels, count)| (labels.as_str(), *count)).collect()
}

fn longest(one: Queues, other: Queues) -> Queues {
    Queues {
        outbox_bytes: one.outbox_bytes.max(other.outbox_bytes),
        outbox_messages: one.outbox_messages.max(other.outbox_messages),
        datagrams_open: one.datagrams_open.max(other.datagrams_open),
        waiting: one.waiting.max(other.waiting),
        events: one.events.max(other.events),
        ..one
    }
}

fn mean_and_deviation(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    let squares: f64 = values.map(|value| (value - mean) * (value - mean)).sum();
    (mean, (squares / count).sqrt())
}

impl Totals {
    fn of(peer: &PeerStatus, session: &Statistics) -> Self {
        Self {
            udp_sent: peer.udp_bytes_sent,
            udp_received: peer.udp_bytes_received,
            quic_lost: peer.quic_packets_lost,
            datagrams_sent: session.datagrams_sent,
            datagrams_received: session.datagrams_received,
            datagrams_lost: session.datagrams_lost,
            vectors_sent: session.vectors_sent,
            vectors_received: session.vectors_received,
            session_bytes_sent: session.bytes_sent,
            late: peer.departures.late,
        }
    }

    /// What was counted since. A counter that is lower than before has begun anew.
    fn since(&self, before: &Self) -> Self {
        let since = |now: u64, before: u64| if now < before { now } else { now - before };
        Self {
            udp_sent: since(self.udp_sent, before.udp_sent),
            udp_received: since(self.udp_received, before.udp_received),
            quic_lost: since(self.quic_lost, before.quic_lost),
            datagrams_sent: since(self.datagrams_sent, before.datagrams_sent),
            datagrams_received: since(self.datagrams_received, before.datagrams_received),
            datagrams_lost: since(self.datagrams_lost, before.datagrams_lost),
            vectors_sent: since(self.vectors_sent, before.vectors_sent),
            vectors_received: since(self.vectors_received, before.vectors_received),
            session_bytes_sent: since(self.session_bytes_sent, before.session_bytes_sent),
            late: since(self.late, before.late),
        }
    }

    fn add(&mut self, grown: &Self) {
        self.udp_sent += grown.udp_sent;
        self.udp_received += grown.udp_received;
        self.quic_lost += grown.quic_lost;
        self.datagrams_sent += grown.datagrams_sent;
        self.datagrams_received += grown.datagrams_received;
        self.datagrams_lost += grown.datagrams_lost;
        self.vectors_sent += grown.vectors_sent;
        self.vectors_received += grown.vectors_received;
        self.session_bytes_sent += grown.session_bytes_sent;
        self.late += grown.late;
    }
}

/// Counts of values in buckets.
#[derive(Debug)]
struct Histogram {
    bounds: &'static [f64],
    /// One more than bounds, for values above all of them.
    counts: Vec<u64>,
    sum: f64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    fn add(&mut self, value: f64) {
        let bucket = self.bounds.iter().position(|bound| value <= *bound).unwrap_or(self.bounds.len());
        self.counts[bucket] += 1;
        self.sum += value;
    }
}

/// Text in Prometheus' format.
#[derive(Debug, Default)]
struct Exposition(String);

impl Exposition {
    fn head(&mut self, name: &str, help: &str, kind: &str) {
        let _ = writeln!(self.0, "# HELP fairpath_{name} {help}\n# TYPE fairpath_{name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(self.0, "fairpath_{name}{labels} {value}");
    }

    fn gauge(&mut self, name: &str, help: &str, samples: &[(&str, f64)]) {
        self.head(name, help, "gauge");
        samples.iter().for_each(|(labels, value)| self.sample(name, labels, value));
    }

    fn counter(&mut self, name: &str, help: &str, samples: &[(&str, u64)]) {
        self.head(name, help, "counter");
        samples.iter().for_each(|(labels, value)| self.sample(name, labels, value));
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.head(name, help, "histogram");
        let mut count = 0;
        let bounds = histogram.bounds.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        for (bound, in_bucket) in bounds.zip(&histogram.counts) {
            count += in_bucket;
            self.sample(&format!("{name}_bucket"), &format!("le=\"{bound}\""), count);
        }
        self.sample(&format!("{name}_sum"), "", histogram.sum);
        self.sample(&format!("{name}_count"), "", count);
    }
}

/// Answers Prometheus with the text that was published last, on a thread of its own.
///
/// Listen on an address that only the machine itself or an internal network reaches: there is no
/// encryption and no password. One request is answered at a time, within two seconds. Dropping it
/// stops it.
#[derive(Debug)]
pub struct MetricsListener {
    address: SocketAddr,
    text: Arc<Mutex<String>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Time limit of one request, from its first byte to its answer.
const REQUEST_WITHIN: Duration = Duration::from_secs(2);
/// Prometheus' requests have some hundred bytes.
const REQUEST_BYTES_MAX: usize = 4096;
/// Pause after an error of the system, such as too few descriptors, which would repeat at once.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(100);

impl MetricsListener {
    /// Starts to listen. With port 0 the system chooses one.
    pub fn start(listen: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(listen)?;
        let address = listener.local_addr()?;
        let (text, is_over) = (Arc::<Mutex<String>>::default(), Arc::<AtomicBool>::default());
        let (shown, ends) = (Arc::clone(&text), Arc::clone(&is_over));
        let run = move || {
            for stream in listener.incoming() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                match stream {
                    // A client that goes away loses its answer.
                    Ok(stream) => drop(answer(stream, &shown)),
                    Err(_) => std::thread::sleep(PAUSE_AFTER_ERROR),
                }
            }
        };
        let thread = std::thread::Builder::new().name("fairpath-metrics".into()).spawn(run)?;
        Ok(Self { address, text, is_over, thread: Some(thread) })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the text that requests are answered with.
    pub fn publish(&self, text: String) {
        *lock(&self.text) = text;
    }
}

impl Drop for MetricsListener {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // A connection of its own wakes the thread. Without one it ends with the process.
        if TcpStream::connect_timeout(&self.address, REQUEST_WITHIN).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

fn answer(mut stream: TcpStream, text: &Mutex<String>) -> io::Result<()> {
    let until = Instant::now() + REQUEST_WITHIN;
    let (mut request, mut buffer) = (Vec::new(), [0; 512]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || request.len() > REQUEST_BYTES_MAX {
            return Ok(());
        }
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        request.extend_from_slice(&buffer[..count]);
    }
    let (status, body) = match request.split(|byte| *byte == b' ').nth(1) {
        Some(b"/metrics") if request.starts_with(b"GET ") => ("200 OK", lock(text).clone()),
        _ => ("404 Not Found", "the metrics are at /metrics\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.set_write_timeout(Some(REQUEST_WITHIN))?;
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        let _ = stream.write_all(request.as_bytes());
        let mut answer = String::new();
        // A request that is cut off may end with a reset.
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn the_listener_answers_with_the_newest_text_and_nothing_else() {
        let listener = MetricsListener::start(([127, 0, 0, 1], 0).into()).unwrap();
        listener.publish("fairpath_seats 64\n".into());
        let answer = get(listener.address(), "GET /metrics HTTP/1.1\r\nHost: it\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nfairpath_seats 64\n"));
        assert!(get(listener.address(), "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(get(listener.address(), "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert_eq!(get(listener.address(), &"x".repeat(8_192)), "", "no endless request");
        // A client that says nothing keeps others out for two seconds at most.
        let _silent = TcpStream::connect(listener.address()).unwrap();
        assert!(get(listener.address(), "GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
    }

    #[test]
    fn counters_go_on_when_a_connection_begins_anew() {
        let (mut sum, mut last) = (Totals::default(), Totals::default());
        for udp_sent in [100, 250, 40, 90] {
            let totals = Totals { udp_sent, ..Totals::default() };
            sum.add(&totals.since(&last));
            last = totals;
        }
        assert_eq!(sum.udp_sent, 250 + 90);
    }

    #[test]
    fn buckets_are_cumulative() {
        let mut histogram = Histogram::new(&[0.1, 1.0]);
        [0.05, 0.1, 0.5, 7.0].into_iter().for_each(|value| histogram.add(value));
        let mut out = Exposition::default();
        out.histogram("x", "Help.", &histogram);
        assert_eq!(
            out.0,
            "# HELP fairpath_x Help.\n# TYPE fairpath_x histogram\n\
             fairpath_x_bucket{le=\"0.1\"} 2\nfairpath_x_bucket{le=\"1\"} 3\n\
             fairpath_x_bucket{le=\"+Inf\"} 4\nfairpath_x_sum 7.65\nfairpath_x_count 4\n"
        );
    }
}
