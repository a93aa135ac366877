//! The work of a run's agents: some run commands, some wait for their own agents, some are idle until they get a
//! message, some queue. Ten agents make a group, and every agent does the same in every run.

use std::collections::BTreeSet;
use std::fmt::Write;

/// The script rules of agents below the root.
const AGENT_RULES: &str = include_str!("agents.yaml");

/// The agents of a group below the root, with the shell calls that each makes.
const GROUP_AGENTS: [(&str, &[&str]); 10] = [
    ("front-N", &["one"]),
    ("shell-N", &["one", "two", "three"]),
    ("tree-N", &["one"]),
    ("tree-N/a", &["one"]),
    ("tree-N/a/deep", &["one"]),
    ("tree-N/b", &[]),
    ("tree-N/b/x", &["one"]),
    ("tree-N/b/y", &[]),
    ("idle-N", &["one"]),
    ("talk-N", &[]),
];

/// The work of a run's agents.
#[derive(Debug, Clone, Copy)]
pub(super) struct Workload {
    groups: usize,
}

impl Workload {
    /// The prompt of every run.
    pub(super) const PROMPT: &str = "share the work";

    /// The root's final answer.
    pub(super) const ANSWER: &str = "All heard.";

    /// The agent that the root stops. It is not among those that must not be lost.
    pub(super) const STOPPED_AGENT: &str = "/root/doomed";

    /// A workload of at least this many agents.
    pub(super) fn of(agents: u32) -> Workload {
        Workload { groups: (agents as usize).div_ceil(GROUP_AGENTS.len()).max(1) }
    }

    /// The number of agents that must not be lost.
    pub(super) fn agents(self) -> u32 {
        u32::try_from(self.groups * GROUP_AGENTS.len()).unwrap_or(u32::MAX)
    }

    /// Their paths with their expected final answers.
    pub(super) fn expected(self) -> impl Iterator<Item = (String, String)> {
        self.members().map(|(path, _)| (path.clone(), format!("Done by {path}.")))
    }

    /// The shell calls that append a line to the witness file, by path and call.
    pub(super) fn witnessed_calls(self) -> BTreeSet<(String, String)> {
        let calls_of =
            |(path, calls): (String, &'static [&str])| calls.iter().map(move |call| (path.clone(), (*call).into()));
        self.members().flat_map(calls_of).collect()
    }

    fn members(self) -> impl Iterator<Item = (String, &'static [&'static str])> {
        let group = |n: usize| {
            GROUP_AGENTS
                .iter()
                .map(move |(name, calls)| (format!("/root/{}", name.replace('N', &n.to_string())), *calls))
        };
        (0..self.groups).flat_map(group)
    }

    /// The script of the scripted model.
    pub(super) fn script(self) -> String {
        let mut script = "version: 1\nabout: What the agents of a self-test do\nrules:\n".to_owned();
        script.push_str("  - when: { path: /root, turn: 1 }\n    answer:\n");
        for n in 0..self.groups {
            for (name, mode) in [
                ("front", "sync"),
                ("shell", "background"),
                ("tree", "background"),
                ("idle", "background"),
                ("talk", "background"),
            ] {
                add_task_call(&mut script, &format!("{name}-{n}"), mode);
            }
        }
        add_task_call(&mut script, "doomed", "background");
        let idle: Vec<String> = (0..self.groups).map(|n| format!("idle-{n}")).collect();
        script.push_str("  - when: { path: /root, turn: 3 }\n    answer:\n");
        add_call(
            &mut script,
            &format!("tool: write_agent, input: {{ to: [{}], message: once more }}", idle.join(", ")),
        );
        add_call(&mut script, "tool: stop_agent, input: { agent: doomed, now: true }");
        script + AGENT_RULES
    }
}

fn add_task_call(script: &mut String, name: &str, mode: &str) {
    let input =
        format!("description: a part, prompt: do your part, agent_type: general-purpose, name: {name}, mode: {mode}");
    add_call(script, &format!("tool: task, input: {{ {input} }}"));
}

fn add_call(script: &mut String, call: &str) {
    // Writing to a text cannot fail.
    let _written = writeln!(script, "      - call: {{ {call} }}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_is_valid_and_has_the_expected_agents() {
        let workload = Workload::of(43);
        model::ScriptModel::parse(&workload.script(), "selftest.yaml").unwrap();
        assert_eq!((workload.agents(), workload.expected().count()), (50, 50));
        assert!(workload.witnessed_calls().contains(&("/root/tree-4/a/deep".into(), "one".into())));
    }
}
