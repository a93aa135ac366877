//! The method table. The command line, the terminal UI and the adapters are all clients of it.

/// How calls of a method are ordered against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOrdering {
    /// Answered at once, in any order.
    Any,
    /// Applied one after the other, in the order they came, across all clients of the session.
    Session,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct MethodSpec {
    /// The method.
    pub method: Method,
    /// Its name on the wire.
    pub name: &'static str,
    /// How its calls are ordered.
    pub order: CallOrdering,
    /// What it is for, in one line.
    pub about: &'static str,
}

macro_rules! methods {
    ($($variant:ident, $name:literal, $order:ident, $about:literal;)*) => {
        /// A method of the API.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Method {
            $(#[doc = $about] $variant,)*
        }

        /// Every method, in the order the docs list them.
        pub const METHODS: &[MethodSpec] = &[
            $(MethodSpec { method: Method::$variant, name: $name, order: CallOrdering::$order, about: $about },)*
        ];
    };
}

methods! {
    SessionGet, "session.get", Any, "The session: its configuration, its owner and the state of its root.";
    SessionCommand, "session.command", Session, "Carries out a command of the user and returns its outcome.";
    SessionSend, "session.send", Session, "Sends a message to a task of the session, the root unless named.";
    SessionInterrupt, "session.interrupt", Session, "Stops the running turn; the session stays.";
    SessionStop, "session.stop", Session, "Stops every task and ends the run; the session can be resumed.";
    SessionFleetStart, "session.fleet.start", Session, "Experimental: has the root split a request into todos and run them as a fleet.";
    CommandsList, "commands.list", Any, "All slash commands: built in, from files, plugins and skills.";
    CommandsInvoke, "commands.invoke", Session, "Runs a slash command; a command for the model returns the prompt to send.";
    ModeGet, "mode.get", Any, "The session mode: interactive, plan or autopilot.";
    ModeSet, "mode.set", Session, "Changes the session mode.";
    PermissionSet, "permission.set", Session, "Changes the permission mode, as long as this process runs the session.";
    RulesSet, "rules.set", Session, "Adds and removes permission rules, as long as this process runs the session.";
    PlanRead, "plan.read", Any, "The session's plan, if it has one.";
    PlanUpdate, "plan.update", Session, "Replaces the plan.";
    PlanDelete, "plan.delete", Session, "Removes the plan.";
    ModelGet, "model.get", Any, "The model of the session's root.";
    ModelSet, "model.set", Session, "Changes the model from the next turn on.";
    AgentsList, "agents.list", Any, "The agents that may be started.";
    AgentsStart, "agents.start", Session, "Starts an agent in the background; its result reaches the root.";
    AgentGet, "agent.get", Any, "The agent definition that the root uses, if it is not the default one.";
    AgentSelect, "agent.select", Session, "Has the root use another agent definition, from its next activation on.";
    TasksList, "tasks.list", Any, "Every task of the session, oldest first, in pages.";
    TasksGet, "tasks.get", Any, "One task with everything its record holds: prompt, messages, turns, evidence.";
    TasksOutput, "tasks.output", Any, "A task's latest output, clipped.";
    TasksStop, "tasks.stop", Session, "Stops a task and everything below it, after a last turn or at once.";
    TasksPromote, "tasks.promote", Session, "Moves a task that the root waits for into the background.";
    TasksForget, "tasks.forget", Session, "Removes the record of a task that has ended.";
    ExternalTasksList, "externalTasks.list", Any, "The work that clients do themselves and report to the session.";
    ExternalTasksRegister, "externalTasks.register", Session, "Starts an external task, or reclaims one whose client is gone.";
    ExternalTasksUpdate, "externalTasks.update", Session, "Applies a client's update of its external task.";
    ExternalTasksOrphan, "externalTasks.orphan", Session, "Reports a closed connection; another one can reclaim its external tasks.";
    ExternalTasksForget, "externalTasks.forget", Session, "Removes the record of an external task that has ended.";
    TodosList, "todos.list", Any, "The todos of the session with their dependencies, in pages.";
    TodosAdd, "todos.add", Session, "Adds a todo to the session's graph.";
    TodosUpdate, "todos.update", Session, "Changes a todo: its text, its dependencies, its status.";
    TodosEdit, "todos.edit", Session, "Adds and changes several todos: all of them, or none.";
    AsksList, "asks.list", Any, "The asks that wait for a decision, oldest first.";
    AsksDecide, "asks.decide", Session, "Decides on one ask: allows or denies a call, or answers a question.";
    EventsSubscribe, "events.subscribe", Any, "The events after a sequence number, then each new one as it is committed.";
}

impl Method {
    /// Finds a method by its wire name.
    pub fn from_name(name: &str) -> Option<Method> {
        METHODS.iter().find(|spec| spec.name == name).map(|spec| spec.method)
    }

    /// The row of the table.
    pub fn spec(self) -> MethodSpec {
        METHODS[self as usize]
    }

    /// Whether it may change or be removed in any version.
    pub fn is_experimental(self) -> bool {
        matches!(self, Method::SessionFleetStart)
    }

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        self.spec().name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_found_by_its_name() {
        for spec in METHODS {
            assert_eq!(Method::from_name(spec.name), Some(spec.method));
            assert_eq!(spec.method.spec().name, spec.name);
            assert_eq!(spec.about.starts_with("Experimental: "), spec.method.is_experimental(), "{}", spec.name);
        }
        assert_eq!(Method::from_name("session.fly"), None);
    }
}
