//! The scopes of API keys.

/// The scopes that a key grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scopes {
    /// Reading: GET and HEAD.
    pub read: bool,
    /// Writing: every other method.
    pub write: bool,
}

impl Scopes {
    /// Both scopes: the default.
    pub const ALL: Self = Self { read: true, write: true };

    /// Parses a list such as `read,write`, with at least one scope.
    pub fn parse(list: &str) -> Option<Self> {
        let mut scopes = Self { read: false, write: false };
        for word in list.split([',', ' ']).filter(|word| !word.is_empty()) {
            match word {
                "read" => scopes.read = true,
                "write" => scopes.write = true,
                _ => return None,
            }
        }
        (scopes.read || scopes.write).then_some(scopes)
    }

    /// The list, as [`Scopes::parse`] takes it.
    pub const fn as_str(self) -> &'static str {
        match (self.read, self.write) {
            (true, true) => "read,write",
            (true, false) => "read",
            (false, true) => "write",
            (false, false) => "",
        }
    }

    /// Returns whether the key grants this scope.
    pub const fn permits(self, scope: Scope) -> bool {
        match scope {
            Scope::Read => self.read,
            Scope::Write => self.write,
        }
    }
}

/// One scope of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Reading.
    Read,
    /// Writing.
    Write,
}

impl Scope {
    /// The word in the list that [`Scopes::parse`] takes.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_and_written_as_a_list() {
        for list in ["read", "write", "read,write"] {
            assert_eq!(Scopes::parse(list).map(Scopes::as_str), Some(list));
        }
        for list in ["", ",", "admin", "read,admin"] {
            assert_eq!(Scopes::parse(list), None, "{list}");
        }
    }
}
