//! One field of a merge patch (RFC 7396), where absent and null are different things.

/// The effect of a patch on an optional field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Patch<T> {
    /// Absent: the field stays as it is.
    #[default]
    Keep,
    /// Null: the field loses its value.
    Clear,
    /// A value: the field gets it.
    Set(T),
}

impl<T> From<Option<T>> for Patch<T> {
    /// Returns the patch after which a field has this value, or none.
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Clear, Self::Set)
    }
}

impl<T: Clone> Patch<T> {
    /// Applies the patch to `field`.
    pub fn apply(&self, field: &mut Option<T>) {
        match self {
            Self::Keep => {}
            Self::Clear => *field = None,
            Self::Set(value) => *field = Some(value.clone()),
        }
    }
}
