package runner

import (
	"context"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// TestOnceNotStarted: a hook with `once` that could not start runs at the next event.
func TestOnceNotStarted(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	fine := hooks.Input{Payload: hooks.PreToolUseInput{ToolName: "Bash", ToolInput: []byte(`{}`)}}
	hook := hooks.Handler{Type: "command", Command: ":", Once: true}
	late := hook
	late.Async = true
	for name, tc := range map[string]struct {
		hook    hooks.Handler
		ctx     context.Context
		in      hooks.Input
		waiting bool // all slots of the background are taken
	}{
		"its event was cancelled":                {hook: hook, ctx: ended, in: fine},
		"its input is not JSON":                  {hook: hook, ctx: t.Context(), in: hooks.Input{Payload: hooks.PreToolUseInput{ToolInput: []byte(`{`)}}},
		"its session ended before it got a slot": {hook: late, ctx: t.Context(), in: fine, waiting: true},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := New([]settings.Source{{Settings: hooks.Settings{hooks.PreToolUse: {{Hooks: []hooks.Handler{tc.hook}}}}}},
				&Options{Parallel: 1})
			if err != nil {
				t.Fatal(err)
			}
			if tc.waiting {
				r.background.slots <- struct{}{}
			}
			out, _ := r.Run(tc.ctx, tc.in, nil)
			if out.Matched != 1 {
				t.Fatalf("%+v", out)
			}
			if tc.waiting {
				r.Drain(ended, "")
				<-r.background.slots
			}
			for _, want := range []int{1, 0} {
				if out, err = r.Run(t.Context(), fine, nil); err != nil || out.Matched != want {
					t.Errorf("%d hooks, want %d: %+v, %v", out.Matched, want, out, err)
				}
				r.Drain(t.Context(), "")
			}
		})
	}
}
