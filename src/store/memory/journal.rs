//! `Journaled`: a map that remembers what a transaction changed, so that it can be undone.

use std::borrow::Borrow;
use std::collections::BTreeMap;

/// A map whose changes since the last commit can be taken back.
#[derive(Clone, Debug)]
pub(super) struct Journaled<K, V> {
    rows: BTreeMap<K, V>,
    journal: Vec<(K, Option<V>)>,
}

impl<K, V> Default for Journaled<K, V> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), journal: Vec::new() }
    }
}

impl<K: Ord + Clone, V: Clone> Journaled<K, V> {
    pub(super) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.rows.get(key)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.rows.values()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.rows.keys()
    }

    pub(super) fn put(&mut self, key: K, value: V) {
        let old = self.rows.insert(key.clone(), value);
        self.journal.push((key, old));
    }

    pub(super) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let (key, old) = self.rows.remove_entry(key)?;
        self.journal.push((key, Some(old.clone())));
        Some(old)
    }

    /// Removes every row that `goes`; returns how many.
    pub(super) fn remove_if(&mut self, goes: impl Fn(&K, &V) -> bool) -> usize {
        let keys: Vec<K> = self.rows.iter().filter(|(k, v)| goes(k, v)).map(|(k, _)| k.clone()).collect();
        keys.iter().filter(|key| self.remove(*key).is_some()).count()
    }

    /// Changes a row in place, if it is there.
    pub(super) fn change<Q: Ord + ?Sized>(&mut self, key: &Q, change: impl FnOnce(&mut V)) -> bool
    where
        K: Borrow<Q>,
    {
        let Some((key, mut value)) = self.rows.get_key_value(key).map(|(k, v)| (k.clone(), v.clone())) else {
            return false;
        };
        change(&mut value);
        self.put(key, value);
        true
    }

    pub(super) fn commit(&mut self) {
        self.journal.clear();
    }

    pub(super) fn roll_back(&mut self) {
        while let Some((key, old)) = self.journal.pop() {
            match old {
                Some(value) => self.rows.insert(key, value),
                None => self.rows.remove(&key),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_transaction_did_is_undone_in_reverse() {
        let mut map = Journaled::default();
        map.put("a", 1);
        map.commit();
        map.put("a", 2);
        map.put("b", 3);
        map.change("b", |v| *v = 4);
        map.remove("a");
        map.put("a", 5);
        map.roll_back();
        assert_eq!((map.get("a"), map.get("b")), (Some(&1), None));
    }
}
