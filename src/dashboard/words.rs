//! Moments and time spans in words.

pub(super) use crate::span::{ago, span};
