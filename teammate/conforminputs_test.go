//go:build unix

package teammate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/hooks"
)

// recordedInputs are what the hooks of each recording read, in the order in which they started: the
// fields of the input without ids, names of members, paths and times, which differ from run to run,
// and without what is a host's own: the suggestions of a PermissionRequest and the words and kind
// of an API error. Of a teammate's recording they are those of the turns that are replayed, with
// the Notification that covey fires in addition.
func recordedInputs(t *testing.T) map[string][]map[string]any {
	t.Helper()
	data, err := os.ReadFile("testdata/inputs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]map[string]any{}
	for line := range bytes.Lines(data) {
		var c struct {
			Name   string
			Inputs []map[string]any
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		all[c.Name] = c.Inputs
	}
	return all
}

// listening is a HookRunner that notes what each hook reads.
type listening struct {
	HookRunner
	mu    sync.Mutex
	heard []map[string]any

	after int // hooks until then is called; 0: it is not
	then  func()
}

func (l *listening) Run(ctx context.Context, in hooks.Input, observe func(hooks.Progress)) (hooks.Outcome, error) {
	return l.HookRunner.Run(ctx, in, func(p hooks.Progress) {
		if p.Result == nil && p.Background == nil {
			l.note(in)
		}
		observe(p)
	})
}

func (l *listening) note(in hooks.Input) {
	var fields map[string]any
	if data, err := json.Marshal(in); err == nil && json.Unmarshal(data, &fields) == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.heard = append(l.heard, fields)
		if len(l.heard) == l.after {
			l.then()
		}
	}
}

// check holds what the hooks read to the recording, field by field.
func (l *listening) check(t *testing.T, want []map[string]any, cwd string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := l.heard[min(len(l.heard), len(want)):]
	if len(rest) == 1 && want[len(want)-1]["hook_event_name"] != "SessionEnd" && rest[0]["hook_event_name"] == "SessionEnd" {
		rest = nil // the recording goes on with turns that are not replayed
	}
	if len(l.heard) < len(want) || len(rest) > 0 {
		t.Errorf("%d hooks ran, the recording has %d; these are too many: %v", len(l.heard), len(want), rest)
	}
	for i := range min(len(l.heard), len(want)) {
		got := map[string]any{}
		for name := range want[i] {
			if value, ok := l.heard[i][name]; ok {
				got[name] = withoutIDs(value)
			}
		}
		if g, w := fieldsText(got, cwd), fieldsText(want[i], "<CWD>"); g != w {
			t.Errorf("hook %d read\n%s\nwant\n%s", i+1, g, w)
		}
	}
}

// withoutIDs is a value without the ids of calls in it.
func withoutIDs(value any) any {
	list, _ := value.([]any)
	for _, item := range list {
		if fields, ok := item.(map[string]any); ok {
			delete(fields, "tool_use_id")
		}
	}
	return value
}

// afterScript is what a model says once its script is at its end, there as here.
var afterScript = regexp.MustCompile(`(turn )?end \d+`)

// fieldsText shows fields in one order, a line each.
func fieldsText(fields map[string]any, cwd string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		fmt.Fprintf(&b, "  %s: %v\n", name, fields[name])
	}
	return afterScript.ReplaceAllString(strings.ReplaceAll(b.String(), cwd, "<CWD>"), "<END>")
}
