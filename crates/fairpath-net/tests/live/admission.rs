//! Goal: a client that must not connect is refused, and told why where that is safe. Method: wrong
//! pins, wrong tokens, too many connections.

use std::time::Duration;

use fairpath::session::{Client, ClientConfig, CloseReason};
use fairpath::vector::Vec2;
use fairpath_net::{
    ClientThread, ConnectTokens, ConnectionProblem, ConnectionState, Fingerprint, Identity, Limits,
    NetClient, NetClientConfig, Trust, unguessable_random,
};
use fairpath_sim::LinkConfig;

use super::arena::{World, classes, client_session, server_session};

#[test]
fn a_pinned_certificate_or_a_trusted_one_and_no_other() {
    let identity = Identity::local(&[]).expect("made");
    let path = std::env::temp_dir().join(format!("fairpath-trust-{}.pem", std::process::id()));
    identity.save_certificates(&path).expect("written");
    let trusted = Trust::load(&path).expect("as written");
    std::fs::remove_file(&path).expect("removed");
    let mut world = World::with(LinkConfig::default(), server_session(), |config| config.identity = identity);
    let connect = |trust: Trust, name: &str| {
        let config = NetClientConfig { server_name: name.into(), ..NetClientConfig::new(trust) };
        NetClient::connect(world.server.address(), config, client_session()).expect("a socket")
    };
    let pinned = connect(Trust::Pinned(vec![world.server.fingerprint()]), "whatever");
    let trusting = connect(trusted.clone(), "localhost");
    let wrong_pin = connect(Trust::Pinned(vec![Fingerprint([7; 32])]), "localhost");
    let wrong_name = connect(trusted, "elsewhere.test");
    let has_failed = |client: &NetClient<_>| {
        matches!(client.connection_state(), ConnectionState::Connecting { failed: 1.., .. })
    };
    world.until("all have come to an end", |_| {
        let is_in = |client: &NetClient<_>| client.with_session(|session, _| session.is_connected());
        is_in(&pinned) && is_in(&trusting) && has_failed(&wrong_pin) && has_failed(&wrong_name)
    });
    assert_eq!(world.server.with_session(|session, _| session.clients().count()), 2);
    assert!(world.server.admission_statistics().retried >= 4, "every client proves its address first");
}

#[test]
fn a_valid_token_admits_once_and_a_wrong_one_is_refused_for_good() {
    let tokens = ConnectTokens::for_world(&[3; 32], "arena");
    let session = server_session().with_admission(tokens.clone());
    let mut world = World::with(LinkConfig::default(), session, |_| {});
    let (address, pin) = (world.server.address(), world.server.fingerprint());
    let connect = |authentication: Vec<u8>| {
        let config = ClientConfig { authentication, ..ClientConfig::new(classes()) };
        let session = Client::<Vec2>::new(config, unguessable_random());
        let config = NetClientConfig::new(Trust::Pinned(vec![pin]));
        NetClient::connect(address, config, session).expect("a socket")
    };
    let token = tokens.issue(b"ann", Duration::from_secs(600)).expect("short");
    let friend = connect(token.clone());
    let stranger = connect(b"sesame".to_vec());
    world.until("one is in and the other is not", |_| {
        friend.with_session(|session, _| session.is_connected())
            && stranger.connection_state()
                == ConnectionState::Over(Some(ConnectionProblem::Refused(CloseReason::NotAdmitted)))
    });
    // Longer than its answer could have been lost: a copy begins no session, and the first goes on.
    std::thread::sleep(ConnectTokens::REUSE_WITHIN + Duration::from_secs(2));
    let copy = connect(token);
    world.until("the copy is refused", |_| {
        copy.connection_state()
            == ConnectionState::Over(Some(ConnectionProblem::Refused(CloseReason::NotAdmitted)))
    });
    assert!(friend.with_session(|session, _| session.is_connected()));
}

#[test]
fn connections_of_one_address_are_limited() {
    let limits = Limits { per_address_max: 3, ..Limits::default() };
    let mut world = World::with(LinkConfig::default(), server_session(), |config| config.limits = limits);
    for _ in 0..5 {
        world.join();
    }
    world.until("the limit holds", |world| {
        let joined = world.server.with_session(|session, _| session.clients().count());
        joined == 3 && world.server.admission_statistics().refused >= 2
    });
    assert_eq!(world.server.status().len(), 3);
}

#[test]
fn clients_that_share_a_thread_end_independently() {
    let mut world = World::with(LinkConfig::default(), server_session(), |_| {});
    let thread = ClientThread::start().expect("a thread");
    let connect = || {
        let trust = Trust::Pinned(vec![world.server.fingerprint()]);
        let config = NetClientConfig::new(trust);
        NetClient::connect_on(&thread, world.server.address(), config, client_session()).expect("a socket")
    };
    let mut clients: Vec<NetClient<Vec2>> = std::iter::repeat_with(connect).take(3).collect();
    world.until("all are in", |world| {
        let is_in = |client: &NetClient<Vec2>| client.with_session(|session, _| session.is_connected());
        clients.iter().all(is_in) && world.server.with_session(|session, _| session.clients().count()) == 3
    });
    let leaver = clients.pop().expect("three came");
    assert!(leaver.leave(Duration::from_secs(10)), "it had promised nothing");
    world
        .until("one is gone", |world| world.server.with_session(|session, _| session.clients().count()) == 2);
    drop(thread);
    world.until("the others went with their thread", |world| {
        world.server.with_session(|session, _| {
            session.clients().filter(|client| session.is_connected(*client)).count() == 0
        })
    });
}
