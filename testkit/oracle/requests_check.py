"""Request bodies against the request types of the SDKs, where no unknown key is allowed on any level."""

import json
import sys
from typing import Any

from anthropic.types.message_create_params import MessageCreateParamsStreaming
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import ConfigDict, TypeAdapter
from pydantic_core import SchemaValidator, ValidationError
from typing_extensions import is_typeddict

WIRES = {
    "anthropic": MessageCreateParamsStreaming,
    "responses": ResponseCreateParamsStreaming,
    "chat": CompletionCreateParamsStreaming,
}


def check(paths: list[str]) -> int:
    forbid_unknown_keys()
    validators = {wire: validator(params) for wire, params in WIRES.items()}
    mistakes = [mistake for path in paths if (mistake := first_mistake(path, validators))]
    for mistake in mistakes:
        print(mistake, file=sys.stderr)
    return 1 if mistakes else 0


def first_mistake(path: str, validators: dict[str, SchemaValidator]) -> str | None:
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            entry = json.loads(line)
            try:
                validators[entry["wire"]].validate_json(json.dumps(without_reasoning(entry)), strict=True)
            except ValidationError as error:
                return f"{path}:{number}: {entry['wire']}: {likeliest(error)}"
    return None


def without_reasoning(entry: dict[str, Any]) -> dict[str, Any]:
    """The body without the one key that compatible servers want back with calls and that OpenAI does not know."""
    body = entry["body"]
    if entry["wire"] == "chat":
        for message in body["messages"]:
            if message.get("tool_calls") and isinstance(message.get("reasoning_content"), str):
                del message["reasoning_content"]
    return body


def forbid_unknown_keys() -> None:
    strict = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    for name, module in list(sys.modules.items()):
        if name.startswith(("anthropic.types", "openai.types")):
            for value in vars(module).values():
                if is_typeddict(value):
                    value.__pydantic_config__ = strict


def validator(params: Any) -> SchemaValidator:
    schema = TypeAdapter(params).core_schema
    return SchemaValidator(eager(schema))


def eager(schema: Any) -> Any:
    """The schema with lists for iterables, whose items would only be validated as somebody reads them.

    The SDKs also take their own answers back as requests, as models that allow unknown keys: nobody sends those.
    """
    if isinstance(schema, dict):
        if schema.get("type") == "model":
            kept = {"ref": schema["ref"]} if "ref" in schema else {}
            return {"type": "literal", "expected": ["an object of the SDK"], **kept}
        known = {key: eager(value) for key, value in schema.items()}
        if known.get("type") == "generator":
            known["type"] = "list"
        return known
    if isinstance(schema, (list, tuple)):
        return type(schema)(eager(item) for item in schema)
    return schema


def likeliest(error: ValidationError) -> str:
    """One mistake with its path. A union reports the mistakes of all its variants, most of which nobody meant."""
    mistakes = error.errors(include_url=False, include_context=False)
    tags = [mistake for mistake in mistakes if mistake["type"] == "literal_error"]
    unmeant = {mistake["loc"][:-1] for mistake in tags if mistake["loc"][-1] in ("type", "role")}
    meant = [mistake for mistake in mistakes if not any(begins(mistake["loc"], variant) for variant in unmeant)]
    worst = max(meant, key=lambda mistake: len(mistake["loc"])) if meant else min(tags, key=lambda tag: len(tag["loc"]))
    place = ".".join(str(step) for step in worst["loc"] if is_key(step))
    return f"{place}: {worst['msg']} (given: {json.dumps(worst['input'], default=str)[:200]})"


def begins(path: tuple, start: tuple) -> bool:
    return path[: len(start)] == start


def is_key(step: int | str) -> bool:
    """Whether a step of a path is in the body, rather than the name of a variant."""
    return isinstance(step, int) or (step.replace("_", "").islower() and "[" not in step and step != "str")
