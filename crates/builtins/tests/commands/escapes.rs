//! What a confined command tries and cannot do.

use crate::common::{Space, context};
use serde_json::json;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use tidegate_policy::Classification::{Confidential, Restricted};

#[tokio::test]
async fn ordinary_work_is_possible() {
    let Some(space) = Space::confined().await else {
        return;
    };
    space.file("notes/today.md", "water\n");
    let table = [
        (
            "pwd",
            format!("{}\n", space.path("").display()).replace("space/\n", "space\n"),
        ),
        ("cat notes/today.md", "water\n".into()),
        ("cat notes/today.md | wc -l | tr -d ' '", "1\n".into()),
        (
            "echo on stderr >&2; echo on stdout",
            "on stderr\non stdout\n".into(),
        ),
        (
            "echo redirected >/dev/stderr; echo gone >/dev/null",
            "redirected\n".into(),
        ),
        (
            "mkdir -p a/b && echo x >a/b/c && mv a/b d && cat d/c && rm -r a d",
            "x\n".into(),
        ),
        (
            "echo x >$TMPDIR/x && cat /tmp/x && echo $HOME && echo x >~/y",
            "x\n/private/home\n".into(),
        ),
        ("head -c 3 /dev/zero | od -An -tx1", " 00 00 00\n".into()),
        (
            "chmod 700 notes && ln notes/today.md notes/other && ls notes",
            "other\ntoday.md\n".into(),
        ),
        ("cd /; ls -d usr proc dev", "dev\nproc\nusr\n".into()),
        (
            "ps ax 2>/dev/null | grep -c . >/dev/null; echo $((2 + 2))",
            "4\n".into(),
        ),
    ];
    for (command, expected) in table {
        assert_eq!(space.sh(command).await.output(), expected, "{command}");
    }
}

#[tokio::test]
async fn nothing_outside_is_read_below_its_level() {
    let Some(space) = Space::confined().await else {
        return;
    };
    let outside = space.home.join("outside/secret.txt");
    std::os::unix::fs::symlink(&outside, space.path("link")).unwrap();
    for command in [
        format!("cat {}", outside.display()),
        "cat link".into(),
        format!("cat /proc/1/root{}", outside.display()),
        format!("cat /proc/self/root{}", outside.display()),
        format!(
            "cat /proc/self/cwd/../outside/secret.txt {}",
            "/old-root/etc/shadow"
        ),
        "cat ../outside/secret.txt".into(),
        "cat /etc/shadow".into(),
        "ls /home /var /run /srv /mnt /sys/kernel".into(),
    ] {
        let ended = space.sh(&command).await;
        assert!(
            ended.ok && !ended.text.starts_with("exit code 0"),
            "{command}: {}",
            ended.text
        );
        assert!(!ended.text.contains("OUTSIDE"), "{command}: {}", ended.text);
    }
}

#[tokio::test]
async fn the_programs_own_files_are_not_read_at_any_level() {
    let Some(space) = Space::confined().await else {
        return;
    };
    space.file("tidegate.toml", "OWN in the workspace");
    let keys = space.home.join("own/keys.txt");
    for level in [Confidential, Restricted] {
        let read = format!(
            "cat {0} tidegate.toml; ls -A {1}; cp tidegate.toml x; cat x",
            keys.display(),
            space.home.join("own").display()
        );
        let ended = space.sh_at(level, &read).await;
        assert!(ended.ok && !ended.text.contains("OWN"), "{level}: {}", ended.text);
        let outside = space.home.join("outside/secret.txt");
        let ended = space.sh_at(level, &format!("cat {}", outside.display())).await;
        assert_eq!(ended.output(), "OUTSIDE", "{level}");
    }
    let write = format!(
        "echo x >tidegate.toml; mv tidegate.toml y; rm -f tidegate.toml; echo x >{}; touch {}/new",
        keys.display(),
        space.home.join("own").display()
    );
    space.sh_at(Restricted, &write).await;
    assert_eq!(space.content("tidegate.toml").unwrap(), "OWN in the workspace");
    assert_eq!(fs::read_to_string(keys).unwrap(), "OWN");
    assert_eq!(fs::read_dir(space.home.join("own")).unwrap().count(), 1);
}

#[tokio::test]
async fn nothing_outside_is_changed() {
    let Some(space) = Space::confined().await else {
        return;
    };
    let outside = space.home.join("outside");
    let file = outside.join("secret.txt");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&outside, space.path("door")).unwrap();
    let before = fs::metadata(&file).unwrap();
    let marker = format!("/usr/tidegate-test-{}", std::process::id());
    for command in [
        format!("echo x >{}", file.display()),
        format!("echo x >>{}", file.display()),
        format!("truncate -s 0 {}", file.display()),
        format!("chmod 777 {}", file.display()),
        format!("chown 12345 {}", file.display()),
        format!("touch -d 2001-01-01 {}", file.display()),
        format!("rm -f {}", file.display()),
        format!("mv {} .", file.display()),
        format!("ln {} hard", file.display()),
        "touch door/new".into(),
        "echo x >door/secret.txt".into(),
        format!("touch {marker}"),
        "echo 1 >/proc/sys/kernel/panic".into(),
        "mount -o remount,rw /".into(),
        "mount --bind /tmp /usr".into(),
        "umount /usr".into(),
        "unshare -m true".into(),
        "unshare -rUm true".into(),
        "chroot / true".into(),
        "mknod device b 1 1".into(),
    ] {
        let ended = space.sh_at(Confidential, &command).await;
        assert!(
            ended.ok && !ended.text.starts_with("exit code 0"),
            "{command}: {}",
            ended.text
        );
    }
    let after = fs::metadata(&file).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "OUTSIDE");
    assert_eq!(before.permissions(), after.permissions());
    assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert!(!std::path::Path::new(&marker).exists());
}

const CONNECT: &str = r#"
import ctypes, os, socket, sys
def attempt(name, work):
    try:
        work()
        print(name, "WORKED")
    except Exception as error:
        print(name, type(error).__name__)
def tcp():
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2); s.sendall(b"leak"); s.close()
def unix():
    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[2]); s.sendall(b"leak")
def abstract():
    s = socket.socket(socket.AF_UNIX); s.connect("\0tidegate-test"); s.sendall(b"leak")
def pair():
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b"leak", sys.argv[2])
def raw():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)
def netlink():
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)
def ring():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(425, 8, ctypes.create_string_buffer(256)) < 0: raise OSError(ctypes.get_errno())
def x32():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(0x40000000 + 41, 1, 1, 0) < 0: raise OSError(ctypes.get_errno())
def tracing():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, 1, 0, 0) < 0: raise OSError(ctypes.get_errno())
def keys():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(250, 0, -3, 1) < 0: raise OSError(ctypes.get_errno())
def stream_pair():
    a, b = socket.socketpair(); a.sendall(b"x"); assert b.recv(1) == b"x"
for work in (tcp, unix, abstract, pair, raw, netlink, ring, x32, tracing, keys, stream_pair):
    attempt(work.__name__, work)
"#;

#[tokio::test]
async fn nothing_is_sent_by_any_kind_of_socket() {
    let Some(space) = Space::confined().await else {
        return;
    };
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let path = space.path("door.socket");
    let unix = UnixListener::bind(&path).unwrap();
    space.file("connect.py", CONNECT);
    let python = "/usr/bin/python3";
    if !std::path::Path::new(python).exists() {
        // Without it the shell's own tools have to do.
        eprintln!("no {python}: sockets are not tried");
        return;
    }
    let ended = space
        .sh_at(
            Confidential,
            &format!("{python} connect.py {port} {}", path.display()),
        )
        .await;
    let refused = ended.output();
    for line in refused.lines() {
        let worked = line.ends_with("WORKED");
        assert_eq!(worked, line.starts_with("stream_pair"), "{refused}");
    }
    assert_eq!(refused.lines().count(), 11);
    tcp.set_nonblocking(true).unwrap();
    assert!(tcp.accept().is_err());
    unix.set_nonblocking(true).unwrap();
    assert!(unix.accept().is_err());
}

#[tokio::test]
async fn a_pipe_outside_cannot_be_written_to() {
    let Some(space) = Space::confined().await else {
        return;
    };
    let path = space.home.join("outside/pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o666),
        0,
    )
    .unwrap();
    let mut reader = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let flags = rustix::fs::fcntl_getfl(&reader).unwrap() | rustix::fs::OFlags::NONBLOCK;
    rustix::fs::fcntl_setfl(&reader, flags).unwrap();
    let ended = space
        .sh_at(Confidential, &format!("echo leak >{}", path.display()))
        .await;
    assert!(!ended.text.starts_with("exit code 0"), "{}", ended.text);
    let mut read = [0; 8];
    assert!(reader.read(&mut read).is_err());
}

#[tokio::test]
async fn no_other_process_is_seen_and_no_descriptor_or_variable_is_inherited() {
    let Some(space) = Space::confined().await else {
        return;
    };
    let ended = space
        .sh("ls /proc | grep -c '^[0-9]'; ls /proc/self/fd; env | cut -d= -f1 | sort")
        .await;
    let lines: Vec<&str> = ended.output().lines().collect();
    // The first process, the shell, and what it runs now.
    let (processes, rest) = lines.split_first().unwrap();
    assert!(processes.parse::<u32>().unwrap() <= 5, "{}", ended.text);
    // The fourth is the folder that is being listed.
    assert_eq!(
        rest,
        [
            "0", "1", "2", "3", "HOME", "LANG", "PATH", "PWD", "TERM", "TMPDIR"
        ]
    );
    let ended = space
        .sh("cat /proc/1/environ /proc/1/fd/0; ls -l /proc/1/fd; kill -9 1; echo still here")
        .await;
    assert!(ended.output().ends_with("still here\n"), "{}", ended.text);
    assert!(!ended.text.contains("socket:"), "{}", ended.text);
}

#[tokio::test]
async fn what_is_inherited_without_being_meant_is_closed() {
    let Some(space) = Space::confined().await else {
        return;
    };
    let secret = fs::File::open(space.home.join("own/keys.txt")).unwrap();
    rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
    let ended = space.sh("ls /proc/self/fd").await;
    assert_eq!(ended.output(), "0\n1\n2\n3\n");
    let ended = Space::unconfined().sh("ls /proc/self/fd").await;
    assert_eq!(ended.output(), "0\n1\n2\n3\n");
    drop(secret);
}

#[tokio::test]
async fn no_capability_is_left_that_files_do_not_need() {
    let Some(space) = Space::confined().await else {
        return;
    };
    let ended = space
        .sh("grep -E '^(CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status")
        .await;
    for line in ended.output().lines() {
        let (name, value) = line.split_once(":\t").unwrap();
        match name {
            "NoNewPrivs" => assert_eq!(value, "1"),
            "Seccomp" => assert_eq!(value, "2"),
            // CHOWN, DAC_OVERRIDE, FOWNER and FSETID are bits 0, 1, 3 and 4.
            _ => assert_eq!(u64::from_str_radix(value, 16).unwrap() & !0b1_1011, 0, "{line}"),
        }
    }
}

#[tokio::test]
async fn a_workspace_with_an_unusual_name_is_confined_as_well() {
    let Some(space) = Space::confined().await else {
        return;
    };
    space
        .file("a b\\c\n\"d/public note", "x")
        .file("public/p q", "y")
        .folder("restricted/é 🦀");
    let ended = space
        .call(
            json!({"command": "ls && cat public/p* && ! touch public/new", "folder": "."}),
            context(),
        )
        .await;
    assert!(ended.output().contains("restricted"), "{}", ended.text);
}
