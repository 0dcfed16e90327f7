//! The scopes of API keys.

/// The scopes that a key grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scopes {
    /// Reading: GET and HEAD.
    pub read: bool,
    /// Writing: every other method.
    pub write: bool,
    /// Webhooks: every method on them. Their addresses and the answers of receivers are for those keys alone.
    pub webhooks: bool,
}

impl Scopes {
    /// Reading and writing: the default.
    pub const DEFAULT: Self = Self { read: true, write: true, webhooks: false };

    /// Reading, writing and webhooks.
    pub const ALL: Self = Self { read: true, write: true, webhooks: true };

    /// Parses a list such as `read,write`, with at least one scope.
    pub fn parse(list: &str) -> Option<Self> {
        let mut scopes = Self { read: false, write: false, webhooks: false };
        for word in list.split([',', ' ']).filter(|word| !word.is_empty()) {
            match word {
                "read" => scopes.read = true,
                "write" => scopes.write = true,
                "webhooks" => scopes.webhooks = true,
                _ => return None,
            }
        }
        (scopes.read || scopes.write || scopes.webhooks).then_some(scopes)
    }

    /// The list, as [`Scopes::parse`] takes it.
    pub const fn as_str(self) -> &'static str {
        match (self.read, self.write, self.webhooks) {
            (true, true, true) => "read,write,webhooks",
            (true, true, false) => "read,write",
            (true, false, true) => "read,webhooks",
            (true, false, false) => "read",
            (false, true, true) => "write,webhooks",
            (false, true, false) => "write",
            (false, false, true) => "webhooks",
            (false, false, false) => "",
        }
    }

    /// Returns whether the key grants this scope.
    pub const fn permits(self, scope: Scope) -> bool {
        match scope {
            Scope::Read => self.read,
            Scope::Write => self.write,
            Scope::Webhooks => self.webhooks,
        }
    }
}

/// One scope of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Reads of pets, categories, orders, the inventory and events.
    Read,
    /// Changes of pets, categories, orders and the inventory.
    Write,
    /// Reads and changes of the webhooks of the account, and their secrets.
    Webhooks,
}

impl Scope {
    /// The word in the list that [`Scopes::parse`] takes.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Webhooks => "webhooks",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_and_written_as_a_list() {
        let lists = [
            "read",
            "write",
            "webhooks",
            "read,write",
            "read,webhooks",
            "write,webhooks",
            "read,write,webhooks",
        ];
        for list in lists {
            assert_eq!(Scopes::parse(list).map(Scopes::as_str), Some(list));
        }
        for list in ["", ",", "admin", "read,admin"] {
            assert_eq!(Scopes::parse(list), None, "{list}");
        }
    }
}
