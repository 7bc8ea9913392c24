//! Checkpoints: how far a piece of work has come, kept for whoever goes on with it.

use crate::error::{Error, FailureClass, Result};
use crate::store::row::CheckpointRow;
use crate::store::transaction::fenced_fire;
use crate::store::{Firing, Session, TxMode};

/// The longest checkpoint, in bytes.
pub const MAX_CHECKPOINT_BYTES: usize = 1 << 20;

impl Firing<'_> {
    /// Writes how far the work of a fire has come, in the place of what was written before.
    ///
    /// The checkpoint is written by a short transaction without the scheduler's lock. The
    /// transaction holds the fired row: a fire that belongs to another node by now writes nothing
    /// (PA-34), and one that is still held cannot be taken away in the middle.
    ///
    /// # Errors
    /// [`Error::Fenced`] if the fire is lost; [`Error::Invalid`] beyond [`MAX_CHECKPOINT_BYTES`].
    pub fn write_checkpoint(&self, fire_id: &str, row: &CheckpointRow) -> Result<()> {
        if row.data.len() > MAX_CHECKPOINT_BYTES {
            return Err(Error::invalid(
                "checkpoint",
                format!("{} bytes", row.data.len()),
                format!("expected at most {MAX_CHECKPOINT_BYTES} bytes: keep references instead of what they refer to"),
            ));
        }
        self.store.retrying(
            "write a checkpoint",
            TxMode::OwnRows,
            |s| {
                let held = s.hold_executing(fire_id)?;
                if held && put(s, row)? {
                    return Ok(());
                }
                Err(fenced_fire(fire_id, "stop"))
            },
            &mut |s, ()| Ok(s.row(&row.root_fire_id)?.is_some_and(|stored: CheckpointRow| stored == *row)),
        )
    }

    /// The checkpoint of the work that began with this fire.
    pub fn read_checkpoint(&self, root_fire_id: &str) -> Result<Option<CheckpointRow>> {
        self.store.read("read a checkpoint", |s| s.row(root_fire_id))
    }
}

/// Writes a checkpoint in the place of the last; false, and nothing is written, if a later fire has
/// written one.
fn put(s: &mut dyn Session, row: &CheckpointRow) -> Result<bool> {
    let root = row.root_fire_id.as_str();
    if s.rows::<CheckpointRow>().with("root_fire_id", root).at_most("fence", row.fence).write(row)? > 0 {
        return Ok(true);
    }
    if s.row::<CheckpointRow>(root)?.is_some() {
        return Ok(false);
    }
    match s.insert(row) {
        // The first try has written it: its answer was lost, and its session still worked at the
        // look-up.
        Err(error) if error.failure_class() == Some(FailureClass::UniqueViolation) => {
            Err(Error::overtaken("write a checkpoint"))
        }
        inserted => inserted.map(|()| true),
    }
}
