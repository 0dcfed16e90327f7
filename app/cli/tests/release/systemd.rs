//! The messages between server and supervisor, passed sockets, and a server as process 1.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{BINARY, Site, tools};

/// The time to wait for a message.
const PATIENCE: Duration = Duration::from_secs(30);

/// The socket at which the supervisor receives the server's messages.
struct Ear(UnixDatagram);

impl Ear {
    fn at(path: &PathBuf) -> Self {
        let ear = UnixDatagram::bind(path).unwrap();
        ear.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(ear)
    }

    fn next(&self) -> String {
        let mut notice = [0; 256];
        let length = self.0.recv(&mut notice).expect("a notice");
        String::from_utf8_lossy(&notice[..length]).into_owned()
    }

    /// Returns the next message that is not a watchdog message, and the number of watchdog messages before it.
    fn next_news(&self) -> (String, usize) {
        let mut signs = 0;
        loop {
            match self.next() {
                sign if sign == "WATCHDOG=1" => signs += 1,
                news => return (news, signs),
            }
        }
    }
}

#[test]
fn the_supervisor_is_notified_of_start_reload_and_stop() {
    let mut site = Site::new("notify");
    let path = site.folder.join("notify");
    let ear = Ear::at(&path);
    site.serve(&["--db", "memory"], &[("NOTIFY_SOCKET", path.to_str().unwrap()), ("WATCHDOG_USEC", "20000")]);
    assert_eq!(ear.next_news().0, "READY=1");
    for _ in 0..3 {
        assert_eq!(ear.next(), "WATCHDOG=1");
    }
    site.signal("-HUP");
    let (reloading, _) = ear.next_news();
    let (first, time) = reloading.split_once("\nMONOTONIC_USEC=").unwrap();
    assert_eq!(first, "RELOADING=1");
    // Monotonic time begins at boot, so it must be close to the uptime of the kernel.
    let up = std::fs::read_to_string("/proc/uptime").unwrap();
    let up: u64 = up.split('.').next().unwrap().parse().unwrap();
    let told = time.parse::<u64>().unwrap() / 1_000_000;
    assert!((1..=up + 1).contains(&told), "{told} of {up}");
    assert_eq!(ear.next_news().0, "READY=1");
    site.signal("-TERM");
    assert_eq!(ear.next_news().0, "STOPPING=1");
    assert!(site.server.as_mut().unwrap().wait().unwrap().success());
}

#[test]
fn watchdog_messages_are_sent_only_where_expected() {
    let mut site = Site::new("no-watchdog");
    let path = site.folder.join("notify");
    let ear = Ear::at(&path);
    let notify = ("NOTIFY_SOCKET", path.to_str().unwrap());
    // WATCHDOG_PID names another process, so this server must send no watchdog messages.
    site.serve(&["--db", "memory"], &[notify, ("WATCHDOG_USEC", "10000"), ("WATCHDOG_PID", "1")]);
    assert_eq!(ear.next(), "READY=1");
    ear.0.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(ear.0.recv(&mut [0; 16]).is_err());
}

/// Starts a server with inherited sockets as systemd does. The sockets are the server's descriptors from 3 on.
fn activated(site: &Site, sockets: &[&TcpListener], args: &str) -> Child {
    let moved: Vec<_> =
        (3..).zip(sockets).map(|(to, socket)| format!("{to}<&{}", socket.as_raw_fd())).collect();
    let count = sockets.len();
    // A shell moves the sockets to these descriptors. It can set LISTEN_PID, because the server keeps the shell's
    // process id.
    let script =
        format!("exec {}; export LISTEN_PID=$$ LISTEN_FDS={count}; exec {BINARY} {args}", moved.join(" "));
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).current_dir(&site.folder).stdout(Stdio::null()).stderr(Stdio::piped());
    shell.spawn().unwrap()
}

/// Returns a listening socket that a child inherits.
fn socket() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    rustix::io::fcntl_setfd(&listener, rustix::io::FdFlags::empty()).unwrap();
    (listener, address)
}

fn status(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn passed_sockets_are_served() {
    let mut site = Site::new("activation");
    let ((public, public_address), (ops, ops_address)) = (socket(), socket());
    // Clients may connect before the server starts, because the socket already listens.
    let early = std::thread::spawn(move || status(public_address, "/v1/pets"));
    site.server = Some(activated(&site, &[&public, &ops], "--db memory --threads 3"));
    drop((public, ops));
    assert_eq!(early.join().unwrap(), "401");
    for _ in 0..20 {
        assert_eq!(status(public_address, "/openapi.yaml"), "200");
    }
    assert_eq!(
        (status(ops_address, "/ready"), status(public_address, "/ready")),
        ("200".into(), "404".into())
    );
    site.stop();
}

#[test]
fn too_many_passed_sockets_are_refused() {
    let site = Site::new("activation-three");
    let sockets = [socket().0, socket().0, socket().0];
    let server = activated(&site, &[&sockets[0], &sockets[1], &sockets[2]], "--db memory");
    let output = server.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("3 sockets were inherited"));
}

#[test]
fn a_sandbox_refuses_a_socket_that_other_machines_can_reach() {
    let site = Site::new("sandbox-activated");
    let open = TcpListener::bind("0.0.0.0:0").unwrap();
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    let refused = activated(&site, &[&open], "--sandbox --db memory").wait_with_output().unwrap();
    let why = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{why}");
    assert!(why.contains("set sandbox-anywhere to permit that"), "{why}");
}

/// Returns whether this machine permits its users to create process id namespaces. The machines on which the package is
/// tested do.
fn has_namespaces() -> bool {
    let tried = Command::new("unshare").args(["-p", "-f", "--mount-proc", "true"]).output().unwrap();
    if tried.status.success() {
        return true;
    }
    let why = String::from_utf8_lossy(&tried.stderr);
    tools::skips::skip(&format!(
        "process 1 is tried as root, who may make namespaces; in a container, in one with --privileged: {why}"
    ));
    false
}

#[test]
fn process_1_stops_on_a_signal() {
    if !tools::can_run("unshare", "--version") || !has_namespaces() {
        return;
    }
    let mut site = Site::new("process-1");
    let listen = format!("127.0.0.1:{}", site.port);
    let mut unshare = Command::new("unshare");
    unshare.args(["-p", "-f", "--kill-child", "--mount-proc", BINARY, "--db", "memory", "--listen", &listen]);
    unshare.current_dir(&site.folder).stdout(Stdio::null()).stderr(Stdio::null());
    site.server = Some(unshare.spawn().unwrap());
    let address: SocketAddr = listen.parse().unwrap();
    while TcpStream::connect(address).is_err() {
        std::thread::yield_now();
    }
    let parent = site.server.as_ref().unwrap().id();
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap();
    let server = children.trim();
    let numbers = std::fs::read_to_string(format!("/proc/{server}/status")).unwrap();
    assert!(numbers.lines().any(|line| line.starts_with("NSpid:") && line.ends_with("\t1")), "{numbers}");
    assert!(Command::new("kill").args(["-TERM", server]).status().unwrap().success());
    assert_eq!(site.server.as_mut().unwrap().wait().unwrap().code(), Some(0));
}
