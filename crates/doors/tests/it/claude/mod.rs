//! The door of the Claude SDKs.
