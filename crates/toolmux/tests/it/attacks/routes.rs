//! Routes opened without a key, with a wrong one, across sites, or beyond a toolset.
