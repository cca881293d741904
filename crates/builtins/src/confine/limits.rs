//! How much of the machine a command may use.

use super::stage::{Refusal, Step};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

/// How much more address space than memory a process may have: what programs reserve and never use.
const RESERVED: u64 = 16;

/// How much of the machine a command may use. The system enforces each limit for single processes, so that together
/// the processes of a command can use more; only their number is for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLimits {
    /// The memory of a process that is its own, in MiB. Of memory that it shares with others, and that it
    /// reserves without using it, it may have 16 times as much. Default: 4096.
    pub memory_mib: u64,
    /// The processor time of a process, in seconds, over all its threads. Default: 1800.
    pub processor_s: u64,
    /// How long a file can become, in MiB. Default: 4096.
    pub file_mib: u64,
    /// How many processes a confined command may have at once. They are counted forty times a second, and one that has
    /// more is killed; in between the kernel holds them to about as many (threads too), if it is Linux 6.14 or later or
    /// the program does not run as root. Default: 2048.
    pub processes: u64,
}

impl Default for CommandLimits {
    fn default() -> Self {
        Self {
            memory_mib: 4096,
            processor_s: 1800,
            file_mib: 4096,
            processes: 2048,
        }
    }
}

impl CommandLimits {
    /// Puts them on this process and all that it will start.
    pub(super) fn apply(&self, confined: bool) -> Result<(), Refusal> {
        let bytes = |mib: u64| mib.saturating_mul(1 << 20);
        // A crash must not write the memory of a command anywhere.
        limit("core dumps", Resource::Core, 0, 0)?;
        limit(
            "file sizes",
            Resource::Fsize,
            bytes(self.file_mib),
            bytes(self.file_mib),
        )?;
        // First the signal that says why, then the one that cannot be ignored.
        limit(
            "processor time",
            Resource::Cpu,
            self.processor_s,
            self.processor_s.saturating_add(1),
        )?;
        let memory = bytes(self.memory_mib);
        limit("memory", Resource::Data, memory, memory)?;
        let reserved = memory.saturating_mul(RESERVED);
        limit("address space", Resource::As, reserved, reserved)?;
        if confined {
            // Elsewhere all processes of the user would count.
            limit("processes", Resource::Nproc, self.processes, self.processes)?;
        }
        Ok(())
    }
}

/// The kernel keeps the first numbers of a namespace for itself once all were used.
#[cfg(target_os = "linux")]
const KEPT_NUMBERS: u64 = 300;

/// Limits the numbers of processes and threads there can be in this process namespace, where the kernel has such a limit
/// for a namespace (Linux 6.14); where it has one for the whole system, that is left alone. It holds for root too.
#[cfg(target_os = "linux")]
pub(super) fn limit_process_numbers(processes: u64) {
    let release = rustix::system::uname();
    let release = release.release().to_string_lossy();
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    let mut number = || numbers.next().and_then(|number| number.parse::<u32>().ok());
    if (number(), number()) >= (Some(6), Some(14)) {
        let most = processes.saturating_add(KEPT_NUMBERS).max(KEPT_NUMBERS + 2);
        // Where it cannot be set, processes are counted all the same, and the user's limit counts.
        let _at_best = std::fs::write("/proc/sys/kernel/pid_max", most.to_string());
    }
}

/// A limit that is lower already stays as it is.
fn limit(what: &str, resource: Resource, soft: u64, hard: u64) -> Result<(), Refusal> {
    let now = getrlimit(resource);
    let lower = |given: u64, known: Option<u64>| Some(known.map_or(given, |known| known.min(given)));
    let limit = Rlimit {
        current: lower(soft, now.maximum),
        maximum: lower(hard, now.maximum),
    };
    setrlimit(resource, limit).step(|| format!("limit {what}"))
}
