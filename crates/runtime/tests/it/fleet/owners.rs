//! A fleet goes on under another owner, and is stopped.
