"""Stands in for the model of a coding agent: calls tools as a script says.

usage: model.py SCRIPT LOG PORT-FILE

SCRIPT is a JSON array of tool calls, objects with "tool" and "input"; the model makes one after the
other, and ends with a word when it has read as many results.  A call with "at_once" is made together
with the one before it.  Calls with a "task" are those of a subagent, a model that was told that text;
the agent itself ends only when its subagents have.  A call with a "status" is none: that request, and
each later one, fails with that status of HTTP; with the status 0, there is no answer.  LOG gets a JSON
object a line for each request: its "task", what the model reads of each result, "results", what it
reads beside them, "beside", and all that it is told in its user's place or by the agent itself,
"told".  If it has read a question, "[1]", it answers it with its last word.
PORT-FILE gets the port on 127.0.0.1 where it listens.  It speaks the streaming APIs of Anthropic, of
Gemini, and both of OpenAI's.  A request without any tool of the script, for a title and the like, is
answered aside.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SCRIPT, LOG, PORT_FILE = sys.argv[1:]
END = "That is all."
ANSWER = "\n\n- **[1]** It is another list.\n\nNo more."

# The tasks of subagents that have ended, and what is notified of each.
ended = set()
one_ended = threading.Condition()

# Types of what is said to a model of OpenAI's, by its user or by another agent.
MESSAGES = ("message", "agent_message")


def text_of(content):
    """Returns the text in CONTENT, which may be nested."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(map(text_of, content))
    if isinstance(content, dict):
        return text_of(content["text"]) if "text" in content else json.dumps(content)
    return ""


class Anthropic:
    """The API of Anthropic's models."""

    def __init__(self, request):
        contents = [m["content"] for m in request["messages"] if m["role"] != "assistant"]
        # Claude Code sends the same content as a text or as a block.
        blocks = [block for content in contents for block in
                  ([{"type": "text", "text": content}] if isinstance(content, str) else content)]
        results = [block for block in blocks if block["type"] == "tool_result"]
        self.results = [text_of(block.get("content")) for block in results]
        self.told = self.beside = [block["text"] for block in blocks if block["type"] == "text"]
        self.tools = {tool.get("name") for tool in request.get("tools", [])}
        self.aside = "ok"

    def block(self, number, answer):
        """Returns the beginning of block NUMBER, which is ANSWER, and what follows."""
        if isinstance(answer, str):
            return {"type": "text", "text": ""}, {"type": "text_delta", "text": answer}
        start = {"type": "tool_use", "id": f"toolu_{len(self.results) + number}", "input": {},
                 "name": answer["tool"]}
        return start, {"type": "input_json_delta", "partial_json": json.dumps(answer["input"])}

    def events(self, answers):
        """Yields the events with which ANSWERS, a text or calls, are streamed."""
        reason = "end_turn" if isinstance(answers[0], str) else "tool_use"
        usage = {"input_tokens": 1, "output_tokens": 1}
        yield "message_start", {"message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted",
            "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}}
        for index, answer in enumerate(answers):
            start, delta = self.block(index, answer)
            yield "content_block_start", {"index": index, "content_block": start}
            yield "content_block_delta", {"index": index, "delta": delta}
            yield "content_block_stop", {"index": index}
        yield "message_delta", {"delta": {"stop_reason": reason, "stop_sequence": None},
                                "usage": usage}
        yield "message_stop", {}


class Gemini:
    """The API of Google's models."""

    def __init__(self, request):
        parts = [part for content in request.get("contents", []) for part in content["parts"]]
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        self.results = [text_of(list(result["response"].values())) for result in results]
        self.beside = []
        self.told = [part["text"] for content in request.get("contents", [])
                     if content.get("role") == "user" for part in content["parts"] if "text" in part]
        tools = [tool.get("functionDeclarations", []) for tool in request.get("tools", [])]
        self.tools = {function["name"] for functions in tools for function in functions}
        # Gemini CLI asks which model is to answer, and who speaks next.
        self.aside = json.dumps({
            "reasoning": "none", "model_choice": "flash", "next_speaker": "user",
            "complexity_reasoning": "none", "complexity_score": 1})

    def events(self, answers):
        """Yields the one event with ANSWERS, a text or calls."""
        parts = [{"text": answer} if isinstance(answer, str) else
                 {"functionCall": {"name": answer["tool"], "args": answer["input"]}}
                 for answer in answers]
        yield None, {"candidates": [{"content": {"role": "model", "parts": parts},
                                     "finishReason": "STOP", "index": 0}],
                     "usageMetadata": {"totalTokenCount": 2}}


class Chat:
    """OpenAI's older API, which many providers have."""

    def __init__(self, request):
        messages = request.get("messages", [])
        self.results = [text_of(m["content"]) for m in messages if m["role"] == "tool"]
        self.beside = []
        self.told = [text_of(m["content"]) for m in messages if m["role"] == "user"]
        self.tools = {tool["function"]["name"] for tool in request.get("tools") or []}
        self.aside = "ok"

    def events(self, answers):
        """Yields the events with which ANSWERS, a text or calls, are streamed."""
        if isinstance(answers[0], str):
            delta, reason = {"role": "assistant", "content": answers[0]}, "stop"
        else:
            calls = [{"index": index, "id": f"call_{len(self.results) + index}",
                      "type": "function",
                      "function": {"name": answer["tool"],
                                   "arguments": json.dumps(answer["input"])}}
                     for index, answer in enumerate(answers)]
            delta, reason = {"role": "assistant", "tool_calls": calls}, "tool_calls"
        chunk = {"id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
        for part, end in ((delta, None), ({}, reason)):
            choice = {"index": 0, "delta": part, "finish_reason": end}
            yield None, {**chunk, "choices": [choice]}


class Responses:
    """OpenAI's newer API, which Codex speaks."""

    def __init__(self, request):
        items = request.get("input", [])
        self.results = [text_of(item.get("output")) for item in items
                        if item.get("type", "").endswith("_output")]
        # Before its first call, the model reads only what Codex says to all.
        calls = [at for at, item in enumerate(items) if item.get("type", "").endswith("_call")]
        self.beside = [text_of(item["content"]) for item in items[calls[0] if calls else len(items):]
                       if item.get("type") == "message" and item["role"] != "assistant"]
        self.told = [text_of(item["content"]) for item in items if item.get("type") in MESSAGES]
        self.kinds = dict(self.kinds_of(request.get("tools")))
        # In code mode, its tools come as an item, and most of them are called by scripts only.
        for item in items:
            self.kinds.update(self.kinds_of(item.get("tools")))
        self.tools = set(self.kinds)
        self.aside = "ok"

    def kinds_of(self, tools, space=None):
        """Yields the name of each of TOOLS, in the name space SPACE, with its type and that."""
        for tool in tools or []:
            if tool["type"] == "namespace":
                yield from self.kinds_of(tool["tools"], tool["name"])
            else:
                yield tool.get("name", tool["type"]), (tool["type"], space)

    def item(self, number, answer):
        """Returns item NUMBER, which is ANSWER, a text or a call."""
        if isinstance(answer, str):
            content = [{"type": "output_text", "text": answer, "annotations": []}]
            return {"type": "message", "id": f"msg_{number}", "role": "assistant",
                    "content": content}
        kind, space = self.kinds.get(answer["tool"], (None, None))
        item = {"id": f"item_{number}", "call_id": f"call_{number}", "name": answer["tool"]}
        if space:
            item["namespace"] = space
        if kind == "custom":
            return {"type": "custom_tool_call", **item, "input": answer["input"]}
        return {"type": "function_call", **item, "arguments": json.dumps(answer["input"])}

    def events(self, answers):
        """Yields the events with which ANSWERS, a text or calls, are streamed."""
        number = len(self.results)
        items = [self.item(number + index, answer) for index, answer in enumerate(answers)]
        response = {"id": f"resp_{number}", "object": "response", "created_at": 1,
                    "model": "scripted", "status": "completed", "output": items,
                    "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}
        started = {**response, "status": "in_progress", "output": []}
        yield "response.created", {"response": started}
        for index, item in enumerate(items):
            yield "response.output_item.done", {"output_index": index,
                                                "item": {**item, "status": "completed"}}
        yield "response.completed", {"response": response}


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def fail(self, status):
        """Answers that the request has failed, as the services do, so that nothing tries it again.
        With the STATUS 0, says nothing, until all of this ends."""
        if status == 0:
            threading.Event().wait()
        kind = "usage_limit_reached" if status == 429 else "invalid_request_error"
        body = json.dumps({"type": "error", "error": {
            "type": kind, "message": "It has failed.", "code": status, "status": "INVALID_ARGUMENT"}})
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("x-should-retry", "false")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def do_GET(self):
        self.send("application/json", b"{}")

    do_HEAD = do_GET

    def body(self):
        """Returns the request's body, which may come in chunks."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def do_POST(self):
        request = json.loads(self.body() or b"{}")
        path = self.path.split("?")[0]
        if path.endswith("/messages"):
            api = Anthropic(request)
        elif "enerateContent" in path:
            api = Gemini(request)
        elif path.endswith("/chat/completions"):
            api = Chat(request)
        elif path.endswith("/responses"):
            api = Responses(request)
        else:
            return self.send("application/json", b'{"input_tokens": 1, "totalTokens": 1}')
        with open(SCRIPT, encoding="utf-8") as file:
            whole = json.load(file)
        task = next((call["task"] for call in whole
                     if "task" in call and any(call["task"] in text for text in api.told)), None)
        script = [call for call in whole if call.get("task") == task]
        rest = script[len(api.results):]
        at_once = next((n for n, call in enumerate(rest[1:], 1) if "at_once" not in call), len(rest))
        steps = rest[:at_once] or [END]
        if api.tools.isdisjoint(call.get("tool") for call in whole):
            steps = [api.aside]
        else:
            with open(LOG, "a", encoding="utf-8") as log:
                print(json.dumps({"task": task, "results": api.results, "beside": api.beside,
                                  "told": api.told}), file=log)
        if isinstance(steps[0], dict) and "status" in steps[0]:
            return self.fail(steps[0]["status"])
        if steps == [END]:
            with one_ended:
                ended.add(task)
                one_ended.notify_all()
                if task is None:
                    # Codex's wait can end before what it waits for, and an agent that ends stops its
                    # subagents.
                    tasks = {call["task"] for call in whole if "task" in call}
                    one_ended.wait_for(lambda: tasks <= ended)
            if "- [1] " in json.dumps(request):
                steps = [END + ANSWER]
        events = list(api.events(steps))
        if "stream" not in path and not request.get("stream"):
            return self.send("application/json", json.dumps(events[0][1]).encode())
        lines = []
        for name, event in events:
            if name:
                lines.append(f"event: {name}")
                event = {"type": name, **event}
            lines.append(f"data: {json.dumps(event)}\n")
        return self.send("text/event-stream", ("\n".join(lines) + "\n").encode())


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(PORT_FILE, "w", encoding="utf-8") as port_file:
    port_file.write(str(server.server_address[1]))
server.serve_forever()
