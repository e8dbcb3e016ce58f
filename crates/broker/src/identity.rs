//! Who may allow a token. Where callers show tokens, only the subject that asked, or the user it acts for: otherwise
//! whoever opens a link of somebody else would give that caller access to an account of their own.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;
use toolmux_core::message::Message;
use toolmux_core::ports::broker::Proof;

use crate::challenge::ChallengeRecord;

impl ChallengeRecord {
    fn may_be_allowed_by(&self, somebody: &str) -> bool {
        match &self.subject {
            Some(subject) => {
                somebody == subject || (!self.owner.user.is_empty() && somebody == self.owner.user)
            }
            None => true,
        }
    }

    /// Refuses a user who did not show a token of the right subject.
    pub(crate) fn check_proof(&self, proof: Proof<'_>) -> Result<(), Message> {
        let proven = matches!(proof, Proof::Token(subject) if self.may_be_allowed_by(subject));
        if self.subject.is_none() || proven {
            return Ok(());
        }
        let words =
            "This is not a valid token of the user who asked. No access was granted. Open the link again.";
        Err(Message::public(words))
    }

    /// Refuses an account at the provider that is not of the one who asked, where that can be told: the provider issues
    /// the tokens of callers too, and says in an id token whose account it is. The id token comes from the provider
    /// itself over TLS, so its signature adds nothing (OpenID Connect Core, 3.1.3.7).
    pub(crate) fn check_account(
        &self,
        id_token: Option<&str>,
        token_issuer: Option<&str>,
    ) -> Result<(), Message> {
        let (Some(id_token), Some(issuer), Some(_)) = (id_token, token_issuer, &self.subject) else {
            return Ok(());
        };
        let account = Account::read(id_token).ok_or_else(somebody_else)?;
        if account.is_issued_by(issuer) && !self.may_be_allowed_by(&account.sub) {
            return Err(somebody_else());
        }
        Ok(())
    }

    /// Refuses a user who did not sign in as the one who asked, at who issues the tokens of callers.
    pub(crate) fn check_sign_in(&self, signed_in: &SignedIn<'_>) -> Result<(), Message> {
        let account = signed_in.id_token.and_then(Account::read).ok_or_else(somebody_else)?;
        let good = account.is_issued_by(signed_in.issuer)
            && account.is_for(signed_in.client_id)
            && self.may_be_allowed_by(&account.sub);
        if good { Ok(()) } else { Err(somebody_else()) }
    }
}

/// What a provider said of a user who signed in, and what it should have said.
pub(crate) struct SignedIn<'a> {
    pub(crate) id_token: Option<&'a str>,
    pub(crate) issuer: &'a str,
    pub(crate) client_id: &'a str,
}

fn somebody_else() -> Message {
    Message::public(
        "You are signed in at the provider as another user than the one who asked. No access was granted.",
    )
}

#[derive(Deserialize)]
struct Account {
    iss: String,
    sub: String,
    #[serde(default)]
    aud: Value,
}

impl Account {
    fn is_issued_by(&self, issuer: &str) -> bool {
        self.iss.trim_end_matches('/') == issuer.trim_end_matches('/')
    }

    /// Whether it says this to us: one client, or a list of them.
    fn is_for(&self, client_id: &str) -> bool {
        match &self.aud {
            Value::String(aud) => aud == client_id,
            Value::Array(all) => all.iter().any(|aud| aud == client_id),
            _ => false,
        }
    }

    fn read(id_token: &str) -> Option<Self> {
        let claims = URL_SAFE_NO_PAD.decode(id_token.split('.').nth(1)?).ok()?;
        serde_json::from_slice(&claims).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::challenge::Status;
    use crate::owner::Owner;

    fn record(subject: Option<&str>, user: &str) -> ChallengeRecord {
        let owner = Owner { provider: "p".into(), caller: "c".into(), user: user.into() };
        let (needed_by, scopes) = ("Kit.Tool".to_owned(), Vec::new());
        let subject = subject.map(str::to_owned);
        ChallengeRecord { owner, subject, needed_by, scopes, status: Status::Pending, server: None }
    }

    fn check(record: &ChallengeRecord, somebody: &str, expect: bool) {
        assert_eq!(record.check_proof(Proof::Token(somebody)).is_ok(), expect, "{somebody}");
        let claims = format!(r#"{{"iss":"https://login.test/","sub":"{somebody}","aud":["other","us"]}}"#);
        let claims = URL_SAFE_NO_PAD.encode(claims);
        let id_token = format!("e30.{claims}.");
        let account = record.check_account(Some(&id_token), Some("https://login.test"));
        assert_eq!(account.is_ok(), expect, "{somebody}");
        assert!(record.check_account(Some(&id_token), Some("https://other.test")).is_ok());
        assert!(record.check_account(Some(&id_token), None).is_ok());
        assert!(record.check_account(None, Some("https://login.test")).is_ok());
        let signed_in = |id_token, issuer, client_id| {
            record.check_sign_in(&SignedIn { id_token, issuer, client_id }).is_ok()
        };
        assert_eq!(signed_in(Some(&id_token), "https://login.test", "us"), expect, "{somebody}");
        assert!(!signed_in(Some(&id_token), "https://login.test", "them"));
        assert!(!signed_in(Some(&id_token), "https://other.test", "us"));
        assert!(!signed_in(None, "https://login.test", "us"));
    }

    #[test]
    fn the_subject_or_the_user_it_acts_for_allows() {
        check(&record(Some("ann"), "ann"), "ann", true);
        check(&record(Some("ann"), "ann"), "eve", false);
        check(&record(Some("ann"), ""), "", false);
        check(&record(Some("service"), "ann"), "ann", true);
        check(&record(Some("service"), "ann"), "service", true);
        check(&record(Some("service"), "ann"), "eve", false);
        check(&record(None, "ann"), "eve", true);
    }

    #[test]
    fn who_shows_nothing_does_not_go_on_where_callers_show_tokens() {
        assert!(record(Some("ann"), "ann").check_proof(Proof::Nothing).is_err());
        assert!(record(Some("ann"), "ann").check_proof(Proof::SignIn).is_err(), "that is only begun");
        assert!(record(None, "ann").check_proof(Proof::Nothing).is_ok());
        let garbled = record(Some("ann"), "").check_account(Some("garbled"), Some("https://login.test"));
        assert!(garbled.is_err());
    }
}
