//! `Roll`: the listeners of one kind, which may change while they are told.

use super::guarded;
use crate::matcher::KeyMatcher;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A listener and whose events it hears.
pub(crate) struct Entry<L: ?Sized> {
    pub(crate) name: Arc<str>,
    pub(crate) matcher: KeyMatcher,
    pub(crate) listener: Arc<L>,
}

/// Listeners of one kind, each under its name, in the order in which they were added.
///
/// A call of all listeners sees the list as it was before, since a listener may add and remove
/// listeners.
pub(crate) struct Roll<L: ?Sized> {
    entries: RwLock<Arc<Vec<Entry<L>>>>,
    /// The number of listeners: most schedulers have none, and look no further.
    count: AtomicUsize,
}

impl<L: ?Sized> Default for Roll<L> {
    fn default() -> Self {
        Self { entries: RwLock::default(), count: AtomicUsize::new(0) }
    }
}

impl<L: ?Sized> Clone for Entry<L> {
    fn clone(&self) -> Self {
        Self { name: Arc::clone(&self.name), matcher: self.matcher.clone(), listener: Arc::clone(&self.listener) }
    }
}

impl<L: ?Sized> Roll<L> {
    /// True if nobody listens.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    /// The present listeners.
    pub(crate) fn now(&self) -> Arc<Vec<Entry<L>>> {
        Arc::clone(&self.entries.read())
    }

    /// Adds a listener, or puts it in the place of the one of its name.
    pub(crate) fn add(&self, matcher: KeyMatcher, listener: Arc<L>, name: impl FnOnce(&L) -> String) {
        let name: Arc<str> = guarded(|| name(&listener)).unwrap_or_else(|_| "?".to_owned()).into();
        let entry = Entry { name, matcher, listener };
        self.change(|entries| match entries.iter_mut().find(|known| known.name == entry.name) {
            Some(known) => *known = entry,
            None => entries.push(entry),
        });
    }

    /// Takes the listener of this name away; returns whether there was one.
    pub(crate) fn remove(&self, name: &str) -> bool {
        self.change(|entries| {
            let before = entries.len();
            entries.retain(|entry| &*entry.name != name);
            entries.len() < before
        })
    }

    /// Sets whose events the listener of this name hears; returns whether there is one.
    pub(crate) fn set_matcher(&self, name: &str, matcher: KeyMatcher) -> bool {
        self.change(|entries| match entries.iter_mut().find(|entry| &*entry.name == name) {
            Some(entry) => {
                entry.matcher = matcher;
                true
            }
            None => false,
        })
    }

    /// The events that the listener of this name hears.
    pub(crate) fn matcher(&self, name: &str) -> Option<KeyMatcher> {
        self.now().iter().find(|entry| &*entry.name == name).map(|entry| entry.matcher.clone())
    }

    /// The names, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.now().iter().map(|entry| entry.name.to_string()).collect()
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<Entry<L>>) -> T) -> T {
        let mut entries = self.entries.write();
        let mut next = Vec::clone(&entries);
        let answer = change(&mut next);
        self.count.store(next.len(), Ordering::SeqCst);
        let before = std::mem::replace(&mut *entries, Arc::new(next));
        drop(entries);
        // A listener that is dropped with it is code of the application, which may ask for these.
        drop(before);
        answer
    }
}
