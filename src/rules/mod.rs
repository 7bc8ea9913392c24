//! Rules: what is to be done, decided from values alone.

pub(crate) mod failover;
