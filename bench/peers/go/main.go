// peers opa|opa-parsed|casbin FOLDER: OPA's library and casbin for Go under the protocol of ../host.mjs.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

const batch = 64

// A call in the form that a peer starts from, and what decides it: the rank of the rule, or -1.
type peer struct {
	parse  func(line []byte) any
	decide func(call any) int
}

var loaders = map[string]func(folder string) (peer, error){
	"opa":        func(folder string) (peer, error) { return loadOPA(folder, false) },
	"opa-parsed": func(folder string) (peer, error) { return loadOPA(folder, true) },
	"casbin":     loadCasbin,
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func readFile(folder, name string) string {
	return string(must(os.ReadFile(folder + "/" + name)))
}

func parseObject(line []byte) any {
	var call map[string]any
	if err := json.Unmarshal(line, &call); err != nil {
		panic(err)
	}
	return call
}

type bench struct {
	peer
	lines []string
	at    int
	ofOne time.Duration
}

func (b *bench) check(most time.Duration) map[string]any {
	ranks := []int{}
	begin := time.Now()
	for _, line := range b.lines {
		ranks = append(ranks, b.decide(b.parse([]byte(line))))
		if time.Since(begin) > most {
			break
		}
	}
	b.ofOne = time.Since(begin) / time.Duration(len(ranks))
	return map[string]any{"ranks": ranks}
}

func (b *bench) measure(least time.Duration, count int) map[string]any {
	size := max(1, min(batch, int(least/max(1, b.ofOne))))
	calls := make([]any, size)
	var took time.Duration
	decisions, kept := 0, 0
	for took < least {
		for i := range calls {
			calls[i] = b.parse([]byte(b.lines[b.at%count]))
			b.at++
		}
		begin := time.Now()
		for _, call := range calls {
			kept ^= b.decide(call)
		}
		took += time.Since(begin)
		decisions += size
	}
	return map[string]any{"decisions": decisions, "ns": took.Nanoseconds(), "kept": kept}
}

func answer(value any) {
	fmt.Println(string(must(json.Marshal(value))))
}

func main() {
	folder := os.Args[2]
	begin := time.Now()
	b := bench{peer: must(loaders[os.Args[1]](folder))}
	b.lines = strings.Split(strings.TrimSpace(readFile(folder, "calls.jsonl")), "\n")
	answer(map[string]any{"load_ms": time.Since(begin).Seconds() * 1e3})
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		var command string
		var ms, count int
		if n, _ := fmt.Sscan(input.Text(), &command, &ms, &count); n == 3 {
			answer(b.measure(time.Duration(ms)*time.Millisecond, count))
		} else {
			answer(b.check(time.Duration(ms) * time.Millisecond))
		}
	}
}
