//! Goal: a callback of the game that panics ends the server with a clear error. No server goes on
//! that accepts players and serves none. Method: an interceptor that panics when told to, on a
//! server with one thread and with several.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fairpath::DrVector;
use fairpath::session::{CloseReason, Interceptor, Refusal, Update};
use fairpath::vector::Vec2;
use fairpath_net::{ConnectionProblem, FrameError};
use fairpath_sim::LinkConfig;

use super::arena::{PATIENCE, World, server_session, until};

/// Panics at the next update, if told to.
#[derive(Debug)]
struct Trap(Arc<AtomicBool>);

impl Interceptor<Vec2> for Trap {
    fn check(&mut self, _: &Update<'_, Vec2>, _: &mut DrVector<Vec2>) -> Result<(), Refusal> {
        assert!(!self.0.load(Ordering::Relaxed), "the trap is set");
        Ok(())
    }
}

fn a_panic_ends_the_server(threads: usize) {
    // A backtrace of a large program takes seconds, in which clients would find the server silent.
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    let is_set = Arc::new(AtomicBool::new(false));
    let session = server_session().with_interceptor(Trap(Arc::clone(&is_set)));
    let mut world = World::with(LinkConfig::default(), session, |config| config.threads = threads);
    for _ in 0..6 {
        world.join();
    }
    world.until("all clients have a ship", |world| world.pilots.iter().all(|pilot| pilot.ship.is_some()));
    assert_eq!(world.server.failure(), None);
    let World { server, mut pilots, middleman, .. } = world;
    is_set.store(true, Ordering::Relaxed);
    until("the server has failed", || {
        // Ships that turn are told of.
        pilots.iter_mut().enumerate().for_each(|(which, pilot)| pilot.frame(which, true));
        server.failure().is_some()
    });
    assert_eq!(server.failure().as_deref(), Some("the trap is set"));
    assert!(server.wait(PATIENCE), "a game that waits hears of it");
    assert_eq!(server.try_frame(|_| ()), Err(FrameError::ServerFailed));
    let panic = catch_unwind(AssertUnwindSafe(|| server.frame(|_| ()))).expect_err("refused");
    let message = panic.downcast_ref::<String>().expect("a formatted message");
    assert!(message.contains("a callback of the game panicked: the trap is set"), "{message}");
    // Clients are told to return, and look for the next server.
    for pilot in &pilots {
        until("it knows", || {
            let told = ConnectionProblem::Closed(CloseReason::Restarting);
            std::iter::from_fn(|| pilot.client.poll_problem()).any(|problem| problem == told)
        });
    }
    assert!(server.status().is_empty(), "no connection is left");
    let address = server.address();
    assert!(!server.shutdown(PATIENCE), "nothing was confirmed, and nothing is waited for");
    assert!(std::net::UdpSocket::bind(address).is_ok(), "the port is free");
    drop(middleman);
}

#[test]
fn a_panic_of_a_callback_ends_the_server() {
    a_panic_ends_the_server(1);
}

#[test]
fn a_panic_of_a_callback_ends_all_threads_of_a_server() {
    a_panic_ends_the_server(3);
}
