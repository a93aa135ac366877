//! A page of the web as text for a model: HTML becomes Markdown, everything else that is text stays as it is.
//!
//! Pages are written by strangers. Whatever the bytes are, reading them takes time and memory in proportion to their
//! number, and gives text.

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
