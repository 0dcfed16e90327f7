//! The binary as its operators and clients meet it: commands, settings, keys, data, protocols, the sandbox.

#[path = "../common/mod.rs"]
mod common;

mod admin_socket;
mod child_process;
mod clock_steps;
mod commands;
mod data;
mod disk_faults;
mod events;
mod exam;
mod http2;
mod keys;
mod listen;
mod messages;
mod metrics;
mod postgres;
mod redis;
mod reload;
mod rust_exam;
mod rust_testing;
mod sandbox;
mod secrets;
mod setting_effects;
mod settings;
mod skips;
mod sync_order;
mod tls;
mod webhooks;
