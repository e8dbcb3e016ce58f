//! What the console keeps between requests: sessions, attempts to sign in, samples of the counters. The listener gives every
//! request below `/console` its console, and turns the cookie of a session into the credential that it stands for.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Request, header};
use toolmux_core::gateway::Gateway;

use crate::conversation::Conversations;
use crate::cookie::Cookie;
use crate::program::ProgramView;
use crate::series::Series;
use crate::sessions::{SessionMark, Sessions};

/// Where the console is.
pub(crate) const ROOT: &str = "/console";

/// What the configuration says of the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsoleSettings {
    /// There is one.
    pub enabled: bool,
    /// How long somebody stays signed in.
    pub session: Duration,
    /// How many are signed in at a time.
    pub sessions: usize,
    /// How many attempts to sign in may fail within a minute.
    pub attempts: usize,
}

impl Default for ConsoleSettings {
    fn default() -> Self {
        ConsoleSettings { enabled: true, session: Duration::from_hours(12), sessions: 1_000, attempts: 10 }
    }
}

/// The console of one server.
pub struct Console {
    pub(crate) program: Arc<dyn ProgramView>,
    pub(crate) sessions: Sessions,
    pub(crate) series: Arc<Series>,
    pub(crate) conversations: Conversations,
    pub(crate) cookie: Cookie,
}

impl Console {
    /// A console for a server that is reached by `scheme`.
    pub fn new(settings: ConsoleSettings, program: Arc<dyn ProgramView>, scheme: &str) -> Arc<Self> {
        Arc::new(Console {
            program,
            sessions: Sessions::new(settings),
            series: Arc::default(),
            conversations: Conversations::default(),
            cookie: Cookie::of_scheme(scheme),
        })
    }

    /// Begins to take samples of the counters, until the server ends.
    pub fn follow(self: &Arc<Self>, gateway: &Arc<Gateway>) {
        let series = Arc::clone(&self.series);
        let sampled = Arc::downgrade(gateway);
        gateway.background().spawn_until_stop(async move { series.sample(&sampled).await });
    }

    /// Gives a request below `/console` what its handlers need. A session's cookie becomes the credential of who signed in,
    /// so that the rest of the server admits it as it does everybody, and ends its streams when the credential is gone.
    pub fn prepare<B>(self: &Arc<Self>, request: &mut Request<B>) {
        let path = request.uri().path();
        if path != ROOT && !path.strip_prefix(ROOT).is_some_and(|rest| rest.starts_with('/')) {
            return;
        }
        request.extensions_mut().insert(Arc::clone(self));
        if request.headers().contains_key(header::AUTHORIZATION) {
            return;
        }
        let Some(token) = self.cookie.shown(request.headers()) else { return };
        let Some(session) = self.sessions.find(token) else { return };
        if let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {}", session.credential.expose())) {
            value.set_sensitive(true);
            request.headers_mut().insert(header::AUTHORIZATION, value);
            request.extensions_mut().insert(SessionMark { csrf: session.csrf });
        }
    }
}
