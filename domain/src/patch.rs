//! One field of a merge patch (RFC 7396), where absent and null are different things.

/// What a patch does to an optional field.
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

impl<T: Clone> Patch<T> {
    /// Does to `field` what the patch says.
    pub fn apply(&self, field: &mut Option<T>) {
        match self {
            Self::Keep => {}
            Self::Clear => *field = None,
            Self::Set(value) => *field = Some(value.clone()),
        }
    }
}
