//! The filter of a query.

use petstore_domain::KeyPrefix;

use crate::record::{Hints, RequestRecord};

/// Selects records. Every condition that is set must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordFilter {
    /// One of these methods; empty for any.
    pub methods: Vec<String>,
    /// The template of the route, such as `/pets/{petId}`; none lets each route pass.
    pub route: Option<String>,
    /// One of these statuses; empty for any. A record without a status matches none.
    pub statuses: Vec<StatusFilter>,
    /// This prefix of the key.
    pub key: Option<KeyPrefix>,
    /// The request has a header of this name, in any case, with exactly this value.
    pub header: Option<(String, String)>,
    /// This text is a part of the target.
    pub target: Option<String>,
    /// This rule of the client report names the record.
    pub hint: Option<String>,
    /// The number of the record is greater than this.
    pub after: Option<u64>,
}

/// One status, or all statuses of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusFilter {
    /// This status.
    One(u16),
    /// The statuses whose first digit is this, such as `4xx`.
    Class(u16),
}

impl StatusFilter {
    /// Parses `404` or `4xx`.
    pub fn parse(text: &str) -> Option<Self> {
        match text.as_bytes() {
            [class @ b'1'..=b'5', b'x' | b'X', b'x' | b'X'] => Some(Self::Class(u16::from(class - b'0'))),
            [b'1'..=b'5', b'0'..=b'9', b'0'..=b'9'] => text.parse().ok().map(Self::One),
            _ => None,
        }
    }

    const fn admits(self, status: u16) -> bool {
        match self {
            Self::One(one) => status == one,
            Self::Class(class) => status / 100 == class,
        }
    }
}

impl RecordFilter {
    /// Returns `true` if the filter admits a record.
    pub fn admits(&self, record: &RequestRecord, hints: &Hints) -> bool {
        let request = &record.request;
        self.after.is_none_or(|after| record.sequence > after)
            && (self.methods.is_empty() || self.methods.iter().any(|method| **method == *request.method))
            && self.route.as_ref().is_none_or(|route| request.route == Some(route))
            && (self.statuses.is_empty()
                || record.status().is_some_and(|status| self.statuses.iter().any(|one| one.admits(status))))
            && self.key.is_none_or(|key| request.key_prefix == Some(key))
            && self.header.as_ref().is_none_or(|(name, value)| record.has_header(name, value))
            && self.target.as_ref().is_none_or(|part| request.target.contains(&**part))
            && self.hint.as_ref().is_none_or(|hint| hints.of(record.sequence).contains(&&**hint))
    }
}
