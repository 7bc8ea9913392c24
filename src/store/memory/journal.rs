//! `Journaled`: a map that remembers what a transaction changed, so that it can be undone, and keeps its index in step.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is kept beside the rows of a map so that they are found by something else than their key.
///
/// It is told of every change, also of those that a rollback takes back, so that it cannot differ from the rows.
pub(super) trait Index<K, V>: Default {
    /// A row is there now.
    fn enter(&mut self, key: &K, row: &Arc<V>);
    /// A row, as it was entered, is there no longer.
    fn leave(&mut self, key: &K, row: &V);
}

/// Nothing is looked for but by key.
impl<K, V> Index<K, V> for () {
    fn enter(&mut self, _: &K, _: &Arc<V>) {}
    fn leave(&mut self, _: &K, _: &V) {}
}

/// A map whose changes since the last commit can be taken back.
///
/// Rows are shared and never changed in place: the journal keeps the row that was there, and copies none.
#[derive(Debug)]
pub(super) struct Journaled<K, V, I = ()> {
    rows: BTreeMap<K, Arc<V>>,
    journal: Vec<(K, Option<Arc<V>>)>,
    index: I,
}

impl<K, V, I: Default> Default for Journaled<K, V, I> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), journal: Vec::new(), index: I::default() }
    }
}

impl<K: Ord + Clone, V: Clone, I: Index<K, V>> Journaled<K, V, I> {
    pub(super) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.rows.get(key).map(|row| &**row)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.rows.values().map(|row| &**row)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.rows.keys()
    }

    /// What finds rows by something else than their key.
    pub(super) fn index(&self) -> &I {
        &self.index
    }

    pub(super) fn put(&mut self, key: K, value: V) {
        let old = self.set(key.clone(), Arc::new(value));
        self.journal.push((key, old));
    }

    /// The old row leaves the index before the new one enters it: both may have the same place there.
    fn set(&mut self, key: K, value: Arc<V>) -> Option<Arc<V>> {
        let old = self.rows.insert(key.clone(), Arc::clone(&value));
        if let Some(old) = &old {
            self.index.leave(&key, old);
        }
        self.index.enter(&key, &value);
        old
    }

    pub(super) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
    {
        let (key, old) = self.rows.remove_entry(key)?;
        self.index.leave(&key, &old);
        self.journal.push((key, Some(Arc::clone(&old))));
        Some(old)
    }

    /// Removes every row that `goes`; returns how many.
    pub(super) fn remove_if(&mut self, goes: impl Fn(&K, &V) -> bool) -> usize {
        let keys: Vec<K> = self.rows.iter().filter(|(k, v)| goes(k, v)).map(|(k, _)| k.clone()).collect();
        keys.iter().filter(|key| self.remove(*key).is_some()).count()
    }

    /// Changes a row, if it is there.
    pub(super) fn change<Q: Ord + ?Sized>(&mut self, key: &Q, change: impl FnOnce(&mut V)) -> bool
    where
        K: Borrow<Q>,
    {
        let Some((key, row)) = self.rows.get_key_value(key) else { return false };
        let (key, mut value) = (key.clone(), V::clone(row));
        change(&mut value);
        self.put(key, value);
        true
    }

    pub(super) fn commit(&mut self) {
        self.journal.clear();
    }

    pub(super) fn roll_back(&mut self) {
        while let Some((key, old)) = self.journal.pop() {
            if let Some(value) = old {
                self.set(key, value);
            } else if let Some(undone) = self.rows.remove(&key) {
                self.index.leave(&key, &undone);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many rows there are of each value.
    #[derive(Default)]
    struct Counts(BTreeMap<i32, usize>);
    impl Index<&'static str, i32> for Counts {
        fn enter(&mut self, _: &&'static str, row: &Arc<i32>) {
            *self.0.entry(**row).or_default() += 1;
        }
        fn leave(&mut self, _: &&'static str, row: &i32) {
            *self.0.get_mut(row).unwrap() -= 1;
            self.0.retain(|_, count| *count > 0);
        }
    }

    #[test]
    fn what_a_transaction_did_is_undone_in_reverse() {
        let mut map: Journaled<&str, i32, Counts> = Journaled::default();
        map.put("a", 1);
        map.commit();
        map.put("a", 2);
        map.put("b", 3);
        map.change("b", |v| *v = 4);
        map.remove("a");
        map.put("a", 5);
        assert_eq!(map.index().0, BTreeMap::from([(4, 1), (5, 1)]));
        map.roll_back();
        assert_eq!((map.get("a"), map.get("b")), (Some(&1), None));
        assert_eq!(map.index().0, BTreeMap::from([(1, 1)]), "the index goes back with the rows");
    }
}
