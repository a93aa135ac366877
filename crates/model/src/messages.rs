//! The messages of a conversation, shared by all requests of the conversation.
//!
//! A turn adds two messages to a conversation of any length. Information that a request needs about all messages is a
//! [`MessageFold`], which is cached with them and processes only new ones, so that the cost of a turn does not grow
//! with the number of turns.

use std::any::{Any, TypeId};
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ModelMessage;

/// The messages of a conversation, oldest first. A clone shares them.
#[derive(Clone, Default)]
pub struct Messages(Arc<SharedMessages>);

#[derive(Default)]
struct SharedMessages {
    list: Vec<ModelMessage>,
    folds: Mutex<Vec<CachedFold>>,
}

/// A value computed from the messages of a conversation, one after the other.
pub trait MessageFold: Default + Send + 'static {
    /// Adds the next message, with its index `at`.
    fn add(&mut self, at: usize, message: &ModelMessage);
}

/// A fold, and the number of messages it includes.
struct CachedFold {
    fold_type: TypeId,
    count: usize,
    fold: Box<dyn Any + Send>,
}

impl Messages {
    /// Adds a message. The list is copied only while a request that shares it is alive.
    pub fn push(&mut self, message: ModelMessage) {
        self.make_mut().list.push(message);
    }

    /// Edits the messages, and discards their folds.
    pub fn edit<T>(&mut self, change: impl FnOnce(&mut Vec<ModelMessage>) -> T) -> T {
        let own = self.make_mut();
        own.folds.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        change(&mut own.list)
    }

    /// Passes a fold of all messages to `read`. Only messages added since the last call are processed.
    pub fn fold<F: MessageFold, T>(&self, read: impl FnOnce(&F) -> T) -> T {
        let mut folds = self.0.folds.lock().unwrap_or_else(PoisonError::into_inner);
        let of = TypeId::of::<F>();
        let at = folds.iter().position(|cached| cached.fold_type == of).unwrap_or_else(|| {
            folds.push(CachedFold { fold_type: of, count: 0, fold: Box::new(F::default()) });
            folds.len() - 1
        });
        let cached = folds.get_mut(at).and_then(|cached| Some((&mut cached.count, cached.fold.downcast_mut::<F>()?)));
        let mut fresh = (0, F::default());
        // The box always holds the type of its type id.
        let (count, fold) = cached.unwrap_or((&mut fresh.0, &mut fresh.1));
        for (at, message) in self.0.list.iter().enumerate().skip(*count) {
            fold.add(at, message);
        }
        *count = self.0.list.len();
        read(fold)
    }

    fn make_mut(&mut self) -> &mut SharedMessages {
        Arc::make_mut(&mut self.0)
    }
}

impl Clone for SharedMessages {
    /// Copies the messages; folds are recomputed on use.
    fn clone(&self) -> SharedMessages {
        SharedMessages { list: self.list.clone(), folds: Mutex::default() }
    }
}

impl Deref for Messages {
    type Target = [ModelMessage];

    fn deref(&self) -> &[ModelMessage] {
        &self.0.list
    }
}

impl From<Vec<ModelMessage>> for Messages {
    fn from(list: Vec<ModelMessage>) -> Messages {
        Messages(Arc::new(SharedMessages { list, folds: Mutex::default() }))
    }
}

impl PartialEq for Messages {
    fn eq(&self, other: &Messages) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || **self == **other
    }
}

impl Eq for Messages {}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static VISITS: Cell<usize> = const { Cell::new(0) };
    }

    #[derive(Default)]
    struct Counted(usize);

    impl MessageFold for Counted {
        fn add(&mut self, at: usize, _message: &ModelMessage) {
            assert_eq!(at, self.0);
            self.0 += 1;
            VISITS.set(VISITS.get() + 1);
        }
    }

    fn count(messages: &Messages) -> usize {
        messages.fold(|counted: &Counted| counted.0)
    }

    #[test]
    fn a_fold_processes_each_message_once() {
        let mut messages = Messages::default();
        for n in 1..=1_000 {
            messages.push(ModelMessage::user("a"));
            let request = messages.clone();
            assert_eq!((count(&messages), count(&request)), (n, n));
        }
        assert_eq!(VISITS.get(), 1_000);
    }

    #[test]
    fn edited_messages_are_folded_again_and_clones_are_unchanged() {
        let mut messages = Messages::from(vec![ModelMessage::user("a"), ModelMessage::user("b")]);
        let request = messages.clone();
        assert_eq!(count(&messages), 2);
        messages.edit(|list| list.remove(0));
        messages.push(ModelMessage::user("c"));
        assert_eq!((count(&messages), count(&request)), (2, 2));
        assert_eq!(*messages, [ModelMessage::user("b"), ModelMessage::user("c")]);
        assert_eq!(*request, [ModelMessage::user("a"), ModelMessage::user("b")]);
        assert_ne!(messages, request);
    }
}
