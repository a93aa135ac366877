//! Web pages as text for a model: HTML becomes Markdown, other text stays as it is.
//!
//! Pages are untrusted input. Any bytes can be read, in time and memory proportional to their number, and result in
//! text.

mod charset;
mod element;
mod entities;
mod inline_marks;
mod markdown;
mod page_kind;
mod quote;
mod readable;
mod tables;
mod tags;
#[cfg(test)]
mod tests;
mod tokens;
mod writer;

pub(crate) use page_kind::{PageKind, page_kind};
pub(crate) use quote::quote;
pub(crate) use readable::{ReadablePage, read};
