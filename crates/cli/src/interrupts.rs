//! Ctrl-C and its kin.

use std::sync::Arc;
use tidegate_runtime::CancelToken;
use tidegate_tools::Cancel;

/// Which signal came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// Ctrl-C: stop what you are doing.
    Interrupt,
    /// End.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has this signal"))]
    Terminate,
}

/// The signals that ask the program to end. From its creation on they no longer end it by themselves.
pub(crate) struct Interrupts {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Interrupts {
    pub(crate) fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one. None is lost that comes between two calls.
    pub(crate) async fn next(&mut self) {
        self.which().await;
    }

    /// Waits for the next one and tells which it is.
    pub(crate) async fn which(&mut self) -> Interruption {
        tokio::select! {
            _ = self.interrupt.recv() => Interruption::Interrupt,
            _ = self.terminate.recv() => Interruption::Terminate,
        }
    }
}

#[cfg(not(unix))]
impl Interrupts {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        self.which().await;
    }

    /// Waits for the next one and tells which it is.
    pub(crate) async fn which(&mut self) -> Interruption {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
        Interruption::Interrupt
    }
}

/// A token that the first signal cancels; the second one leaves at once.
pub(crate) fn cancelling() -> std::io::Result<Arc<dyn Cancel>> {
    let cancel = CancelToken::new();
    let token = cancel.clone();
    let mut interrupts = Interrupts::new()?;
    tokio::spawn(async move {
        interrupts.next().await;
        token.cancel();
        interrupts.next().await;
        std::process::exit(130);
    });
    Ok(Arc::new(cancel))
}
