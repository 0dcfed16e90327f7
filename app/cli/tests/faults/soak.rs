//! A long run.
