// A server on mcp-go whose tool binds its arguments as encoding/json does: names without regard to case.
package main

import (
	"context"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type arguments struct {
	Source string `json:"source"`
}

func read(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args arguments
	if err := request.BindArguments(&args); err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	text, err := os.ReadFile(args.Source)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultText(string(text)), nil
}

func main() {
	s := server.NewMCPServer("go", "1")
	s.AddTool(mcp.NewTool("read", mcp.WithString("source")), read)
	if server.ServeStdio(s) != nil {
		os.Exit(1)
	}
}
