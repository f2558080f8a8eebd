"""A client on the Python SDK: takes the steps of a file with a server and prints a line of JSON for each.

client.py STEPS COMMAND...
"""
import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import McpError


async def take(session, what, *words):
    if what == "list_tools":
        return await session.list_tools()
    if what == "call":
        return await session.call_tool(words[0], words[1])
    if what == "list_prompts":
        return await session.list_prompts()
    if what == "get_prompt":
        return await session.get_prompt(words[0], words[1])
    if what == "list_resources":
        return await session.list_resources()
    return await session.read_resource(words[0])


async def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        steps = json.load(file)
    async with stdio_client(StdioServerParameters(command=sys.argv[2], args=sys.argv[3:])) as streams:
        async with ClientSession(*streams) as session:
            await session.initialize()
            for step in steps:
                try:
                    got = (await take(session, *step)).model_dump(mode="json", exclude_none=True)
                except McpError as error:
                    got = {"error": error.error.model_dump(mode="json", exclude_none=True)}
                print(json.dumps({"step": step[:2], "got": got}, sort_keys=True))


asyncio.run(main())
