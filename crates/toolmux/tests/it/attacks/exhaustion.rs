//! Requests and upstreams that cost more time or memory than their size allows.
