"""Checks of the official suite that are known to fail, each with the reason.

(what toolmux is measured as, requirements, check or scenario) -> reason. `modern` and `legacy` stand behind it,
`native` are tools of its own, `client` is toolmux in front of the suite's own servers. An entry that no longer fails is an error.
"""

# Extensions of authorization, which no requirement set scores.
NO_USER = "a grant without a user; toolmux asks users for tokens, and a token of its own goes into `headers`"
BOUND = "tokens bound to a key of the client (DPoP) are not asked for: ours are bearer tokens"
GRANTS = {
    "client-credentials-basic": NO_USER, "client-credentials-jwt": NO_USER, "wif-jwt-bearer": NO_USER,
    "enterprise-managed-authorization": "a company's identity provider consents for its users; toolmux asks the user",
    "dpop": BOUND, "dpop-nonce": BOUND,
}

KNOWN = {
    **{("client", requirements, f"auth/{name}"): reason
       for requirements in ("2025-11-25", "2026-07-28") for name, reason in GRANTS.items()},
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
    "http-custom-header-server-validation", "tasks-capability-negotiation", "tasks-wire-fields",
    "tasks-request-state-removal", "tasks-request-headers",
}
