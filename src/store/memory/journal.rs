//! `Journaled`: a map that remembers what a transaction changed, so that it can be undone, and
//! keeps its index in step.

use crate::hash::HashMap;
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::Arc;

/// An index of the rows of a map, which finds them by something else than their key.
///
/// The index is told of every change, also of those that a rollback takes back, so that it cannot
/// differ from the rows.
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

/// The rows of a map: in the order of their keys, or, where every fire comes and goes, in none.
pub(super) trait Rows<K, V>: Default {
    fn get<Q: Ord + Hash + ?Sized>(&self, key: &Q) -> Option<(&K, &Arc<V>)>
    where
        K: Borrow<Q>;
    fn insert(&mut self, key: K, row: Arc<V>) -> Option<Arc<V>>;
    fn remove<Q: Ord + Hash + ?Sized>(&mut self, key: &Q) -> Option<(K, Arc<V>)>
    where
        K: Borrow<Q>;
    fn iter<'a>(&'a self) -> impl Iterator<Item = (&'a K, &'a Arc<V>)>
    where
        K: 'a,
        V: 'a;
}

macro_rules! rows {
    ($map:ident) => {
        impl<K: Ord + Hash, V> Rows<K, V> for $map<K, Arc<V>> {
            fn get<Q: Ord + Hash + ?Sized>(&self, key: &Q) -> Option<(&K, &Arc<V>)>
            where
                K: Borrow<Q>,
            {
                self.get_key_value(key)
            }

            fn insert(&mut self, key: K, row: Arc<V>) -> Option<Arc<V>> {
                $map::insert(self, key, row)
            }

            fn remove<Q: Ord + Hash + ?Sized>(&mut self, key: &Q) -> Option<(K, Arc<V>)>
            where
                K: Borrow<Q>,
            {
                self.remove_entry(key)
            }

            fn iter<'a>(&'a self) -> impl Iterator<Item = (&'a K, &'a Arc<V>)>
            where
                K: 'a,
                V: 'a,
            {
                $map::iter(self)
            }
        }
    };
}
rows!(BTreeMap);
rows!(HashMap);

/// A map whose changes since the last commit can be taken back.
///
/// Rows are shared and never changed in place: the journal keeps the row that was there, and copies
/// none.
#[derive(Clone, Debug)]
pub(super) struct Journaled<K, V, I = (), R = BTreeMap<K, Arc<V>>> {
    rows: R,
    journal: Vec<(K, Option<Arc<V>>)>,
    /// The index, which finds rows by something else than their key.
    pub(super) index: I,
}

/// One whose rows are in no order.
pub(super) type Unordered<K, V, I = ()> = Journaled<K, V, I, HashMap<K, Arc<V>>>;

impl<K, V, I: Default, R: Default> Default for Journaled<K, V, I, R> {
    fn default() -> Self {
        Self { rows: R::default(), journal: Vec::new(), index: I::default() }
    }
}

impl<K: Ord + Hash + Clone, V: Clone, I: Index<K, V>, R: Rows<K, V>> Journaled<K, V, I, R> {
    pub(super) fn get<Q: Ord + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.shared(key).map(|row| &**row)
    }

    /// A row as it is shared with whoever reads it.
    pub(super) fn shared<Q: Ord + Hash + ?Sized>(&self, key: &Q) -> Option<&Arc<V>>
    where
        K: Borrow<Q>,
    {
        self.rows.get(key).map(|(_, row)| row)
    }

    pub(super) fn values<'a>(&'a self) -> impl Iterator<Item = &'a V>
    where
        K: 'a,
    {
        self.rows.iter().map(|(_, row)| &**row)
    }

    pub(super) fn keys<'a>(&'a self) -> impl Iterator<Item = &'a K>
    where
        V: 'a,
    {
        self.rows.iter().map(|(key, _)| key)
    }

    pub(super) fn put(&mut self, key: K, value: V) {
        let old = self.set(&key, Arc::new(value));
        self.journal.push((key, old));
    }

    /// The old row leaves the index before the new one enters it: both may have the same place
    /// there.
    fn set(&mut self, key: &K, value: Arc<V>) -> Option<Arc<V>> {
        let old = self.rows.insert(key.clone(), Arc::clone(&value));
        if let Some(old) = &old {
            self.index.leave(key, old);
        }
        self.index.enter(key, &value);
        old
    }

    pub(super) fn remove<Q: Ord + Hash + ?Sized>(&mut self, key: &Q) -> Option<(&K, Arc<V>)>
    where
        K: Borrow<Q>,
    {
        let (key, old) = self.rows.remove(key)?;
        self.index.leave(&key, &old);
        self.journal.push((key, Some(Arc::clone(&old))));
        self.journal.last().map(|(key, _)| (key, old))
    }

    /// Changes a row, if it is there.
    pub(super) fn change<Q: Ord + Hash + ?Sized>(&mut self, key: &Q, change: impl FnOnce(&mut V)) -> bool
    where
        K: Borrow<Q>,
    {
        let Some((key, row)) = self.rows.get(key) else { return false };
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
                self.set(&key, value);
            } else if let Some((_, undone)) = self.rows.remove(&key) {
                self.index.leave(&key, &undone);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of rows of each value.
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
        assert_eq!(map.index.0, BTreeMap::from([(4, 1), (5, 1)]));
        map.roll_back();
        assert_eq!((map.get("a"), map.get("b")), (Some(&1), None));
        assert_eq!(map.index.0, BTreeMap::from([(1, 1)]), "the index goes back with the rows");
    }
}
