//! Settings that differ between nodes.

use std::collections::BTreeMap;

/// A setting that has more than one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference<'n, N> {
    pub(crate) setting: &'n str,
    /// The values in their order, each with the nodes that have it.
    pub(crate) values: Vec<(&'n str, Vec<N>)>,
}

/// Compares the settings of nodes, each as `name=value`. A setting that a node does not have is not compared, because nodes
/// of two releases may run beside each other.
pub(crate) fn differences<'n, N: Copy>(
    nodes: impl IntoIterator<Item = (N, &'n [String])>,
) -> Vec<Difference<'n, N>> {
    let mut settings = BTreeMap::<&str, BTreeMap<&str, Vec<N>>>::new();
    for (node, of_node) in nodes {
        for (setting, value) in of_node.iter().filter_map(|one| one.split_once('=')) {
            settings.entry(setting).or_default().entry(value).or_default().push(node);
        }
    }
    let differing = settings.into_iter().filter(|(_, values)| values.len() > 1);
    differing.map(|(setting, values)| Difference { setting, values: values.into_iter().collect() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_with_two_values_differs_and_one_that_a_node_lacks_does_not() {
        let settings = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let (one, two) = (settings(&["a=1", "b=2", "c=x=y"]), settings(&["a=1", "b=3"]));
        let found = differences([(1, &*one), (2, &*two), (3, &*two)]);
        assert_eq!(found, [Difference { setting: "b", values: vec![("2", vec![1]), ("3", vec![2, 3])] }]);
        assert_eq!(differences([(1, &*one)]), []);
    }
}
