//! Progress bars, for what takes over a second.

use crate::output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::borrow::Cow;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long nothing is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often something moves where nothing is known of the progress.
const TICK: Duration = Duration::from_millis(200);

/// Work whose progress is shown on standard error, where that is a terminal, once it takes over a second. It
/// vanishes with this.
pub(crate) struct Progress {
    bar: ProgressBar,
    begun: Instant,
    /// How it is shown, as far as that is decided.
    template: Mutex<&'static str>,
}

impl Progress {
    /// Begins; `what` says what is done.
    pub(crate) fn begin(what: impl Into<Cow<'static, str>>) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_message(what);
        Self {
            bar,
            begun: Instant::now(),
            template: Mutex::new(""),
        }
    }

    /// So much of so much is done. May be called from any thread.
    pub(crate) fn set(&self, done: u64, of: u64) {
        self.bar.set_length(of);
        self.bar.set_position(done);
        self.show_when_due();
    }

    /// So much is done, and nobody knows of how much.
    pub(crate) fn done(&self, done: u64) {
        self.bar.set_position(done);
        self.show_when_due();
    }

    /// So many bytes have arrived, of so many where that is known.
    pub(crate) fn bytes(&self, done: u64, of: Option<u64>) {
        match of {
            Some(of) => self.bar.set_length(of),
            None => self.bar.unset_length(),
        }
        self.bar.set_position(done);
        self.show_as(match of {
            Some(_) => "{msg} {wide_bar} {bytes} of {total_bytes}, {bytes_per_sec} {eta}",
            None => "{msg} {spinner} {bytes}, {bytes_per_sec}",
        });
    }

    /// Tells something on standard error, above the bar.
    pub(crate) fn aside(&self, line: &str) {
        self.bar.suspend(|| output::aside(line));
    }

    /// Nothing is known but that it goes on.
    pub(crate) fn tick(&self) {
        self.bar.tick();
        // How much there is stays shown.
        let shown = *self.template.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.is_empty() {
            self.show_when_due();
        }
    }

    fn show_when_due(&self) {
        self.show_as(if self.bar.length().is_some() {
            "{msg} {wide_bar} {human_pos}/{human_len} {eta}"
        } else {
            "{msg} {spinner} {human_pos}"
        });
    }

    fn show_as(&self, template: &'static str) {
        if self.begun.elapsed() < PATIENCE {
            return;
        }
        let mut shown = self.template.lock().unwrap_or_else(PoisonError::into_inner);
        if *shown != template {
            *shown = template;
            // The templates are right; the default style would do as well.
            if let Ok(style) = ProgressStyle::with_template(template) {
                self.bar.set_style(style);
            }
        }
        if self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

/// Waits for work of which nothing is known but that it goes on.
pub(crate) async fn watched<T>(what: impl Into<Cow<'static, str>>, work: impl Future<Output = T>) -> T {
    let progress = Progress::begin(what);
    let mut work = pin!(work);
    loop {
        match tokio::time::timeout(TICK, &mut work).await {
            Ok(done) => return done,
            Err(_) => progress.tick(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
