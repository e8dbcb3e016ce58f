//! Who may allow a token. Where callers show tokens, only the subject that asked, or the user it acts for: otherwise
//! whoever opens a link of somebody else would give that caller access to an account of their own.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use toolmux_core::message::Message;

use super::challenge::ChallengeRecord;

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
    pub(super) fn check_proof(&self, proven: Option<&str>) -> Result<(), Message> {
        if self.subject.is_none() || proven.is_some_and(|proven| self.may_be_allowed_by(proven)) {
            return Ok(());
        }
        let words =
            "This was not a valid token of the one who asked. Nothing was allowed. Open the link again.";
        Err(Message::public(words))
    }

    /// Refuses an account at the provider that is not of the one who asked, where that can be told: the provider issues
    /// the tokens of callers too, and says in an id token whose account it is. The id token comes from the provider
    /// itself over TLS, so its signature adds nothing (OpenID Connect Core, 3.1.3.7).
    pub(super) fn check_account(
        &self,
        id_token: Option<&str>,
        token_issuer: Option<&str>,
    ) -> Result<(), Message> {
        let (Some(id_token), Some(issuer), Some(_)) = (id_token, token_issuer, &self.subject) else {
            return Ok(());
        };
        let words =
            "At the provider you are signed in as somebody else than the one who asked. Nothing was allowed.";
        let other = || Message::public(words);
        let account = Account::read(id_token).ok_or_else(other)?;
        let same_issuer = account.iss.trim_end_matches('/') == issuer.trim_end_matches('/');
        if same_issuer && !self.may_be_allowed_by(&account.sub) { Err(other()) } else { Ok(()) }
    }
}

#[derive(Deserialize)]
struct Account {
    iss: String,
    sub: String,
}

impl Account {
    fn read(id_token: &str) -> Option<Self> {
        let claims = URL_SAFE_NO_PAD.decode(id_token.split('.').nth(1)?).ok()?;
        serde_json::from_slice(&claims).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::broker::Owner;
    use super::super::challenge::Status;
    use super::*;

    fn record(subject: Option<&str>, user: &str) -> ChallengeRecord {
        let owner = Owner { provider: "p".into(), caller: "c".into(), user: user.into() };
        let (needed_by, scopes) = ("Kit.Tool".to_owned(), Vec::new());
        let subject = subject.map(str::to_owned);
        ChallengeRecord { owner, subject, needed_by, scopes, status: Status::Pending, server: None }
    }

    fn check(record: &ChallengeRecord, somebody: &str, expect: bool) {
        assert_eq!(record.check_proof(Some(somebody)).is_ok(), expect, "{somebody}");
        let claims = URL_SAFE_NO_PAD.encode(format!(r#"{{"iss":"https://login.test/","sub":"{somebody}"}}"#));
        let id_token = format!("e30.{claims}.");
        let account = record.check_account(Some(&id_token), Some("https://login.test"));
        assert_eq!(account.is_ok(), expect, "{somebody}");
        assert!(record.check_account(Some(&id_token), Some("https://other.test")).is_ok());
        assert!(record.check_account(Some(&id_token), None).is_ok());
        assert!(record.check_account(None, Some("https://login.test")).is_ok());
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
        assert!(record(Some("ann"), "ann").check_proof(None).is_err());
        assert!(record(None, "ann").check_proof(None).is_ok());
        let garbled = record(Some("ann"), "").check_account(Some("garbled"), Some("https://login.test"));
        assert!(garbled.is_err());
    }
}
