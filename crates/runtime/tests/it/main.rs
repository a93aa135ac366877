//! Sessions in this process with scripted models: messages, calls, answers, storage and resumption.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

extern crate bosun_runtime as runtime;

mod agents;
mod answers;
mod api;
mod asks;
mod authority;
mod budgets;
mod calls;
mod cancel;
mod commands;
mod commits;
mod compaction;
mod disk;
mod events;
mod extensions;
mod external_tasks;
mod failures;
mod governor;
mod graphs;
mod hooks;
mod isolation;
mod mail;
mod modes;
mod outages;
mod owners;
mod pages;
mod permissions;
mod processes;
mod projections;
mod questions;
mod quota;
mod races;
mod repeats;
mod secrets;
mod shells;
mod slash;
mod storm;
mod suggestions;
mod support;
mod titles;
mod watch;
