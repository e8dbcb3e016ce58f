"""Checks of the official suite that are known to fail, each with the reason.

(what toolmux is measured as, requirements, check or scenario) -> reason. `modern` and `legacy` stand behind it,
`native` are tools of its own, `client` is toolmux in front of the suite's own servers. An entry that no longer fails is an error.
"""

AUTH = ("not exercised: the driver configures no provider and plays no browser; most of these also want a client that "
        "registers itself, which toolmux leaves to its operator")
AUTH_BOTH = (
    "basic-cimd", "client-credentials-basic", "client-credentials-jwt", "dpop", "dpop-nonce",
    "enterprise-managed-authorization", "metadata-default", "metadata-var1", "metadata-var2", "metadata-var3",
    "pre-registration", "scope-from-scopes-supported", "scope-from-www-authenticate",
    "scope-omitted-when-undefined", "scope-retry-limit", "scope-step-up", "token-endpoint-auth-basic",
    "token-endpoint-auth-none", "token-endpoint-auth-post", "wif-jwt-bearer",
)
AUTH_MODERN = (
    "authorization-server-migration", "iss-normalized", "iss-not-advertised", "iss-supported",
    "iss-supported-missing", "iss-unexpected", "iss-wrong-issuer", "metadata-issuer-mismatch",
    "offline-access-not-supported", "offline-access-scope",
)
KNOWN = {
    **{("client", "2025-11-25", f"auth/{name}"): AUTH for name in AUTH_BOTH},
    **{("client", "2026-07-28", f"auth/{name}"): AUTH for name in AUTH_BOTH + AUTH_MODERN},
    ("legacy", "2026-07-28", "sep-2322-elicitation-incomplete"):
        "the suite looks for the key `user_name`; a question of the handshake era has no key, so toolmux gives it one",
    ("legacy", "2026-07-28", "sep-2322-multiple-inputs-incomplete"):
        "a server of the handshake era asks its three questions one after the other, each when the one before is answered",
    ("legacy", "2026-07-28", "sep-2322-respect-client-capabilities"):
        "a server of the handshake era is told once what clients can do, not what the caller of one call can: it asks, "
        "hears that nobody answers, and fails the call",
    ("legacy", "2026-07-28", "sep-2575-server-rejects-undeclared-capability"):
        "the same: the call fails with the server's own error, since -32021 is not a code of its era",
    ("legacy", "2026-07-28", "sep-2575-missing-capability-http-400"): "the same",
    ("legacy", "2026-07-28", "tasks-mrtr-partial-fulfillment"):
        "calls that earlier scenarios left waiting for an answer share the line, on which a second question does not "
        "say whose it is: nobody is asked what may be meant for another. Alone, the scenario passes",
}

# Scenarios that tools of our own are enough for.
NATIVELY = {
    "server-initialize", "server-session-lifecycle", "server-stateless", "ping", "logging-set-level", "tools-list",
    "tools-call-simple-text", "tools-call-error", "server-sse-multiple-streams", "dns-rebinding-protection", "caching",
    "http-header-validation", "input-required-result-unsupported-methods", "input-required-result-ignore-extra-params",
}
