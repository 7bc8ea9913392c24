//! The trace context of a run: a `traceparent` as the W3C defines it.

use crate::data_map::JobDataMap;
use crate::error::{Error, Result};

/// The key of job data under which a trace context is stored: that of the HTTP header.
pub(crate) const TRACEPARENT: &str = "traceparent";

/// The trace context in the data of a run; none if there is none, or no valid one.
pub(crate) fn traceparent_of(data: &JobDataMap) -> Option<&str> {
    data.text(TRACEPARENT).filter(|text| trace_id_of(text).is_some())
}

/// The id of the trace in a `traceparent`; none if that is not valid.
pub(crate) fn trace_id_of(text: &str) -> Option<&str> {
    let hex = |part: &str, len: usize| {
        part.len() == len && part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let is_id = |part: &str, len: usize| hex(part, len) && part.bytes().any(|byte| byte != b'0');
    let mut parts = text.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    // Later versions may say more.
    let ends = version != "00" || parts.next().is_none();
    let is_valid = hex(version, 2) && version != "ff" && is_id(trace, 32) && is_id(span, 16) && hex(flags, 2) && ends;
    is_valid.then_some(trace)
}

/// Checks a trace context.
///
/// # Errors
/// [`Error::Invalid`] for one that the W3C does not allow.
pub(crate) fn check_traceparent(text: &str) -> Result<()> {
    match trace_id_of(text) {
        Some(_) if text.len() <= 200 => Ok(()),
        _ => Err(Error::invalid(
            "traceparent",
            text,
            "expected version, trace id, parent id and flags in small hexadecimal digits, such as \
             00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01, with neither id all zeros",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LT-106: as the W3C has it, and nothing else.
    #[test]
    fn a_trace_context_is_valid_or_it_is_named() {
        let id = "0af7651916cd43dd8448eb211c80319c";
        for valid in [format!("00-{id}-b7ad6b7169203331-01"), format!("01-{id}-b7ad6b7169203331-00-more")] {
            assert_eq!(trace_id_of(&valid), Some(id));
            check_traceparent(&valid).unwrap();
        }
        let zeros = "0".repeat(32);
        for wrong in [
            "",
            "00",
            id,
            &format!("00-{id}-b7ad6b7169203331"),
            &format!("00-{id}-b7ad6b7169203331-01-more"),
            &format!("ff-{id}-b7ad6b7169203331-01"),
            &format!("00-{zeros}-b7ad6b7169203331-01"),
            &format!("00-{id}-0000000000000000-01"),
            &format!("00-{}-b7ad6b7169203331-01", id.to_uppercase()),
            &format!("00-{id}-b7ad6b7169203331-1"),
            "00-ä",
        ] {
            let error = check_traceparent(wrong).expect_err(wrong).to_string();
            assert!(error.contains("traceparent") && error.contains("expected version"), "{error}");
        }
    }
}
