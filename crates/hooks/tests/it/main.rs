//! Hooks as files have them, and as they run.

mod commands;
mod files;
mod http;
mod said;
mod support;
