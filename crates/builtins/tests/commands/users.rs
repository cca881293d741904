//! The same for users who are not root, for whom confining needs a user namespace.

use crate::common::{LAUNCHER, NOT_TESTED, folder, launcher};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// `nobody`, as good as any.
const USER: u32 = 65_534;

/// Whether the system lets ordinary users make user namespaces.
fn ordinary_users_may_confine() -> bool {
    let is = |file: &str, value: &str| {
        fs::read_to_string(format!("/proc/sys/{file}")).is_ok_and(|found| found.trim() == value)
    };
    !(is("kernel/apparmor_restrict_unprivileged_userns", "1")
        || is("kernel/unprivileged_userns_clone", "0")
        || is("user/max_user_namespaces", "0"))
}

#[test]
fn an_ordinary_user_is_confined_in_the_same_way() {
    if !rustix::process::geteuid().is_root() {
        // Then the other tests have shown it.
        return;
    }
    let place = folder();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = |from: std::path::PathBuf, name: &str| {
        let to = place.path().join(name);
        fs::copy(from, &to).unwrap();
        to
    };
    let tests = copy(std::env::current_exe().unwrap(), "tests");
    let launcher = copy(launcher().program, "launcher");
    let output = Command::new(tests)
        .args(["escapes::", "levels::", "--nocapture"])
        .env(LAUNCHER, launcher)
        .current_dir("/")
        .uid(USER)
        .gid(USER)
        .output()
        .unwrap();
    let told = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{told}");
    assert!(
        !told.contains(NOT_TESTED) || !ordinary_users_may_confine(),
        "{told}"
    );
    assert!(
        told.contains("a_place_cannot_be_moved_to_a_path_of_another_level ... ok"),
        "{told}"
    );
}
