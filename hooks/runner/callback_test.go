//go:build unix

package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
)

// registered is a runner of one callback, beside what sources configure.
func registered(t *testing.T, event hooks.Event, c hooks.Callback, sources ...settings.Source) (*Runner, *hooks.Registry) {
	t.Helper()
	reg := &hooks.Registry{}
	if _, err := reg.Add(event, c); err != nil {
		t.Fatal(err)
	}
	r, err := New(sources, &Options{Callbacks: reg, Env: []string{"PATH=/usr/bin:/bin"}})
	if err != nil {
		t.Fatal(err)
	}
	return r, reg
}

// outcome fires an event of a session s.
func outcome(t *testing.T, r *Runner, p hooks.Payload) hooks.Outcome {
	t.Helper()
	out, err := r.Run(t.Context(), hooks.Input{Common: hooks.Common{SessionID: "s"}, Payload: p}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// says is a function that always gives the same answer.
func says(a hooks.Answer) hooks.Func {
	return func(context.Context, hooks.Input) (hooks.Answer, error) { return a, nil }
}

// TestCallbackAnswers: what a function answers means what the same JSON of a
// command means.
func TestCallbackAnswers(t *testing.T) {
	bash := hooks.PreToolUseInput{ToolName: "Bash", ToolInput: []byte(`{"command":"ls"}`), ToolUseID: "u"}
	for name, tc := range map[string]struct {
		on     hooks.Payload
		answer hooks.Answer
		want   string
	}{
		"nothing":       {hooks.StopInput{}, hooks.Answer{}, "pass [] [] success"},
		"pass":          {hooks.StopInput{}, hooks.Answer{Decision: hooks.Pass}, "pass [] [] success"},
		"stop":          {hooks.StopInput{}, hooks.Answer{Decision: hooks.Block, Reason: "no"}, `block ["Stop hook feedback:\nno"] [] blocking`},
		"no reason":     {hooks.StopInput{}, hooks.Answer{Decision: hooks.Block}, `block ["Stop hook feedback:\nBlocked by hook"] [] blocking`},
		"halt":          {hooks.StopInput{}, hooks.Answer{Decision: hooks.Halt, Reason: "enough"}, "stop [] [] success enough"},
		"context":       {hooks.StopInput{}, hooks.Answer{Context: "look"}, `pass [] ["<system-reminder>\nStop hook additional context: look\n</system-reminder>"] success`},
		"tool":          {bash, hooks.Answer{Decision: hooks.Block, Reason: "no"}, `block ["PreToolUse:Bash hook error: no"] [] blocking deny`},
		"deny":          {bash, hooks.Answer{Permission: hooks.Permission{Decision: "deny", Reason: "no"}}, `block ["PreToolUse:Bash hook error: no"] [] blocking deny`},
		"ask":           {bash, hooks.Answer{Permission: hooks.Permission{Decision: "ask"}}, "pass [] [] success ask"},
		"input":         {bash, hooks.Answer{UpdatedInput: []byte(`{"command":"id"}`)}, `pass [] [] success {"command":"id"}`},
		"no decision":   {hooks.StopInput{}, hooks.Answer{Decision: "maybe"}, "pass [] [] non_blocking_error open"},
		"no permission": {bash, hooks.Answer{Permission: hooks.Permission{Decision: "perhaps"}}, "pass [] [] non_blocking_error open"},
		"broken input":  {bash, hooks.Answer{UpdatedInput: []byte(`{`)}, "pass [] [] non_blocking_error open"},
		"too late":      {hooks.SessionStartInput{}, hooks.Answer{Decision: hooks.Block, Reason: "no"}, "pass [] [] success warned"},
		"by exit alone": {hooks.RawPayload{Name: hooks.WorktreeCreate}, hooks.Answer{Decision: hooks.Block, Reason: "no"}, "block [] [] blocking"},
		"request": {hooks.RawPayload{Name: hooks.PermissionRequest}, hooks.Answer{Permission: hooks.Permission{Decision: "deny", Reason: "no"}},
			"pass [] [] success deny"},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := registered(t, tc.on.Event(), hooks.Callback{Name: "judge", Do: says(tc.answer)})
			out := outcome(t, r, tc.on)
			if got := told(out); got != tc.want {
				t.Errorf("%s\nwant %s\n%+v", got, tc.want, out)
			}
			if got := out.Results[0]; got.Type != "callback" || got.Command != "callback judge" {
				t.Errorf("it is called %s %q", got.Type, got.Command)
			}
		})
	}
}

// told sums an outcome up: decision, feedback, context, status, and what else is
// set.
func told(out hooks.Outcome) string {
	r := out.Results[0]
	list := func(values []string) string {
		if len(values) == 0 {
			return "[]"
		}
		data, err := texts.Marshal(values)
		return fmt.Sprint(string(data), errText(err))
	}
	text := fmt.Sprintf("%s %s %s %s", out.Decision, list(out.Feedback), list(out.AdditionalContext), r.Outcome)
	for _, more := range []string{out.Permission.Decision, out.StopReason, string(out.UpdatedInput)} {
		if more != "" {
			text += " " + more
		}
	}
	switch {
	case r.FailedOpen:
		text += " open"
	case r.Warning != "":
		text += " warned"
	}
	return text
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return " " + err.Error()
}

// TestCallbackWords: what the model reads of a callback's refusal is, byte for
// byte, what a recorded host showed it.
func TestCallbackWords(t *testing.T) {
	r, _ := registered(t, hooks.Stop, hooks.Callback{Do: says(hooks.Answer{Decision: hooks.Block, Reason: "sdk block reason"})})
	got := outcome(t, r, hooks.StopInput{}).Messages
	want := []string{
		"<system-reminder>\nStop:Callback hook blocking error from command: \"callback\": sdk block reason\n</system-reminder>",
		hooks.Framed("", "Stop hook feedback:\nsdk block reason"),
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("%q", got)
	}
}

// broken are functions that give no answer, and what a person reads of it.
func broken() map[string]hooks.Func {
	return map[string]hooks.Func{
		"the callback failed: no database": func(context.Context, hooks.Input) (hooks.Answer, error) {
			return hooks.Answer{Decision: hooks.Block}, errors.New("no database")
		},
		"the callback panicked: boom": func(context.Context, hooks.Input) (hooks.Answer, error) { panic("boom") },
		"the callback panicked: runtime error": func(_ context.Context, in hooks.Input) (hooks.Answer, error) {
			return hooks.Answer{Reason: in.Payload.(*hooks.StopInput).LastAssistantMessage}, nil
		},
		"the callback ended its goroutine": func(context.Context, hooks.Input) (hooks.Answer, error) {
			runtime.Goexit()
			return hooks.Answer{}, nil
		},
	}
}

// TestCallbackFails: a callback that gives no answer fails open and is counted; a
// gate refuses.
func TestCallbackFails(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), goleak.IgnoreAnyFunction("github.com/dlclark/regexp2.runClock"))
	for want, do := range broken() {
		if strings.Contains(want, "runtime error") {
			want = "the callback panicked: interface conversion"
		}
		r, _ := registered(t, hooks.Stop, hooks.Callback{Name: "x", Do: do})
		out := outcome(t, r, hooks.StopInput{})
		if out.Decision != hooks.Pass || out.FailedOpen() != 1 || !strings.Contains(out.Results[0].Warning, want) ||
			out.Results[0].Outcome != hooks.NonBlockingError {
			t.Errorf("%s: %+v", want, out)
		}
		r, _ = registered(t, hooks.Stop, hooks.Callback{Name: "x", Gate: true, Do: do})
		out = outcome(t, r, hooks.StopInput{})
		if out.Decision != hooks.Block || out.FailedOpen() != 0 ||
			!strings.HasPrefix(out.Feedback[0], "Stop hook feedback:\n[callback x]: "+want) {
			t.Errorf("gate, %s: %+v", want, out)
		}
	}
}

func TestCallbackGateAgrees(t *testing.T) {
	for _, tc := range []struct {
		answer hooks.Answer
		want   hooks.Decision
	}{{hooks.Answer{}, hooks.Pass}, {hooks.Answer{Decision: hooks.Block, Reason: "no"}, hooks.Block}, {hooks.Answer{Decision: "maybe"}, hooks.Block}} {
		for _, on := range []hooks.Payload{hooks.TaskCompletedInput{}, hooks.SessionStartInput{}} {
			r, _ := registered(t, on.Event(), hooks.Callback{Gate: true, Do: says(tc.answer)})
			if out := outcome(t, r, on); out.Decision != tc.want {
				t.Errorf("%+v on %s: %+v", tc.answer, on.Event(), out)
			}
		}
	}
}

// TestCallbackDeadline: an event goes on when a callback's time is up, whether
// the callback heeds its context or not.
func TestCallbackDeadline(t *testing.T) {
	heeds := func(ctx context.Context, _ hooks.Input) (hooks.Answer, error) {
		<-ctx.Done()
		return hooks.Answer{Decision: hooks.Block, Reason: "late"}, ctx.Err()
	}
	for name, tc := range map[string]struct {
		on   hooks.Payload
		gate bool
		want hooks.Decision
	}{
		"fails open":       {on: hooks.StopInput{}, want: hooks.Pass},
		"gate":             {on: hooks.StopInput{}, gate: true, want: hooks.Block},
		"before a call":    {on: hooks.PreToolUseInput{ToolName: "Bash"}, want: hooks.Block},
		"before a prompt":  {on: hooks.UserPromptSubmitInput{}, want: hooks.Block},
		"after a call":     {on: hooks.PostToolUseInput{ToolName: "Bash"}, want: hooks.Pass},
		"end of a session": {on: hooks.SessionEndInput{}, want: hooks.Pass},
	} {
		for _, deaf := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " deaf ", deaf), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					release := make(chan struct{})
					do := heeds
					if deaf {
						do = func(context.Context, hooks.Input) (hooks.Answer, error) {
							<-release
							return hooks.Answer{Decision: hooks.Halt}, nil
						}
					}
					r, reg := registered(t, tc.on.Event(), hooks.Callback{Name: "slow", Timeout: time.Second, Gate: tc.gate, Do: do})
					began := time.Now()
					out := outcome(t, r, tc.on)
					if took := time.Since(began); took > time.Second+proc.DefaultGrace {
						t.Errorf("it took %v", took)
					}
					if out.Decision != tc.want || !strings.Contains(fmt.Sprint(out), "timed out after 1s") {
						t.Errorf("%+v", out)
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					err := reg.Wait(ctx)
					if deaf != (err != nil) || deaf && !strings.Contains(err.Error(), "callback slow") {
						t.Errorf("Wait says %v", err)
					}
					if deaf != strings.Contains(out.Results[0].Warning, "still runs") {
						t.Errorf("the warning is %q", out.Results[0].Warning)
					}
					close(release)
					if err := reg.Wait(t.Context()); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// TestCallbackAbort: whoever ends the context of Run gets no verdict, and no
// failed policy.
func TestCallbackAbort(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := registered(t, hooks.Stop, hooks.Callback{Gate: true, Do: func(ctx context.Context, _ hooks.Input) (hooks.Answer, error) {
		cancel()
		<-ctx.Done()
		return hooks.Answer{}, ctx.Err()
	}})
	out, err := r.Run(ctx, hooks.Input{Payload: hooks.StopInput{}}, nil)
	if !errors.Is(err, context.Canceled) || out.Results[0].Outcome != hooks.Cancelled || out.FailedOpen() != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestCallbackBesideCommands: callbacks and commands run at the same time, and
// one outcome holds both.
func TestCallbackBesideCommands(t *testing.T) {
	b := newBench(t)
	meet := b.dir + "/here"
	reg := &hooks.Registry{}
	_, err := reg.On(hooks.Stop, "", func(ctx context.Context, in hooks.Input) (hooks.Answer, error) {
		for ctx.Err() == nil { // the command waits for this file, and we for its
			if err := os.WriteFile(meet, nil, 0o600); err != nil {
				return hooks.Answer{}, err
			}
			if _, err := os.Stat(meet + ".too"); err == nil {
				return hooks.Answer{Decision: hooks.Block, Reason: "from Go"}, nil
			}
			time.Sleep(time.Millisecond)
		}
		return hooks.Answer{}, ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf("while [ ! -e %[1]s ]; do :; done; touch %[1]s.too; echo from sh >&2; exit 2", meet)
	r := b.runnerWith(t, Options{Callbacks: reg}, settings.Source{Settings: limitTo(20, on(hooks.Stop, line))})
	var seen []string
	out, err := r.Run(t.Context(), b.input(hooks.StopInput{}), func(p hooks.Progress) {
		seen = append(seen, fmt.Sprintf("%.12s %v", p.Command, p.Result != nil))
	})
	if err != nil || out.Matched != 2 || len(out.Feedback) != 2 || out.Decision != hooks.Block || len(seen) != 4 {
		t.Errorf("%+v, %v, %q", out, err, seen)
	}
}

// TestCallbackTakesNoSlot: a callback may fire events whose hooks are processes,
// however few may run at once.
func TestCallbackTakesNoSlot(t *testing.T) {
	b := newBench(t)
	reg := &hooks.Registry{}
	r := b.runnerWith(t, Options{Callbacks: reg, Parallel: 1}, settings.Source{Settings: on(hooks.Stop, ":")})
	for range 3 {
		_, err := reg.On(hooks.TaskCompleted, "", func(ctx context.Context, _ hooks.Input) (hooks.Answer, error) {
			out, err := r.Run(ctx, b.input(hooks.StopInput{}), nil)
			return hooks.Answer{Context: fmt.Sprint(out.Matched)}, err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if out := b.fire(t, r, hooks.TaskCompletedInput{}); out.Matched != 3 || out.FailedOpen() != 0 {
		t.Errorf("%+v", out)
	}
}

// TestCallbackChoice: matcher, if and once mean what they mean for commands; the
// same function added twice is two hooks.
func TestCallbackChoice(t *testing.T) {
	reg := &hooks.Registry{}
	var calls atomic.Int32
	count := func(context.Context, hooks.Input) (hooks.Answer, error) {
		calls.Add(1)
		return hooks.Answer{}, nil
	}
	for _, c := range []hooks.Callback{
		{Matcher: "Bash|Edit"}, {Matcher: "Bash|Edit"}, {Matcher: "^E"}, {If: "Bash(git *)"}, {Once: true}, {Matcher: "Read"},
	} {
		c.Do = count
		if _, err := reg.Add(hooks.PreToolUse, c); err != nil {
			t.Fatal(err)
		}
	}
	r, err := New(nil, &Options{Callbacks: reg})
	if err != nil {
		t.Fatal(err)
	}
	for i, tc := range []struct {
		tool, input string
		want        int32
	}{{"Bash", `{"command":"git push"}`, 4}, {"Bash", `{"command":"ls"}`, 2}, {"Edit", `{}`, 3}, {"Grep", `{}`, 0}} {
		calls.Store(0)
		out := outcome(t, r, hooks.PreToolUseInput{ToolName: tc.tool, ToolInput: []byte(tc.input)})
		if calls.Load() != tc.want || out.Matched != int(tc.want) {
			t.Errorf("%d: %d calls, %d matched, want %d", i, calls.Load(), out.Matched, tc.want)
		}
	}
	if name := outcome(t, r, hooks.PreToolUseInput{ToolName: "Read"}).Results[0].Command; !strings.HasPrefix(name,
		"callback runner.TestCallbackChoice.func") {
		t.Errorf("a callback without a name is called %q", name)
	}
}

func TestCallbackRefused(t *testing.T) {
	for _, tc := range []struct {
		event hooks.Event
		c     hooks.Callback
		want  string
	}{
		{"Stopp", hooks.Callback{Do: says(hooks.Answer{})}, "did you mean Stop?"},
		{hooks.Stop, hooks.Callback{}, "it has no function"},
		{hooks.PreToolUse, hooks.Callback{Matcher: "(", Do: says(hooks.Answer{})}, "is not a JavaScript expression"},
		{hooks.PreToolUse, hooks.Callback{If: "Bash(", Do: says(hooks.Answer{})}, "if: "},
		{hooks.Stop, hooks.Callback{If: "Bash", Do: says(hooks.Answer{})}, "only tool events"},
		{hooks.Stop, hooks.Callback{Timeout: -1, Do: says(hooks.Answer{})}, "is not a timeout"},
		{hooks.Stop, hooks.Callback{OnFailure: "explode", Do: says(hooks.Answer{})}, "continue or block"},
	} {
		remove, err := (&hooks.Registry{}).Add(tc.event, tc.c)
		if !errors.Is(err, hooks.ErrCallback) || !strings.Contains(err.Error(), tc.want) || remove != nil {
			t.Errorf("%s: %v", tc.want, err)
		}
	}
}

// TestCallbackOnFailure: onFailure: block counts where it does for commands.
func TestCallbackOnFailure(t *testing.T) {
	fails := func(context.Context, hooks.Input) (hooks.Answer, error) { return hooks.Answer{}, errors.New("down") }
	r, _ := registered(t, hooks.PreToolUse, hooks.Callback{Name: "x", OnFailure: "block", Do: fails})
	out := outcome(t, r, hooks.PreToolUseInput{ToolName: "Bash"})
	if out.Decision != hooks.Block || out.Feedback[0] != "PreToolUse:Bash hook error: [callback x]: failed; "+
		`blocking because onFailure is "block"`+"\nthe callback failed: down" {
		t.Errorf("%+v", out)
	}
}

func TestAs(t *testing.T) {
	want := hooks.PreToolUseInput{ToolName: "Bash", ToolInput: []byte(`{"command":"ls"}`), ToolUseID: "u"}
	wire, err := hooks.Input{Payload: want}.Wire()
	if err != nil {
		t.Fatal(err)
	}
	byHand, err := hooks.ParseInput(hooks.PreToolUse, wire, hooks.Common{})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []hooks.Input{{Payload: want}, byHand} {
		got, err := hooks.As[hooks.PreToolUseInput](in)
		if err != nil || got.ToolName != "Bash" || string(got.ToolInput) != string(want.ToolInput) || got.ToolUseID != "u" {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := hooks.As[hooks.StopInput](in); err == nil || err.Error() != "the event is PreToolUse, not Stop" {
			t.Errorf("as another event: %v", err)
		}
	}
	bad := hooks.Input{Payload: hooks.RawPayload{Name: hooks.Stop, Fields: []texts.Field{{Name: "stop_hook_active", Value: json.RawMessage(`"x"`)}}}}
	if _, err := hooks.As[hooks.StopInput](bad); err == nil || !strings.Contains(err.Error(), "input of Stop: ") {
		t.Errorf("a wrong field: %v", err)
	}
}

// TestRemoveDuringRuns: callbacks come and go while events run. After remove has
// returned, a callback is not called; until then, each event that began later
// than Add calls it once.
func TestRemoveDuringRuns(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), goleak.IgnoreAnyFunction("github.com/dlclark/regexp2.runClock"))
	rapid.Check(t, func(t *rapid.T) {
		reg := &hooks.Registry{}
		r, err := New(nil, &Options{Callbacks: reg})
		if err != nil {
			t.Fatal(err)
		}
		var stop atomic.Bool
		var firing sync.WaitGroup
		var fired atomic.Int64
		for range 3 {
			firing.Go(func() {
				for !stop.Load() {
					if _, err := r.Run(context.Background(), hooks.Input{Payload: hooks.StopInput{}}, nil); err != nil {
						t.Errorf("Run: %v", err)
					}
					fired.Add(1)
				}
			})
		}
		var adding sync.WaitGroup
		for range rapid.IntRange(1, 4).Draw(t, "adders") {
			turns := rapid.SliceOfN(rapid.IntRange(0, 2), 1, 5).Draw(t, "turns")
			adding.Go(func() {
				for _, wait := range turns {
					comeAndGo(t, reg, r, wait)
				}
			})
		}
		adding.Wait()
		stop.Store(true)
		firing.Wait()
		if left := reg.Of(hooks.Stop); len(left) != 0 {
			t.Errorf("%d callbacks are left", len(left))
		}
	})
}

// comeAndGo adds a callback, fires so many events itself, and removes it again.
func comeAndGo(t *rapid.T, reg *hooks.Registry, r *Runner, events int) {
	var gone atomic.Bool
	var mine atomic.Int64
	remove, err := reg.On(hooks.Stop, "", func(_ context.Context, in hooks.Input) (hooks.Answer, error) {
		if gone.Load() {
			t.Errorf("it was called after it was removed")
		}
		if in.SessionID == "mine" {
			mine.Add(1)
		}
		return hooks.Answer{}, nil
	})
	if err != nil {
		t.Errorf("On: %v", err)
		return
	}
	for i := range events {
		in := hooks.Input{Common: hooks.Common{SessionID: "mine"}, Payload: hooks.StopInput{}}
		if _, err := r.Run(context.Background(), in, nil); err != nil || mine.Load() < int64(i+1) {
			t.Errorf("event %d: %d calls, %v", i, mine.Load(), err)
		}
	}
	remove()
	if err := reg.Wait(context.Background()); err != nil {
		t.Errorf("Wait: %v", err)
	}
	gone.Store(true)
	remove()
}

// TestRemoveByItself: a callback may take itself off while it runs.
func TestRemoveByItself(t *testing.T) {
	reg := &hooks.Registry{}
	var remove func()
	remove, err := reg.On(hooks.Stop, "", func(context.Context, hooks.Input) (hooks.Answer, error) {
		remove()
		return hooks.Answer{Decision: hooks.Block, Reason: "once"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(nil, &Options{Callbacks: reg})
	if err != nil {
		t.Fatal(err)
	}
	if out := outcome(t, r, hooks.StopInput{}); out.Decision != hooks.Block {
		t.Errorf("the call that removed itself: %+v", out)
	}
	if out := outcome(t, r, hooks.StopInput{}); out.Matched != 0 {
		t.Errorf("after that: %+v", out)
	}
}

// TestNoRegistry: without one, nothing changes and nothing is waited for.
func TestNoRegistry(t *testing.T) {
	var reg *hooks.Registry
	if err := reg.Wait(t.Context()); err != nil || reg.Of(hooks.Stop) != nil {
		t.Error(err)
	}
}

// TestCallbackWhen: a function that has nothing to say to an input does not run, and leaves no trace.
func TestCallbackWhen(t *testing.T) {
	r, _ := registered(t, hooks.PreToolUse, hooks.Callback{
		Do:   says(hooks.Answer{Permission: hooks.Permission{Decision: "deny"}}),
		When: func(in hooks.Input) bool { return strings.Contains(string(texts.Encode(in.Payload)), "rm") },
	})
	for command, want := range map[string]int{"ls": 0, "rm x": 1} {
		out := outcome(t, r, hooks.PreToolUseInput{
			ToolName: "Bash", ToolInput: texts.Encode(map[string]string{"command": command}), ToolUseID: "u",
		})
		if out.Matched != want || len(out.Results) != want {
			t.Errorf("%s: %+v", command, out)
		}
	}
}
