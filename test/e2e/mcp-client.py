"""Plays an MCP client for mcp-test.el, with the official Python library.

usage: mcp-client.py MODE SERVER ARGUMENT...

MODE is how versions are negotiated: auto or legacy.  If MCP_ROOTS names a file,
the client has roots: that file has a list of URIs in JSON, or null as long as the
client does not answer what they are.  Reads commands as lines of JSON and writes
what becomes of them as such lines:

{"call": TAG, "tool": NAME, "arguments": FILE}   FILE holds an object in JSON
{"cancel": TAG}
{"roots": "changed"}

{"tools": {NAME: {"required": [NAME...], "types": {NAME: TYPE}}}}
                                                 when the server is there
{"asked": "roots"}                               when the server asks for them
{"answered": "roots"}                            when it is told
{"tag": TAG, "progress": N, "total": N or null, "message": TEXT}
{"tag": TAG, "error": BOOLEAN, "text": TEXT, "result": OBJECT}
                                                 OBJECT is the structured content
{"tag": TAG, "cancelled": true}
{"tag": TAG, "exception": TEXT}
"""

import json
import os
import sys

import anyio
from mcp import Client, StdioServerParameters
from mcp.types import Implementation, ListRootsResult, Root


def say(**words):
    print(json.dumps(words), flush=True)


def parameters(schema):
    types = {name: value["type"] for name, value in schema["properties"].items()}
    return {"required": schema["required"], "types": types}


async def call(client, scopes, tag, tool, arguments):
    async def progress(n, total, message):
        say(tag=tag, progress=n, total=total, message=message)

    with anyio.CancelScope() as scope:
        scopes[tag] = scope
        try:
            result = await client.call_tool(tool, arguments, progress_callback=progress)
            say(
                tag=tag,
                error=bool(result.is_error),
                text=result.content[0].text,
                result=result.structured_content,
            )
        except Exception as exception:
            say(tag=tag, exception=repr(exception))
    if scope.cancelled_caught:
        say(tag=tag, cancelled=True)


def read_roots():
    with open(os.environ["MCP_ROOTS"], encoding="utf-8") as file:
        return json.load(file)


async def roots(_context):
    say(asked="roots")
    while (uris := read_roots()) is None:
        await anyio.sleep(0.05)
    say(answered="roots")
    # The library would check that they are URIs of files.
    return ListRootsResult(roots=[Root.model_construct(uri=uri) for uri in uris])


async def main(mode, command, *args):
    # By itself the library hides most of the environment from the server.
    environment = {"XDG_RUNTIME_DIR": os.environ["XDG_RUNTIME_DIR"]}
    server = StdioServerParameters(command=command, args=list(args), env=environment)
    client = Client(
        server,
        mode=mode,
        client_info=Implementation(name="pythonista", version="1"),
        list_roots_callback=roots if "MCP_ROOTS" in os.environ else None,
    )
    scopes = {}
    async with client, anyio.create_task_group() as tasks:
        tools = await client.list_tools()
        say(tools={tool.name: parameters(tool.input_schema) for tool in tools.tools})
        async for line in anyio.wrap_file(sys.stdin):
            word = json.loads(line)
            if "cancel" in word:
                scopes[word["cancel"]].cancel()
            elif "roots" in word:
                await client.send_roots_list_changed()
            else:
                with open(word["arguments"], encoding="utf-8") as file:
                    arguments = json.load(file)
                tasks.start_soon(call, client, scopes, word["call"], word["tool"], arguments)
        tasks.cancel_scope.cancel()


anyio.run(main, *sys.argv[1:])
