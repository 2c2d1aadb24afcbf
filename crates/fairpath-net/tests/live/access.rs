//! Goal: a game can use a server and a client from any thread and under any executor, and a mistake
//! is a message, never a deadlock. Method: static checks, nested calls, a thread that waits, an
//! executor of a dozen lines.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use fairpath::session::ServerEvent;
use fairpath::vector::Vec2;
use fairpath_net::middleman::LinkConfig;
use fairpath_net::{
    ConnectionProblem, ConnectionState, Fingerprint, FrameError, InFrame, NetClient, NetClientConfig,
    NetPeer, NetServer, Trust,
};

use super::arena::{PATIENCE, World, client_session, until};
use super::mesh::Fleet;

const _: () = {
    const fn is_shareable<T: Send + Sync>() {}
    is_shareable::<NetServer<Vec2>>();
    is_shareable::<NetClient<Vec2>>();
    is_shareable::<NetPeer<Vec2>>();
};

/// The message of the panic that this causes.
fn panic_of<R>(call: impl FnOnce() -> R) -> String {
    let Err(panic) = catch_unwind(AssertUnwindSafe(call)) else { panic!("no panic") };
    panic.downcast_ref::<String>().cloned().expect("a formatted message")
}

const FIX: &str = "use the session that the closure was given, or call it after the closure";

#[test]
fn a_call_inside_frame_is_an_error_that_says_what_to_do() {
    let mut world = World::new(LinkConfig::default());
    world.join();
    let (server, client) = (&world.server, &world.pilots[0].client);
    let inside = |method: &str| format!("{method} was called inside NetServer::frame; {FIX}");
    server.with_session(|_, _| {
        assert_eq!(panic_of(|| server.with_session(|_, _| ())), inside("NetServer::frame"));
        assert_eq!(panic_of(|| server.status()), inside("NetServer::status"));
        let statistics = panic_of(|| server.admission_statistics());
        assert_eq!(statistics, inside("NetServer::admission_statistics"));
        assert_eq!(panic_of(|| server.wait(PATIENCE)), inside("NetServer::wait"));
        assert_eq!(panic_of(|| block_on(server.ready())), inside("NetServer::ready"));
        assert_eq!(server.try_frame(|_| ()), Err(FrameError::InFrame));
        assert_eq!(server.poll_ended(), None);
        // Another session is another lock.
        client.with_session(|_, _| assert_eq!(server.try_frame(|_| ()), Err(FrameError::InFrame)));
    });
    let inside = |method: &str| format!("{method} was called inside NetClient::frame; {FIX}");
    client.with_session(|_, _| {
        assert_eq!(panic_of(|| client.with_session(|_, _| ())), inside("NetClient::frame"));
        assert_eq!(panic_of(|| client.status()), inside("NetClient::status"));
        assert_eq!(panic_of(|| client.wait(PATIENCE)), inside("NetClient::wait"));
        assert_eq!(client.try_frame(|_| ()), Err(InFrame));
        // These need no session.
        assert!(!matches!(client.connection_state(), ConnectionState::Over(_)));
        assert_eq!(client.poll_problem(), None);
    });
    assert_eq!((server.try_frame(|_| 5), client.try_frame(|_| 6)), (Ok(5), Ok(6)));
    // A frame that panics releases the session.
    panic_of(|| server.with_session(|_, _| panic!("{}", "a game's own mistake")));
    world.until("all goes on", |world| world.pilots[0].ship.is_some());
}

#[test]
fn a_call_inside_a_view_of_a_mesh_is_an_error_too() {
    let mut fleet = Fleet::of(2);
    fleet.connect_all();
    fleet.until("both see each other", |fleet| fleet.is_seen());
    let (peer, other) = (&fleet.captains[0].peer, fleet.captains[1].name());
    let nested = peer.view(other, |_, _| panic_of(|| peer.view(other, |_, _| ())));
    assert_eq!(nested, Some(format!("NetPeer::view was called inside NetPeer::view; {FIX}")));
    let nested = peer.with_session(|_, _| panic_of(|| peer.status()));
    assert_eq!(nested, format!("NetPeer::status was called inside NetPeer::frame; {FIX}"));
    fleet.until("all goes on", |fleet| fleet.is_seen());
}

/// The smallest executor: it shows that no runtime is needed.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        std::thread::park();
    }
}

#[test]
fn a_thread_and_a_task_sleep_until_there_is_an_event() {
    let world = World::new(LinkConfig::default());
    let server = &world.server;
    assert!(!server.wait(Duration::ZERO), "no event yet");
    let trust = Trust::Pinned(vec![server.fingerprint()]);
    let client: NetClient<Vec2> =
        NetClient::connect(server.address(), NetClientConfig::new(trust), client_session())
            .expect("a socket");
    assert!(server.wait(PATIENCE), "a client joined");
    assert!(server.wait(Duration::MAX), "the event is still there");
    let event = server.with_session(|session, _| session.poll_event());
    assert!(matches!(event, Some(ServerEvent::Joined { .. })), "{event:?}");
    block_on(client.ready());
    assert!(client.with_session(|session, _| session.poll_event()).is_some());
    // The server's next event comes while two threads wait for it, each in its way.
    std::thread::scope(|scope| {
        let blocked = scope.spawn(|| server.wait(PATIENCE));
        let suspended = scope.spawn(|| block_on(server.ready()));
        client.leave(Duration::from_secs(10));
        assert!(blocked.join().expect("no panic"));
        suspended.join().expect("no panic");
    });
    // A problem is an event for a client.
    let trust = Trust::Pinned(vec![Fingerprint([9; 32])]);
    let client: NetClient<Vec2> =
        NetClient::connect(server.address(), NetClientConfig::new(trust), client_session())
            .expect("a socket");
    block_on(client.ready());
    assert!(client.wait(Duration::ZERO));
    assert_eq!(client.poll_problem(), Some(ConnectionProblem::WrongPin));
    assert!(!client.wait(Duration::ZERO));
    until("it tries again", || {
        matches!(client.connection_state(), ConnectionState::Connecting { failed: 2.., .. })
    });
}
