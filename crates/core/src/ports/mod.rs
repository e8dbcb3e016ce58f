//! The three ports: sources bring tools in, stores keep records, and a broker keeps tokens of users. What is behind
//! them is chosen by whoever builds the gateway.

pub mod broker;
pub mod figures;
pub mod source;
pub mod store;
