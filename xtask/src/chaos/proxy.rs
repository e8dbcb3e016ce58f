//! A TCP proxy whose connections can go silent: open on both sides, forwarding nothing, as after a lost route.

use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    /// Connections made before the last change are silent.
    generation: watch::Sender<u64>,
    _server: JoinSet<()>,
}

impl Proxy {
    pub(crate) async fn start(upstream: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (generation, _) = watch::channel(0);
        let mut server = JoinSet::new();
        server.spawn(accept(listener, upstream, generation.clone()));
        Ok(Self { address, generation, _server: server })
    }

    /// Every connection there is goes silent; new ones work.
    pub(crate) fn silence(&self) {
        self.generation.send_modify(|generation| *generation += 1);
    }
}

async fn accept(listener: TcpListener, upstream: SocketAddr, generation: watch::Sender<u64>) {
    let mut connections = JoinSet::new();
    while let Ok((inner, _)) = listener.accept().await {
        connections.spawn(forward(inner, upstream, generation.subscribe()));
        while connections.try_join_next().is_some() {}
    }
}

async fn forward(mut inner: TcpStream, upstream: SocketAddr, mut silenced: watch::Receiver<u64>) {
    let Ok(mut outer) = TcpStream::connect(upstream).await else { return };
    tokio::select! {
        _ = copy_bidirectional(&mut inner, &mut outer) => {}
        // Both streams stay open and nobody reads them, until the proxy itself ends.
        _ = silenced.changed() => std::future::pending::<()>().await,
    }
}
