//! We ask a model, of either of the two wide-spread kinds, and read its answer as it comes.

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde_json::{Value, json};
use toolmux_core::secret::Secret;
use toolmux_http::client::{HttpClient, HttpError, sensitive};
use toolmux_http::sse::{Decoder, EVENT_STREAM};
use url::Url;

use super::anthropic::ANTHROPIC;
use super::bridge::{Vendor, word};
use super::openai::OPENAI;
use super::stream::{Assemble, Blocks, Chunks};

/// The largest event of a streamed answer.
const EVENT_BYTES: usize = 8 << 20;
/// How long an answer of Anthropic's may be; the field is required there.
const MOST_TOKENS: u32 = 4096;

/// Why a model did not answer.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The address is not one.
    #[error("`{0}` is not the address of a model")]
    Address(String),
    /// The exchange failed.
    #[error("the request to the model failed")]
    Http(#[from] HttpError),
    /// The model's server says no.
    #[error("the model's server answered {0}: {1}")]
    Refused(StatusCode, String),
    /// The answer cannot be read.
    #[error("the model's answer cannot be read: {0}")]
    NotRead(String),
}

/// A model behind an endpoint that is compatible with Anthropic's or OpenAI's.
pub struct ModelClient {
    http: HttpClient,
    url: Url,
    headers: HeaderMap,
    model: String,
    system: Option<String>,
    endpoint: &'static Endpoint,
    /// How the conversation is written.
    pub vendor: &'static Vendor,
}

/// How the endpoint of a vendor is asked.
struct Endpoint {
    vendor: Vendor,
    path: &'static str,
    /// Adds what the endpoint wants besides the content type; none for a key that no header can carry.
    headers: fn(&mut HeaderMap, Option<&Secret>) -> Option<()>,
    /// Adds what the model is told before the conversation.
    system: fn(&mut Value, &str),
    /// Members of a request that are required there and nowhere else.
    required: fn() -> Value,
    assemble: fn() -> Box<dyn Assemble>,
}

static ANTHROPIC_MESSAGES: Endpoint = Endpoint {
    vendor: ANTHROPIC,
    path: "messages",
    headers: |headers, key| {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        if let Some(key) = key {
            headers.insert("x-api-key", sensitive(key.expose())?);
        }
        Some(())
    },
    system: |body, system| body["system"] = json!(system),
    required: || json!({ "max_tokens": MOST_TOKENS }),
    assemble: || Box::new(Blocks::default()),
};

static OPENAI_COMPLETIONS: Endpoint = Endpoint {
    vendor: OPENAI,
    path: "chat/completions",
    headers: |headers, key| {
        if let Some(key) = key {
            headers.insert(header::AUTHORIZATION, sensitive(&format!("Bearer {}", key.expose()))?);
        }
        Some(())
    },
    system: |body, system| {
        if let Value::Array(all) = &mut body["messages"] {
            all.insert(0, json!({ "role": "system", "content": system }));
        }
    },
    required: || json!({}),
    assemble: || Box::new(Chunks::default()),
};

impl ModelClient {
    /// A client of the model `model` at a base address or the whole address of its endpoint. What kind it
    /// is follows from the address, unless `vendor` says it.
    pub fn new(
        http: HttpClient,
        url: &str,
        model: &str,
        vendor: Option<&str>,
        key: Option<&Secret>,
    ) -> Result<Self, ModelError> {
        let wrong = || ModelError::Address(url.to_owned());
        let mut address: Url = url.parse().map_err(|_| wrong())?;
        let anthropic = match vendor {
            Some(vendor) => vendor == ANTHROPIC.name,
            None => url.contains("anthropic") || address.path().ends_with("/messages"),
        };
        let endpoint = if anthropic { &ANTHROPIC_MESSAGES } else { &OPENAI_COMPLETIONS };
        let path = endpoint.path;
        if !address.path().ends_with(path) {
            let base = address.path().trim_end_matches('/').to_owned();
            let version = if base.ends_with("/v1") { "" } else { "/v1" };
            address.set_path(&format!("{base}{version}/{path}"));
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        (endpoint.headers)(&mut headers, key).ok_or_else(wrong)?;
        let (model, vendor) = (model.to_owned(), &endpoint.vendor);
        Ok(ModelClient { http, url: address, headers, model, system: None, endpoint, vendor })
    }

    /// The same with what the model is told before the conversation.
    pub fn system(mut self, system: Option<String>) -> Self {
        self.system = system;
        self
    }

    /// Asks; shows text as it comes; gives the whole answer.
    pub async fn ask(
        &self,
        messages: &[Value],
        tools: &Value,
        show: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Value, ModelError> {
        let body = self.body(messages, tools);
        let answer = self.http.send(Method::POST, &self.url, self.headers.clone(), body.to_string()).await?;
        let status = answer.status();
        let streamed = answer
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(|kind| kind.to_str().is_ok_and(|kind| kind.starts_with(EVENT_STREAM)));
        if status.is_success() && streamed {
            return self.read(answer, show).await;
        }
        let body = answer.body().await?;
        if !status.is_success() {
            return Err(ModelError::Refused(status, String::from_utf8_lossy(&body).into_owned()));
        }
        let whole: Value =
            serde_json::from_slice(&body).map_err(|error| ModelError::NotRead(error.to_string()))?;
        if let Some(read) = (self.vendor.read)(&whole) {
            show(&read.text.join("\n"));
        }
        Ok(whole)
    }

    fn body(&self, messages: &[Value], tools: &Value) -> Value {
        let mut body = json!({ "model": self.model, "messages": messages, "stream": true });
        if let Some(system) = &self.system {
            (self.endpoint.system)(&mut body, system);
        }
        if tools.as_array().is_some_and(|tools| !tools.is_empty()) {
            body["tools"] = tools.clone();
        }
        if let (Value::Object(body), Value::Object(required)) = (&mut body, (self.endpoint.required)()) {
            body.extend(required);
        }
        body
    }

    async fn read(
        &self,
        mut answer: toolmux_http::client::Answer,
        show: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Value, ModelError> {
        let mut whole = (self.endpoint.assemble)();
        let mut decoder = Decoder::new(EVENT_BYTES);
        while let Some(piece) = answer.piece().await? {
            let events = decoder.push(&piece).map_err(|error| ModelError::NotRead(error.to_string()))?;
            for event in events.iter().filter(|event| event.data != "[DONE]") {
                let data: Value = serde_json::from_str(&event.data)
                    .map_err(|error| ModelError::NotRead(error.to_string()))?;
                if event.event == "error" || data.get("error").is_some() {
                    let told = word(&data["error"], "message").unwrap_or_else(|| event.data.clone());
                    return Err(ModelError::NotRead(told));
                }
                if let Some(text) = whole.take(&data) {
                    show(&text);
                }
            }
        }
        Ok(whole.whole())
    }
}
