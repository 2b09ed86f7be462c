//go:build unix

package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// TestSlotsAreGivenBack: whatever way a hook ends, its slot is free afterwards.
func TestSlotsAreGivenBack(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	b := newBench(t)
	opts := Options{Parallel: 1, Policies: named(map[string]Policy{
		"panic": func(context.Context, hooks.Input) hooks.Result { panic("ouch") },
	})}
	endings := []hooks.Handler{{Command: "exit 0"}, {Command: "exit 2"}, {Command: "kill -9 $$"}, {Command: "/no/such"},
		{Command: "sleep 9", Timeout: 0.05}, {Command: "no-such", Args: []string{}}, {Gate: true, Policy: "panic"}}
	group := hooks.Group{}
	for _, h := range endings {
		h.Type = "command"
		group.Hooks = append(group.Hooks, h)
	}
	r := b.runnerWith(t, opts, settings.Source{Settings: hooks.Settings{hooks.Stop: {group}}})
	for range 2 {
		if out := b.fire(t, r, hooks.StopInput{}); len(out.Results) != len(endings) {
			t.Errorf("%d results of %d hooks", len(out.Results), len(endings))
		}
	}
	if len(r.slots) != 0 {
		t.Errorf("%d slots are taken", len(r.slots))
	}
}

// TestWaitingForASlot: the time-out of a hook begins when it starts, and a hook
// that still waits when the context ends never starts.
func TestWaitingForASlot(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.runnerWith(t, Options{Parallel: 1}, settings.Source{Settings: on(hooks.Stop, "echo $$ >$REC_DIR/first; sleep 9", "REC second '{}'")})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { pidIn(t, filepath.Join(b.dir, "first")); cancel() }()
	out, err := r.Run(ctx, b.input(hooks.StopInput{}), nil)
	if !errors.Is(err, context.Canceled) || len(out.Results) != 2 || len(b.tags(t)) != 0 {
		t.Errorf("%+v, %v, called %q", out, err, b.tags(t))
	}
}

// TestSlotsAreShared: two events at once share the slots of their Runner, and
// neither starves.
func TestSlotsAreShared(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.runnerWith(t, Options{Parallel: 2}, settings.Source{Settings: on(hooks.Stop, "sleep 0.02 #1", "sleep 0.02 #2", "sleep 0.02 #3")})
	var events sync.WaitGroup
	for range 8 {
		events.Go(func() {
			out, err := r.Run(t.Context(), b.input(hooks.StopInput{}), nil)
			if err != nil || len(out.Results) != 3 {
				t.Errorf("%d results, %v", len(out.Results), err)
			}
		})
	}
	events.Wait()
}

// TestNoLeak: after runs of every kind, cancelled ones too, nothing is left.
func TestNoLeak(t *testing.T) {
	b := newBench(t)
	r := b.runner(t, on(hooks.Stop, "sleep 5 & exit 0", "cat", "exec 0<&-; sleep 0.05"))
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	in := b.input(hooks.StopInput{LastAssistantMessage: strings.Repeat("x", 1<<20)})
	for _, limit := range []time.Duration{time.Nanosecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Minute} {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		out, err := r.Run(ctx, in, nil)
		if (err != nil) != (ctx.Err() != nil) || len(out.Results) != 3 {
			t.Errorf("after %v: %d results, %v", limit, len(out.Results), err)
		}
		cancel()
	}
}

// TestEnvironmentIsWhatIsGiven: a variable of this process that the caller has
// left out reaches no hook.
func TestEnvironmentIsWhatIsGiven(t *testing.T) {
	t.Setenv("HOOKS_TEST_SECRET", "s3cret")
	b := newBench(t)
	out := b.fire(t, b.runner(t, on(hooks.Stop, "env >&2; cat /proc/$$/environ >&2; exit 2")), hooks.StopInput{})
	if strings.Contains(out.Feedback[0], "s3cret") {
		t.Error("the secret is in the hook's environment")
	}
	r, err := New([]settings.Source{{Settings: on(hooks.Stop, "echo $HOOKS_TEST_SECRET >&2; exit 2")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out := b.fire(t, r, hooks.StopInput{}); !strings.HasSuffix(out.Feedback[0], "s3cret") {
		t.Errorf("without Env hooks inherit this process's: %q", out.Feedback)
	}
}

// TestBigInput: ten megabytes of prompt reach a hook whole, and a hook that
// looks at none of it does not mind.
func TestBigInput(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.input(hooks.UserPromptSubmitInput{Prompt: strings.Repeat("p\xff", 5<<20)})
	wire, err := in.Wire()
	if err != nil {
		t.Fatal(err)
	}
	settings := on(hooks.UserPromptSubmit, "wc -c >$REC_DIR/size", "true")
	if _, err := b.runner(t, settings).Run(t.Context(), in, nil); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(b.dir, "size"))
	if size := strings.TrimSpace(string(data)); err != nil || size != strconv.Itoa(len(wire)) {
		t.Errorf("the hook read %s bytes of %d, %v", size, len(wire), err)
	}
}

// TestSources: three layers with hooks of their own all run, in parallel: each waits
// until all have begun.
func TestSources(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	together := func(name string) hooks.Settings {
		return on(hooks.Stop, "cd $REC_DIR; touch "+name+"; until [ -e user ] && [ -e project ] && [ -e local ]; do sleep 0.05; done; "+
			"echo "+name+" >&2; exit 2")
	}
	r := b.runnerWith(t, Options{Parallel: 3},
		settings.Source{Name: "user", Settings: limitTo(60, together("user"))},
		settings.Source{Name: "project", Settings: limitTo(60, together("project"))},
		settings.Source{Name: "local", Settings: limitTo(60, together("local"))})
	out := b.fire(t, r, hooks.StopInput{})
	all := strings.Join(out.Feedback, "\n")
	for _, name := range []string{"user", "project", "local"} {
		if !strings.Contains(all, "]: "+name) {
			t.Errorf("%s is missing in %q", name, out.Feedback)
		}
	}
}
