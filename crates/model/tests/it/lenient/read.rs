//! Outputs that are read as calls, and the expected result of each.

/// A model's output, and the expected lines.
pub(crate) struct Read {
    /// What is wrong with it.
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    pub(crate) lines: &'static [&'static str],
}

const VIEW: &[&str] = &[r#"calls view {"path":"a.txt"}"#];

pub(crate) const READ: &[Read] = &[
    Read {
        name: "a marked call of a tool that was not offered, which its model is to hear of",
        text: "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}\n</tool_call>",
        lines: &[r#"calls read_file {"path":"a.txt"}"#],
    },
    Read {
        name: "a list of calls of which one tool was not offered",
        text: "[TOOL_CALLS] [{\"name\": \"view\", \"arguments\": {\"path\": \"a\"}}, {\"name\": \"rm\", \"arguments\": {}}]",
        lines: &[r#"calls view {"path":"a"}"#, "calls rm {}"],
    },
    Read {
        name: "a fenced call of a tool whose name is not quite that of an offered one",
        text: "```json\n{\"name\": \"View\", \"arguments\": {\"path\": \"a.txt\"}}\n```",
        lines: &[r#"calls View {"path":"a.txt"}"#],
    },
    Read {
        name: "a fence of json after a sentence",
        text: "I'll look at the file first.\n\n```json\n{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}}\n```\n",
        lines: &["says I'll look at the file first.", r#"calls view {"path":"a.txt"}"#],
    },
    Read {
        name: "a fence without a language, and words after it",
        text: "```\n{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}}\n```\nThen I will edit it.",
        lines: &[r#"calls view {"path":"a.txt"}"#, "says Then I will edit it."],
    },
    Read {
        name: "a fence of tildes that calls itself tool_call",
        text: "~~~tool_call\n{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}}\n~~~",
        lines: VIEW,
    },
    Read {
        name: "a fence on one line in the middle of a sentence",
        text: "Calling: ```json {\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}} ```",
        lines: &["says Calling:", r#"calls view {"path":"a.txt"}"#],
    },
    Read {
        name: "a fence that never closes",
        text: "```json\n{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}}\n",
        lines: VIEW,
    },
    Read {
        name: "a fence with two calls and a brace too few",
        text: "```json\n{\"name\": \"todos\", \"arguments\": {}}\n{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}\n```",
        lines: &["calls todos {}", r#"calls view {"path":"a.txt"}"#],
    },
    Read {
        name: "the tag of its training, with structured calls switched off",
        text: "<tool_call>\n{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}}\n</tool_call>",
        lines: VIEW,
    },
    Read {
        name: "two tags, one after the other",
        text: "<tool_call>\n{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>",
        lines: &[r#"calls view {"path":"a.txt"}"#, r#"calls shell {"command":"ls"}"#],
    },
    Read {
        name: "a tag without its end",
        text: "Let me check.\n<tool_call>\n{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}}",
        lines: &["says Let me check.", r#"calls view {"path":"a.txt"}"#],
    },
    Read {
        name: "a tag whose end was stopped half-way",
        text: "<tool_call>{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}}</tool_",
        lines: VIEW,
    },
    Read {
        name: "a tag that is closed by another opening one",
        text: "<tool_call>\n{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}}\n<tool_call>",
        lines: VIEW,
    },
    Read {
        name: "a tag with a brace too few",
        text: "<tool_call>\n{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}\n</tool_call>",
        lines: VIEW,
    },
    Read {
        name: "a tag with a brace too many",
        text: "<tool_call>\n{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}}}\n</tool_call>",
        lines: VIEW,
    },
    Read {
        name: "tags inside a fence",
        text: "```\n<tool_call>\n{\"name\": \"todos\"}\n</tool_call>\n```",
        lines: &["calls todos {}"],
    },
    Read {
        name: "a function with JSON in it",
        text: "<function=shell>{\"command\": \"cargo test\"}</function>",
        lines: &[r#"calls shell {"command":"cargo test"}"#],
    },
    Read {
        name: "a function that forgot the end of its first mark",
        text: "<function=shell{\"command\": \"ls -la\"}</function>",
        lines: &[r#"calls shell {"command":"ls -la"}"#],
    },
    Read {
        name: "a function with parameters of three kinds",
        text: "<tool_call>\n<function=edit>\n<parameter=path>\nsrc/a.rs\n</parameter>\n<parameter=old>\nif a < b {\n    x\n}\n</parameter>\n<parameter=new>\n</parameter>\n<parameter=all>\nTrue\n</parameter>\n</function>\n</tool_call>",
        lines: &[r#"calls edit {"path":"src/a.rs","old":"if a < b {\n    x\n}","new":"","all":true}"#],
    },
    Read {
        name: "a function that ends a tag which never began",
        text: "I will run it.\n\n<function=shell>\n<parameter=command>ls</parameter>\n<parameter=timeout>5</parameter>\n</function>\n</tool_call>",
        lines: &["says I will run it.", r#"calls shell {"command":"ls","timeout":5}"#],
    },
    Read {
        name: "a token that the server did not take out",
        text: "[TOOL_CALLS] [{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}}]",
        lines: VIEW,
    },
    Read {
        name: "a bare object, and nothing else",
        text: "{\"name\": \"view\", \"parameters\": {\"path\": \"a.txt\"}}",
        lines: VIEW,
    },
    Read {
        name: "bare objects with semicolons between them",
        text: "{\"name\": \"view\", \"parameters\": {\"path\": \"a.txt\"}}; {\"name\": \"view\", \"parameters\": {\"path\": \"b.txt\"}}",
        lines: &[r#"calls view {"path":"a.txt"}"#, r#"calls view {"path":"b.txt"}"#],
    },
    Read {
        name: "a bare list after thoughts",
        text: "<think>\nI need the file.\n</think>\n\n[\n  {\"name\": \"view\", \"input\": {\"path\": \"a.txt\"}}\n]\n",
        lines: &["thinks I need the file.", r#"calls view {"path":"a.txt"}"#],
    },
    Read {
        name: "empty thoughts before an answer",
        text: "<think>\n\n</think>\n\nThe file says hello.",
        lines: &["says The file says hello."],
    },
    Read {
        name: "thoughts whose beginning the server swallowed, with a call that was only thought of",
        text: "I could <tool_call>{\"name\": \"shell\", \"arguments\": {\"command\": \"rm a\"}}</tool_call>. No.\n</think>\n\n{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}}",
        lines: &[
            "says I could <tool_call>{\"name\": \"shell\", \"arguments\": {\"command\": \"rm a\"}}</tool_call>. No.\n</think>",
            r#"calls view {"path":"a.txt"}"#,
        ],
    },
    Read {
        name: "an answer to its own call, and a call that follows from it",
        text: "<tool_call>{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}}</tool_call>\n<tool_response>\nold\n</tool_response>\n<tool_call>{\"name\": \"shell\", \"arguments\": {\"command\": \"rm a\"}}</tool_call>",
        lines: &[
            r#"calls view {"path":"a.txt"}"#,
            "says <tool_response>\nold\n</tool_response>\n<tool_call>{\"name\": \"shell\", \"arguments\": {\"command\": \"rm a\"}}</tool_call>",
        ],
    },
    Read {
        name: "line ends of another system around a parameter",
        text: "<function=shell>\r\n<parameter=command>\r\nls\r\n</parameter>\r\n</function>",
        lines: &[r#"calls shell {"command":"ls"}"#],
    },
    Read {
        name: "the API's own form of a call",
        text: "```json\n{\"tool_calls\": [{\"id\": \"call_1\", \"type\": \"function\", \"function\": {\"name\": \"view\", \"arguments\": \"{\\\"path\\\": \\\"a.txt\\\"}\"}}]}\n```",
        lines: VIEW,
    },
    Read {
        name: "a form of its own invention: tool and args",
        text: "```json\n{\"tool\": \"view\", \"args\": {\"path\": \"a.txt\", \"from\": 1}}\n```",
        lines: &[r#"calls view {"path":"a.txt","from":1}"#],
    },
    Read { name: "arguments beside the tool's name", text: "{\"tool\": \"view\", \"path\": \"a.txt\"}", lines: VIEW },
    Read {
        name: "function as the name of the field",
        text: "{\"type\": \"function\", \"function\": \"view\", \"arguments\": {\"path\": \"a.txt\"}}",
        lines: VIEW,
    },
    Read {
        name: "trailing commas",
        text: "```json\n{\n  \"name\": \"view\",\n  \"arguments\": {\n    \"path\": \"a.txt\",\n  },\n}\n```",
        lines: VIEW,
    },
    Read {
        name: "Python instead of JSON",
        text: "<tool_call>{'name': 'edit', 'arguments': {'path': 'a.txt', 'old': \"it's\", 'new': None, 'all': True}}</tool_call>",
        lines: &[r#"calls edit {"path":"a.txt","old":"it's","new":null,"all":true}"#],
    },
    Read {
        name: "names without quotes, and an escaped apostrophe",
        text: "```json5\n{name: 'shell', arguments: {command: 'echo it\\'s \"ok\"'}}\n```",
        lines: &[r#"calls shell {"command":"echo it's \"ok\""}"#],
    },
    Read {
        name: "raw line breaks and tabs in a text",
        text: "```json\n{\"name\": \"edit\", \"arguments\": {\"path\": \"a.txt\", \"old\": \"x\", \"new\": \"one\n\ttwo\n```\nthree\"}}\n```",
        lines: &[r#"calls edit {"path":"a.txt","old":"x","new":"one\n\ttwo\n```\nthree"}"#],
    },
    Read {
        name: "comments",
        text: "```jsonc\n{\n  // look at the file\n  \"name\": \"view\", // the tool\n  \"arguments\": {\"path\": \"a//b.txt\"}\n}\n```",
        lines: &[r#"calls view {"path":"a//b.txt"}"#],
    },
    Read {
        name: "quotes of a word processor",
        text: "{“name”: “view”, “arguments”: {“path”: \"a.txt\"}}",
        lines: VIEW,
    },
    Read {
        name: "braces missing at the very end",
        text: "{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"",
        lines: VIEW,
    },
    Read {
        name: "arguments as a broken JSON text",
        text: "<tool_call>{\"name\": \"view\", \"arguments\": \"{'path': 'a.txt',}\"}</tool_call>",
        lines: VIEW,
    },
    Read {
        name: "no arguments where none are needed",
        text: "<tool_call>{\"name\": \"todos\", \"arguments\": null}</tool_call>",
        lines: &["calls todos {}"],
    },
    Read {
        name: "numbers and the order of fields stay as they were written",
        text: "{\"name\": \"view\", \"arguments\": {\"to\": 20, \"path\": \"a.txt\", \"from\": 1.0}}",
        lines: &[r#"calls view {"to":20,"path":"a.txt","from":1.0}"#],
    },
];
