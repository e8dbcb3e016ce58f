//! A TCP proxy before PostgreSQL whose connections can go silent: they stay open and forward nothing, as after a lost
//! route.

use std::future::pending;
use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Ends, with its connections, when it is dropped.
pub(crate) struct SilentProxy {
    /// The address of the database through the proxy.
    pub(crate) url: String,
    route: watch::Sender<Route>,
    _server: JoinSet<()>,
}

#[derive(Clone, Copy)]
struct Route {
    /// Connections made before the last change are silent.
    generation: u64,
    /// Whether new connections are forwarded.
    works: bool,
}

impl SilentProxy {
    pub(crate) async fn before(direct: &str) -> Self {
        let (server, database) = direct.rsplit_once('/').unwrap();
        let (user, host) = server.rsplit_once('@').unwrap();
        let upstream = lookup_host(host).await.unwrap().next().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("{user}@{}/{database}", listener.local_addr().unwrap());
        let route = watch::Sender::new(Route { generation: 0, works: true });
        let mut server = JoinSet::new();
        server.spawn(accept(listener, upstream, route.clone()));
        SilentProxy { url, route, _server: server }
    }

    /// Connections that there are go silent; new ones work.
    pub(crate) fn silence(&self) {
        self.change(true);
    }

    /// Connections that there are go silent; new ones are too, from the first byte on.
    pub(crate) fn cut(&self) {
        self.change(false);
    }

    fn change(&self, works: bool) {
        self.route.send_modify(|route| *route = Route { generation: route.generation + 1, works });
    }
}

async fn accept(listener: TcpListener, upstream: SocketAddr, route: watch::Sender<Route>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(forward(stream, upstream, route.subscribe()));
    }
}

async fn forward(mut inner: TcpStream, upstream: SocketAddr, mut route: watch::Receiver<Route>) {
    if route.borrow_and_update().works {
        let mut outer = TcpStream::connect(upstream).await.unwrap();
        tokio::select! {
            _ = copy_bidirectional(&mut inner, &mut outer) => {}
            // Both streams stay open, and nobody reads them.
            _ = route.changed() => pending().await,
        }
    } else {
        pending::<()>().await;
    }
}
