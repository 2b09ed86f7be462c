//go:build unix

package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
)

// listener is a talk without a program.
func listener(tb testing.TB, d Dialect) (*talk, *host) {
	tb.Helper()
	a, err := New(Options{Options: program.Options{Command: []string{"x"}, Dir: "/"}, Dialect: d})
	if err != nil {
		tb.Fatal(err)
	}
	h := &host{tb: tb}
	return a.talk(h), h
}

// hear takes output in as run does, cut into pieces of so many bytes.
func (t *talk) hear(ctx context.Context, output []byte, size int) error {
	for piece := range bytesIn(output, size) {
		if n, err := t.box.Write(piece); n != len(piece) || err != nil {
			return fmt.Errorf("wrote %d: %w", n, err)
		}
		t.takeAll(ctx)
	}
	t.box.close()
	t.takeAll(ctx)
	return t.Err
}

func bytesIn(data []byte, size int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(data) > 0 {
			n := min(size, len(data))
			if !yield(data[:n]) {
				return
			}
			data = data[n:]
		}
	}
}

// settled checks what holds for a transcript after each prompt.
func settled(h *host) error {
	calls, results := map[string]int{}, map[string]int{}
	for _, said := range h.said {
		verb, rest, _ := strings.Cut(said, " ")
		id, _, _ := strings.Cut(rest, " ")
		switch verb {
		case "call":
			calls[strings.TrimSuffix(id, ":")]++
		case "result":
			results[id]++
		}
	}
	for id, n := range calls {
		if n != 1 || results[id] != 1 {
			return fmt.Errorf("call %s: %d times, %d results", id, n, results[id])
		}
	}
	if len(calls) != len(results) || len(h.open) > 0 {
		return fmt.Errorf("%d calls, %d results, open %v", len(calls), len(results), h.open)
	}
	return nil
}

// printed are the lines of a program that does things in any order: calls side
// by side, results twice, late, or never.
func printed(t *rapid.T, dialect Dialect) (output []byte, texts int) {
	var b bytes.Buffer
	id := rapid.IntRange(1, 5)
	for range rapid.IntRange(0, 30).Draw(t, "lines") {
		n := id.Draw(t, "id")
		what := rapid.SampledFrom([]string{"text", "begin", "end", "both", "noise", "plan"}).Draw(t, "what")
		if dialect == Codex {
			b.WriteString(codexLine(what, n))
		} else {
			b.WriteString(claudeLine(what, n))
		}
		b.WriteByte('\n')
		if what == "text" || what == "begin" && dialect == Claude {
			texts++
		}
	}
	return b.Bytes(), texts
}

func codexLine(what string, n int) string {
	item := func(event, rest string) string {
		return fmt.Sprintf(`{"type":"item.%s","item":{"id":"item_%d",%s}}`, event, n, rest)
	}
	switch what {
	case "text":
		return item("completed", `"type":"agent_message","text":"words"`)
	case "begin":
		return item("started", `"type":"command_execution","command":"make","status":"in_progress"`)
	case "end":
		return item("completed", `"type":"command_execution","command":"make","status":"completed","exit_code":0`)
	case "both":
		return item("completed", `"type":"file_change","changes":[{"path":"/a","kind":"add"},{"path":"/b","kind":"update"}],"status":"failed"`)
	case "plan":
		return item("updated", `"type":"todo_list","items":[{"text":"a","completed":true}]`)
	}
	return `{"type":"item.completed"`
}

func claudeLine(what string, n int) string {
	use := fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":"Bash","input":{"command":"make"}}`, n)
	answer := fmt.Sprintf(`{"type":"tool_result","tool_use_id":"t%d","content":"ok"}`, n)
	switch what {
	case "text":
		return `{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"words"}]}}`
	case "begin":
		return `{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"so"},` + use + `]}}`
	case "end":
		return `{"type":"user","message":{"content":[` + answer + `,` + answer + `]}}`
	case "both":
		return `{"type":"assistant","parent_tool_use_id":"t1","message":{"content":[` + use + `]}}`
	case "plan":
		return `{"type":"user","message":{"content":"a reminder"}}`
	}
	return `{"type":"assistant","message":7}`
}

// Each call has one result, whatever comes in whatever order, and whether the
// prompt ends or is broken off.
func TestOneResultPerCall(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dialect := rapid.SampledFrom([]Dialect{Codex, Claude}).Draw(rt, "dialect")
		talk, h := listener(t, dialect)
		output, texts := printed(rt, dialect)
		err := talk.hear(t.Context(), output, rapid.IntRange(1, 200).Draw(rt, "pieces"))
		var failure error
		if rapid.Bool().Draw(rt, "broken off") {
			failure = errCrash
		}
		end := talk.read.end(0)
		err = errors.Join(err, talk.finish(t.Context(), failure, end, program.Spent{Usage: agent.Usage{InputTokens: 3}}), settled(h))
		if err != nil {
			rt.Fatal(err, strings.Join(h.said, "\n"))
		}
		said := strings.Count(strings.Join(h.said, "\n"), "assistant: ")
		if said != texts || failure == nil && h.usage.InputTokens != 3 {
			rt.Fatalf("usage %+v, %d texts of %d", h.usage, said, texts)
		}
	})
}

// Whatever a program prints, the readers take it, and the transcript is in order.
func FuzzLines(f *testing.F) {
	for _, name := range []string{"codex.jsonl", "codex-429.jsonl", "claude.jsonl"} {
		data, err := os.ReadFile(testdata(f, name))
		if err != nil {
			f.Fatal(err)
		}
		for _, d := range []string{"auto", "claude", "codex"} {
			f.Add(d, data)
		}
	}
	f.Add("text", []byte("plain\x00\xff\n{\"type\":\"thread.started\"}"))
	f.Add("codex", []byte(`{"type":"item.completed","item":{"id":"x","type":"command_execution","command":"bash -lc 'a","exit_code":1e300}}`))
	f.Fuzz(func(t *testing.T, dialect string, output []byte) {
		if !slices.Contains([]string{"auto", "claude", "codex", "text"}, dialect) {
			return
		}
		talk, h := listener(t, Dialect(dialect))
		talk.box.maxLine = 1 << 16
		err := talk.hear(t.Context(), output, 1000)
		err = errors.Join(err, talk.finish(t.Context(), nil, talk.read.end(0), program.Spent{}))
		if err != nil || len(h.open) > 0 {
			t.Fatal(err, h.open)
		}
		for _, said := range h.said {
			if !utf8.ValidString(said) {
				t.Errorf("%q", said)
			}
		}
		_ = talk.verdict(t.Context(), talk.read.end(1), proc.Exit{Code: 1})
	})
}

func TestUnwrap(t *testing.T) {
	for command, want := range map[string]string{
		`/bin/bash -lc 'echo hello; ls'`:     `echo hello; ls`,
		`/bin/bash -lc ls`:                   `ls`,
		`bash -c "echo \"a\" 'b' \\ \$HOME"`: `echo "a" 'b' \ $HOME`,
		`/bin/zsh -lc 'it'"'"'s'`:            `it's`,
		"/bin/sh -c 'two\nlines'":            "two\nlines",
		`/bin/bash -lc 'a' b`:                `/bin/bash -lc 'a' b`,
		`/bin/bash -lc "a $HOME"`:            `/bin/bash -lc "a $HOME"`,
		"/bin/bash -lc \"a `b`\"":            "/bin/bash -lc \"a `b`\"",
		`/bin/bash -lc 'open`:                `/bin/bash -lc 'open`,
		`/bin/bash -lc "open`:                `/bin/bash -lc "open`,
		`/bin/bash -lc a;b`:                  `/bin/bash -lc a;b`,
		`python -c 'print(1)'`:               `python -c 'print(1)'`,
		`ls -l`:                              `ls -l`, `bash -lc`: `bash -lc`, `bash -lc `: `bash -lc `, ``: ``,
	} {
		if got := unwrap(command); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

func TestDialectIsGuessed(t *testing.T) {
	const thread = `{"type":"thread.started","thread_id":"t"}`
	for output, want := range map[string]bool{ // whether it is text
		"just words": true, "": true, thread: false, "warning\n\n" + thread: false,
		`{"answer":42}` + "\n" + thread:                       true,
		`{"type":"result","value":1}`:                         true,
		`{"type":"system","subtype":"init","session_id":"s"}`: false,
		strings.Repeat("line\n", sniffLines) + thread:         true,
	} {
		talk, _ := listener(t, Auto)
		if err := talk.hear(t.Context(), []byte(output), 7); err != nil {
			t.Fatal(err)
		}
		if speaksLines(talk.read) == want {
			t.Errorf("%.60q: text %t", output, !want)
		}
	}
}

// A helper's calls are news, its words are not; nor are claude's own.
func TestClaudeHelpers(t *testing.T) {
	talk, h := listener(t, Claude)
	err := talk.hear(t.Context(), []byte(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Task","input":{}}]}}
{"type":"assistant","parent_tool_use_id":"t1","message":{"content":[{"type":"text","text":"sub words"},{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"x"}}]}}
{"type":"user","parent_tool_use_id":"t1","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"y"}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"done"}]}}
{"type":"assistant","error":"server_error","message":{"content":[{"type":"text","text":"API Error"}]}}
{"type":"system","subtype":"api_retry","attempt":3,"error":"overloaded","error_status":529}
`), 50)
	if err = errors.Join(err, talk.finish(t.Context(), nil, talk.read.end(0), program.Spent{})); err != nil {
		t.Fatal(err)
	}
	h.wants("call t1: Task {}", "result t1 (error false): done", `call t2: Bash {"command":"x"}`,
		"result t2 (error false): y")
	if len(h.seen) != 2 || len(h.held) != 1 || !strings.Contains(h.held[0], "529") {
		t.Errorf("reported %q, told %q", h.seen, h.held)
	}
}

// A call that never ends does not hold up all others for ever, and no input is
// too long.
func TestCallThatNeverEnds(t *testing.T) {
	talk, h := listener(t, Codex)
	var b bytes.Buffer
	b.WriteString(`{"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"sleep"}}` + "\n")
	for n := 1; n <= 20; n++ {
		fmt.Fprintf(&b, `{"type":"item.completed","item":{"id":"item_%d","type":"mcp_tool_call","server":"s","tool":"t","arguments":{"command":"x","a":%q},"status":"completed"}}`+"\n",
			n, strings.Repeat("y", 1<<20))
	}
	fmt.Fprintf(&b, `{"type":"item.started","item":{"id":"item_31","type":"mcp_tool_call","server":"s","tool":"t","arguments":{"command":"x","a":%q}}}`+"\n",
		strings.Repeat("y", 5<<20))
	if err := talk.hear(t.Context(), b.Bytes(), 1<<20); err != nil {
		t.Fatal(err)
	}
	if len(h.said) < 20 {
		t.Errorf("%d entries before the end", len(h.said))
	}
	if err := errors.Join(talk.finish(t.Context(), nil, talk.read.end(0), program.Spent{}), settled(h)); err != nil {
		t.Fatal(err)
	}
	last := h.said[len(h.said)-2]
	if last != `call item_31: mcp__s__t {"command":"x","left_out":"5242902 bytes of input"}` {
		t.Errorf("%.200s", last)
	}
}

func TestObject(t *testing.T) {
	for raw, want := range map[string]string{
		"": "{}", "null": "{}", " {} ": "{}", `{"a":1}`: `{"a":1}`, `[1]`: `{"input":[1]}`, `"x"`: `{"input":"x"}`,
	} {
		if got := program.Object(json.RawMessage(raw)); string(got) != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}
