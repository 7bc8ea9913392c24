//! `IfStored`: the treatment of stored jobs and triggers whose keys new ones have.

#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum IfStored {
    Replace,
    Refuse,
    /// Nobody looks for them: a primary key refuses the work, and then somebody looks.
    Collide,
}

impl From<bool> for IfStored {
    fn from(replace: bool) -> Self {
        if replace { IfStored::Replace } else { IfStored::Refuse }
    }
}
