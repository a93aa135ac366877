//! The model server as clients meet it, byte by byte, and the oracle that judges it.

#![cfg(test)]

mod client;
mod crowd;
mod faults;
mod limits;
mod mcp_conformance;
mod oracle;
mod strict;
mod wires;

use bosun_testkit::server::{ModelServer, ServerSetup};

/// One answer of words.
const HELLO: &str = "{ version: 1, rules: [{ answer: [{ say: Hello there. }], usage: { input: 7, output: 3 } }] }";

/// One answer of words and a call, then words again.
const WORK: &str = "
version: 1
rules:
  - when: { turn: 1 }
    answer:
      - think: I look first.
      - say: I look.
      - call: { tool: view, input: { path: a.txt } }
    usage: { input: 10, output: 20, cache_read: 300, cache_write: 40 }
  - answer:
      - say: \"It said: ${answer}\"
";

fn hello() -> ServerSetup {
    ModelServer::script(HELLO)
}
