//! What an error says to programs in `error.data`, written by our server and read by our source, so that a
//! chain of servers tells its callers the same as the first.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolmux_core::json_text::{RawJson, to_raw};
use toolmux_core::millis::millis;
use toolmux_core::outcome::{Retry, ToolError};
use toolmux_core::refusal::{Challenge, ParameterError, Refusal};

/// Every member is absent where it has nothing to say.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ErrorData {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) can_retry: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) retry_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) additional_prompt_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parameter_errors: Option<Vec<Parameter>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) missing_requirements: Option<Missing>,
}

/// One parameter that does not fit.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Parameter {
    parameter: String,
    message: String,
}

/// What a tool needs that the call did not bring.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Missing {
    authorization: Vec<Token>,
    secrets: Vec<String>,
    user_id: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Token {
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    authorization_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    check_url: Option<String>,
}

impl ErrorData {
    /// What there is to say of a failed tool.
    pub(super) fn of_tool(error: &ToolError) -> Self {
        let (can_retry, after) = match error.retry {
            Retry::Never => (error.prompt.is_some().then_some(false), None),
            Retry::Now => (Some(true), None),
            Retry::After(after) => (Some(true), Some(after)),
        };
        ErrorData {
            can_retry,
            retry_after_ms: after.map(millis),
            additional_prompt_content: error.prompt.clone(),
            ..ErrorData::default()
        }
    }

    /// What there is to say of a refusal.
    pub(super) fn of_refusal(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::Malformed(_)
            | Refusal::Unauthenticated(_)
            | Refusal::UnknownTool { .. }
            | Refusal::NotPermitted { .. }
            | Refusal::Conflict { .. }
            | Refusal::Unavailable { retry_after: None, .. }
            | Refusal::Internal(_) => ErrorData::default(),
            Refusal::Busy { retry_after, .. }
            | Refusal::Unavailable { retry_after: Some(retry_after), .. } => ErrorData {
                can_retry: Some(true),
                retry_after_ms: Some(millis(*retry_after)),
                ..ErrorData::default()
            },
            Refusal::Challenged { authorization, secrets, user_id } => {
                let authorization = authorization.iter().map(Token::of).collect();
                let missing = Missing { authorization, secrets: secrets.clone(), user_id: *user_id };
                ErrorData { missing_requirements: Some(missing), ..ErrorData::default() }
            }
            Refusal::Invalid { parameters } => {
                let parameters = parameters.iter().map(|fault| Parameter {
                    parameter: fault.parameter.clone(),
                    message: fault.message.clone(),
                });
                ErrorData { parameter_errors: Some(parameters.collect()), ..ErrorData::default() }
            }
        }
    }

    /// The data as JSON; absent when it says nothing.
    pub(super) fn into_raw(self) -> Option<RawJson> {
        let raw = to_raw(&self).expect("a struct of texts and numbers is always writable");
        (raw.get() != "{}").then_some(raw)
    }

    /// Whether trying again may help.
    pub(super) fn retry(&self) -> Retry {
        if self.can_retry == Some(true) { Retry::allowed(self.retry_after()) } else { Retry::Never }
    }

    /// When to try again.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        self.retry_after_ms.map(Duration::from_millis)
    }

    /// The parameters that do not fit.
    pub(super) fn parameters(&mut self) -> Option<Vec<ParameterError>> {
        let faults = self.parameter_errors.take().filter(|faults| !faults.is_empty())?;
        let fault = |fault: Parameter| ParameterError { parameter: fault.parameter, message: fault.message };
        Some(faults.into_iter().map(fault).collect())
    }

    /// What a call must bring, as a refusal.
    pub(super) fn challenge(&mut self) -> Option<Refusal> {
        let Missing { authorization, secrets, user_id } = self.missing_requirements.take()?;
        let authorization = authorization.into_iter().map(Token::challenge).collect();
        Some(Refusal::Challenged { authorization, secrets, user_id })
    }
}

impl Token {
    fn of(challenge: &Challenge) -> Self {
        Token {
            id: challenge.id.clone(),
            authorization_url: challenge.url.clone(),
            check_url: challenge.check_url.clone(),
        }
    }

    fn challenge(self) -> Challenge {
        Challenge { id: self.id, url: self.authorization_url, check_url: self.check_url }
    }
}
