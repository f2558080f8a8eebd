// A client on the Go SDK: takes the steps of a file with a server and prints a line of JSON for each.
//
//	client STEPS COMMAND...
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func take(ctx context.Context, session *mcp.ClientSession, step []any) (any, error) {
	word := func(at int) string { return step[at].(string) }
	switch word(0) {
	case "list_tools":
		return session.ListTools(ctx, nil)
	case "call":
		return session.CallTool(ctx, &mcp.CallToolParams{Name: word(1), Arguments: step[2]})
	case "list_prompts":
		return session.ListPrompts(ctx, nil)
	case "get_prompt":
		return session.GetPrompt(ctx, &mcp.GetPromptParams{Name: word(1)})
	case "list_resources":
		return session.ListResources(ctx, nil)
	default:
		return session.ReadResource(ctx, &mcp.ReadResourceParams{URI: word(1)})
	}
}

func run() error {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	var steps [][]any
	if err := json.Unmarshal(text, &steps); err != nil {
		return err
	}
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "callgate-test", Version: "1"}, nil)
	transport := &mcp.CommandTransport{Command: exec.Command(os.Args[2], os.Args[3:]...)}
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return err
	}
	for _, step := range steps {
		got, err := take(ctx, session, step)
		var wire *jsonrpc.Error
		if errors.As(err, &wire) {
			got = map[string]any{"error": map[string]any{"code": wire.Code, "message": wire.Message}}
		} else if err != nil {
			return err
		}
		line, err := json.Marshal(map[string]any{"step": step, "got": got})
		if err != nil {
			return err
		}
		fmt.Println(string(line))
	}
	_ = session.Close() // says so when the server had to be told with a signal
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
