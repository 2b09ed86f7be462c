package configs

import (
	"errors"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs/yaml"
)

// TestProblemWindow shows a part of a long line, with the caret on the spot.
func TestProblemWindow(t *testing.T) {
	spec := `{"covey": 1, "goal": "` + strings.Repeat("é", 500) + `", "lead": 3, "more": "` + strings.Repeat("x", 500) + `"}`
	_, err := parse(t, spec)
	var problems Errors
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	lines := strings.Split(problems[0].String(), "\n")
	if len(lines) != 3 {
		t.Fatalf("problem is %q", lines)
	}
	source, caret := []rune(lines[1]), []rune(lines[2])
	if len(source) > 130 {
		t.Errorf("source is %d characters long", len(source))
	}
	if spot := source[len(caret)-1]; spot != '3' {
		t.Errorf("the caret is under %q in\n%s\n%s", spot, lines[1], lines[2])
	}
	if source[4] != '…' || source[len(source)-1] != '…' {
		t.Errorf("no dots where the line was cut: %s", lines[1])
	}
}

// TestProblemsDisarmed: a spec nobody trusts yet cannot act on the terminal.
func TestProblemsDisarmed(t *testing.T) {
	_, err := parse(t, "covey: 1\nlead: {model: x}\n\"\\e]52;c;aGk=\\a\u202e\u2066\": 1\n")
	if err == nil {
		t.Fatal("no error")
	}
	for _, r := range err.Error() {
		if r < ' ' && r != '\n' || r == '\u202e' || r == '\u2066' || r == 0x7f {
			t.Errorf("the message holds %U:\n%q", r, err.Error())
		}
	}
}

// TestErrorsListed: a spec with thousands of mistakes gives all of them as
// values and a readable number of them as text.
func TestErrorsListed(t *testing.T) {
	var b strings.Builder
	b.WriteString("covey: 1\nlead: {model: {provider: script, script: demo.yaml}}\n")
	for i := range 3000 {
		b.WriteString("k")
		b.WriteString(strings.Repeat("a", i%7))
		b.WriteString("x: 1\n")
	}
	_, err := parse(t, b.String())
	var problems Errors
	if !errors.As(err, &problems) || len(problems) != 3000 {
		t.Fatalf("%d problems", len(problems))
	}
	text := err.Error()
	if n := strings.Count(text, "\n"); n > 3*yaml.Listed+1 {
		t.Errorf("%d lines", n)
	}
	if !strings.HasSuffix(text, "\nand 2900 more") {
		t.Errorf("the text ends in %q", text[len(text)-40:])
	}
	for i := 1; i < len(problems); i++ {
		if problems[i].Line < problems[i-1].Line {
			t.Fatalf("problem %d is out of order", i)
		}
	}
}

// TestWarnings: what is legal and looks like a mistake does not stop a team.
func TestWarnings(t *testing.T) {
	team := mustParse(t, `covey: 1
models: {demo: {provider: script, script: demo.yaml}}
lead: {model: demo, tools: [WebSearch]}
bus: {url: ["nats://a.test", "tls://b.test", "nats://c.test:99", "nats://127.0.0.1"]}
`)
	want := []string{
		"3:29: there is no tool \"WebSearch\" in this version",
		"4:13: what the team does goes to nats://a.test, nats://c.test:99 unencrypted",
	}
	if len(team.Warnings) != len(want) {
		t.Fatalf("warnings %v", team.Warnings)
	}
	for i, w := range team.Warnings {
		if !strings.Contains(w.String(), want[i]) {
			t.Errorf("warning %d is %s, want %s", i, w, want[i])
		}
	}
}
