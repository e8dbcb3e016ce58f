//! https on both sides: a listener with HTTP/1.1 and HTTP/2, callers by certificate, and sources with an authority of
//! their own; each file is read again when it changes.

use std::path::Path;
use std::sync::Arc;

use futures_util::stream;
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use toolmux_core::hex::to_hex;

use crate::authority::{Authority, Issued};
use crate::process::{ECHO, Serving, stderr, stdout, toolmux, until};

const TLS: &str = "[tls]\ncert = \"server.pem\"\nkey = { file = \"server.key\" }\n";

/// A folder with a server of this authority, whose configuration is `more` and the tool `echo`.
fn folder(authority: &Authority, more: &str) -> TempDir {
    let folder = crate::process::folder(&format!("{ECHO}{more}"));
    authority.write(folder.path(), "ca");
    authority.server().write(folder.path(), "server");
    folder
}

fn serving(folder: &Path) -> Serving {
    Serving::secured(folder)
}

/// A connection that trusts one authority, speaks what is named, and shows a certificate or none.
async fn connect(
    address: &str,
    authority: &Authority,
    speaks: &[&str],
    client: Option<&Issued>,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
    let mut config = match client {
        None => builder.with_no_client_auth(),
        Some(Issued { der, key, .. }) => {
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            builder.with_client_auth_cert(vec![der.clone().into()], key).unwrap()
        }
    };
    config.alpn_protocols = speaks.iter().map(|name| name.as_bytes().to_vec()).collect();
    let stream = TcpStream::connect(address).await?;
    TlsConnector::from(Arc::new(config)).connect("localhost".try_into().unwrap(), stream).await
}

/// Posts a call of `echo` over a connection; the version that it is answered by, its status and body.
async fn call(stream: TlsStream<TcpStream>, authorization: &str) -> (Version, u16, String) {
    let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let request = |uri: &str| {
        let mut request = Request::post(uri);
        if !http2 {
            request = request.header("host", "localhost");
        }
        if !authorization.is_empty() {
            request = request.header("authorization", authorization);
        }
        request.body(Full::new(Bytes::from_static(br#"{"text":"hi"}"#))).unwrap()
    };
    let answer: Response<Incoming> = if http2 {
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request("https://localhost/rest/Shell_echo")).await.unwrap()
    } else {
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request("/rest/Shell_echo")).await.unwrap()
    };
    let (version, status) = (answer.version(), answer.status().as_u16());
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (version, status, String::from_utf8_lossy(&body).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_choose_between_http_1_and_2() {
    let authority = Authority::new("ours");
    let folder = folder(&authority, TLS);
    let serving = serving(folder.path());
    for (speaks, expect) in [
        (&[][..], Version::HTTP_11),
        (&["http/1.1"], Version::HTTP_11),
        (&["h2"], Version::HTTP_2),
        (&["h2", "http/1.1"], Version::HTTP_2),
    ] {
        let stream = connect(&serving.address, &authority, speaks, None).await.unwrap();
        assert_eq!(call(stream, "").await, (expect, 200, "\"hi\"".to_owned()), "{speaks:?}");
    }
    assert_eq!(
        serving.exchange(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").len(),
        7,
        "an alert of TLS"
    );
}

/// A sender of HTTP/2 requests.
async fn http2(address: &str, authority: &Authority) -> hyper::client::conn::http2::SendRequest<Full<Bytes>> {
    let stream = connect(address, authority, &["h2"], None).await.unwrap();
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

#[tokio::test(flavor = "multi_thread")]
async fn the_name_of_the_server_is_checked_over_http_2_too() {
    let authority = Authority::new("ours");
    let folder = folder(&authority, TLS);
    let serving = serving(folder.path());
    let mut sender = http2(&serving.address, &authority).await;
    for (name, origin, expect) in [
        ("localhost", None, 200),
        ("evil.example", None, 403),
        ("localhost", Some("https://localhost"), 200),
        ("localhost", Some("http://localhost"), 403),
    ] {
        let mut request = Request::post(format!("https://{name}/rest/Shell_echo"));
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        let request = request.body(Full::new(Bytes::from_static(br#"{"text":"hi"}"#))).unwrap();
        let status = sender.send_request(request).await.unwrap().status().as_u16();
        assert_eq!(status, expect, "{name} {origin:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_request_over_http_2_may_send_its_whole_body() {
    let authority = Authority::new("ours");
    let folder = folder(&authority, &format!("{TLS}[keys.alice]\nkey = \"key-of-alice\"\n"));
    let serving = serving(folder.path());
    let stream = connect(&serving.address, &authority, &["h2"], None).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let (pieces, body) = mpsc::channel::<Result<Frame<Bytes>, std::convert::Infallible>>(1);
    let body =
        StreamBody::new(Box::pin(stream::unfold(body, async |mut body| Some((body.recv().await?, body)))));
    let request = Request::post("https://localhost/rest/Shell_echo").body(body).unwrap();
    assert_eq!(sender.send_request(request).await.unwrap().status(), 401);
    for piece in 0..20 {
        let sent = pieces.send(Ok(Frame::data(Bytes::from(vec![b' '; 60_000])))).await;
        assert!(sent.is_ok(), "the stream was reset before piece {piece}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_finishes_what_was_begun_over_http_2() {
    let authority = Authority::new("ours");
    let slow = "[sources.Shell.tools.slow]\ndescription = \"Takes a while\"\n\
                command = [\"sh\", \"-c\", \"touch begun; sleep 1; echo done\"]\n";
    let folder = folder(&authority, &format!("{slow}{TLS}"));
    let mut serving = serving(folder.path());
    let mut sender = http2(&serving.address, &authority).await;
    let request = Request::post("https://localhost/rest/Shell_slow").body(Full::default()).unwrap();
    let answer = tokio::spawn(sender.send_request(request));
    until("the tool to run", || folder.path().join("begun").exists().then_some(()));
    serving.signal("TERM");
    let answer = answer.await.unwrap().expect("an answer");
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "\"done\"");
    assert_eq!(serving.ended(), Some(0));
}

#[test]
fn commands_reach_a_server_by_the_authority_of_its_certificate() {
    let authority = Authority::new("ours");
    let folder = folder(&authority, TLS);
    let serving = serving(folder.path());
    let url = format!("https://{}", serving.address);
    let run = |arguments: &[&str]| toolmux(folder.path(), arguments);
    let called = run(&["call", "Shell_echo", "text=hi", "--url", &url, "--ca", "ca.pem"]);
    assert_eq!(stdout(&called).trim(), "\"hi\"", "{}", stderr(&called));
    assert!(run(&["health", "--url", &url, "--ca", "ca.pem"]).status.success());
    let stranger = run(&["health", "--url", &url]);
    assert_eq!(stranger.status.code(), Some(2), "the system does not trust it");
    for part in ["UnknownIssuer", "--ca FILE"] {
        assert!(stderr(&stranger).contains(part), "{}", stderr(&stranger));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_replaced_while_connections_stay() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let folder = folder(&old, TLS);
    let serving = serving(folder.path());
    let before = connect(&serving.address, &old, &["h2"], None).await.unwrap();
    new.server().write(folder.path(), "server");
    serving.told("the configuration was reloaded");
    let after = connect(&serving.address, &new, &["h2"], None).await.unwrap();
    assert_eq!(call(after, "").await.1, 200);
    assert_eq!(call(before, "").await.1, 200, "one that was open before");
    assert!(connect(&serving.address, &old, &["h2"], None).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_certificate_is_a_caller() {
    let (clients, strangers) = (Authority::new("clients"), Authority::new("strangers"));
    let (alice, bob, mallory) = (clients.client(), clients.client(), strangers.client());
    let fingerprint = to_hex(&Sha256::digest(&alice.der));
    let config = format!(
        "{TLS}client_ca = \"clients.pem\"\n[keys.alice]\ncertificate = \"{fingerprint}\"\n\
         [keys.carol]\ncertificate = \"carol.pem\"\n[keys.dave]\nkey = \"key-of-dave\"\n"
    );
    let authority = Authority::new("ours");
    let folder = folder(&authority, &config);
    clients.write(folder.path(), "clients");
    let carol = clients.client();
    carol.write(folder.path(), "carol");
    let serving = serving(folder.path());
    let ask = async |client: Option<&Issued>, authorization: &str, speaks: &[&str]| {
        let stream = connect(&serving.address, &authority, speaks, client).await.unwrap();
        call(stream, authorization).await.1
    };
    for speaks in [&["h2"][..], &["http/1.1"]] {
        assert_eq!(ask(Some(&alice), "", speaks).await, 200, "by its fingerprint");
        assert_eq!(ask(Some(&carol), "", speaks).await, 200, "by its file");
        assert_eq!(ask(Some(&bob), "", speaks).await, 401, "of the same authority, and nobody's");
        assert_eq!(ask(None, "Bearer key-of-dave", speaks).await, 200, "a key is as good");
        assert_eq!(ask(None, "", speaks).await, 401);
        assert_eq!(ask(None, &format!("Bearer {fingerprint}"), speaks).await, 401, "a fingerprint is no key");
    }
    let refused = connect(&serving.address, &authority, &["http/1.1"], Some(&mallory)).await;
    // TLS 1.3 tells a client only with the first answer that its certificate was refused.
    if let Ok(mut stream) = refused {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        stream.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").await.ok();
        assert!(stream.read_u8().await.is_err(), "a certificate of another authority");
    }
}

#[test]
fn a_source_trusts_its_own_authority_and_shows_its_certificate() {
    let (authority, clients) = (Authority::new("ours"), Authority::new("clients"));
    let client = clients.client();
    let fingerprint = to_hex(&Sha256::digest(&client.der));
    let upstream_config =
        format!("{TLS}client_ca = \"clients.pem\"\n[keys.relay]\ncertificate = \"{fingerprint}\"\n");
    let upstream_folder = folder(&authority, &upstream_config);
    clients.write(upstream_folder.path(), "clients");
    let upstream = serving(upstream_folder.path());
    let tls = "tls = { ca = \"ca.pem\", cert = \"client.pem\", key = { file = \"client.key\" } }";
    let request = "[sources.Far.tools.echo]\ndescription = \"\"\nrequest = \"POST /Shell_echo\"\n\
                   parameters.text = { type = \"string\" }\n";
    for (kind, path, tool, more) in [
        ("mcp", "/mcp", "Far_Shell_echo", ""),
        ("oxp", "", "Far_echo", ""),
        ("opentool", "", "Far_Shell_echo", ""),
        ("ats", "", "Far_Shell_echo", ""),
        ("http", "/rest", "Far_echo", request),
    ] {
        let config = format!(
            "[sources.Far]\nkind = \"{kind}\"\nurl = \"https://localhost:{}{path}\"\n{tls}\n{more}",
            upstream.address.rsplit(':').next().unwrap()
        );
        let here = crate::process::folder(&config);
        authority.write(here.path(), "ca");
        client.write(here.path(), "client");
        let called = toolmux(here.path(), &["call", tool, "text=hi"]);
        assert!(stdout(&called).contains("hi"), "{kind}: {}{}", stdout(&called), stderr(&called));
        std::fs::write(here.path().join("toolmux.toml"), config.replace(tls, "tls = { ca = \"ca.pem\" }"))
            .unwrap();
        let refused = toolmux(here.path(), &["call", tool, "text=hi"]);
        assert!(!refused.status.success(), "{kind}: without its certificate");
    }
}

#[test]
fn a_source_is_opened_anew_when_its_authority_changes() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let upstream_folder = folder(&old, TLS);
    let upstream = serving(upstream_folder.path());
    let port = upstream.address.rsplit(':').next().unwrap();
    let here = crate::process::folder(&format!(
        "[sources.Far]\nkind = \"oxp\"\nurl = \"https://localhost:{port}\"\ntls = {{ ca = \"ca.pem\" }}\n"
    ));
    new.write(here.path(), "ca");
    let relay = Serving::start(here.path());
    relay.told("source Far: ");
    old.write(here.path(), "ca");
    let call = || relay.post("/rest/Far_echo", "", br#"{"text":"hi"}"#);
    until("the source to be reached", || Some(call()).filter(|(status, _)| *status == 200));
}

#[test]
fn what_cannot_be_used_is_said_with_its_place() {
    let authority = Authority::new("ours");
    let cases = [
        (
            "[tls]\ncert = \"none.pem\"\nkey = { file = \"server.key\" }\n",
            "the file of `tls.cert` cannot be read",
        ),
        ("[tls]\ncert = \"server.key\"\nkey = { file = \"server.key\" }\n", "has no certificate in PEM form"),
        ("[tls]\ncert = \"server.pem\"\nkey = { file = \"server.pem\" }\n", "no private key"),
        ("[tls]\ncert = \"server.pem\"\nkey = { file = \"other.key\" }\n", "[tls] cannot be used"),
        ("[keys.a]\ncertificate = \"server.pem\"\n", "`keys.a.certificate` needs `tls.client_ca`"),
        (
            "[sources.X]\nkind = \"oxp\"\nurl = \"https://localhost:1\"\ntls = { cert = \"server.pem\" }\n",
            "needs `tls.key`",
        ),
    ];
    for (config, expect) in cases {
        let folder = folder(&authority, config);
        authority.server().write(folder.path(), "other");
        let checked = toolmux(folder.path(), &["check"]);
        assert!(stderr(&checked).contains(expect), "{config}: {}", stderr(&checked));
        assert_eq!(checked.status.code(), Some(2), "{config}");
    }
}
