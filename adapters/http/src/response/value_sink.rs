//! A destination for the values of a response's headers.

/// Takes the name and the value of each header, in order.
pub(crate) trait ValueSink {
    /// `start`: the name with the colon and the space after it, which are copied into a line in one step.
    fn put(&mut self, start: &'static str, write: impl FnOnce(&mut Vec<u8>));
}
