//! `CronExpression` (placeholder until the dialect lands).
use chrono_tz::Tz;
/// A cron expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronExpression {
    text: String,
}
/// Why a cron expression does not parse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cron expression `{expression}`, column {column}: {reason}")]
pub struct CronParseError {
    /// text
    pub expression: String,
    /// column
    pub column: usize,
    /// reason
    pub reason: String,
}
impl CronExpression {
    /// Parses.
    pub fn parse(text: &str) -> Result<Self, CronParseError> {
        Ok(Self { text: text.to_uppercase() })
    }
    /// Text.
    pub fn text(&self) -> &str {
        &self.text
    }
    /// Next.
    pub fn next_after(&self, after_ms: i64, _zone: Tz, _now_year: i32) -> Option<i64> {
        Some(after_ms.div_euclid(1000) * 1000 + 1000)
    }
}
