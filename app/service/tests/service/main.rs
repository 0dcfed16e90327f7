//! The service over mocks and over the memory store.

mod bans;
mod deadlines;
mod dispatch;
mod future_sizes;
mod orchestration;
mod quota_outage;
mod support;
