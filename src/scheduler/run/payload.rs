//! The payload of a running job: a value of the program's own type.

use super::context::JobContext;
use crate::data_map::PAYLOAD;
use crate::error::{Error, Result};
use serde::de::DeserializeOwned;

impl JobContext {
    /// The value that was submitted as the [payload](crate::Submission::payload) of the work.
    ///
    /// ```
    /// use carnelian::{JobContext, JobError, Submission};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Mail {
    ///     to: String,
    ///     copies: Vec<String>,
    /// }
    ///
    /// fn send(ctx: &mut JobContext) -> Result<(), JobError> {
    ///     let mail: Mail = ctx.payload()?;
    ///     println!("to {} and {} others", mail.to, mail.copies.len());
    ///     Ok(())
    /// }
    ///
    /// let scheduler = carnelian::Scheduler::builder().job_fn("mail", send).build()?;
    /// let mail = Mail { to: "ada@example.org".to_owned(), copies: Vec::new() };
    /// scheduler.submit(Submission::new("mail").payload(&mail)?)?;
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if there is no payload, or it is no JSON of a `T`,
    /// as after a change of the program.
    pub fn payload<T: DeserializeOwned>(&self) -> Result<T> {
        let missing = || Error::invalid("job data", PAYLOAD, "expected a payload: submit the work with one");
        self.data().typed(PAYLOAD)?.ok_or_else(missing)
    }
}
