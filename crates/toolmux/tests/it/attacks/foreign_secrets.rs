//! Secrets and tokens that an upstream claims and the configuration does not give to it.
