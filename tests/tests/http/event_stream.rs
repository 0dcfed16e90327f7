//! The event stream: its frames, its ends, its bounds, and resumption after a cut.
//!
//! Most tests run in simulated time: comments, bookmarks and ends come when all tasks wait.

mod bounds;
mod ends;
mod frames;
mod parser;
mod resume;
mod simulated;
