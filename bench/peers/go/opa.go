package main

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
)

// A prepared query for the rank of the deciding rule; encode.py says how. With parsed the call is in OPA's own form before the
// time starts, else in the form that encoding/json gives, which OPA turns into its own in the timed part.
func loadOPA(folder string, parsed bool) (peer, error) {
	background := context.Background()
	query, err := rego.New(
		rego.Query("data.callgate.decision"),
		rego.Module("policy.rego", readFile(folder, "policy.rego")),
	).PrepareForEval(background)
	if err != nil {
		return peer{}, err
	}
	parse := parseObject
	if parsed {
		parse = func(line []byte) any { return must(ast.ValueFromReader(bytes.NewReader(line))) }
	}
	return peer{parse, func(call any) int {
		option := rego.EvalInput(call)
		if parsed {
			option = rego.EvalParsedInput(call.(ast.Value))
		}
		results := must(query.Eval(background, option))
		if len(results) == 0 {
			return -1
		}
		return int(must(results[0].Expressions[0].Value.(json.Number).Int64()))
	}}, nil
}
