//! What is refused whatever the mounts allow: Landlock and a filter of system calls.

use super::environment::PRIVATE;
use super::mounts::DEVICES;
use super::plan::{Access, Confinement};
use super::stage::{Refusal, Step};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::DumpableBehavior;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The newest Landlock whose restrictions are asked for; an older kernel gives what it has.
const NEWEST: ABI = ABI::V6;

/// Restricts this process and all that it will start.
pub(super) fn restrict(confinement: &Confinement) -> Result<(), Refusal> {
    // The command runs as the same user and must not get at this process.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .step(|| "close this process to others".into())?;
    let status = landlock(confinement).step(|| "apply Landlock".into())?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(Refusal::new(
            "apply Landlock",
            "the kernel does not have it, or it is switched off",
        ));
    }
    for filter in filters().step(|| "make the filter of system calls".into())? {
        apply_filter(&filter).step(|| "apply the filter of system calls".into())?;
    }
    Ok(())
}

fn landlock(confinement: &Confinement) -> Result<RestrictionStatus, RulesetError> {
    let write = AccessFs::from_all(NEWEST) & !BitFlags::from(AccessFs::IoctlDev);
    let writable = confinement
        .views
        .iter()
        .filter(|view| view.access == Access::Write)
        .map(|view| view.path.clone())
        .chain(["/tmp", "/dev/shm", PRIVATE].map(PathBuf::from));
    let devices = DEVICES.iter().map(|name| Path::new("/dev").join(name));
    Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .add_rules(path_beneath_rules(["/"], AccessFs::from_read(NEWEST)))?
        .add_rules(path_beneath_rules(writable, write))?
        .add_rules(path_beneath_rules(
            devices,
            AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate,
        ))?
        .restrict_self()
}

/// System calls that are refused with "operation not permitted", whatever their arguments.
const REFUSED: &[i64] = &[
    // Whatever could talk to the outside, past the network namespace as well: Unix sockets lie in the file system.
    libc::SYS_socket,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Keys of the kernel, which may be credentials.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // New namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    // Files by number instead of by name.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // The system as a whole.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
];

/// Flags of `clone` that make a namespace.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// The low bits of a socket's type; the others are flags.
const SOCKET_TYPE: u64 = 0xf;

/// What marks a system call of the x32 interface, which a filter for x86-64 sees as well.
const X32: i64 = 0x4000_0000;

fn filters() -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    // A pair of streams is a pipe by another name. A pair of datagram sockets can send to any address.
    let mut pairs = vec![when(0, SeccompCmpOp::Ne, unsigned(libc::AF_UNIX))?];
    for kind in (0..=SOCKET_TYPE).filter(|kind| *kind != unsigned(libc::SOCK_STREAM)) {
        pairs.push(when(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), kind)?);
    }
    refused.insert(libc::SYS_socketpair, pairs);
    let clones = NAMESPACES
        .iter()
        .map(|flag| {
            let flag = unsigned(*flag);
            when(0, SeccompCmpOp::MaskedEq(flag), flag)
        })
        .collect::<Result<_, _>>()?;
    refused.insert(libc::SYS_clone, clones);
    // Its flags lie in memory, where a filter cannot look. Libraries fall back to `clone` if it is not there.
    let absent = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    Ok(vec![filter(refused, libc::EPERM)?, filter(absent, libc::ENOSYS)?])
}

fn filter(
    mut rules: BTreeMap<i64, Vec<SeccompRule>>,
    error: i32,
) -> Result<BpfProgram, seccompiler::BackendError> {
    if cfg!(target_arch = "x86_64") {
        let twins: Vec<_> = rules
            .iter()
            .map(|(call, rules)| (call | X32, rules.clone()))
            .collect();
        rules.extend(twins);
    }
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let refuse = SeccompAction::Errno(error.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()
}

fn when(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?;
    SeccompRule::new(vec![condition])
}

fn unsigned(value: i32) -> u64 {
    u64::from(value.unsigned_abs())
}
