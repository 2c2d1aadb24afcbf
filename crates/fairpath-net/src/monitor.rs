//! A mutex that reports a second lock by the same thread, and that can wait for events.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::lock;

/// A method that needs the session was called inside `frame`, which holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFrame;

impl fmt::Display for InFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the call is inside frame, which holds the session; use the session of that frame")
    }
}

impl std::error::Error for InFrame {}

/// Why a server does not give access to its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameError {
    /// The call is inside `frame`, which holds the session.
    InFrame,
    /// The server has ended, because a callback of the game panicked:
    /// [`NetServer::failure`](crate::NetServer::failure).
    ServerFailed,
}

impl From<InFrame> for FrameError {
    fn from(_: InFrame) -> Self {
        Self::InFrame
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InFrame => InFrame.fmt(f),
            Self::ServerFailed => f.write_str(
                "the server has ended, because a callback of the game panicked; NetServer::failure says why",
            ),
        }
    }
}

impl std::error::Error for FrameError {}

/// A value in a [`Monitor`].
pub(crate) trait Watched {
    /// Whether an event waits for the game.
    fn has_events(&self) -> bool;
}

/// A value behind a mutex. Releasing the mutex wakes waiting threads and tasks if there are events.
#[derive(Debug)]
pub(crate) struct Monitor<T> {
    /// The public type that contains the monitor and its method that hands the value to the game,
    /// for panic messages.
    name: &'static str,
    access: &'static str,
    value: Mutex<T>,
    /// The [`this_thread`] that holds the mutex, or 0. Relaxed: a thread looks for its own id only.
    holder: AtomicUsize,
    blocked: Condvar,
    suspended: Notify,
}

/// Access to the value of a [`Monitor`].
pub(crate) struct Held<'a, T: Watched> {
    monitor: &'a Monitor<T>,
    guard: MutexGuard<'a, T>,
}

impl<T: Watched> Monitor<T> {
    pub(crate) fn new(name: &'static str, access: &'static str, value: T) -> Self {
        let (value, holder) = (Mutex::new(value), AtomicUsize::new(0));
        Self { name, access, value, holder, blocked: Condvar::new(), suspended: Notify::new() }
    }

    /// Locks the value. Fails if this thread holds it.
    pub(crate) fn try_lock(&self) -> Result<Held<'_, T>, InFrame> {
        if self.holder.load(Ordering::Relaxed) == this_thread() {
            return Err(InFrame);
        }
        let guard = lock(&self.value);
        self.holder.store(this_thread(), Ordering::Relaxed);
        Ok(Held { monitor: self, guard })
    }

    /// Locks the value unless another thread holds it.
    pub(crate) fn lock_if_free(&self) -> Option<Held<'_, T>> {
        let guard = match self.value.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        self.holder.store(this_thread(), Ordering::Relaxed);
        Some(Held { monitor: self, guard })
    }

    /// Locks the value for a public method. Panics if this thread holds it.
    #[track_caller]
    pub(crate) fn lock_for(&self, method: &str) -> Held<'_, T> {
        // No closure: it would hide the caller's place.
        match self.try_lock() {
            Ok(held) => held,
            Err(InFrame) => {
                let Self { name, access, .. } = self;
                let fix = "use the session that the closure was given, or call it after the closure";
                panic!("{name}::{method} was called inside {name}::{access}; {fix}")
            }
        }
    }

    /// Locks the value for the method that hands it to the game, and for tasks.
    #[track_caller]
    pub(crate) fn lock(&self) -> Held<'_, T> {
        self.lock_for(self.access)
    }

    /// Blocks until there is an event, for at most `timeout`. Returns whether there is one.
    #[track_caller]
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        drop(self.lock_for("wait"));
        let is_idle = |value: &mut T| !value.has_events();
        let waited = self.blocked.wait_timeout_while(lock(&self.value), timeout, is_idle);
        waited.unwrap_or_else(PoisonError::into_inner).0.has_events()
    }

    /// Completes when there is an event. Needs no particular executor.
    pub(crate) async fn ready(&self) {
        loop {
            let mut notified = pin!(self.suspended.notified());
            // From here on a notification counts, also one that comes before the await.
            notified.as_mut().enable();
            let has_events = self.lock_for("ready").has_events();
            if has_events {
                return;
            }
            notified.await;
        }
    }
}

impl<T: Watched> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T: Watched> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T: Watched> Drop for Held<'_, T> {
    fn drop(&mut self) {
        self.monitor.holder.store(0, Ordering::Relaxed);
        if self.guard.has_events() {
            self.monitor.blocked.notify_all();
            self.monitor.suspended.notify_waiters();
        }
    }
}

/// A number that no other living thread has: the address of a thread-local byte. It is never 0.
fn this_thread() -> usize {
    thread_local! {
        static HERE: u8 = const { 0 };
    }
    HERE.with(|here| std::ptr::from_ref(here).addr())
}
