//! What the Copilot SDKs know of orchestration: agents, tasks, modes, plans and todos.

use super::copilot::{Language, holds};

const AGENTS: &str = r#"
version: 1
rules:
  - when: { system: You are a poet }
    answer: [say: Roses are red.]
  - when: { path: /root/slow }
    answer: [wait: 200ms, say: slow result]
  - when: { path: /root/ear, prompt: hello ear }
    answer: [say: I heard hello ear.]
  - when: { path: /root/ear }
    answer: [say: I listen.]
  - when: { path: /root/stuck }
    answer: [hang: true]
  - when: { answered: { tool: task, matches: "(Roses are red.)" } }
    answer: [say: "The poet says: ${1}"]
  - when: { prompt: "^ask the poet" }
    answer:
      - call: { tool: task, input: { description: Writes, prompt: a verse, agent_type: poet, name: verse, mode: sync } }
  - when: { contains: slow result }
    answer: [say: All is in.]
  - when: { answered: { tool: task } }
    answer: [say: It is under way.]
  - when: { prompt: "^start (slow|stuck) work" }
    answer:
      - call:
          tool: task
          input: { description: Works, prompt: work, agent_type: general-purpose, name: "${1}", mode: background }
  - answer: [say: Noted.]
"#;

#[test]
fn node_has_agents_background_work_and_tasks() {
    holds(Language::Node, "agents", AGENTS);
}

#[test]
fn python_has_agents_background_work_and_tasks() {
    holds(Language::Python, "agents", AGENTS);
}

const MODES: &str = r#"
version: 1
rules:
  - when: { answered: { tool: exit_plan_mode, matches: too short } }
    answer: [say: "I plan anew: ${answer}"]
  - when: { answered: { tool: exit_plan_mode } }
    answer: [call: { tool: create, input: { path: planned.txt, content: done } }]
  - when: { answered: { tool: write_plan } }
    answer: [call: { tool: exit_plan_mode, input: { summary: Write one file, recommended: autopilot } }]
  - when: { answered: { tool: create } }
    answer: [say: It is carried out.]
  - when: { answered: { tool: sql } }
    answer: [say: They are kept.]
  - when: { answered: { tool: task_complete } }
    answer: [say: So be it.]
  - when: { said: Half of it }
    answer: [call: { tool: task_complete, input: { summary: Everything is done, status: done } }]
  - when: { contains: "^do it all" }
    answer: [say: Half of it.]
  - when: { contains: "^plan it" }
    answer: [call: { tool: write_plan, input: { text: "1. Write planned.txt\n" } }]
  - when: { prompt: "^keep todos" }
    answer:
      - call:
          tool: sql
          input:
            query: >-
              INSERT INTO todos (id, title) VALUES ('a', 'First'), ('b', 'Second');
              INSERT INTO todo_deps (todo_id, depends_on) VALUES ('b', 'a')
  - answer: [say: Noted.]
"#;

#[test]
fn node_plans_goes_on_by_itself_and_keeps_todos() {
    holds(Language::Node, "modes", MODES);
}

#[test]
fn python_plans_goes_on_by_itself_and_keeps_todos() {
    holds(Language::Python, "modes", MODES);
}

#[test]
fn node_registers_tasks_of_its_own() {
    holds(Language::Node, "client_tasks", "version: 1\nrules:\n  - answer: [say: Noted.]\n");
}
