package script_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/script"
)

// Files made to overload the parser are refused or parsed quickly.
func TestHostileFilesTakeLittleTime(t *testing.T) {
	const size = script.MaxSize / 8 // a parser that takes the square of it does not end
	var keys strings.Builder
	for i := range 5_000 {
		fmt.Fprintf(&keys, "k%d: v\n", i)
	}
	for name, text := range map[string]string{
		"open brackets":   strings.Repeat("[", size),
		"closed brackets": strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
		"open braces":     strings.Repeat("{a: ", size/4),
		"many keys":       keys.String(),
		"quotes":          strings.Repeat("'", size),
		"colons":          strings.Repeat(":", size),
		"anchors":         strings.Repeat("&a ", size/3),
		"comments":        strings.Repeat("#\n", size/2),
		"line feeds":      strings.Repeat("\n", size),
		"zero bytes":      strings.Repeat("\x00", size),
		"an alias bomb":   "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n",
	} {
		begin := time.Now()
		_, err := script.Parse("h.yaml", []byte(text))
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("%s: %v", name, took)
		}
		if err == nil {
			t.Errorf("%s: parsed", name)
		}
		if len(err.Error()) > 60_000 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
}

func TestALargeScriptOfManyStepsServes(t *testing.T) {
	var text strings.Builder
	text.WriteString("steps:\n")
	for i := range 3000 {
		fmt.Fprintf(&text, "  - say: step %d\n    call: [{tool: Bash, input: {command: ls}}]\n", i)
	}
	m := parse(t, text.String()).Model(nil)
	for i := range 3000 {
		r, err := ask(m, "x")
		if err != nil || r.Content[0].Text != fmt.Sprintf("step %d", i) {
			t.Fatalf("pass %d: %+v, %v", i, r, err)
		}
	}
}

// With concurrent requests each step serves as often as it may, and no call id is
// used twice.
func TestManyAskAtOnce(t *testing.T) {
	m := parse(t, "{steps: [{call: [{tool: Bash}], times: 50}, {say: later, times: 50}], exhausted: stop}").Model(nil)
	var mu sync.Mutex
	var all sync.WaitGroup
	got := map[string]int{}
	for range 120 {
		all.Go(func() {
			r, err := ask(m, "x")
			key := said(r, err)
			if len(r.Content) > 0 && r.Content[0].Type == agent.TextBlock {
				key = r.Content[0].Text
			}
			mu.Lock()
			defer mu.Unlock()
			got[key]++
		})
	}
	all.Wait()
	if len(got) != 52 || got["later"] != 50 || got["(empty)"] != 20 {
		t.Errorf("%d different answers: %v", len(got), got)
	}
}

func TestTextsOfAllKindsArriveAsTheyWereWritten(t *testing.T) {
	s := parse(t, `
steps:
  - say: plain
  - say: "quoted \"\n\té"
  - say: 'single '' quote'
  - say: |
      literal
        indented
  - say: >-
      folded
      text
  - say: "true"
  - say: "42"
  - say: |+
      keeps its end

  - say: "# no comment"
  - {say: 'a: b'}
`)
	m := s.Model(nil)
	for i, want := range []string{
		"plain", "quoted \"\n\té", "single ' quote", "literal\n  indented\n", "folded text", "true", "42",
		"keeps its end\n\n", "# no comment", "a: b",
	} {
		if got := said(ask(m, "x")); got != want {
			t.Errorf("step %d says %q, want %q", i, got, want)
		}
	}
}
