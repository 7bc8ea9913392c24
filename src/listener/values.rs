//! `FireValues`: what a job and its listeners leave for each other during one fire.

use crate::debug_fields::debug_fields;
use parking_lot::Mutex;
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Values of one fire, one of each type; gone with the fire, never stored.
///
/// Quartz keys them by an object; here a type of the application's own is the key.
///
/// ```
/// use carnelian::{JobContext, JobError};
/// use carnelian::listener::{FireEvent, JobListener};
///
/// struct TraceId(u64);
///
/// struct Tracing;
///
/// impl JobListener for Tracing {
///     fn name(&self) -> &str {
///         "tracing"
///     }
///
///     fn job_to_be_executed(&self, fire: &FireEvent<'_>) {
///         fire.values().put(TraceId(42));
///     }
/// }
///
/// fn work(ctx: &mut JobContext) -> Result<(), JobError> {
///     let trace = ctx.values().get::<TraceId>().ok_or_else(|| JobError::new("nobody traces this"))?;
///     println!("trace {}", trace.0);
///     Ok(())
/// }
/// # let _ = carnelian::Scheduler::builder().job_fn("work", work).job_listener(Tracing);
/// ```
#[doc(alias("JobExecutionContext.put", "JobExecutionContext.get"))]
#[derive(Default)]
pub struct FireValues {
    values: Mutex<BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl FireValues {
    /// Leaves a value; returns the one of its type that was there before.
    pub fn put<T: Any + Send + Sync>(&self, value: T) -> Option<Arc<T>> {
        let before = self.values.lock().insert(TypeId::of::<T>(), Arc::new(value));
        before.and_then(|value| value.downcast().ok())
    }

    /// The value of a type, if somebody left one.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let value = self.values.lock().get(&TypeId::of::<T>()).cloned();
        value.and_then(|value| value.downcast().ok())
    }

    /// Takes the value of a type away.
    pub fn remove<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let value = self.values.lock().remove(&TypeId::of::<T>());
        value.and_then(|value| value.downcast().ok())
    }

    /// Takes all values away; the fire may be remembered for longer.
    pub(crate) fn clear(&self) {
        let values = std::mem::take(&mut *self.values.lock());
        drop(values);
    }
}

debug_fields! { FireValues { count = me.values.lock().len() } finish |me| }
