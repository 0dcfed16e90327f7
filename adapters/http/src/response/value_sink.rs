//! A destination for the values of a response's headers.

use crate::response::deprecation::push_deprecated_links;
use crate::response::quota_headers::{QuotaNote, QuotaShape};
use crate::wire::route::Resource;

/// Takes the name and the value of each header, in order.
pub(crate) trait ValueSink: Sized {
    fn put(&mut self, name: &'static str, write: impl FnOnce(&mut Vec<u8>));

    /// Takes the values of the quota headers.
    fn put_quota(&mut self, quota: &QuotaNote, shape: &QuotaShape) {
        quota.put(shape, self);
    }

    /// Takes the links of a deprecated operation.
    fn put_links(&mut self, resource: Resource, base_path: &str) {
        self.put("link", |out| push_deprecated_links(out, resource, base_path));
    }
}
