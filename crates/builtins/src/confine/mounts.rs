//! The root a confined command sees, made of mounts.

use super::environment::{HOME, PRIVATE, TEMPORARY};
use super::limits::{CommandLimits, limit_process_numbers};
use super::plan::{Access, Confinement, View};
use super::stage::{Refusal, Step};
use rustix::fd::{AsRawFd as _, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, openat2, symlink};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use std::collections::BTreeMap;
use std::ffi::{CStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The devices there are.
pub(super) const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Where the old root is until all parts are taken from it.
const OLD: &str = "/old-root";

/// What is put in the place of a hidden file.
const EMPTY: &str = "/private-empty";

/// What the system's software consists of: what can be read where the rest of the system cannot. Of `/etc` only what
/// programs need to run, nothing with keys or passwords.
const SOFTWARE: &[&str] = &[
    "/bin",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/group",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/java",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/magic",
    "/etc/manpath.config",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/perl",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/python3",
    "/etc/services",
    "/etc/shells",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/static",
    "/etc/terminfo",
    "/etc/timezone",
    "/gnu/store",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/opt",
    "/run/current-system/sw",
    "/sbin",
    "/usr",
];

/// Folders the root has anew in any case.
const OWN: [&str; 7] = ["/dev", "/proc", "/sys", "/tmp", PRIVATE, EMPTY, OLD];

/// Makes the root and goes there.
pub(super) fn enter_root(confinement: &Confinement, limits: &CommandLimits) -> Result<(), Refusal> {
    rustix::mount::mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)
        .step(|| "make the mounts private".into())?;
    let parts = if confinement.whole_system {
        top_of_system()?
    } else {
        SOFTWARE.iter().map(PathBuf::from).collect()
    };
    change_root()?;
    make_own_folders()?;
    // While it can be written.
    limit_process_numbers(limits.processes);
    let mut made = Made::default();
    made.put("/tmp", TEMPORARY)?;
    for path in parts.iter().chain(&confinement.software) {
        made.bring(path, Access::Read, false)?;
    }
    for View {
        path,
        access,
        required,
        own,
    } in &confinement.views
    {
        match access {
            Access::Hidden => made.hide(path, *own)?,
            Access::Read | Access::Write => made.bring(path, *access, *required)?,
        }
    }
    rustix::mount::unmount(OLD, UnmountFlags::DETACH).step(|| "leave the old root".into())?;
    fs::remove_dir(OLD).step(|| "leave the old root".into())?;
    made.seal()
}

/// All that lies at the top, but for what the new root has anew.
fn top_of_system() -> Result<Vec<PathBuf>, Refusal> {
    let step = || "look at the root folder".to_owned();
    let mut parts = Vec::new();
    for entry in fs::read_dir("/").step(step)? {
        let path = entry.step(step)?.path();
        if !OWN.iter().any(|own| path == Path::new(own)) {
            parts.push(path);
        }
    }
    parts.sort();
    Ok(parts)
}

/// Makes an empty root in memory, with the old one below it.
fn change_root() -> Result<(), Refusal> {
    let base = ["/tmp", "/run", "/mnt", "/var"]
        .into_iter()
        .find(|folder| Path::new(folder).is_dir())
        .unwrap_or("/tmp");
    memory(base, c"mode=755,size=16m", MountFlags::empty())?;
    let old = format!("{base}{OLD}");
    make_folder(&old, 0o700)?;
    rustix::process::pivot_root(base, old.as_str()).step(|| "change the root".into())?;
    rustix::process::chdir("/").step(|| "go to the new root".into())
}

/// `/proc`, `/dev` and the private folder.
fn make_own_folders() -> Result<(), Refusal> {
    make_folder("/proc", 0o555)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("proc", "/proc", "proc", flags, None)
        .step(|| "mount /proc (a container that hides parts of it does not allow that)".into())?;

    make_folder("/dev", 0o755)?;
    memory("/dev", c"mode=755,size=64k", MountFlags::NOEXEC)?;
    for device in DEVICES {
        let (from, to) = (format!("{OLD}/dev/{device}"), format!("/dev/{device}"));
        make_file(&to)?;
        rustix::mount::mount_bind(from.as_str(), to.as_str()).step(|| format!("bring {to}"))?;
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        symlink(target, format!("/dev/{name}")).step(|| format!("make /dev/{name}"))?;
    }
    make_folder("/dev/shm", 0o1777)?;
    memory("/dev/shm", c"mode=1777,size=64m", MountFlags::NODEV)?;

    make_folder(PRIVATE, 0o755)?;
    memory(PRIVATE, c"mode=755,size=1g", MountFlags::NODEV)?;
    make_folder(HOME, 0o700)?;
    make_folder(TEMPORARY, 0o1777)?;
    make_file(EMPTY)?;
    fs::set_permissions(EMPTY, fs::Permissions::from_mode(0o000)).step(|| format!("close {EMPTY}"))
}

/// What was brought into the root, and how it is to be in the end.
#[derive(Default)]
struct Made {
    parts: BTreeMap<PathBuf, Part>,
}

#[derive(Clone, Copy)]
struct Part {
    access: Access,
    /// Whether it is of the old root, or made in memory.
    real: bool,
}

impl Made {
    /// Brings a part of the old root to the same place in the new.
    fn bring(&mut self, path: &Path, access: Access, required: bool) -> Result<(), Refusal> {
        let step = || format!("bring {}", path.display());
        // What lies in a part that is there already is taken from there, where nothing can be put in its way.
        let covered = self.is_covered(path);
        if covered && access == Access::Read && !required {
            return Ok(());
        }
        let from = if covered {
            path.to_owned()
        } else {
            Path::new(OLD).join(path.strip_prefix("/").unwrap_or(path))
        };
        let metadata = match fs::symlink_metadata(&from) {
            Ok(metadata) => metadata,
            Err(error) if !required && is_absent(&error) => return Ok(()),
            Err(error) => return Err(Refusal::new(step(), error)),
        };
        if metadata.is_symlink() {
            if required {
                return Err(Refusal::new(step(), "it became a link"));
            }
            if fs::symlink_metadata(path).is_ok() {
                return Ok(());
            }
            make_folders_above(path)?;
            let target = fs::read_link(&from).step(step)?;
            return symlink(&target, path).step(step);
        }
        if !metadata.is_dir() && !metadata.is_file() {
            // Pipes, sockets and devices are brought only as part of their folder.
            return Ok(());
        }
        let source = open(&from).step(step)?;
        if !covered {
            make_folders_above(path)?;
            if metadata.is_dir() {
                make_folder(path, 0o755)?;
            } else {
                make_file(path)?;
            }
        }
        let target = if covered {
            None
        } else {
            Some(open(path).step(step)?)
        };
        let source = descriptor(&source);
        let target = target.as_ref().map_or_else(|| source.clone(), descriptor);
        rustix::mount::mount_bind_recursive(source.as_str(), target.as_str()).step(step)?;
        self.parts.insert(path.to_owned(), Part { access, real: true });
        Ok(())
    }

    /// Puts an empty file or folder in the place of what is there.
    fn hide(&mut self, path: &Path, own: bool) -> Result<(), Refusal> {
        let step = || format!("hide {}", path.display());
        if !self.is_covered(path) {
            return Ok(());
        }
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            // What is not there cannot be covered: of what must not be made, the way there may not be writable.
            Err(error) if is_absent(&error) && !(own && self.is_writable(path)) => return Ok(()),
            Err(error) => return Err(Refusal::new(step(), error)),
        };
        if metadata.is_symlink() && !(own && self.is_writable(path)) {
            // A link holds nothing but a name.
            return Ok(());
        }
        let target = open(path).step(step)?;
        let is_folder = rustix::fs::fstat(&target)
            .map(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
            .step(step)?;
        let target = descriptor(&target);
        if is_folder {
            memory(&target, c"mode=555,size=4k", MountFlags::NODEV)?;
        } else {
            rustix::mount::mount_bind(EMPTY, target.as_str()).step(step)?;
        }
        self.made(path, Access::Hidden);
        Ok(())
    }

    /// Shows the private folder `from` at `path` too.
    fn put(&mut self, path: &str, from: &str) -> Result<(), Refusal> {
        make_folder(path, 0o1777)?;
        rustix::mount::mount_bind(from, path).step(|| format!("make {path}"))?;
        self.made(path, Access::Write);
        Ok(())
    }

    fn made(&mut self, path: impl Into<PathBuf>, access: Access) {
        self.parts.insert(path.into(), Part { access, real: false });
    }

    /// The innermost part `path` lies in.
    fn part(&self, path: &Path) -> Option<Part> {
        path.ancestors().find_map(|above| self.parts.get(above)).copied()
    }

    /// Whether the command can put something else at `path`, as far as what was brought until now says.
    fn is_writable(&self, path: &Path) -> bool {
        self.part(path).is_some_and(|part| part.access == Access::Write)
    }

    /// Whether the old root's `path` is there already, with a part it lies in.
    fn is_covered(&self, path: &Path) -> bool {
        self.part(path).is_some_and(|part| part.real)
    }

    /// Makes everything read-only but what is to be written.
    fn seal(mut self) -> Result<(), Refusal> {
        for path in [PRIVATE, "/dev/shm"] {
            self.made(path, Access::Write);
        }
        for device in DEVICES {
            self.made(Path::new("/dev").join(device), Access::Write);
        }
        let text = fs::read("/proc/self/mountinfo").step(|| "read the list of mounts".into())?;
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let (path, mut flags) = mount_in(line)
                .ok_or_else(|| Refusal::new("read the list of mounts", "a line has another form"))?;
            flags |= MountFlags::NOSUID | MountFlags::BIND;
            if !path.starts_with("/dev") {
                flags |= MountFlags::NODEV;
            }
            if self.part(&path).map(|part| part.access) != Some(Access::Write) {
                flags |= MountFlags::RDONLY;
            }
            match rustix::mount::mount_remount(&path, flags, "") {
                // What cannot be found or entered from here cannot be by the command.
                Ok(()) | Err(Errno::ACCESS | Errno::NOENT) => {}
                Err(error) => {
                    return Err(Refusal::new(format!("make {} read-only", path.display()), error));
                }
            }
        }
        Ok(())
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::NotFound
            | std::io::ErrorKind::NotADirectory
            | std::io::ErrorKind::PermissionDenied
    )
}

/// Where a mount of the list is, and the flags that remounting must not take away.
fn mount_in(line: &[u8]) -> Option<(PathBuf, MountFlags)> {
    let mut fields = line.split(|byte| *byte == b' ');
    let path = unescaped(fields.nth(4)?);
    let flags = fields
        .next()?
        .split(|byte| *byte == b',')
        .fold(MountFlags::empty(), |flags, option| {
            flags
                | match option {
                    b"ro" => MountFlags::RDONLY,
                    b"nosuid" => MountFlags::NOSUID,
                    b"nodev" => MountFlags::NODEV,
                    b"noexec" => MountFlags::NOEXEC,
                    b"noatime" => MountFlags::NOATIME,
                    b"nodiratime" => MountFlags::NODIRATIME,
                    b"relatime" => MountFlags::RELATIME,
                    // `rw`, and what binding keeps by itself.
                    _ => MountFlags::empty(),
                }
        });
    Some((path, flags))
}

/// The list writes white space and backslashes as three octal digits.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let octal = after
            .get(..3)
            .filter(|_| *first == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match octal {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// A folder in memory, over what is there.
fn memory(path: &str, options: &CStr, flags: MountFlags) -> Result<(), Refusal> {
    rustix::mount::mount("tmpfs", path, "tmpfs", MountFlags::NOSUID | flags, options)
        .step(|| format!("mount a folder in memory at {path}"))
}

/// A handle for what is at `path` itself: no link on the way is followed.
fn open(path: &Path) -> Result<OwnedFd, Errno> {
    openat2(
        rustix::fs::CWD,
        path.as_os_str().as_bytes(),
        OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS,
    )
}

fn descriptor(handle: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}

fn make_folders_above(path: &Path) -> Result<(), Refusal> {
    let above = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(above).step(|| format!("make the folder {}", above.display()))
}

fn make_folder(path: impl AsRef<Path>, mode: u32) -> Result<(), Refusal> {
    let path = path.as_ref();
    let step = || format!("make the folder {}", path.display());
    match fs::create_dir(path) {
        Ok(()) => fs::set_permissions(path, fs::Permissions::from_mode(mode)).step(step),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(Refusal::new(step(), error)),
    }
}

fn make_file(path: impl AsRef<Path>) -> Result<(), Refusal> {
    let path = path.as_ref();
    fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map(drop)
        .step(|| format!("make {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{mount_in, unescaped};
    use rustix::mount::MountFlags;
    use std::path::Path;

    #[test]
    fn a_line_of_the_list_of_mounts_gives_place_and_flags() {
        let line = br"36 35 98:0 / /home/a\040b\134c rw,nosuid,nodev,relatime shared:1 - ext4 /dev/sda rw";
        let (path, flags) = mount_in(line).unwrap();
        assert_eq!(path, Path::new(r"/home/a b\c"));
        assert_eq!(
            flags,
            MountFlags::NOSUID | MountFlags::NODEV | MountFlags::RELATIME
        );
        assert_eq!(mount_in(b"36 35 98:0"), None);
    }

    #[test]
    fn what_is_no_escape_stays_as_it_is() {
        for (field, path) in [
            (r"/a\04", r"/a\04"),
            (r"/a\999", r"/a\999"),
            (r"/a\011b", "/a\tb"),
        ] {
            assert_eq!(unescaped(field.as_bytes()), Path::new(path));
        }
    }
}
