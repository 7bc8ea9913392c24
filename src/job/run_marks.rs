//! `RunMarks`: what the job of a run was known by when it ran, and the trace of the run.

use super::JobMarks;
use super::trace::trace_id_of;

/// The marks and the note of the job of a run as they were when it ran, and the trace that the run
/// belongs to. Each is none where there was nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunMarks {
    /// The [business key](crate::JobMarks::biz_key) of the job.
    pub biz_key: Option<String>,
    /// The [owner](crate::JobMarks::owner) of the job.
    pub owner: Option<String>,
    /// The [name for people](crate::JobMarks::name) of the job.
    pub name: Option<String>,
    /// The note for people of the job.
    pub description: Option<String>,
    /// The id of the trace: 32 hexadecimal digits.
    pub trace_id: Option<String>,
}

impl RunMarks {
    /// The marks of a run of a job with these marks and this note, in this trace context.
    pub(crate) fn of(marks: &JobMarks, description: Option<&str>, traceparent: Option<&str>) -> Self {
        Self {
            biz_key: marks.get_biz_key().map(str::to_owned),
            owner: marks.get_owner().map(str::to_owned),
            name: marks.get_name().map(str::to_owned),
            description: description.filter(|text| !text.is_empty()).map(str::to_owned),
            trace_id: traceparent.and_then(trace_id_of).map(str::to_owned),
        }
    }

    /// True if there is nothing in them.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
