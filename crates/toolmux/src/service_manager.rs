//! What systemd is told by `sd_notify`: one datagram to the socket that `NOTIFY_SOCKET` names. Where nobody set that
//! variable, nothing is sent.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// A manager that does not read must not keep the server from serving.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// What a service reports about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServiceState {
    /// Callers may be sent here.
    Ready,
    /// It ends by itself, and may still take as long as calls in flight.
    Stopping,
}

impl ServiceState {
    fn text(self) -> &'static str {
        match self {
            ServiceState::Ready => "READY=1",
            ServiceState::Stopping => "STOPPING=1",
        }
    }
}

/// Reports to the service manager that started this process, if there is one.
pub(crate) fn notify(state: ServiceState) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else { return };
    if let Err(error) = send(&socket, state) {
        tracing::warn!(%error, "cannot report `{}` to the service manager", state.text());
    }
}

fn send(socket: &OsStr, state: ServiceState) -> io::Result<()> {
    let sender = UnixDatagram::unbound()?;
    sender.set_write_timeout(Some(SEND_TIMEOUT))?;
    sender.send_to_addr(state.text().as_bytes(), &address(socket)?).map(drop)
}

/// A path, or behind `@` a name in Linux's abstract namespace.
fn address(socket: &OsStr) -> io::Result<SocketAddr> {
    match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        [b'/', ..] => SocketAddr::from_pathname(socket),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "NOTIFY_SOCKET is not a path and not `@NAME`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(socket: &OsStr, receiver: &UnixDatagram) {
        for state in [ServiceState::Ready, ServiceState::Stopping] {
            send(socket, state).expect("sent");
            let mut received = [0; 64];
            let count = receiver.recv(&mut received).expect("received");
            assert_eq!(&received[..count], state.text().as_bytes());
        }
    }

    #[test]
    fn a_socket_is_a_path_or_an_abstract_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notify");
        check(path.as_os_str(), &UnixDatagram::bind(&path).expect("bound"));
        let name = format!("toolmux-test-{}", std::process::id());
        let abstract_name = SocketAddr::from_abstract_name(&name).expect("a name");
        let receiver = UnixDatagram::bind_addr(&abstract_name).expect("bound");
        check(OsStr::new(&format!("@{name}")), &receiver);
        assert!(send(OsStr::new("vsock:2:1"), ServiceState::Ready).is_err());
    }
}
