//go:build unix

package doctor

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
)

// By hand, hooks in the background are waited for, and all that they say is shown.
func TestFireWaitsForTheBackground(t *testing.T) {
	hookRunner := func(event hooks.Event, list ...hooks.Handler) *runner.Runner {
		r, err := runner.New([]settings.Source{{Settings: hooks.Settings{event: {{Hooks: list}}}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	rewake := hooks.Handler{Type: "command", Command: "sleep 0.1; echo no >&2; exit 2", AsyncRewake: true}
	stop := hooks.Input{Payload: hooks.StopInput{}, Common: hooks.Common{Cwd: t.TempDir()}}
	out, err := fireWhole(t.Context(), hookRunner(hooks.Stop, rewake), stop)
	want := []string{hooks.Framed("", "Stop hook feedback:\n[sleep 0.1; echo no >&2; exit 2]: no")}
	if err != nil || out.Decision != hooks.Block || !slices.Equal(out.Feedback, want) ||
		len(out.Results) != 1 ||
		out.Results[0].Outcome != hooks.Blocking || out.Results[0].ExitCode != 2 {
		t.Errorf("%+v, %v", out, err)
	}

	tool := hooks.Input{Payload: hooks.PostToolUseInput{ToolName: "Bash"},
		Common: hooks.Common{Cwd: t.TempDir()}}
	words := hooks.Handler{Type: "command", Async: true, Command: `echo '{"systemMessage":"m","decision":"block",` +
		`"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"c"}}'`}
	out, err = fireWhole(t.Context(), hookRunner(hooks.PostToolUse, words, rewake), tool)
	if err != nil || out.Decision != hooks.Pass || len(out.Results) != 2 || len(out.Feedback) != 1 ||
		!slices.Equal(out.SystemMessages, []string{"m"}) || len(out.AdditionalContext) != 2 ||
		!strings.Contains(out.AdditionalContext[1], "hook additional context: c") {
		t.Errorf("%+v, %v", out, err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	slow := hooks.Handler{Type: "command", Command: "sleep 61", Async: true}
	out, _ = fireWhole(ctx, hookRunner(hooks.Stop, slow), stop)
	if len(out.Results) != 1 || out.Results[0].Outcome != hooks.Cancelled {
		t.Errorf("%+v", out)
	}
}
