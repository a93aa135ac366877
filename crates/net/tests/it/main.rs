//! Asking servers.
