//! A destination for the values of a response's headers.

/// Takes the name and the value of each header, in order.
pub(crate) trait ValueSink {
    fn put(&mut self, name: &'static str, write: impl FnOnce(&mut Vec<u8>));
}
