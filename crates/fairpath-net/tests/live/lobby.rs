//! Goal: servers and peers are found while they are connected, and not afterwards; peers are
//! introduced; and a stranger can neither fill a lobby nor break it. Method: real lobbies, servers
//! and peers on loopback; a client that breaks the protocol; middlemen as address translators.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairpath::session::CloseReason;
use fairpath::session::codec::{Reader, put_bytes};
use fairpath::vector::Vec2;
use fairpath_net::lobby::{
    Announcement, EntryId, Filter, FindError, Found, LobbyAddress, LobbyConfig, LobbyLimits, LobbyPresence,
    LobbyRefusal, LobbyRequest, LobbyResponse, LobbyServer, MESSAGE_BYTES_MAX, NotAnnounceable, find,
};
use fairpath_net::middleman::{ClientSelector, Directions, Middleman, MiddlemanConfig};
use fairpath_net::{Fingerprint, Identity, NetServer, Trust};
use quinn::crypto::rustls::QuicClientConfig;

use super::arena::{FRAME, PATIENCE, any_port, server_config, server_session};
use super::mesh::{Captain, Fleet};

fn lobby(limits: LobbyLimits) -> (LobbyServer, LobbyAddress) {
    let identity = Identity::local(&[]).expect("made");
    let config = LobbyConfig { lobby_limits: limits, ..LobbyConfig::new(any_port(), identity) };
    let server = LobbyServer::bind(config).expect("a free port");
    let trust = Trust::Pinned(vec![server.fingerprint()]);
    let address = LobbyAddress::new(server.address(), trust);
    (server, address)
}

fn game_server() -> NetServer<Vec2> {
    let config = server_config(any_port(), Identity::local(&[]).expect("made"));
    NetServer::bind(config, server_session()).expect("a free port")
}

/// Waits until the condition holds.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(FRAME);
    }
}

fn names(found: &[Found]) -> Vec<&str> {
    let mut names: Vec<&str> = found.iter().map(|it| it.listing.announcement.name.as_str()).collect();
    names.sort_unstable();
    names
}

/// Asks until the lobby answers: a machine may stall for longer than a person would wait.
fn ask(lobby: &LobbyAddress, filter: &Filter, measures: bool) -> Vec<Found> {
    let started = Instant::now();
    loop {
        match find(lobby, filter, measures) {
            Ok(found) => return found,
            Err(error) => assert!(started.elapsed() < PATIENCE, "{error}"),
        }
    }
}

fn is_announced(presence: &LobbyPresence) -> bool {
    presence.announced().is_some()
}

// ── finding servers

#[test]
fn servers_announce_themselves_and_clients_filter_and_pick() {
    let (running, address) = lobby(LobbyLimits::default());
    let mut servers: Vec<_> = [("tanks", "dunes"), ("tanks", "ice"), ("boats", "ice")]
        .into_iter()
        .map(|(game, map)| {
            let server = game_server();
            let announcement =
                Announcement::new(game, &format!("{game} on {map}")).with_attribute("map", map);
            let presence = server.announce(address.clone(), announcement).expect("a good one");
            (server, presence)
        })
        .collect();
    until("all are on the list", || servers.iter().all(|(_, presence)| is_announced(presence)));

    let all = ask(&address, &Filter::default(), false);
    assert_eq!(names(&all), ["boats on ice", "tanks on dunes", "tanks on ice"]);
    for (server, presence) in &servers {
        let seen = all.iter().find(|it| it.listing.fingerprint == server.fingerprint());
        let listing = &seen.expect("listed").listing;
        assert_eq!(listing.address, server.address(), "seen, where it serves");
        assert_eq!(Some((listing.entry, listing.address)), presence.announced());
        assert_eq!((listing.announcement.players, listing.announcement.seats), (0, 64));
    }
    let mut filter = Filter { game: Some("tanks".into()), ..Filter::default() };
    assert_eq!(names(&ask(&address, &filter, false)), ["tanks on dunes", "tanks on ice"]);
    filter.attributes.insert("map".into(), "ice".into());
    until("the matching server was measured", || {
        let nearest = ask(&address, &filter, true);
        assert_eq!(names(&nearest), ["tanks on ice"]);
        nearest[0].round_trip.is_some()
    });
    filter.free_seats_min = 65;
    assert_eq!(names(&ask(&address, &filter, false)), [""; 0]);

    // One server withdraws, and one ends.
    drop(servers.remove(0).1);
    let (ending, presence) = servers.remove(0);
    drop(ending);
    until("they are gone from the list", || running.entries().len() == 1);
    drop(presence);
}

#[test]
fn a_silent_server_is_removed_from_the_list() {
    let limits = LobbyLimits { expires_after: Duration::from_secs(13), ..LobbyLimits::default() };
    let (running, address) = lobby(limits);
    let way = Middleman::start(MiddlemanConfig::between(any_port(), address.address)).expect("a free port");
    let (one, other) = (game_server(), game_server());
    let through = LobbyAddress { address: way.address(), ..address.clone() };
    let cut_off = one.announce(through, Announcement::new("tanks", "cut off")).expect("a good one");
    let there = other.announce(address, Announcement::new("tanks", "there")).expect("a good one");
    until("both are on the list", || is_announced(&cut_off) && is_announced(&there));
    way.partition(ClientSelector::All, Directions::Both, None).expect("a partition");
    until("it was removed, and only it", || {
        let entries = running.entries();
        entries.len() == 1 && entries[0].announcement.name == "there"
    });
}

#[test]
fn entries_of_one_address_are_limited() {
    let limits = LobbyLimits { entries_per_address_max: 2, ..LobbyLimits::default() };
    let (running, address) = lobby(limits);
    let servers: Vec<_> = (0..3).map(|_| game_server()).collect();
    let announce = |server: &NetServer<Vec2>| {
        server.announce(address.clone(), Announcement::new("tanks", "one of many")).expect("a good one")
    };
    let first: Vec<LobbyPresence> = servers[..2].iter().map(announce).collect();
    until("two are on the list", || first.iter().all(is_announced));
    let third = announce(&servers[2]);
    until("the third is refused", || third.refusal() == Some(LobbyRefusal::TooManyOfYours));
    assert_eq!(running.entries().len(), 2);
    let bad = servers[0].announce(address.clone(), Announcement::new("tanks", "bell \u{7}"));
    assert!(bad.is_err(), "every lobby would refuse that");
    let filter = Filter { game: Some(String::new()), ..Filter::default() };
    let asked = find(&address, &filter, false);
    assert!(matches!(asked, Err(FindError::Filter(NotAnnounceable::Text(_)))));
}

#[test]
fn a_lobby_with_another_certificate_is_not_trusted() {
    let (_running, address) = lobby(LobbyLimits::default());
    let wrong = LobbyAddress { trust: Trust::Pinned(vec![Fingerprint([7; 32])]), ..address };
    assert!(matches!(find(&wrong, &Filter::default(), false), Err(FindError::NoAnswer(_))));
}

// ── clients that break the protocol

/// A client without a certificate that sends any bytes and reads when it likes.
struct RawClient {
    runtime: tokio::runtime::Runtime,
    quic: quinn::Connection,
    sending: quinn::SendStream,
    receiving: quinn::RecvStream,
    endpoint: quinn::Endpoint,
}

impl RawClient {
    fn call(identity: &Identity, lobby: &LobbyServer) -> Self {
        Self::call_with(identity, lobby, quinn::TransportConfig::default())
    }

    fn call_with(identity: &Identity, lobby: &LobbyServer, transport: quinn::TransportConfig) -> Self {
        let folder = temporary_path();
        identity.save_certificates(&folder).expect("written");
        let trust = Trust::load(&folder).expect("as written");
        std::fs::remove_file(&folder).expect("removed");
        let Trust::Certificates(certificates) = trust else { panic!("certificates") };
        let mut roots = rustls::RootCertStore::empty();
        certificates.iter().for_each(|certificate| roots.add(certificate.clone()).expect("sound"));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13]);
        let mut tls = tls.expect("TLS 1.3").with_root_certificates(roots).with_no_client_auth();
        tls.alpn_protocols = vec![b"fairpath-lobby/1".to_vec()];
        let mut config =
            quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).expect("a cipher")));
        config.transport_config(Arc::new(transport));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a thread");
        let (endpoint, quic, (sending, receiving)) = runtime.block_on(async {
            let endpoint = quinn::Endpoint::client(any_port()).expect("a socket");
            let calling = endpoint.connect_with(config, lobby.address(), "localhost").expect("a name");
            let quic = calling.await.expect("a handshake");
            let stream = quic.open_bi().await.expect("a stream");
            (endpoint, quic, stream)
        });
        Self { runtime, quic, sending, receiving, endpoint }
    }

    fn say(&mut self, bytes: &[u8]) {
        let mut framed = Vec::new();
        put_bytes(&mut framed, bytes);
        self.write(&framed);
    }

    fn write(&mut self, bytes: &[u8]) {
        let _ = self.runtime.block_on(self.sending.write_all(bytes));
    }

    fn hear(&mut self) -> LobbyResponse {
        let heard = async {
            let mut length = Vec::new();
            loop {
                let mut byte = [0];
                self.receiving.read_exact(&mut byte).await.expect("alive");
                length.push(byte[0]);
                if byte[0] & 0x80 == 0 {
                    break;
                }
            }
            let length = Reader::new(&length).varint().expect("a length");
            let mut message = vec![0; length as usize];
            self.receiving.read_exact(&mut message).await.expect("alive");
            message
        };
        let heard = self.runtime.block_on(async { tokio::time::timeout(PATIENCE, heard).await });
        LobbyResponse::decode(&heard.expect("it answers")).expect("sound")
    }

    fn thrown_out(&self) -> CloseReason {
        let closed =
            self.runtime.block_on(async { tokio::time::timeout(PATIENCE, self.quic.closed()).await });
        match closed.expect("it is thrown out") {
            quinn::ConnectionError::ApplicationClosed(close) => {
                CloseReason::from_code(close.error_code.into_inner() as u8).expect("a reason")
            }
            other => panic!("{other:?}"),
        }
    }
}

fn temporary_path() -> std::path::PathBuf {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    std::env::temp_dir().join(format!("fairpath-lobby-{}-{count}.pem", std::process::id()))
}

#[test]
fn a_client_that_breaks_the_protocol_is_closed_and_the_list_stays() {
    let identity = Identity::local(&[]).expect("made");
    let path = temporary_path();
    let key = temporary_path();
    identity.save(&path, &key).expect("written");
    let mut config = LobbyConfig::new(any_port(), Identity::load(&path, &key).expect("as written"));
    config.limits.per_address_burst = 1000;
    std::fs::remove_file(&path).expect("removed");
    std::fs::remove_file(&key).expect("removed");
    let running = LobbyServer::bind(config).expect("a free port");
    let address = LobbyAddress::new(running.address(), Trust::Pinned(vec![running.fingerprint()]));
    let server = game_server();
    let presence = server.announce(address.clone(), Announcement::new("tanks", "honest")).expect("good");
    until("it is on the list", || is_announced(&presence));

    // A client without a certificate may only list entries.
    let mut client = RawClient::call(&identity, &running);
    let entry = presence.announced().expect("on the list").0;
    for ask in [
        LobbyRequest::Announce(Announcement::new("tanks", "nobody")),
        LobbyRequest::Meet(entry),
        LobbyRequest::Relay(server.fingerprint()),
    ] {
        client.say(&ask.encode());
        assert_eq!(client.hear(), LobbyResponse::Refused(LobbyRefusal::NoCertificate), "{ask:?}");
    }
    client.say(&LobbyRequest::Find(Filter::default(), EntryId(0)).encode());
    assert!(matches!(client.hear(), LobbyResponse::Found(listing) if listing.entry == entry));
    assert_eq!(client.hear(), LobbyResponse::End(false));

    // Bytes that are no message, a message that is too long, and a flood.
    let bad: [&[u8]; 4] = [b"\x01\x63", &[0xFF, 0xFF, 0xFF], &[0x02, 0x01, 0x00], &[0x80, 0x00]];
    for bytes in bad {
        let mut client = RawClient::call(&identity, &running);
        client.write(bytes);
        assert_eq!(client.thrown_out(), CloseReason::Malformed, "{bytes:?}");
    }
    let mut client = RawClient::call(&identity, &running);
    client.write(&[0xFF, (MESSAGE_BYTES_MAX >> 7) as u8]);
    assert_eq!(client.thrown_out(), CloseReason::Malformed);
    let mut client = RawClient::call(&identity, &running);
    for _ in 0..500 {
        // It never reads the answers either.
        client.say(&LobbyRequest::Find(Filter::default(), EntryId(0)).encode());
    }
    assert_eq!(client.thrown_out(), CloseReason::TooFast);

    assert_eq!(names(&ask(&address, &Filter::default(), true)), ["honest"]);
    until("all others are forgotten", || running.statistics().connections <= 2);
    assert!(running.statistics().admission.retried >= 8, "every client proved its address");
}

#[test]
fn a_client_that_changes_its_port_is_not_followed() {
    let identity = Identity::local(&[]).expect("made");
    let (path, key) = (temporary_path(), temporary_path());
    identity.save(&path, &key).expect("written");
    let config = LobbyConfig::new(any_port(), Identity::load(&path, &key).expect("as written"));
    std::fs::remove_file(&path).expect("removed");
    std::fs::remove_file(&key).expect("removed");
    let running = LobbyServer::bind(config).expect("a free port");

    // A lobby that followed the client would answer at the new port, and keep the connection.
    let mut transport = quinn::TransportConfig::default();
    let idle = Duration::from_secs(5);
    transport.max_idle_timeout(Some(idle.try_into().expect("five seconds fit")));
    let mut client = RawClient::call_with(&identity, &running, transport);
    let list = LobbyRequest::Find(Filter::default(), EntryId(0)).encode();
    client.say(&list);
    assert_eq!(client.hear(), LobbyResponse::End(false), "it answers at the first port");
    let port = client.endpoint.local_addr().expect("bound").port();
    let inside = client.runtime.enter();
    client.endpoint.rebind(std::net::UdpSocket::bind(any_port()).expect("a socket")).expect("rebound");
    drop(inside);
    assert_ne!(client.endpoint.local_addr().expect("bound").port(), port);
    client.say(&list);
    let mut answer = [0];
    let answer = async { tokio::time::timeout(PATIENCE, client.receiving.read_exact(&mut answer)).await };
    let answer = client.runtime.block_on(answer).expect("an end within the test's patience");
    assert!(answer.is_err(), "the lobby answered at the new port");
    // The client gives up, or the lobby tells it that the connection is forgotten.
    let reason = client.quic.close_reason();
    let is_lost = matches!(reason, Some(quinn::ConnectionError::TimedOut | quinn::ConnectionError::Reset));
    assert!(is_lost, "{reason:?}");
    // A new connection from another port is accepted.
    let mut client = RawClient::call(&identity, &running);
    client.say(&list);
    assert_eq!(client.hear(), LobbyResponse::End(false));
}

// ── introductions

fn room(name: &str) -> Announcement {
    Announcement::new("ships", name).with_attribute("room", name)
}

#[test]
fn peers_in_one_room_are_introduced_and_connect_directly() {
    let (running, address) = lobby(LobbyLimits::default());
    let mut fleet = Fleet::of(3);
    for captain in &fleet.captains {
        captain.peer.join(address.clone(), room("blue")).expect("a good one");
    }
    let elsewhere = Captain::new(9, |_| {});
    elsewhere.peer.join(address.clone(), room("red")).expect("a good one");
    fleet.until("all peers see each other", |fleet| fleet.is_seen());
    for captain in &fleet.captains {
        assert_eq!(captain.peer.announced().map(|(_, seen)| seen), Some(captain.peer.address()));
        for view in captain.peer.status() {
            let other = fleet.captains.iter().find(|it| it.name() == view.peer).expect("of the same room");
            assert_eq!(view.address, Some(other.peer.address()), "directly");
        }
    }
    // On a slow machine a relay may have been requested meanwhile. The check above saw direct
    // connections.
    assert!(running.statistics().introductions >= 3);
    assert_eq!(elsewhere.peer.peers(), [], "rooms are separate");
    // The lobby closes, and connected peers do not notice.
    drop(running);
    let leaver = fleet.captains.remove(2);
    leaver.peer.leave(Duration::from_secs(1));
    fleet.until("the others are still seen", |fleet| {
        fleet.captains[0].peer.peers().len() == 1 && fleet.is_seen()
    });
}

#[test]
fn servers_are_not_introduced() {
    let (running, address) = lobby(LobbyLimits::default());
    let server = game_server();
    let presence = server.announce(address.clone(), room("blue")).expect("a good one");
    until("it is on the list", || is_announced(&presence));
    let mut fleet = Fleet::of(2);
    for captain in &fleet.captains {
        captain.peer.join(address.clone(), room("blue")).expect("a good one");
    }
    fleet.until("the peers have met", |fleet| fleet.is_seen());
    assert!(fleet.captains.iter().all(|captain| captain.peer.peers().len() == 1), "and no other");
    assert_eq!(running.entries().len(), 3);
}

/// A peer behind this middleman is seen by the lobby at an address where no other peer gets
/// through, like behind a translator that gives every destination a port.
fn translator(lobby: SocketAddr) -> Middleman {
    Middleman::start(MiddlemanConfig::between(any_port(), lobby)).expect("a free port")
}

#[test]
fn peers_that_cannot_reach_each_other_are_relayed() {
    let (running, address) = lobby(LobbyLimits::default());
    let translators = [translator(address.address), translator(address.address)];
    let mut fleet = Fleet { captains: Vec::new() };
    for (which, translator) in translators.iter().enumerate() {
        let captain = Captain::new(which, |config| config.direct_within = Duration::from_secs(1));
        let through = LobbyAddress { address: translator.address(), ..address.clone() };
        captain.peer.join(through, room("blue")).expect("a good one");
        fleet.captains.push(captain);
    }
    fleet.until("they see each other", |fleet| fleet.is_seen());
    assert_eq!(running.statistics().relays, 1, "one pair");
    let ports: Vec<u16> = fleet.captains.iter().map(|captain| captain.peer.address().port()).collect();
    for captain in &fleet.captains {
        let views = captain.peer.status();
        let way = views[0].address.expect("connected");
        assert!(!ports.contains(&way.port()), "{way} is neither of {ports:?}");
    }
}

#[test]
fn a_lobby_without_relays_refuses_them() {
    let (running, address) = lobby(LobbyLimits { relays_max: 0, ..LobbyLimits::default() });
    let translator = translator(address.address);
    let mut fleet = Fleet { captains: Vec::new() };
    for which in 0..2 {
        let captain = Captain::new(which, |config| config.direct_within = Duration::from_millis(500));
        let through = LobbyAddress { address: translator.address(), ..address.clone() };
        captain.peer.join(through, room("blue")).expect("a good one");
        fleet.captains.push(captain);
    }
    fleet.until("it refused", |_| running.statistics().refused > 0);
    assert_eq!(running.statistics().relays, 0);
    assert!(
        fleet.captains.iter().all(|captain| captain.events.is_empty()),
        "no peer was connected, and none is lost"
    );
}
