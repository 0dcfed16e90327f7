//! Versions of a resource, and preconditions on them (RFC 9110, section 13).

use std::num::NonZeroU64;

/// The version of one resource: 1 when it is created, and one more with each change of its representation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version(NonZeroU64);

impl Version {
    /// The version of a resource that has just been made.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// Takes a number from 1.
    pub fn new(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(Self)
    }

    /// The number, from 1.
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The version after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// A resource together with its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned<T> {
    /// The resource as it is in this version.
    pub value: T,
    /// The number of the version, which rises with each change that clients see.
    pub version: Version,
}

/// The caller's condition on the resource before it is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Precondition {
    /// The change applies to every version.
    None,
    /// No condition was stated, but the service requires one.
    Required,
    /// The resource exists (`If-Match: *`).
    Exists,
    /// The resource has one of these versions. The list is empty if the caller named only versions of other resources.
    AnyOf(Vec<Version>),
    /// The resource has none of these versions (`If-None-Match`).
    NoneOf(Vec<Version>),
    /// The resource does not exist (`If-None-Match: *`).
    Absent,
}

/// The reason why a precondition does not hold, with the current version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PreconditionError {
    /// The resource has none of the versions that the caller named.
    #[error("the resource has changed since it was read")]
    Failed {
        /// The version that it has.
        current: Version,
    },
    /// The resource has a version that it must not have.
    #[error("the resource has a version that the request excludes")]
    Excluded {
        /// The version that it has.
        current: Version,
    },
    /// The service demands a precondition and none was stated.
    #[error("the request must name the version that it changes")]
    Required {
        /// The version that it has.
        current: Version,
    },
}

impl Precondition {
    /// Checks the precondition against the version of an existing resource.
    pub fn check(&self, current: Version) -> Result<(), PreconditionError> {
        match self {
            Self::Required => Err(PreconditionError::Required { current }),
            Self::AnyOf(versions) if versions.contains(&current) => Ok(()),
            Self::AnyOf(_) => Err(PreconditionError::Failed { current }),
            Self::Absent => Err(PreconditionError::Excluded { current }),
            Self::NoneOf(versions) if versions.contains(&current) => {
                Err(PreconditionError::Excluded { current })
            }
            Self::None | Self::Exists | Self::NoneOf(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_precondition_meets_a_matching_and_another_version() {
        let (one, two) = (Version::FIRST, Version::FIRST.next());
        let failed = Err(PreconditionError::Failed { current: one });
        let cases = [
            (Precondition::None, Ok(())),
            (Precondition::Exists, Ok(())),
            (Precondition::Required, Err(PreconditionError::Required { current: one })),
            (Precondition::AnyOf(vec![two, one]), Ok(())),
            (Precondition::AnyOf(vec![two]), failed),
            (Precondition::AnyOf(vec![]), failed),
            (Precondition::Absent, Err(PreconditionError::Excluded { current: one })),
            (Precondition::NoneOf(vec![]), Ok(())),
            (Precondition::NoneOf(vec![two]), Ok(())),
            (Precondition::NoneOf(vec![two, one]), Err(PreconditionError::Excluded { current: one })),
        ];
        for (precondition, expected) in cases {
            assert_eq!(precondition.check(one), expected, "{precondition:?}");
        }
    }
}
