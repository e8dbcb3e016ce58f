//! Who asks: API keys, kept as hashes and compared in constant time, and JSON Web Tokens.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, LazyLock};

use arc_swap::ArcSwap;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::call::Caller;
use crate::message::Message;
use crate::refusal::Refusal;
use crate::secret::Secret;

/// What a request shows to prove who sends it.
#[derive(Clone, Copy)]
pub enum Credential<'a> {
    /// The request has no credential.
    None,
    /// An API key.
    Key(&'a str),
    /// A token in the `Authorization` header: an API key or a JSON Web Token.
    Bearer(&'a str),
    /// The SHA-256 of a client certificate, whose key the client has proved to have.
    Certificate(&'a [u8; 32]),
}

/// Who may ask. Empty means everybody.
#[derive(Clone, Debug, Default)]
pub struct Admission {
    /// API keys that are accepted.
    pub keys: Vec<ApiKey>,
    /// Tokens, accepted besides keys.
    pub jwt: Option<JwtRules>,
}

impl Admission {
    /// True when nobody has to prove anything.
    pub fn is_open(&self) -> bool {
        self.keys.is_empty() && self.jwt.is_none()
    }
}

/// An API key and what it opens.
#[derive(Clone, Debug)]
pub struct ApiKey {
    /// The caller's name.
    pub name: Arc<str>,
    /// SHA-256 of the key, or of the client certificate in its binary form. The two cannot be taken for each other: no
    /// header can carry the bytes of a certificate.
    pub sha256: [u8; 32],
    /// The only tools it opens; absent means all.
    pub toolset: Option<Arc<str>>,
}

/// Which tokens are good.
#[derive(Clone)]
pub struct JwtRules {
    /// The key of tokens signed by HS256.
    pub secret: Option<Secret>,
    /// For RS256, ES256 and their kin; whoever fetches the keys swaps them here.
    pub keys: Arc<ArcSwap<JwkSet>>,
    /// What `aud` may be; a token must have one of them unless this is empty.
    pub audience: Vec<String>,
    /// Who must have issued a token; absent means that `iss` is not looked at.
    pub issuer: Option<String>,
    /// What `scope` of a token must hold.
    pub scopes: Vec<String>,
    /// What a token opens that has no claim `toolset`.
    pub toolset: TokenToolset,
}

/// What a token opens that does not say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TokenToolset {
    /// It opens no tool.
    #[default]
    Nothing,
    /// It opens every tool.
    Everything,
    /// The tools of a toolset.
    Named(Arc<str>),
}

impl TokenToolset {
    /// The toolset that limits a caller, as [`Caller`] has it.
    fn limit(&self) -> Option<Arc<str>> {
        match self {
            TokenToolset::Nothing => Some(Arc::clone(&NO_TOOLSET)),
            TokenToolset::Everything => None,
            TokenToolset::Named(name) => Some(Arc::clone(name)),
        }
    }
}

impl fmt::Debug for JwtRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JwtRules").field("audience", &self.audience).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Claims {
    sub: String,
    toolset: Option<String>,
    #[serde(default)]
    scope: String,
    act_as: Option<serde_json::Value>,
}

impl Claims {
    /// The users of the claim `act_as`: one or a list. Anything else names nobody.
    fn act_as(&self) -> Arc<[String]> {
        match &self.act_as {
            Some(serde_json::Value::String(user)) => [user.clone()].into(),
            Some(serde_json::Value::Array(users)) => {
                users.iter().filter_map(|user| user.as_str().map(str::to_owned)).collect()
            }
            _ => Arc::default(),
        }
    }
}

/// A toolset that no configuration can have: it holds no tool.
static NO_TOOLSET: LazyLock<Arc<str>> = LazyLock::new(|| "".into());

/// Everybody, where nobody has to prove anything.
static ANYONE: LazyLock<Arc<str>> = LazyLock::new(|| "anonymous".into());

pub(super) fn admit(
    admission: &Admission,
    credential: Credential<'_>,
    toolset: Option<&str>,
) -> Result<Caller, Refusal> {
    let asked = toolset.map(Arc::from);
    if admission.is_open() {
        return Ok(Caller { name: Arc::clone(&ANYONE), user: None, toolsets: [None, asked], act_as: None });
    }
    let (shown, token) = match credential {
        Credential::None => return Err(unauthenticated("No credential was given")),
        Credential::Key(key) => (Secret::new(key).sha256(), None),
        Credential::Bearer(token) => (Secret::new(token).sha256(), Some(token)),
        Credential::Certificate(fingerprint) => (*fingerprint, None),
    };
    if let Some(key) = find_key(&admission.keys, &shown) {
        let toolsets = [key.toolset.clone(), asked];
        return Ok(Caller { name: Arc::clone(&key.name), user: None, toolsets, act_as: None });
    }
    let (Some(rules), Some(token)) = (&admission.jwt, token) else {
        return Err(unauthenticated(match credential {
            Credential::Certificate(_) => "The client certificate is not known",
            Credential::None | Credential::Key(_) | Credential::Bearer(_) => "The API key is not known",
        }));
    };
    let claims = check_token(rules, token).map_err(|error| {
        // Only the log says why: whoever tries tokens must not learn what is wrong with them.
        tracing::debug!(%error, "a token is refused");
        unauthenticated("The credential is neither a known key nor a valid token")
    })?;
    if let Some(scope) = missing_scope(rules, &claims) {
        return Err(unauthenticated(&format!("The token lacks the scope `{scope}`")));
    }
    // Callers by token and callers by key never meet.
    let name = format!("jwt:{}", claims.sub).into();
    let act_as = Some(claims.act_as());
    let toolset = claims.toolset.map_or_else(|| rules.toolset.limit(), |toolset| Some(toolset.into()));
    Ok(Caller { name, user: Some(claims.sub.into()), toolsets: [toolset, asked], act_as })
}

/// True for a token that would be good if it had more scopes.
pub(super) fn lacks_scope(admission: &Admission, credential: Credential<'_>) -> bool {
    let (Some(rules), Credential::Bearer(token)) = (&admission.jwt, credential) else { return false };
    check_token(rules, token).is_ok_and(|claims| missing_scope(rules, &claims).is_some())
}

fn missing_scope<'a>(rules: &'a JwtRules, claims: &Claims) -> Option<&'a str> {
    let has = |wanted: &str| claims.scope.split(' ').any(|scope| scope == wanted);
    rules.scopes.iter().map(String::as_str).find(|wanted| !has(wanted))
}

/// Looks at every key, whichever matches, so that the time taken tells nothing.
fn find_key<'a>(keys: &'a [ApiKey], shown: &[u8; 32]) -> Option<&'a ApiKey> {
    let (mut place, mut found) = (0u64, Choice::from(0));
    for (index, key) in keys.iter().enumerate() {
        let same = key.sha256.ct_eq(shown);
        place.conditional_assign(&(index as u64), same);
        found |= same;
    }
    bool::from(found).then(|| &keys[usize::try_from(place).unwrap_or_default()])
}

fn check_token(rules: &JwtRules, token: &str) -> jsonwebtoken::errors::Result<Claims> {
    let header = decode_header(token)?;
    let refused = || ErrorKind::InvalidAlgorithm.into();
    let key = match (header.alg, &rules.secret) {
        (Algorithm::HS256, Some(secret)) => DecodingKey::from_secret(secret.expose().as_bytes()),
        (Algorithm::RS256 | Algorithm::RS384 | Algorithm::RS512 | Algorithm::ES256 | Algorithm::ES384, _) => {
            let keys = rules.keys.load();
            let jwk = match &header.kid {
                Some(kid) => keys.find(kid),
                None if keys.keys.len() == 1 => keys.keys.first(),
                None => None,
            };
            DecodingKey::from_jwk(jwk.ok_or_else(refused)?)?
        }
        _ => return Err(refused()),
    };
    let mut validation = Validation::new(header.alg);
    validation.leeway = 0;
    validation.required_spec_claims = HashSet::from(["exp", "sub"].map(str::to_owned));
    validation.validate_nbf = true;
    validation.set_audience(&rules.audience);
    if !rules.audience.is_empty() {
        validation.required_spec_claims.insert("aud".to_owned());
    }
    if let Some(issuer) = &rules.issuer {
        validation.set_issuer(&[issuer]);
        validation.required_spec_claims.insert("iss".to_owned());
    }
    let claims = decode::<Claims>(token, &key, &validation)?.claims;
    if claims.sub.is_empty() {
        return Err(ErrorKind::MissingRequiredClaim("sub".to_owned()).into());
    }
    Ok(claims)
}

fn unauthenticated(public: &str) -> Refusal {
    Refusal::Unauthenticated(Message::public(public))
}
