//! The version of this build.

/// The version of the source code.
pub(crate) const NUMBER: &str = env!("CARGO_PKG_VERSION");

/// The commit that was built; `unknown` if there was no repository.
pub(crate) const COMMIT: &str = env!("BUILD_COMMIT");

/// The version and the commit, as `--version` prints them.
pub(crate) const LONG: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("BUILD_COMMIT"), ")");

/// The program's name and version, and its home if the workspace has an address, for the servers that it sends requests to.
pub(crate) fn user_agent() -> String {
    agent_of(env!("CARGO_PKG_REPOSITORY"))
}

fn agent_of(repository: &str) -> String {
    let name = format!("petstore/{NUMBER}");
    if repository.is_empty() { name } else { format!("{name} (+{repository})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_agent_names_the_home_only_if_there_is_one() {
        assert_eq!(agent_of(""), format!("petstore/{NUMBER}"));
        assert_eq!(
            agent_of("https://home.example/p"),
            format!("petstore/{NUMBER} (+https://home.example/p)")
        );
    }
}
