//! Moments and time spans in words.

pub(super) use crate::span::span;

/// A moment before now.
pub(super) fn ago(ms: i64, now_ms: i64) -> String {
    format!("{} ago", span(now_ms.saturating_sub(ms).max(0)))
}
