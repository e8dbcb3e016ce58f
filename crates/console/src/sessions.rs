//! Who is signed in: a random token in a cookie stands for the key or token that somebody signed in with, in the memory of
//! this process alone. The credential is admitted anew with every request, so that one that was revoked opens nothing.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use subtle::ConstantTimeEq;
use toolmux_core::hex::to_hex;
use toolmux_core::secret::Secret;

use crate::attempts::Attempts;
use crate::console::ConsoleSettings;

/// The bytes of a token.
const RANDOM: usize = 32;

/// Marks a request that was sent with the cookie of a session.
#[derive(Clone, Debug)]
pub(crate) struct SessionMark {
    pub(crate) csrf: Secret,
}

/// Somebody who is signed in.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) credential: Secret,
    pub(crate) csrf: Secret,
    ends: Instant,
}

/// Everybody who is signed in.
#[derive(Debug)]
pub(crate) struct Sessions {
    settings: ConsoleSettings,
    open: Mutex<HashMap<[u8; 32], Session>>,
    attempts: Mutex<Attempts>,
    /// What pages send back where nobody signs in.
    csrf: Secret,
}

impl Sessions {
    pub(crate) fn new(settings: ConsoleSettings) -> Self {
        Sessions {
            settings,
            open: Mutex::default(),
            attempts: Mutex::new(Attempts::new(settings.attempts)),
            csrf: random(),
        }
    }

    /// How long a session lasts.
    pub(crate) fn life(&self) -> Duration {
        self.settings.session
    }

    /// What pages send back where nobody signs in.
    pub(crate) fn csrf(&self) -> &Secret {
        &self.csrf
    }

    /// The session of a token, unless its time is over.
    pub(crate) fn find(&self, token: &str) -> Option<Session> {
        let digest = Secret::new(token).sha256();
        self.open(|open| open.get(&digest).filter(|session| Instant::now() < session.ends).cloned())
    }

    /// Begins a session; its token. The oldest gives way when there are too many.
    pub(crate) fn begin(&self, credential: Secret) -> Secret {
        let (token, now) = (random(), Instant::now());
        let session = Session { credential, csrf: random(), ends: now + self.settings.session };
        self.open(|open| {
            open.retain(|_, session| now < session.ends);
            while open.len() >= self.settings.sessions.max(1) {
                let Some(oldest) = open.iter().min_by_key(|(_, session)| session.ends).map(|(key, _)| *key)
                else {
                    break;
                };
                open.remove(&oldest);
            }
            open.insert(token.sha256(), session);
        });
        token
    }

    /// Ends a session.
    pub(crate) fn end(&self, token: &str) {
        let digest = Secret::new(token).sha256();
        self.open(|open| open.remove(&digest));
    }

    /// How long to wait before somebody may try to sign in.
    pub(crate) fn wait(&self) -> Option<Duration> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner).wait(Instant::now())
    }

    /// Counts an attempt that failed.
    pub(crate) fn failed(&self) {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner).failed(Instant::now());
    }

    fn open<T>(&self, read: impl FnOnce(&mut HashMap<[u8; 32], Session>) -> T) -> T {
        read(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Compares in constant time.
pub(crate) fn is_same(one: &Secret, other: &str) -> bool {
    one.sha256().ct_eq(&Secret::new(other).sha256()).into()
}

fn random() -> Secret {
    let mut bytes = [0; RANDOM];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has random numbers");
    Secret::new(to_hex(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(session: Duration, most: usize) -> Sessions {
        Sessions::new(ConsoleSettings { session, sessions: most, ..ConsoleSettings::default() })
    }

    #[test]
    fn a_session_is_found_by_its_token_until_it_ends() {
        let sessions = sessions(Duration::from_hours(1), 10);
        let token = sessions.begin(Secret::new("key"));
        assert_eq!(
            sessions.find(token.expose()).map(|session| session.credential.expose().to_owned()),
            Some("key".to_owned())
        );
        assert!(sessions.find("another").is_none());
        sessions.end(token.expose());
        assert!(sessions.find(token.expose()).is_none());
    }

    #[test]
    fn a_session_whose_time_is_over_is_none() {
        let sessions = sessions(Duration::ZERO, 10);
        let token = sessions.begin(Secret::new("key"));
        assert!(sessions.find(token.expose()).is_none());
    }

    #[test]
    fn the_oldest_gives_way() {
        let sessions = sessions(Duration::from_hours(1), 2);
        let [first, second, third] = ["a", "b", "c"].map(|key| sessions.begin(Secret::new(key)));
        assert!(sessions.find(first.expose()).is_none());
        assert!(sessions.find(second.expose()).is_some() && sessions.find(third.expose()).is_some());
    }
}
