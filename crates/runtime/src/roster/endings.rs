//! How the activations of a task ended, oldest first. Nearly every task has exactly one ending, so memory for one is
//! reserved exactly: a session may have thousands of tasks.

use protocol::Activation;

use super::ActivationEnding;

/// The endings of one task, by activation.
#[derive(Debug, Clone, Default)]
pub(crate) struct ActivationEndings(Vec<(Activation, ActivationEnding)>);

impl ActivationEndings {
    /// How an activation ended.
    pub(crate) fn get(&self, activation: &Activation) -> Option<&ActivationEnding> {
        let index = self.0.binary_search_by_key(activation, |(ended, _)| *ended).ok()?;
        self.0.get(index).map(|(_, ending)| ending)
    }

    /// The latest ending.
    pub(crate) fn last_key_value(&self) -> Option<(&Activation, &ActivationEnding)> {
        self.0.last().map(|(activation, ending)| (activation, ending))
    }

    pub(super) fn insert(&mut self, activation: Activation, ending: ActivationEnding) {
        match self.0.binary_search_by_key(&activation, |(ended, _)| *ended) {
            Ok(index) => self.0[index].1 = ending,
            Err(index) => {
                if self.0.is_empty() {
                    self.0.reserve_exact(1);
                }
                self.0.insert(index, (activation, ending));
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Activation, &ActivationEnding)> {
        self.0.iter().map(|(activation, ending)| (activation, ending))
    }
}
