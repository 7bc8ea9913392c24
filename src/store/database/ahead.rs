//! The fires that instances took ahead, and begin marks, in a session.

use super::owner::Owner;
use super::session::Session;
use crate::error::{Error, Result};
use crate::rules::begun::BeginMark;
use crate::store::row::{AheadFire, AheadRow, BegunRow};

impl dyn Session + '_ {
    /// Leaves these fires, which an instance takes ahead, for whoever finds the instance dead.
    pub fn insert_ahead(&mut self, instance: &str, fires: &[AheadFire]) -> Result<()> {
        let Some(last_fence) = fires.iter().map(|fire| fire.fence).max() else { return Ok(()) };
        let fires = serde_json::to_string(fires).map_err(|why| Error::Refused(format!("fires taken ahead: {why}")))?;
        self.insert(&AheadRow { instance: instance.to_owned(), last_fence, fires })
    }

    /// The fires that an instance has taken ahead; those that have ended may be among them.
    pub fn ahead(&mut self, instance: &str) -> Result<Vec<AheadFire>> {
        let read = |row: AheadRow| {
            // A batch that nobody can read says of none of its fires that the fire has not begun.
            serde_json::from_str::<Vec<AheadFire>>(&row.fires).unwrap_or_else(|why| {
                log::warn!("fires taken ahead cannot be read, and count as begun instance={instance} error={why}");
                Vec::new()
            })
        };
        Ok(self.rows::<AheadRow>().with("instance", instance).list()?.into_iter().flat_map(read).collect())
    }

    /// Writes a first mark, for an instance that registers: nothing has begun.
    pub fn reset_begun(&mut self, owner: &Owner) -> Result<()> {
        self.forget_ahead(&owner.instance)?;
        let Owner { instance, incarnation } = owner.clone();
        self.insert(&BegunRow { instance, incarnation, ..BegunRow::default() })
    }

    /// The mark of an instance. With `closes` the mark is the last: the instance can begin nothing
    /// more that it has taken ahead.
    pub fn begun(&mut self, instance: &str, closes: bool) -> Result<Option<BeginMark>> {
        if closes {
            self.rows::<BegunRow>().with("instance", instance).set("closed", &true)?;
        }
        let mark = |row: BegunRow| BeginMark {
            number: row.mark_number,
            last: row.last_fence,
            waiting: BeginMark::waiting_of(&row.waiting),
        };
        Ok(self.row::<BegunRow>(instance)?.map(mark))
    }

    /// Forgets an instance's mark and all that the instance has taken ahead.
    pub fn forget_ahead(&mut self, instance: &str) -> Result<()> {
        self.rows::<AheadRow>().with("instance", instance).delete()?;
        self.rows::<BegunRow>().with("instance", instance).delete().map(drop)
    }
}
