package main

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/casbin/casbin/v3"
	"github.com/casbin/casbin/v3/model"
)

// One line of policy a rule, an empty field for any, and the priority effect, which stops at the first line that
// matches; EnforceEx tells which one that was.
func loadCasbin(folder string) (peer, error) {
	rows := [][]string{}
	if err := json.Unmarshal([]byte(readFile(folder, "casbin.json")), &rows); err != nil {
		return peer{}, err
	}
	tables := map[string][][2]any{} // what each text of argEquals holds, read once
	for _, row := range rows {
		if text := row[len(row)-1]; text != "" {
			var pairs [][2]any
			if err := json.Unmarshal([]byte(text), &pairs); err != nil {
				return peer{}, err
			}
			tables[text] = pairs
		}
	}
	enforcer, err := casbin.NewEnforcer(must(model.NewModelFromString(readFile(folder, "casbin.conf"))))
	if err != nil {
		return peer{}, err
	}
	enforcer.AddFunction("startsWith", func(args ...any) (any, error) {
		return strings.HasPrefix(args[0].(string), args[1].(string)), nil
	})
	enforcer.AddFunction("argsEqual", func(args ...any) (any, error) {
		input := args[0].(map[string]any)
		for _, pair := range tables[args[1].(string)] {
			if value, found := input[pair[0].(string)]; !found || value != pair[1] {
				return false, nil
			}
		}
		return true, nil
	})
	if _, err := enforcer.AddPolicies(rows); err != nil {
		return peer{}, err
	}
	return peer{parseObject, func(value any) int {
		call := value.(map[string]any)
		session := call["sessionKey"].(map[string]any)
		matched, line, err := enforcer.EnforceEx(
			call["tool"], call["server"], session["channel"], session["thread"], call["actor"], call["input"])
		if err != nil {
			panic(err)
		}
		if !matched {
			return -1
		}
		return must(strconv.Atoi(line[0]))
	}}, nil
}
