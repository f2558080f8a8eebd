"""sdk_server.py [--root=DIR | file://DIR]: a server on the Python SDK. It reads files, named by an object of arguments or
relative to the folder that its own arguments name."""
import pathlib
import sys
import urllib.parse

from mcp.server.mcpserver import MCPServer

root = pathlib.Path.cwd()
for word in sys.argv[1:]:
    if word.startswith("--root="):
        root = pathlib.Path(word.removeprefix("--root="))
    elif word.startswith("file://"):
        root = pathlib.Path(urllib.parse.unquote(urllib.parse.urlsplit(word).path))
server = MCPServer("sdk")


@server.tool()
def read(request: dict) -> str:
    return (root / request["path"]).read_text()


@server.tool()
def read_relative(name: str) -> str:
    return (root / name).read_text()


server.run()
