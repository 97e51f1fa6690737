"""Small clients that speak to the server as CLIs do: they keep a history and parse answers."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

from bench.providers import Dialect
from kbsite.model.usage import Usage

Json = dict[str, Any]

STRING = {"type": "string"}
TOOLS: dict[str, Json] = {
    "Bash": {"properties": {"command": STRING}, "required": ["command"]},
    "Write": {"properties": {"file_path": STRING, "content": STRING}},
    "Edit": {"properties": {"file_path": STRING, "old_string": STRING, "new_string": STRING}},
    "Read": {"properties": {"file_path": STRING}},
    "Agent": {"properties": {"prompt": STRING, "description": STRING}},
}


def post(url: str, body: object, method: str = "POST") -> tuple[HTTPResponse, bytes]:
    """An answer, and its body."""
    parts = urlsplit(url)
    connection = HTTPConnection(str(parts.hostname), parts.port, timeout=60)
    try:
        query = f"?{parts.query}" if parts.query else ""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, parts.path + query, data, {"content-type": "application/json"})
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def events(data: bytes) -> list[Json]:
    """The data of whole server-sent events, but for the word at their end."""
    whole = data.decode().split("\n\n")[:-1]
    lines = [line.removeprefix("data: ") for one in whole for line in one.split("\n")]
    return [json.loads(line) for line in lines if line.startswith("{")]


@dataclass
class Said:
    """An answer, the same for every dialect."""

    thinking: str = ""
    text: str = ""
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    """Ids, names and arguments."""
    stop: str = ""
    usage: Usage = field(default_factory=Usage)


class Client(ABC):
    """A session in one dialect."""

    dialect: Dialect
    path: str

    def __init__(self, base: str, *, streams: bool, tools: dict[str, Json] | None = None) -> None:
        self.base = base
        self.streams = streams
        self.tools = TOOLS if tools is None else tools
        self.history: list[Json] = []

    @abstractmethod
    def body(self) -> Json:
        """The next request."""

    @abstractmethod
    def parsed(self, data: bytes) -> Said:
        """What an answer says."""

    @abstractmethod
    def user(self, text: str) -> Json:
        """A user's message."""

    @abstractmethod
    def keep(self, said: Said) -> None:
        """Add the answer and results of its calls to the history."""

    def url(self) -> str:
        """Where requests go."""
        return self.base + self.path

    def ask(self, text: str | None = None) -> Said:
        """The next answer."""
        if text is not None:
            self.history.append(self.user(text))
        response, data = post(self.url(), self.body())
        assert response.status == 200, data
        return self.parsed(data)

    def play(self, prompt: str, most: int = 40) -> list[Said]:
        """All answers, until one calls nothing."""
        answers = [self.ask(prompt)]
        while answers[-1].calls:
            assert len(answers) < most, "the session does not end"
            self.keep(answers[-1])
            answers.append(self.ask())
        return answers


class AnthropicClient(Client):
    dialect = Dialect.ANTHROPIC
    path = "/v1/messages?beta=true"

    def body(self) -> Json:
        tools = [{"name": name, "input_schema": schema} for name, schema in self.tools.items()]
        return {
            "model": "m", "stream": self.streams, "max_tokens": 100, "tools": tools,
            "system": [{"type": "text", "text": "Primary working directory: /workspace"}],
            "messages": self.history,
        }  # fmt: skip

    def user(self, text: str) -> Json:
        return {"role": "user", "content": [{"type": "text", "text": text}]}

    def keep(self, said: Said) -> None:
        used = [{"type": "tool_use", "id": i, "name": n, "input": a} for i, n, a in said.calls]
        results = [
            {"type": "tool_result", "tool_use_id": i, "content": "[[script:hi]] done"}
            for i, _, _ in said.calls
        ]
        self.history.append({"role": "assistant", "content": used})
        self.history.append({"role": "user", "content": results})

    def parsed(self, data: bytes) -> Said:
        if not self.streams:
            whole = json.loads(data)
            said = Said(stop=whole["stop_reason"], usage=self._usage(whole["usage"]))
            for block in whole["content"]:
                self._add(said, block)
            return said
        said, blocks = Said(), dict[int, Json]()
        for event in events(data):
            match event["type"]:
                case "content_block_start":
                    blocks[event["index"]] = event["content_block"] | {"json": ""}
                case "content_block_delta":
                    delta, block = event["delta"], blocks[event["index"]]
                    for source, target in (
                        ("text", "text"), ("thinking", "thinking"), ("partial_json", "json"),
                    ):  # fmt: skip
                        if source in delta:
                            block[target] += delta[source]
                case "content_block_stop":
                    block = blocks[event["index"]]
                    self._add(said, block | {"input": json.loads(block["json"] or "{}")})
                case "message_delta":
                    said.stop = event["delta"]["stop_reason"]
                    said.usage = self._usage(event["usage"])
                case "message_start":
                    assert event["message"]["usage"]["output_tokens"] == 1
                case other:
                    assert other in ("content_block_stop", "message_stop")
        assert event == {"type": "message_stop"}
        return said

    def _add(self, said: Said, block: Json) -> None:
        match block["type"]:
            case "thinking":
                said.thinking += block["thinking"]
            case "text":
                said.text += block["text"]
            case _:
                said.calls.append((block["id"], block["name"], block["input"]))

    def _usage(self, usage: Json) -> Usage:
        return Usage(
            input=usage["input_tokens"], output=usage["output_tokens"],
            cache_read=usage["cache_read_input_tokens"],
            cache_write=usage["cache_creation_input_tokens"],
            cache_write_1h=usage["cache_creation"]["ephemeral_1h_input_tokens"],
        )  # fmt: skip


class ChatClient(Client):
    dialect = Dialect.CHAT
    path = "/v1/chat/completions"

    def body(self) -> Json:
        tools = [
            {"type": "function", "function": {"name": name, "parameters": schema}}
            for name, schema in self.tools.items()
        ]
        system = {"role": "system", "content": "Working directory: /workspace\n"}
        return {
            "model": "m", "stream": self.streams, "tools": tools,
            "stream_options": {"include_usage": True}, "messages": [system, *self.history],
        }  # fmt: skip

    def user(self, text: str) -> Json:
        return {"role": "user", "content": text}

    def keep(self, said: Said) -> None:
        calls = [
            {"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
            for i, n, a in said.calls
        ]
        self.history.append({"role": "assistant", "content": said.text, "tool_calls": calls})
        for number, _, _ in said.calls:
            result = {"role": "tool", "tool_call_id": number, "content": "[[script:hi]] done"}
            self.history.append(result)

    def parsed(self, data: bytes) -> Said:
        if not self.streams:
            whole = json.loads(data)
            choice = whole["choices"][0]
            held = [self._call(one) for one in choice["message"].get("tool_calls", [])]
            return Said(
                thinking=choice["message"].get("reasoning_content", ""),
                text=choice["message"]["content"] or "", calls=held,
                stop=choice["finish_reason"], usage=self._usage(whole["usage"]),
            )  # fmt: skip
        assert data.endswith(b"data: [DONE]\n\n")
        said, calls = Said(), dict[int, Json]()
        for event in events(data):
            if not event["choices"]:
                said.usage = self._usage(event["usage"])
                continue
            delta = event["choices"][0]["delta"]
            said.stop = event["choices"][0]["finish_reason"] or ""
            said.thinking += delta.get("reasoning_content", "")
            said.text += delta.get("content", "")
            for part in delta.get("tool_calls", []):
                call = calls.setdefault(part["index"], part)
                if call is not part:
                    call["function"]["arguments"] += part["function"]["arguments"]
        said.calls = [self._call(one) for one in calls.values()]
        return said

    def _call(self, call: Json) -> tuple[str, str, Any]:
        function = call["function"]
        return call["id"], function["name"], json.loads(function["arguments"])

    def _usage(self, usage: Json) -> Usage:
        cached = usage["prompt_tokens_details"]["cached_tokens"]
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
        return Usage(
            input=usage["prompt_tokens"] - cached, cache_read=cached,
            output=usage["completion_tokens"],
            reasoning=usage["completion_tokens_details"]["reasoning_tokens"],
        )  # fmt: skip


class ResponsesClient(Client):
    dialect = Dialect.RESPONSES
    path = "/v1/responses"

    def body(self) -> Json:
        tools: list[Json] = [
            {"type": "function", "name": name, "parameters": schema}
            for name, schema in self.tools.items()
        ]
        return {
            "model": "m", "stream": self.streams, "tools": tools,
            "instructions": "<cwd>/workspace</cwd>", "input": self.history,
        }  # fmt: skip

    def user(self, text: str) -> Json:
        content = [{"type": "input_text", "text": text}]
        return {"type": "message", "role": "user", "content": content}

    def keep(self, said: Said) -> None:
        for number, name, arguments in said.calls:
            call = {"call_id": number, "name": name, "arguments": json.dumps(arguments)}
            self.history.append({"type": "function_call", **call})
        for number, _, _ in said.calls:
            result = {"call_id": number, "output": "[[script:hi]] done"}
            self.history.append({"type": "function_call_output", **result})

    def parsed(self, data: bytes) -> Said:
        whole = json.loads(data) if not self.streams else self._streamed(data)
        usage = whole["usage"]
        cached = usage["input_tokens_details"]["cached_tokens"]
        said = Said(
            stop=whole["status"],
            usage=Usage(
                input=usage["input_tokens"] - cached, cache_read=cached,
                output=usage["output_tokens"],
                reasoning=usage["output_tokens_details"]["reasoning_tokens"],
            ),
        )  # fmt: skip
        for item in whole["output"]:
            match item["type"]:
                case "reasoning":
                    said.thinking += item["summary"][0]["text"]
                case "message":
                    said.text += item["content"][0]["text"]
                case "custom_tool_call":
                    said.calls.append((item["call_id"], item["name"], item["input"]))
                case "tool_search_call":
                    said.calls.append((item["call_id"], "tool_search", item["arguments"]))
                case _:
                    arguments = json.loads(item["arguments"])
                    said.calls.append((item["call_id"], item["name"], arguments))
        return said

    def _streamed(self, data: bytes) -> Json:
        """The response at the end; items and deltas have to say the same."""
        all_events = events(data)
        assert [one["sequence_number"] for one in all_events] == list(range(len(all_events)))
        assert all_events[0]["type"] == "response.created"
        whole: Json = all_events[-1]["response"]
        done = [one["item"] for one in all_events if one["type"] == "response.output_item.done"]
        assert done == whole["output"]
        text = "".join(one["delta"] for one in all_events if one["type"].endswith("text.delta"))
        said = [one["content"][0]["text"] for one in done if one["type"] == "message"]
        thought = [one["summary"][0]["text"] for one in done if one["type"] == "reasoning"]
        assert text == "".join([*thought, *said])
        return whole


class GeminiClient(Client):
    dialect = Dialect.GEMINI

    def url(self) -> str:
        verb = "streamGenerateContent?alt=sse" if self.streams else "generateContent"
        return f"{self.base}/v1beta/models/m:{verb}"

    def body(self) -> Json:
        declared = [
            {"name": name, "parametersJsonSchema": schema} for name, schema in self.tools.items()
        ]
        return {
            "systemInstruction": {"parts": [{"text": "working directory: /workspace"}]},
            "tools": [{"functionDeclarations": declared}] if declared else [],
            "contents": self.history,
        }  # fmt: skip

    def user(self, text: str) -> Json:
        return {"role": "user", "parts": [{"text": text}]}

    def keep(self, said: Said) -> None:
        calls = [
            {"functionCall": {"id": f"{n}__{i}", "name": n, "args": a}} for i, n, a in said.calls
        ]
        results = [
            {"functionResponse": {"id": i, "name": n, "response": {"output": "[[script:hi]]"}}}
            for i, n, _ in said.calls
        ]
        self.history.append({"role": "model", "parts": calls})
        self.history.append({"role": "user", "parts": results})

    def parsed(self, data: bytes) -> Said:
        said = Said()
        for event in events(data) if self.streams else [json.loads(data)]:
            candidate = event["candidates"][0]
            said.stop = candidate.get("finishReason", "")
            for part in candidate["content"]["parts"]:
                if "functionCall" in part:
                    call = part["functionCall"]
                    said.calls.append((call["id"], call["name"], call["args"]))
                elif part.get("thought"):
                    said.thinking += part["text"].removeprefix("**Thinking**\n\n")
                else:
                    said.text += part["text"]
        usage = event["usageMetadata"]
        cached, thoughts = usage["cachedContentTokenCount"], usage["thoughtsTokenCount"]
        said.usage = Usage(
            input=usage["promptTokenCount"] - cached, cache_read=cached,
            output=usage["candidatesTokenCount"] + thoughts, reasoning=thoughts,
        )  # fmt: skip
        return said


CLIENTS: tuple[type[Client], ...] = (AnthropicClient, ResponsesClient, ChatClient, GeminiClient)
