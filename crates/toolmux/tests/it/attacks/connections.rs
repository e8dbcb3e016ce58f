//! Connections that take what others need: descriptors, places, and memory for answers that nobody reads.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;

use crate::process::{ECHO, Serving, folder, request, until};

fn limited(limits: &str) -> String {
    format!("{ECHO}\n[limits]\n{limits}\n")
}

/// True when the server has ended a connection on which nothing was asked.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a socket");
    match stream.read(&mut [0]) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

#[test]
fn one_address_does_not_take_every_connection() {
    let folder = folder(&limited("connections_per_address = 4"));
    let serving = Serving::start(folder.path());
    let mut open: Vec<TcpStream> = (0..4).map(|_| serving.connect()).collect();
    let mut over: Vec<TcpStream> = (0..3).map(|_| serving.connect()).collect();
    for stream in &mut over {
        until("a connection too many to be closed", || is_closed(stream).then_some(()));
    }
    assert!(open.iter_mut().all(|stream| !is_closed(stream)), "the first ones stay");
    serving.told("limits.connections_per_address");
    drop((open, over));
    until("places to be free again", || (serving.get("/health", "").0 == 200).then_some(()));
}

#[test]
fn idle_connections_leave_descriptors_for_tools() {
    let folder = folder(ECHO);
    // The most that this server may ever have open.
    let serving = Serving::with_open_files(folder.path(), "ulimit -n 256");
    let mut first = serving.connect();
    let ask = |stream: &mut TcpStream| {
        let body =
            json!({ "jsonrpc": "2.0", "method": "Shell_echo", "params": { "text": "alive" }, "id": "1" });
        let body = body.to_string();
        let head = format!(
            "POST /opentool/call HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).expect("sent");
        let (mut answer, mut piece) = (String::new(), [0; 4096]);
        while !answer.contains("\"}") {
            let read = stream.read(&mut piece).expect("an answer");
            assert_ne!(read, 0, "{answer}");
            answer.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
        answer
    };
    assert!(ask(&mut first).contains("alive"));
    let idle: Vec<TcpStream> = (0..300).map(|_| serving.connect()).collect();
    until("the connections to be accepted", || (open_files(&serving) >= 192).then_some(()));
    let answer = ask(&mut first);
    assert!(answer.contains("alive"), "{answer}");
    assert!(open_files(&serving) < 250, "some are kept for other things");
    drop(idle);
}

#[test]
fn the_limit_on_open_files_is_raised_as_far_as_it_may_be() {
    let folder = folder(ECHO);
    let serving = Serving::with_open_files(folder.path(), "ulimit -Sn 100");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", serving.id())).expect("Linux");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("a limit");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[3], words[4], "{line}");
    assert_ne!(words[3], "100", "{line}");
}

fn open_files(serving: &Serving) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", serving.id())).expect("Linux").count()
}

#[test]
fn an_answer_that_nobody_reads_is_not_held_for_ever() {
    let print = "[sources.Shell.tools.large]\ndescription = \"Prints much\"\ncommand = [\"sh\", \"-c\", \"head -c 30000000 /dev/zero | tr '\\\\0' x\"]\n";
    let config = ECHO.replace("kind = \"command\"", "kind = \"command\"\nmax_output = 40000000");
    let folder = folder(&format!("{config}\n{print}\n[limits]\nwrite_timeout = \"1s\"\n"));
    let serving = Serving::start(folder.path());
    for path in ["/opentool/call", "/opentool/streamCall"] {
        let body = json!({ "jsonrpc": "2.0", "method": "Shell_large", "params": {}, "id": "1" }).to_string();
        let mut unread = serving.connect();
        unread.write_all(&request(&format!("POST {path}"), "", body.as_bytes())).expect("sent");
        // Nothing is read, so that the buffers on the way fill up. A cut connection takes no more bytes.
        until("the connection to be cut", || unread.write_all(b"x").is_err().then_some(()));
    }
    assert_eq!(serving.get("/health", "").0, 200);
}
