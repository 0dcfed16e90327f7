//! The settings that should be the same on all nodes of a shop.

use super::table::{key, table};
use super::{InForce, ON_ALL_NODES};

/// Returns the settings that should be the same on all nodes, each as `name=value`.
pub(crate) fn shared(in_force: &[InForce]) -> Vec<String> {
    let mut table = table();
    // Only a table that is built knows the members of its groups.
    table.build();
    let group = table.get_groups().find(|group| group.get_id() == ON_ALL_NODES).expect("the table has it");
    let members: Vec<_> = group.get_args().collect();
    let shared: Vec<_> =
        table.get_arguments().filter(|setting| members.contains(&setting.get_id())).map(key).collect();
    let in_force = in_force.iter().filter(|setting| shared.contains(&setting.key.as_str()));
    in_force.map(|setting| format!("{}={}", setting.key, setting.shown())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_all_nodes_are_marked_in_the_table_and_those_of_a_machine_are_not() {
        let table = table();
        let of = |value: &str| {
            let of = |setting| InForce {
                key: key(setting).to_owned(),
                value: Some(value.to_owned()),
                origin: "a test".to_owned(),
            };
            table.get_arguments().map(of).collect::<Vec<_>>()
        };
        let shared = shared(&of("1"));
        for name in ["base-path", "redis-url", "quota-fallback", "ban-length", "webhook-starts"] {
            assert!(shared.contains(&format!("{name}=1")), "{name}: {shared:?}");
        }
        for name in ["listen", "db", "tls-key", "db-password-file", "redis-password-file", "webhook-key-file"]
        {
            assert!(!shared.contains(&format!("{name}=1")), "{name}: {shared:?}");
        }
    }

    #[test]
    fn several_of_them_may_be_set() {
        let flags = ["settings", "--base-path=/v2", "--overlap=2h"];
        assert!(table().try_get_matches_from(flags).is_ok());
    }
}
