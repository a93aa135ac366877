"""The SDKs' own clients against the model server: what they understand, and how they fail."""

import json
from typing import Any, Callable

import anthropic
import openai

KEY = "test-key"
MODEL = "test-model"
STRICT = {"max_retries": 0, "_strict_response_validation": True}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS = ["view", "list_shells"]
SCRIPTED = {"auth": 401, "busy": 429, "quota": 429, "wrong": 400, "moment": 500}


def listen(url: str) -> dict[str, Any]:
    return {
        "anthropic": Messages(url).listen(),
        "responses": Responses(url).listen(),
        "chat": Chat(url).listen(),
    }


class Wire:
    """One SDK. Every answer is asked for twice, as a stream and whole, and must be understood alike."""

    sdk: Any

    def listen(self) -> dict[str, Any]:
        heard: dict[str, Any] = {"models": [model.id for model in self.client.models.list()]}
        history = self.opening("job")
        first, said = self.both(history)
        answers = self.answers(said, {"view": "two lines", "list_shells": "none"})
        second, _ = self.both([*history, *said, *answers])
        heard["job"] = [first, second]
        for prompt in ["long", "refuse"]:
            heard[prompt], _ = self.both(self.opening(prompt))
        heard["failures"] = {prompt: self.failure(prompt, status) for prompt, status in SCRIPTED.items()}
        heard["half"] = self.half()
        heard["refused"] = self.refused([*history, *said])
        return heard

    def both(self, history: list) -> tuple[dict, list]:
        streamed, said = self.stream(history)
        whole, _ = self.whole(history)
        assert streamed == whole, f"as a stream: {streamed}\nwhole: {whole}"
        return streamed, said

    def failure(self, prompt: str, status: int) -> str:
        """Asks for a failure both ways; both must be the same typed exception."""
        names = {self.exception(ask, prompt, status) for ask in (self.stream, self.whole)}
        assert len(names) == 1, names
        return names.pop()

    def exception(self, ask: Callable, prompt: str, status: int) -> str:
        try:
            ask(self.opening(prompt))
        except self.sdk.APIStatusError as error:
            assert error.status_code == status, (prompt, error.status_code)
            return f"{type(error).__name__}: {self.extras(error)}"
        raise AssertionError(f"{prompt} did not fail")

    def extras(self, error: Any) -> str:
        after = error.response.headers.get("retry-after")
        return f"{self.words(error)}" + (f", retry after {after}" if after else "")

    def words(self, error: Any) -> str:
        raise NotImplementedError

    def half(self) -> str:
        """An answer that fails in its middle is an exception too."""
        try:
            heard, _ = self.stream(self.opening("half"))
        except self.sdk.APIError as error:
            return type(error).__name__
        return f"understood as {heard}"

    def refused(self, unanswered: list) -> str:
        """A conversation whose calls have no answers."""
        try:
            self.whole([*unanswered, *self.opening("and now?")])
        except self.sdk.BadRequestError as error:
            return self.words(error)
        raise AssertionError("calls without answers were accepted")


class Messages(Wire):
    sdk = anthropic

    def __init__(self, url: str) -> None:
        self.client = anthropic.Anthropic(base_url=url, api_key=KEY, **STRICT)

    def opening(self, prompt: str) -> list:
        return [{"role": "user", "content": prompt}]

    def question(self, history: list) -> dict:
        tools = [{"name": name, "input_schema": SCHEMA} for name in TOOLS]
        return {"model": MODEL, "max_tokens": 1000, "messages": history, "tools": tools}

    def stream(self, history: list) -> tuple[dict, list]:
        with self.client.messages.stream(**self.question(history)) as stream:
            kinds = [event.type for event in stream]
            assert kinds[0] == "message_start" and kinds[-1] == "message_stop", kinds
            return self.understood(stream.get_final_message())

    def whole(self, history: list) -> tuple[dict, list]:
        return self.understood(self.client.messages.create(**self.question(history)))

    def understood(self, message: anthropic.types.Message) -> tuple[dict, list]:
        content = [block.model_dump(exclude_none=True) for block in message.content]
        usage = message.usage
        heard = {
            "thinking": "".join(block.thinking for block in message.content if block.type == "thinking"),
            "text": "".join(block.text for block in message.content if block.type == "text"),
            "calls": [[block.id, block.name, block.input] for block in message.content if block.type == "tool_use"],
            "stop": message.stop_reason,
            "model": message.model,
            "usage": {
                "input": usage.input_tokens,
                "output": usage.output_tokens,
                "cache_read": usage.cache_read_input_tokens,
                "cache_write": usage.cache_creation_input_tokens,
            },
        }
        return heard, [{"role": "assistant", "content": content}]

    def answers(self, said: list, texts: dict[str, str]) -> list:
        calls = [block for block in said[0]["content"] if block["type"] == "tool_use"]
        results = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": texts[call["name"]], "is_error": False}
            for call in calls
        ]
        return [{"role": "user", "content": results}]

    def words(self, error: Any) -> str:
        status = error.response.headers.get("anthropic-ratelimit-unified-status")
        return f"{error.body['error']['type']}: {error.body['error']['message']}" + (f" ({status})" if status else "")


class Responses(Wire):
    sdk = openai

    def __init__(self, url: str) -> None:
        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, **STRICT)

    def opening(self, prompt: str) -> list:
        return [{"role": "user", "content": prompt}]

    def question(self, history: list) -> dict:
        tools = [{"type": "function", "name": name, "parameters": SCHEMA, "strict": False} for name in TOOLS]
        include = ["reasoning.encrypted_content"]
        return {"model": MODEL, "input": history, "tools": tools, "store": False, "include": include}

    def stream(self, history: list) -> tuple[dict, list]:
        final = None
        texts = {"response.output_text.delta": "", "response.refusal.delta": ""}
        for number, event in enumerate(self.client.responses.create(**self.question(history), stream=True)):
            assert event.sequence_number == number, (event.sequence_number, number)
            if event.type in texts:
                texts[event.type] += event.delta
            if event.type == "response.failed":
                raise openai.APIError(event.response.error.message, request=None, body=None)
            if event.type in ("response.completed", "response.incomplete"):
                final = event.response
        heard, said = self.understood(final)
        assert "".join(texts.values()) == heard["text"], texts
        return heard, said

    def whole(self, history: list) -> tuple[dict, list]:
        return self.understood(self.client.responses.create(**self.question(history)))

    def understood(self, response: Any) -> tuple[dict, list]:
        items = response.output
        parts = [part for item in items if item.type == "message" for part in item.content]
        calls = [item for item in items if item.type == "function_call"]
        usage = response.usage
        cache = usage.input_tokens_details
        heard = {
            "thinking": "".join(part.text for item in items if item.type == "reasoning" for part in item.summary),
            "text": "".join(part.refusal if part.type == "refusal" else part.text for part in parts),
            "calls": [[call.call_id, call.name, json.loads(call.arguments)] for call in calls],
            "stop": response.incomplete_details.reason if response.incomplete_details else response.status,
            "model": response.model,
            "usage": {
                "input": usage.input_tokens - cache.cached_tokens - cache.cache_write_tokens,
                "output": usage.output_tokens,
                "cache_read": cache.cached_tokens,
                "cache_write": cache.cache_write_tokens,
            },
        }
        return heard, [item.model_dump(exclude_none=True) for item in items]

    def answers(self, said: list, texts: dict[str, str]) -> list:
        calls = [item for item in said if item["type"] == "function_call"]
        return [
            {"type": "function_call_output", "call_id": call["call_id"], "output": texts[call["name"]]}
            for call in calls
        ]

    def words(self, error: Any) -> str:
        resets = isinstance(error.body, dict) and "resets_at" in error.body
        return f"{error.type}: {error.body['message']}" + (" (says when)" if resets else "")


class Chat(Responses):
    def question(self, history: list) -> dict:
        tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in TOOLS]
        return {"model": MODEL, "messages": history, "tools": tools}

    def stream(self, history: list) -> tuple[dict, list]:
        options = {"include_usage": True}
        with self.client.chat.completions.stream(**self.question(history), stream_options=options) as stream:
            for _ in stream:
                pass
            return self.understood(stream.current_completion_snapshot)

    def whole(self, history: list) -> tuple[dict, list]:
        return self.understood(self.client.chat.completions.create(**self.question(history)))

    def understood(self, completion: Any) -> tuple[dict, list]:
        [choice] = completion.choices
        message = choice.message
        calls = message.tool_calls or []
        usage = completion.usage
        cache = usage.prompt_tokens_details
        heard = {
            "thinking": getattr(message, "reasoning_content", None) or "",
            "text": message.content or message.refusal or "",
            "calls": [[call.id, call.function.name, json.loads(call.function.arguments)] for call in calls],
            "stop": choice.finish_reason,
            "model": completion.model,
            "usage": {
                "input": usage.prompt_tokens - cache.cached_tokens - cache.cache_write_tokens,
                "output": usage.completion_tokens,
                "cache_read": cache.cached_tokens,
                "cache_write": cache.cache_write_tokens,
            },
        }
        sent = {"role": "assistant", "content": message.content}
        if calls:
            functions = [{"name": call.function.name, "arguments": call.function.arguments} for call in calls]
            sent["tool_calls"] = [
                {"id": call.id, "type": "function", "function": function} for call, function in zip(calls, functions)
            ]
        return heard, [sent]

    def answers(self, said: list, texts: dict[str, str]) -> list:
        return [
            {"role": "tool", "tool_call_id": call["id"], "content": texts[call["function"]["name"]]}
            for call in said[0]["tool_calls"]
        ]
