//! Leaving the system's namespaces, and the rights that go with them.

use super::plan::Report;
use super::stage::{Refusal, Stage, Step, tell};
use nix::sched::{CloneFlags, unshare};
use rustix::io::Errno;
use rustix::process::Signal;
use rustix::thread::CapabilitySet;
use std::fs;
use std::process::Command;

/// What a command keeps of the capabilities of root: those over owners and modes of the files it can write. Without
/// them root could not work in a folder of another user.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// What the stage that makes the mounts and drops capabilities needs, all within its own user namespace.
const NEEDED: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::DAC_OVERRIDE);

/// Makes the namespaces and starts the next stage as the first process in them; ends when that ends.
pub(super) fn enter() -> Result<(), Refusal> {
    close_descriptors()?;
    rustix::process::setsid().step(|| "start a session".into())?;
    leave()?;
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    arguments.pop();
    arguments.push(Stage::Confined.name().into());
    // Standard input, the socket, goes on to the next stage.
    let mut next = Command::new("/proc/self/exe")
        .args(arguments)
        .spawn()
        .step(|| "start a process in the namespaces".into())?;
    let status = next
        .wait()
        .step(|| "wait for the process in the namespaces".into())?;
    if status.success() {
        return Ok(());
    }
    // It has told why, unless it was killed; a second report is not read.
    let _told_already = tell(&Report::Refused {
        step: "confine the command".into(),
        cause: format!("the process that confines it ended with {status}"),
    });
    Ok(())
}

/// Dies as soon as the stage before is killed.
pub(super) fn die_with_parent() -> Result<(), Refusal> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .step(|| "end with the process before".into())
}

/// Closes what the program may have inherited and not marked as its own alone.
pub(super) fn close_descriptors() -> Result<(), Refusal> {
    let step = || "close the descriptors of the program".to_owned();
    let mut open = Vec::new();
    for entry in fs::read_dir("/proc/self/fd").step(step)? {
        let name = entry.step(step)?.file_name();
        if let Some(number) = name.to_str().and_then(|name| name.parse::<i32>().ok()) {
            open.push(number);
        }
    }
    for number in open.into_iter().filter(|number| *number > 2) {
        // The one with which the folder was read is closed already.
        match nix::unistd::close(number) {
            Ok(()) | Err(nix::errno::Errno::EBADF) => {}
            Err(error) => return Err(Refusal::new(step(), error)),
        }
    }
    Ok(())
}

/// Root leaves without a user namespace, so that its files stay its own; all others, and a root that may not,
/// need one.
fn leave() -> Result<(), Refusal> {
    let others = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS;
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    if user.is_root() && unshare(others).is_ok() {
        return Ok(());
    }
    unshare(others | CloneFlags::CLONE_NEWUSER).step(|| {
        "make namespaces for users, mounts, processes and the network (they may be switched off on this system)"
            .into()
    })?;
    let maps = [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{0} {0} 1", user.as_raw())),
        ("gid_map", format!("{0} {0} 1", group.as_raw())),
    ];
    for (file, content) in maps {
        fs::write(format!("/proc/self/{file}"), content).step(|| format!("write /proc/self/{file}"))?;
    }
    keep_capabilities()
}

/// Takes what the next stage needs over its start, at which all who are not root lose their capabilities.
fn keep_capabilities() -> Result<(), Refusal> {
    let step = || "keep the capabilities that confining needs".to_owned();
    let mut sets = rustix::thread::capabilities(None).step(step)?;
    sets.inheritable = NEEDED;
    rustix::thread::set_capabilities(None, sets).step(step)?;
    for capability in NEEDED.iter() {
        rustix::thread::configure_capability_in_ambient_set(capability, true).step(step)?;
    }
    Ok(())
}

/// Takes all capabilities but a few from whatever will be executed from now on.
pub(super) fn drop_capabilities() -> Result<(), Refusal> {
    let step = || "give up capabilities".to_owned();
    rustix::thread::clear_ambient_capability_set().step(step)?;
    for bit in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << bit);
        if KEPT.contains(capability) {
            continue;
        }
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // Beyond the last capability this kernel has.
            Ok(()) | Err(Errno::INVAL) => {}
            Err(error) => return Err(Refusal::new(step(), error)),
        }
    }
    let mut sets = rustix::thread::capabilities(None).step(step)?;
    sets.inheritable = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, sets).step(step)
}
