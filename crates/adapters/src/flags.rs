//! Our own command line, which every adapter translates to.

use std::fmt::Display;

/// Our own command line, flag by flag.
#[derive(Debug, Default)]
pub(crate) struct RunFlags(Vec<String>);

impl RunFlags {
    /// A flag that stands alone.
    pub(crate) fn set(&mut self, flag: &str) {
        self.0.push(flag.to_owned());
    }

    /// A flag and its value in one word, so that no value can be taken for a flag; nothing without a value.
    pub(crate) fn put(&mut self, flag: &str, value: Option<impl Display>) {
        self.0.extend(value.map(|value| format!("{flag}={value}")));
    }

    /// The same for each of several values.
    pub(crate) fn each(&mut self, flag: &str, values: impl IntoIterator<Item = impl Display>) {
        self.0.extend(values.into_iter().map(|value| format!("{flag}={value}")));
    }

    pub(crate) fn into_args(self) -> Vec<String> {
        self.0
    }
}

/// How hard a model should think, in our word; nothing for a word that neither family has.
pub(crate) fn effort(word: &str) -> Option<&'static str> {
    match word {
        "low" | "minimal" => Some("low"),
        "medium" => Some("medium"),
        "high" | "xhigh" | "max" => Some("high"),
        _other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_never_a_flag_of_its_own() {
        let mut flags = RunFlags::default();
        flags.put("--model", Some("--allow-all"));
        flags.put("--effort", effort("xhigh"));
        flags.put("--agents", None::<&str>);
        flags.each("--deny", ["a", "--plan"]);
        flags.set("--plan");
        assert_eq!(flags.into_args(), ["--model=--allow-all", "--effort=high", "--deny=a", "--deny=--plan", "--plan"]);
    }
}
