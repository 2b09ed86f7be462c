package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/script"
)

// parse parses a script that must be valid.
func parse(t testing.TB, text string) *script.Script {
	t.Helper()
	s, err := script.Parse("demo.yaml", []byte(text))
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	return s
}

// ask makes one request with the given new texts.
func ask(m *script.Model, texts ...string) (agent.Response, error) {
	return m.Generate(context.Background(), request(texts...))
}

func request(texts ...string) agent.Request {
	message := agent.Message{Role: agent.User}
	for _, text := range texts {
		message.Content = append(message.Content, agent.Block{Type: agent.TextBlock, Text: text})
	}
	return agent.Request{Messages: []agent.Message{message}}
}

func TestMistakesAreAllReportedAtOnceWithTheirPlace(t *testing.T) {
	const text = `steps:
  - sya: hello
    cal: [{tool: Bash}]
  - say: 42
    times: 0
  - when: "(open"
    say: x
  - call: [{tol: Bash, input: [1]}, {}]
  - error: {type: overladed}
  - error: {message: x}
    say: both
  - {}
  - hello
  - delay: 5
    say: x
  - say: x
    usage: {input_tokens: -1, tokens: 3}
  - say:
helpers:
  - when: x
usag: 3
exhausted: halt
`
	_, err := script.Parse("demo.yaml", []byte(text))
	var problems yaml.Errors
	if !errors.As(err, &problems) {
		t.Fatalf("error is %T: %v", err, err)
	}
	want := []string{
		`2:5: unknown key "sya" in a step; did you mean say?`,
		`3:5: unknown key "cal" in a step; did you mean call?`,
		`4:10: say is 42; write text, in quotes if need be`,
		`5:12: times is 0; write how often the step may serve, or -1 for no limit`,
		`6:11: when is not a regular expression`,
		`8:12: a call needs a tool`,
		`8:13: unknown key "tol" in a call; did you mean tool?`,
		`8:31: input is a list; write a mapping`,
		`8:37: a call is empty`,
		`9:19: type is "overladed"; did you mean overloaded?`,
		`10:5: a step either answers or fails`,
		`10:12: an error needs a type`,
		`12:5: a step is empty`,
		`13:5: a step is a mapping, not the text "hello"`,
		`14:12: delay is 5; write a time with its unit`,
		`17:27: input_tokens is -1`,
		`17:31: unknown key "tokens" in usage; its keys are input_tokens, output_tokens`,
		`18:5: say has no value; write one or leave the key out`,
		`20:5: a helper needs steps`,
		`21:1: unknown key "usag" in a script; did you mean usage?`,
		`22:12: exhausted is "halt"`,
	}
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if strings.HasPrefix(line, "demo.yaml:") {
			lines = append(lines, line)
		}
	}
	if head := "demo.yaml:2:5: unknown key \"sya\" in a step; did you mean say?\n      - sya: hello\n        ^\n"; !strings.HasPrefix(err.Error(), head) {
		t.Errorf("no caret below the place:\n%s", err)
	}
	for i, w := range want {
		if i >= len(lines) {
			t.Errorf("missing: %s", w)
		} else if !strings.HasPrefix(lines[i], "demo.yaml:"+w) {
			t.Errorf("line %d\n got %s\nwant demo.yaml:%s…", i, lines[i], w)
		}
	}
	for _, extra := range lines[min(len(want), len(lines)):] {
		t.Errorf("not expected: %s", extra)
	}
}

// A script may say which format it has.
func TestScriptSaysItsFormat(t *testing.T) {
	if s := parse(t, "covey: 1\nsteps: [{say: hello}]\n"); s.Steps() != 1 {
		t.Errorf("%d steps", s.Steps())
	}
}

// TestUnknownTools: a call of an unknown tool is reported with its position, in
// helpers too.
func TestUnknownTools(t *testing.T) {
	s := parse(t, "steps:\n  - call: [{tool: Raed}, {tool: mcp__x__y}, {tool: Read}]\nhelpers:\n  - steps: [{call: [{tool: Fly}]}]\n")
	err := s.CheckTools([]string{"Read", "Write"})
	const want = `demo.yaml:2:19: there is no tool "Raed"; did you mean Read?
      - call: [{tool: Raed}, {tool: mcp__x__y}, {tool: Read}]
                      ^
demo.yaml:4:28: there is no tool "Fly"; the tools are Read, Write
      - steps: [{call: [{tool: Fly}]}]
                               ^`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if err := s.CheckTools([]string{"Read", "Raed", "Fly"}); err != nil {
		t.Error(err)
	}
}

func TestFilesThatAreNoScript(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"empty":         {"", "1:1: the script is empty"},
		"comment":       {"# later\n", "1:1: the script is empty"},
		"list":          {"- say: x\n", "1:1: a script is a mapping, not a list"},
		"no steps":      {"delay: 1s\n", "1:1: a script needs steps"},
		"two documents": {"steps: []\n---\nsteps: []\n", "2:1: a second document"},
		"anchor":        {"steps: &a []\n", "1:8: anchors (&name) are not part of a script"},
		"alias":         {"steps: *a\n", "1:8: aliases (*name) are not part of a script"},
		"merge":         {"steps:\n  - <<: {say: x}\n", "2:5: merge keys (<<) are not part of a script"},
		"tag":           {"steps: !!seq []\n", "1:8: tags (!name) are not part of a script"},
		"twice":         {"steps: []\nsteps: []\n", `2:1: "steps" is here twice, first in line 1`},
		"tab":           {"steps:\n\t- say: x\n", "2:1: a tab cannot indent"},
		"open bracket":  {"steps: [\n", "the closing ] is missing"},
		"steps no list": {"steps: {say: x}\n", "1:8: steps is a mapping; write a list"},
		"infinity": {"steps: [{call: [{tool: X, input: {a: .inf}}]}]\n",
			"cannot be written as JSON"},
		"deep brackets": {strings.Repeat("[", 5000), "this nests too deep"},
		"deep block":    {strings.Repeat("- ", 5000), "this nests too deep"},
		"deep input": {"steps: [{call: [{tool: X, input: {a:\n" + strings.Repeat("- ", 150) +
			"x}}]}]", ""},
		"many keys": {strings.Repeat("a: 1\n", 70_000), "keys"},
		"too large": {"steps: [{say: '" + strings.Repeat("x", script.MaxSize) + "'}]",
			"larger than 1024 KiB"},
		"invalid UTF-8": {"\xff\xfe\x00s", "1:"},
		"large number": {"steps: [{say: x, times: 18446744073709551615}]\n",
			"times is 18446744073709551615"},
		"negative delay":    {"steps: [{say: x, delay: -1s}]\n", `delay is the text "-1s"`},
		"delay of a list":   {"steps: [{say: x, delay: [1s]}]\n", "delay is"},
		"newer format":      {"covey: 2\nsteps: []\n", "1:8: this covey reads version 1 of the format, not 2; write covey: 1"},
		"format as text":    {"covey: v1\nsteps: []\n", "1:8: covey is "},
		"an empty helper":   {"steps: []\nhelpers: [{}]\n", "a helper is empty"},
		"error with a call": {"steps: [{error: {type: unknown}, call: []}]\n", "either answers or fails"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := script.Parse("demo.yaml", []byte(test.text))
			if err == nil {
				t.Fatal("parsed")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant …%s…", err, test.want)
			}
			var problems yaml.Errors
			if !errors.As(err, &problems) || problems[0].Line < 1 || problems[0].Col < 1 {
				t.Errorf("%#v has no place", err)
			}
		})
	}
}

func TestErrorTypesOfHOOKS6AreKnown(t *testing.T) {
	for _, kind := range strings.Fields("rate_limit overloaded authentication_failed oauth_org_not_allowed " +
		"billing_error invalid_request model_not_found server_error max_output_tokens unknown " +
		"account_on_hold " +
		"verification_required cloud_credential_error") {
		s := parse(t, "steps: [{error: {type: "+kind+", message: too bad}}]")
		_, err := ask(s.Model(nil), "x")
		var failure *agent.APIError
		if !errors.As(err, &failure) || failure.Type != kind || failure.Message != "too bad" {
			t.Errorf("%s gave %#v", kind, err)
		}
	}
}

func TestToolInputsBecomeJSON(t *testing.T) {
	s := parse(t, `
steps:
  - call:
      - tool: Bash
        input:
          command: |
            echo "a" && ls <in >out
            exit
          timeout: 5000
          z: [true, null, 1.5, 0x1f, ~, 2024-01-01, "007", {}, []]
          a: {1: one, "é": ü}
      - {tool: ListMembers}
`)
	r, err := ask(s.Model(nil), "go")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"command":"echo \"a\" && ls <in >out\nexit\n","timeout":5000,` +
		`"z":[true,null,1.5,31,null,"2024-01-01","007",{},[]],"a":{"1":"one","é":"ü"}}`
	if got := string(r.Content[0].Input); got != want {
		t.Errorf("input\n got %s\nwant %s", got, want)
	}
	if got := string(r.Content[1].Input); got != "{}" {
		t.Errorf("absent input is %s", got)
	}
	for _, b := range r.Content {
		if !json.Valid(b.Input) {
			t.Errorf("not JSON: %s", b.Input)
		}
	}
}

func TestJSONIsAScriptToo(t *testing.T) {
	s := parse(t,
		`{"steps":[{"say":"hello","call":[{"tool":"Bash","input":{"command":"ls"}}]}],"exhausted":"stop"}`)
	r, err := ask(s.Model(nil), "x")
	if err != nil || len(r.Content) != 2 || r.Content[0].Text != "hello" || r.Content[1].Name != "Bash" {
		t.Errorf("%+v, %v", r, err)
	}
	if s.Steps() != 1 {
		t.Errorf("%d steps", s.Steps())
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.yaml")
	if err := os.WriteFile(path, []byte("steps: [{say: hi}]"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := script.Load(path); err != nil {
		t.Errorf("load: %v", err)
	}
	if _, err := script.Load(filepath.Join(dir, "none.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := script.Load(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("folder: %v", err)
	}
	if err := os.WriteFile(path, []byte("steps: [{sya: hi}]"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := script.Load(path); err == nil || !strings.HasPrefix(err.Error(), path+":1:10: ") {
		t.Errorf("mistake: %v", err)
	}
}

func TestVeryManyMistakesAreNotAllPrinted(t *testing.T) {
	_, err := script.Parse("demo.yaml", []byte("steps:\n"+strings.Repeat("  - {nay: x}\n", 1000)))
	if n := strings.Count(err.Error(), "\ndemo.yaml:"); n != 99 || !strings.HasSuffix(err.Error(), "and 900 more") {
		t.Errorf("%d lines, the last of %.60q", n, err.Error()[len(err.Error())-30:])
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"steps: [{say: hi}]",
		"steps:\n  - say: |\n      a\n    call: [{tool: B, input: {a: [1, 2.5, ~]}}]\n",
		"helpers: [{when: x, steps: []}]\nexhausted: stop\n",
		"steps: [{error: {type: unknown}, delay: 1s}]",
		"? a\n: b", "steps: [{usage: {input_tokens: 9}, times: -1, when: '[a'}]", "\xff", "a: &x [*x]",
		"steps: [[{",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := script.Parse("f.yaml", data)
		if err != nil {
			var problems yaml.Errors
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("%T without problems: %v", err, err)
			}
			for _, p := range problems {
				if p.Line < 1 || p.Col < 1 || p.Message == "" {
					t.Fatalf("a problem without place or text: %#v", p)
				}
			}
			return
		}
		again, err := script.Parse("f.yaml", data)
		if err != nil || again.Steps() != s.Steps() {
			t.Fatalf("a second look differs: %v", err)
		}
		playOut(t, s)
	})
}

// playOut asks until the script is exhausted, and checks every answer against the
// contract of models.
func playOut(t *testing.T, s *script.Script) {
	// A request of a script with delay: 1000h ends with its context.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	m := s.Model(nil)
	ids := map[string]bool{}
	for range 3 * (s.Steps() + 1) {
		r, err := m.Generate(ctx, request("x"))
		if err != nil && ctx.Err() == nil {
			var failure *agent.APIError
			if !errors.As(err, &failure) {
				t.Fatalf("%T: %v", err, err)
			}
		}
		for _, b := range r.Content {
			if b.Type == agent.ToolUseBlock {
				if ids[b.ID] || b.ID == "" || !json.Valid(b.Input) || b.Input[0] != '{' {
					t.Fatalf("bad call %+v", b)
				}
				ids[b.ID] = true
			}
		}
	}
}

func TestHelpers(t *testing.T) {
	s := parse(t, `
steps: [{say: mine}]
usage: {input_tokens: 7}
exhausted: stop
helpers:
  - {when: review, steps: [{say: looks good}]}
  - {steps: [{say: any}]}
`)
	for prompt, want := range map[string]string{"please review this": "looks good", "test it": "any"} {
		h, ok := s.Helper(prompt)
		if !ok {
			t.Fatalf("no helper for %q", prompt)
		}
		r, err := ask(h.Model(nil), prompt)
		if err != nil || r.Content[0].Text != want || r.Usage.InputTokens != 7 {
			t.Errorf("%q: %+v, %v", prompt, r, err)
		}
	}
	h, _ := s.Helper("review")
	m := h.Model(nil)
	for range 2 {
		if r, err := ask(m, "x"); err != nil {
			t.Errorf("a helper inherits exhausted: %+v, %v", r, err)
		}
	}
	if _, ok := parse(t, "steps: []").Helper("x"); ok {
		t.Error("a helper out of nothing")
	}
}
