//go:build unix

package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
)

// TestPreModelSwitchRunsInOrder: its hooks run one after another, in the order in which
// they are configured and over all layers (HOOKS.md section 4), where others run side by
// side. A refusal refuses the switch and keeps no other hook from running: HOOKS.md knows
// of no event whose hooks do that, and one that only takes notes should see all of them.
func TestPreModelSwitchRunsInOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	say := func(name, rest string) string {
		return "echo begin " + name + " >>$REC_DIR/log; sleep 0.05; echo end " + name + " >>$REC_DIR/log; " + rest
	}
	r := b.runnerWith(t, Options{Parallel: 8},
		settings.Source{Name: "first", Settings: on(hooks.PreModelSwitch, say("a", "exit 0"), say("b", "echo no >&2; exit 2"))},
		settings.Source{Name: "second", Settings: on(hooks.PreModelSwitch, say("c", "exit 1"), say("d",
			`printf '{"hookSpecificOutput":{"hookEventName":"PreModelSwitch","permissionDecision":"allow"}}'`))})
	out := b.fire(t, r, hooks.RawPayload{Name: hooks.PreModelSwitch, Fields: []texts.Field{{Name: "to_model", Value: []byte(`"two"`)}}})
	data, err := os.ReadFile(filepath.Join(b.dir, "log"))
	want := "begin a\nend a\nbegin b\nend b\nbegin c\nend c\nbegin d\nend d\n"
	if err != nil || string(data) != want {
		t.Errorf("order %q, %v", data, err)
	}
	var ended []string
	for _, result := range out.Results {
		ended = append(ended, string(result.Outcome))
	}
	if got := strings.Join(ended, " "); got != "success blocking non_blocking_error success" ||
		out.Decision != hooks.Block {
		t.Errorf("%s: decision %s", got, out.Decision)
	}
}
