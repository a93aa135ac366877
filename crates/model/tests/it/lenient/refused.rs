//! Outputs that stay text, byte for byte, and why.

/// A model's output that is not a call.
pub(crate) struct Refused {
    pub(crate) why: &'static str,
    pub(crate) text: &'static str,
}

pub(crate) const REFUSED: &[Refused] = &[
    Refused {
        why: "a value with the form of a call names no offered tool, and is not marked as a call",
        text: "{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}",
    },
    Refused {
        why: "what is not a name of a tool is not called",
        text: "```json\n{\"name\": \"John Smith\", \"arguments\": {\"age\": 7}}\n```",
    },
    Refused {
        why: "a record with an input is not a call of a tool that nobody offered",
        text: "```json\n{\"name\": \"lexer\", \"input\": {}}\n```",
    },
    Refused {
        why: "it is a file that is shown, with a name that happens to be a tool's",
        text: "Your package.json:\n```json\n{\"name\": \"view\", \"version\": \"1.0.0\", \"input\": {}}\n```\n",
    },
    Refused {
        why: "a name alone is not a call unless it is marked as one",
        text: "```json\n{\"name\": \"todos\"}\n```",
    },
    Refused {
        why: "it repeats the description of a tool",
        text: "{\"name\": \"view\", \"parameters\": {\"type\": \"object\", \"properties\": {\"path\": {\"type\": \"string\"}}}}",
    },
    Refused {
        why: "it is code in another language",
        text: "```python\nview({\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}})\n```\nThat would do it.",
    },
    Refused {
        why: "a call is shown inside code",
        text: "```xml\n<tool_call>\n{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}}\n</tool_call>\n```\n",
    },
    Refused { why: "it is a call of a function in Python", text: "```tool_code\nview(path=\"a.txt\")\n```" },
    Refused {
        why: "an object after words is not the whole answer, and has no marks",
        text: "I will look: {\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}}",
    },
    Refused {
        why: "words follow the object that would be the whole answer",
        text: "{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}}\n\nThis shows the file.",
    },
    Refused {
        why: "quotes inside a text are not escaped, so nobody knows where it ends",
        text: "<tool_call>{\"name\": \"shell\", \"arguments\": {\"command\": \"echo \"hi\"\"}}</tool_call>",
    },
    Refused {
        why: "an escape that JSON does not have; those beside it may be meant otherwise too",
        text: "<tool_call>{\"name\": \"shell\", \"arguments\": {\"command\": \"grep '\\d\\n' a\"}}</tool_call>",
    },
    Refused { why: "a text never ends", text: "<tool_call>{\"name\": \"shell\", \"arguments\": {\"command\": \"echo" },
    Refused {
        why: "after a comma more was to come",
        text: "{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\",",
    },
    Refused {
        why: "brackets close in the wrong order",
        text: "{\"name\": \"view\", \"arguments\": {\"path\": [\"a.txt\"}]}",
    },
    Refused {
        why: "the same field comes twice",
        text: "{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\", \"path\": \"b.txt\"}}",
    },
    Refused {
        why: "arguments are given under two names",
        text: "{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}, \"parameters\": {\"path\": \"b.txt\"}}",
    },
    Refused {
        why: "arguments are no object",
        text: "<tool_call>{\"name\": \"view\", \"arguments\": [\"a.txt\"]}</tool_call>",
    },
    Refused {
        why: "fields beside the call say more than is known",
        text: "{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}, \"run\": false}",
    },
    Refused {
        why: "a parameter's end is missing, so it would swallow the next",
        text: "<function=edit><parameter=path>a.txt<parameter=old>x</parameter></function>",
    },
    Refused {
        why: "a parameter is not of the kind that the tool takes",
        text: "<function=view><parameter=path>a.txt</parameter><parameter=from>the top</parameter></function>",
    },
    Refused {
        why: "two texts are added up, as in a program",
        text: "{\"name\": \"shell\", \"arguments\": {\"command\": \"a\" + \"b\"}}",
    },
    Refused {
        why: "an answer that merely begins with a bracket",
        text: "[view] is the tool I would use, see [the docs](https://example.com/).",
    },
    Refused { why: "an empty tag", text: "<tool_call></tool_call>\nI do not know what to do." },
    Refused {
        why: "it was only thought of, in thoughts that did not begin the answer",
        text: "Hm.\n<thinking>\n<tool_call>{\"name\": \"todos\"}</tool_call>\n</thinking>\nWell.",
    },
    Refused { why: "thoughts that did not begin the answer", text: "Hm.\n<think>So what?</think>\nWell." },
    Refused {
        why: "fences and marks inside a line",
        text: "Use ```view``` or `<tool_call>` or ~~nothing~~ < 3 [TOOL].",
    },
];
