//! The ways in which the scripted upstream answers calls badly.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::upstream::write;

/// Much more than a message may have.
const HUGE: usize = 50 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misbehaviour {
    Hang,
    Reset,
    CutAnswer,
    Status500,
    Status503,
    Status429,
    Status404,
    SlowDrip,
    Huge,
    Garbage,
    WrongId,
    WrongType,
    Empty,
    Redirect,
}

impl Misbehaviour {
    /// With the last part of their addresses.
    pub(crate) const ALL: [(Self, &'static str); 14] = [
        (Self::Hang, "hang"),
        (Self::Reset, "reset"),
        (Self::CutAnswer, "cut"),
        (Self::Status500, "status500"),
        (Self::Status503, "status503"),
        (Self::Status429, "status429"),
        (Self::Status404, "status404"),
        (Self::SlowDrip, "drip"),
        (Self::Huge, "huge"),
        (Self::Garbage, "garbage"),
        (Self::WrongId, "wrongid"),
        (Self::WrongType, "wrongtype"),
        (Self::Empty, "empty"),
        (Self::Redirect, "redirect"),
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(misbehaviour, _)| *misbehaviour)
    }

    /// Whether the answer is whole and only labelled wrongly: a client may take it.
    pub(crate) fn is_readable(self) -> bool {
        self == Self::WrongType
    }

    /// Whether it counts as a failure of the source: not what is refused, what can be read, or what takes too long.
    pub(crate) fn counts_as_failure(self) -> bool {
        !matches!(self, Self::Hang | Self::SlowDrip | Self::Status429 | Self::Status404 | Self::WrongType)
    }

    /// Whether the tool runs first: the worst that the answer leaves possible. Only two answers rule it out, too many
    /// requests and, in MCP, not found.
    pub(crate) fn runs(self) -> bool {
        !matches!(self, Self::Status429 | Self::Status404)
    }
}

/// `None` ends the connection.
pub(super) async fn misbehave(stream: &mut TcpStream, how: Misbehaviour, good: &str) -> Option<()> {
    let head = |kind: &str, length: usize| {
        format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n")
    };
    match how {
        Misbehaviour::Hang => until_closed(stream).await,
        Misbehaviour::Reset => {
            // Without lingering, closing sends a reset instead of an orderly end.
            let _ = rustix::net::sockopt::set_socket_linger(&*stream, Some(Duration::ZERO));
            None
        }
        Misbehaviour::CutAnswer => {
            let half = &good[..good.len() / 2];
            send(stream, &[&head("application/json", good.len()), half].concat()).await?;
            None
        }
        Misbehaviour::Status500 => write(stream, "500 Internal Server Error", "{}").await,
        Misbehaviour::Status503 => write(stream, "503 Service Unavailable", "{}").await,
        Misbehaviour::Status404 => write(stream, "404 Not Found", "{}").await,
        Misbehaviour::Status429 => {
            let answer = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n";
            send(stream, answer).await
        }
        Misbehaviour::Redirect => {
            let answer =
                "HTTP/1.1 307 Temporary Redirect\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n";
            send(stream, answer).await
        }
        Misbehaviour::SlowDrip => {
            send(stream, &head("application/json", good.len())).await?;
            for byte in good.chars() {
                send(stream, &byte.to_string()).await?;
                sleep(Duration::from_millis(300)).await;
            }
            None
        }
        Misbehaviour::Huge => {
            send(stream, &head("application/json", HUGE)).await?;
            for _ in 0..HUGE >> 16 {
                send(stream, &" ".repeat(1 << 16)).await?;
            }
            Some(())
        }
        Misbehaviour::Garbage => write(stream, "200 OK", "<html>no JSON at all").await,
        Misbehaviour::WrongId => write(stream, "200 OK", &with_foreign_id(good)).await,
        Misbehaviour::WrongType => send(stream, &[&head("text/html", good.len()), good].concat()).await,
        Misbehaviour::Empty => write(stream, "200 OK", "").await,
    }
}

fn with_foreign_id(good: &str) -> String {
    let mut message: serde_json::Value = serde_json::from_str(good).unwrap_or_default();
    message["id"] = "of-somebody-else".into();
    message.to_string()
}

async fn send(stream: &mut TcpStream, text: &str) -> Option<()> {
    stream.write_all(text.as_bytes()).await.ok()
}

async fn until_closed(stream: &mut TcpStream) -> Option<()> {
    while stream.read(&mut [0; 1024]).await.is_ok_and(|count| count > 0) {}
    None
}
