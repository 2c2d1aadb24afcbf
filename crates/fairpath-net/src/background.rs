//! Runs a server, a client, a peer or a lobby in the background.

use std::io;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;

/// Interval of checks whether everything is confirmed.
pub(crate) const CHECK_EVERY: Duration = Duration::from_millis(5);
pub(crate) const CLOSE_WITHIN: Duration = Duration::from_millis(500);

/// A task in the background. Dropping it stops the task at once and waits for its end.
#[derive(Debug)]
pub(crate) struct Background {
    stop: Option<oneshot::Sender<Duration>>,
    completion: Option<Completion>,
}

#[derive(Debug)]
enum Completion {
    Thread(JoinHandle<bool>),
    /// In a mutex, because a receiver alone cannot be shared between threads.
    Task(Mutex<mpsc::Receiver<bool>>),
}

impl Background {
    /// Starts a thread for the task. The task is given the time limit of a graceful stop, and
    /// returns whether every reliable message was confirmed by its end.
    pub(crate) fn start<F: Future<Output = bool>>(
        name: &str,
        runtime: Runtime,
        task: impl FnOnce(oneshot::Receiver<Duration>) -> F + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name(name.into());
        let thread = thread.spawn(move || runtime.block_on(task(stopped)))?;
        Ok(Self { stop: Some(stop), completion: Some(Completion::Thread(thread)) })
    }

    /// Starts the task on a thread that exists already.
    pub(crate) fn start_on<F: Future<Output = bool> + Send + 'static>(
        runtime: &Handle,
        task: impl FnOnce(oneshot::Receiver<Duration>) -> F,
    ) -> Self {
        let ((stop, stopped), (ended, completion)) = (oneshot::channel(), mpsc::channel());
        let task = task(stopped);
        // If the owner was dropped, nothing waits for the result.
        runtime.spawn(async move { ended.send(task.await).unwrap_or_default() });
        Self { stop: Some(stop), completion: Some(Completion::Task(Mutex::new(completion))) }
    }

    /// Stops the task and waits for its end. Returns its result.
    pub(crate) fn finish(&mut self, within: Duration) -> bool {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(within);
        }
        self.wait()
    }

    fn wait(&mut self) -> bool {
        // A panicked thread has printed its message; a second panic while unwinding would hide it.
        match self.completion.take() {
            Some(Completion::Thread(thread)) => thread.join().unwrap_or(false),
            Some(Completion::Task(ended)) => {
                ended.into_inner().unwrap_or_else(PoisonError::into_inner).recv().unwrap_or(false)
            }
            None => false,
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop = None;
        self.wait();
    }
}
