//! The records of one kind in a view.

/// Records, or their absence, sorted by their ids. An operation reads only two or three; a store may use a view for a whole
/// batch, whose records it adds in the order of their ids.
#[derive(Debug, Clone)]
pub(super) struct Loaded<K, V>(Vec<(K, Option<V>)>);

impl<K, V> Default for Loaded<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord, V> Loaded<K, V> {
    pub(super) fn entry(&self, key: &K) -> Option<&Option<V>> {
        let place = self.0.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
        Some(&self.0[place].1)
    }

    pub(super) fn value(&self, key: &K) -> Option<&V> {
        self.entry(key)?.as_ref()
    }

    pub(super) fn set(&mut self, key: K, value: Option<V>) {
        match self.0.binary_search_by(|(other, _)| other.cmp(&key)) {
            Ok(place) => self.0[place].1 = value,
            Err(place) => self.0.insert(place, (key, value)),
        }
    }
}
