//! Bosun's command line, which every adapter translates to.

use std::fmt::Display;

/// Bosun's command line, flag by flag.
#[derive(Debug, Default)]
pub(crate) struct RunFlags(Vec<String>);

impl RunFlags {
    /// Adds a flag without a value.
    pub(crate) fn set(&mut self, flag: &str) {
        self.0.push(flag.to_owned());
    }

    /// Adds a flag and its value, if there is one, as a single argument, so that no value can be taken for a flag.
    pub(crate) fn put(&mut self, flag: &str, value: Option<impl Display>) {
        self.0.extend(value.map(|value| format!("{flag}={value}")));
    }

    /// Adds a flag once for each value.
    pub(crate) fn put_each(&mut self, flag: &str, values: impl IntoIterator<Item = impl Display>) {
        self.0.extend(values.into_iter().map(|value| format!("{flag}={value}")));
    }

    pub(crate) fn into_args(self) -> Vec<String> {
        self.0
    }
}

/// Bosun's reasoning effort for that of an SDK family; `None` for a value that neither family has.
pub(crate) fn bosun_effort(value: &str) -> Option<&'static str> {
    match value {
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
    fn values_are_never_read_as_flags() {
        let mut flags = RunFlags::default();
        flags.put("--model", Some("--allow-all"));
        flags.put("--effort", bosun_effort("xhigh"));
        flags.put("--agents", None::<&str>);
        flags.put_each("--deny", ["a", "--plan"]);
        flags.set("--plan");
        assert_eq!(flags.into_args(), ["--model=--allow-all", "--effort=high", "--deny=a", "--deny=--plan", "--plan"]);
    }
}
