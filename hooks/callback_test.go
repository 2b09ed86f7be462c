//go:build unix

package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/rawjson"
)

// registered is a runner of one callback, beside what sources configure.
func registered(t *testing.T, event Event, c Callback, sources ...Source) (*Runner, *Registry) {
	t.Helper()
	reg := &Registry{}
	if _, err := reg.Add(event, c); err != nil {
		t.Fatal(err)
	}
	r, err := NewRunner(sources, &Options{Callbacks: reg, Env: []string{"PATH=/usr/bin:/bin"}})
	if err != nil {
		t.Fatal(err)
	}
	return r, reg
}

// outcome fires an event of a session s.
func outcome(t *testing.T, r *Runner, p Payload) Outcome {
	t.Helper()
	out, err := r.Run(t.Context(), Input{Common: Common{SessionID: "s"}, Payload: p}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// says is a function that always gives the same answer.
func says(a Answer) Func { return func(context.Context, Input) (Answer, error) { return a, nil } }

// TestCallbackAnswers: what a function answers means what the same JSON of a
// command means.
func TestCallbackAnswers(t *testing.T) {
	bash := PreToolUseInput{ToolName: "Bash", ToolInput: []byte(`{"command":"ls"}`), ToolUseID: "u"}
	for name, tc := range map[string]struct {
		on     Payload
		answer Answer
		want   string
	}{
		"nothing":       {StopInput{}, Answer{}, "pass [] [] success"},
		"pass":          {StopInput{}, Answer{Decision: Pass}, "pass [] [] success"},
		"stop":          {StopInput{}, Answer{Decision: Block, Reason: "no"}, `block ["Stop hook feedback:\nno"] [] blocking`},
		"no reason":     {StopInput{}, Answer{Decision: Block}, `block ["Stop hook feedback:\nBlocked by hook"] [] blocking`},
		"halt":          {StopInput{}, Answer{Decision: Halt, Reason: "enough"}, "stop [] [] success enough"},
		"context":       {StopInput{}, Answer{Context: "look"}, `pass [] ["<system-reminder>\nStop hook additional context: look\n</system-reminder>"] success`},
		"tool":          {bash, Answer{Decision: Block, Reason: "no"}, `block ["PreToolUse:Bash hook error: no"] [] blocking deny`},
		"deny":          {bash, Answer{Permission: Permission{"deny", "no"}}, `block ["PreToolUse:Bash hook error: no"] [] blocking deny`},
		"ask":           {bash, Answer{Permission: Permission{Decision: "ask"}}, "pass [] [] success ask"},
		"input":         {bash, Answer{UpdatedInput: []byte(`{"command":"id"}`)}, `pass [] [] success {"command":"id"}`},
		"no decision":   {StopInput{}, Answer{Decision: "maybe"}, "pass [] [] non_blocking_error open"},
		"no permission": {bash, Answer{Permission: Permission{Decision: "perhaps"}}, "pass [] [] non_blocking_error open"},
		"broken input":  {bash, Answer{UpdatedInput: []byte(`{`)}, "pass [] [] non_blocking_error open"},
		"too late":      {SessionStartInput{}, Answer{Decision: Block, Reason: "no"}, "pass [] [] success warned"},
		"by exit alone": {RawPayload{Name: WorktreeCreate}, Answer{Decision: Block, Reason: "no"}, "block [] [] blocking"},
		"request": {RawPayload{Name: PermissionRequest}, Answer{Permission: Permission{"deny", "no"}},
			"pass [] [] success deny"},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := registered(t, tc.on.Event(), Callback{Name: "judge", Do: says(tc.answer)})
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
func told(out Outcome) string {
	r := out.Results[0]
	list := func(texts []string) string {
		if len(texts) == 0 {
			return "[]"
		}
		data, err := rawjson.Marshal(texts)
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
	r, _ := registered(t, Stop, Callback{Do: says(Answer{Decision: Block, Reason: "sdk block reason"})})
	got := outcome(t, r, StopInput{}).Messages
	want := []string{
		"<system-reminder>\nStop:Callback hook blocking error from command: \"callback\": sdk block reason\n</system-reminder>",
		"Stop hook feedback:\nsdk block reason",
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("%q", got)
	}
}

// broken are functions that give no answer, and what a person reads of it.
func broken() map[string]Func {
	return map[string]Func{
		"the callback failed: no database": func(context.Context, Input) (Answer, error) {
			return Answer{Decision: Block}, errors.New("no database")
		},
		"the callback broke off: boom": func(context.Context, Input) (Answer, error) { panic("boom") },
		"the callback broke off: runtime error": func(_ context.Context, in Input) (Answer, error) {
			return Answer{Reason: in.Payload.(*StopInput).LastAssistantMessage}, nil
		},
		"the callback ended its goroutine": func(context.Context, Input) (Answer, error) {
			runtime.Goexit()
			return Answer{}, nil
		},
	}
}

// TestCallbackFails: a callback that gives no answer fails open and is counted; a
// gate refuses.
func TestCallbackFails(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), goleak.IgnoreAnyFunction("github.com/dlclark/regexp2.runClock"))
	for want, do := range broken() {
		if strings.Contains(want, "runtime error") {
			want = "the callback broke off: interface conversion"
		}
		r, _ := registered(t, Stop, Callback{Name: "x", Do: do})
		out := outcome(t, r, StopInput{})
		if out.Decision != Pass || out.FailedOpen() != 1 || !strings.Contains(out.Results[0].Warning, want) ||
			out.Results[0].Outcome != NonBlockingError {
			t.Errorf("%s: %+v", want, out)
		}
		r, _ = registered(t, Stop, Callback{Name: "x", Gate: true, Do: do})
		out = outcome(t, r, StopInput{})
		if out.Decision != Block || out.FailedOpen() != 0 ||
			!strings.HasPrefix(out.Feedback[0], "Stop hook feedback:\n[callback x]: "+want) {
			t.Errorf("gate, %s: %+v", want, out)
		}
	}
}

func TestCallbackGateAgrees(t *testing.T) {
	for _, tc := range []struct {
		answer Answer
		want   Decision
	}{{Answer{}, Pass}, {Answer{Decision: Block, Reason: "no"}, Block}, {Answer{Decision: "maybe"}, Block}} {
		for _, on := range []Payload{TaskCompletedInput{}, SessionStartInput{}} {
			r, _ := registered(t, on.Event(), Callback{Gate: true, Do: says(tc.answer)})
			if out := outcome(t, r, on); out.Decision != tc.want {
				t.Errorf("%+v on %s: %+v", tc.answer, on.Event(), out)
			}
		}
	}
}

// TestCallbackDeadline: an event goes on when a callback's time is up, whether
// the callback heeds its context or not.
func TestCallbackDeadline(t *testing.T) {
	heeds := func(ctx context.Context, _ Input) (Answer, error) {
		<-ctx.Done()
		return Answer{Decision: Block, Reason: "late"}, ctx.Err()
	}
	for name, tc := range map[string]struct {
		on   Payload
		gate bool
		want Decision
	}{
		"fails open":       {on: StopInput{}, want: Pass},
		"gate":             {on: StopInput{}, gate: true, want: Block},
		"before a call":    {on: PreToolUseInput{ToolName: "Bash"}, want: Block},
		"before a prompt":  {on: UserPromptSubmitInput{}, want: Block},
		"after a call":     {on: PostToolUseInput{ToolName: "Bash"}, want: Pass},
		"end of a session": {on: SessionEndInput{}, want: Pass},
	} {
		for _, deaf := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " deaf ", deaf), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					release := make(chan struct{})
					do := heeds
					if deaf {
						do = func(context.Context, Input) (Answer, error) { <-release; return Answer{Decision: Halt}, nil }
					}
					r, reg := registered(t, tc.on.Event(), Callback{Name: "slow", Timeout: time.Second, Gate: tc.gate, Do: do})
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
	r, _ := registered(t, Stop, Callback{Gate: true, Do: func(ctx context.Context, _ Input) (Answer, error) {
		cancel()
		<-ctx.Done()
		return Answer{}, ctx.Err()
	}})
	out, err := r.Run(ctx, Input{Payload: StopInput{}}, nil)
	if !errors.Is(err, context.Canceled) || out.Results[0].Outcome != Cancelled || out.FailedOpen() != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestCallbackBesideCommands: callbacks and commands run at the same time, and
// one outcome holds both.
func TestCallbackBesideCommands(t *testing.T) {
	b := newBench(t)
	meet := b.dir + "/here"
	reg := &Registry{}
	_, err := reg.On(Stop, "", func(ctx context.Context, in Input) (Answer, error) {
		for ctx.Err() == nil { // the command waits for this file, and we for its
			if err := os.WriteFile(meet, nil, 0o600); err != nil {
				return Answer{}, err
			}
			if _, err := os.Stat(meet + ".too"); err == nil {
				return Answer{Decision: Block, Reason: "from Go"}, nil
			}
			time.Sleep(time.Millisecond)
		}
		return Answer{}, ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf("while [ ! -e %[1]s ]; do :; done; touch %[1]s.too; echo from sh >&2; exit 2", meet)
	r := b.runnerWith(t, Options{Callbacks: reg}, Source{Settings: limitTo(20, on(Stop, line))})
	var seen []string
	out, err := r.Run(t.Context(), b.input(StopInput{}), func(p Progress) {
		seen = append(seen, fmt.Sprintf("%.12s %v", p.Command, p.Result != nil))
	})
	if err != nil || out.Matched != 2 || len(out.Feedback) != 2 || out.Decision != Block || len(seen) != 4 {
		t.Errorf("%+v, %v, %q", out, err, seen)
	}
}

// TestCallbackTakesNoSlot: a callback may fire events whose hooks are processes,
// however few may run at once.
func TestCallbackTakesNoSlot(t *testing.T) {
	b := newBench(t)
	reg := &Registry{}
	r := b.runnerWith(t, Options{Callbacks: reg, Parallel: 1}, Source{Settings: on(Stop, ":")})
	for range 3 {
		_, err := reg.On(TaskCompleted, "", func(ctx context.Context, _ Input) (Answer, error) {
			out, err := r.Run(ctx, b.input(StopInput{}), nil)
			return Answer{Context: fmt.Sprint(out.Matched)}, err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if out := b.fire(t, r, TaskCompletedInput{}); out.Matched != 3 || out.FailedOpen() != 0 {
		t.Errorf("%+v", out)
	}
}

// TestCallbackChoice: matcher, if and once mean what they mean for commands; the
// same function added twice is two hooks.
func TestCallbackChoice(t *testing.T) {
	reg := &Registry{}
	var calls atomic.Int32
	count := func(context.Context, Input) (Answer, error) {
		calls.Add(1)
		return Answer{}, nil
	}
	for _, c := range []Callback{
		{Matcher: "Bash|Edit"}, {Matcher: "Bash|Edit"}, {Matcher: "^E"}, {If: "Bash(git *)"}, {Once: true}, {Matcher: "Read"},
	} {
		c.Do = count
		if _, err := reg.Add(PreToolUse, c); err != nil {
			t.Fatal(err)
		}
	}
	r, err := NewRunner(nil, &Options{Callbacks: reg})
	if err != nil {
		t.Fatal(err)
	}
	for i, tc := range []struct {
		tool, input string
		want        int32
	}{{"Bash", `{"command":"git push"}`, 4}, {"Bash", `{"command":"ls"}`, 2}, {"Edit", `{}`, 3}, {"Grep", `{}`, 0}} {
		calls.Store(0)
		out := outcome(t, r, PreToolUseInput{ToolName: tc.tool, ToolInput: []byte(tc.input)})
		if calls.Load() != tc.want || out.Matched != int(tc.want) {
			t.Errorf("%d: %d calls, %d matched, want %d", i, calls.Load(), out.Matched, tc.want)
		}
	}
	if name := outcome(t, r, PreToolUseInput{ToolName: "Read"}).Results[0].Command; !strings.HasPrefix(name,
		"callback hooks.TestCallbackChoice.func") {
		t.Errorf("a callback without a name is called %q", name)
	}
}

func TestCallbackRefused(t *testing.T) {
	for _, tc := range []struct {
		event Event
		c     Callback
		want  string
	}{
		{"Stopp", Callback{Do: says(Answer{})}, "did you mean Stop?"},
		{Stop, Callback{}, "it has no function"},
		{PreToolUse, Callback{Matcher: "(", Do: says(Answer{})}, "no JavaScript expression"},
		{PreToolUse, Callback{If: "Bash(", Do: says(Answer{})}, "if: "},
		{Stop, Callback{If: "Bash", Do: says(Answer{})}, "only tool events"},
		{Stop, Callback{Timeout: -1, Do: says(Answer{})}, "no time-out"},
		{Stop, Callback{OnFailure: "explode", Do: says(Answer{})}, "continue or block"},
	} {
		remove, err := (&Registry{}).Add(tc.event, tc.c)
		if !errors.Is(err, ErrCallback) || !strings.Contains(err.Error(), tc.want) || remove != nil {
			t.Errorf("%s: %v", tc.want, err)
		}
	}
}

// TestCallbackOnFailure: onFailure: block counts where it does for commands.
func TestCallbackOnFailure(t *testing.T) {
	fails := func(context.Context, Input) (Answer, error) { return Answer{}, errors.New("down") }
	r, _ := registered(t, PreToolUse, Callback{Name: "x", OnFailure: "block", Do: fails})
	out := outcome(t, r, PreToolUseInput{ToolName: "Bash"})
	if out.Decision != Block || out.Feedback[0] != "PreToolUse:Bash hook error: [callback x]: the callback failed: down" {
		t.Errorf("%+v", out)
	}
}

func TestAs(t *testing.T) {
	want := PreToolUseInput{ToolName: "Bash", ToolInput: []byte(`{"command":"ls"}`), ToolUseID: "u"}
	wire, err := Input{Payload: want}.Wire()
	if err != nil {
		t.Fatal(err)
	}
	byHand, err := ParseInput(PreToolUse, wire, Common{})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []Input{{Payload: want}, byHand} {
		got, err := As[PreToolUseInput](in)
		if err != nil || got.ToolName != "Bash" || string(got.ToolInput) != string(want.ToolInput) || got.ToolUseID != "u" {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := As[StopInput](in); err == nil || err.Error() != "the event is PreToolUse, not Stop" {
			t.Errorf("as another event: %v", err)
		}
	}
	bad := Input{Payload: RawPayload{Name: Stop, Fields: []rawjson.Field{{Name: "stop_hook_active", Value: json.RawMessage(`"x"`)}}}}
	if _, err := As[StopInput](bad); err == nil || !strings.Contains(err.Error(), "input of Stop: ") {
		t.Errorf("a wrong field: %v", err)
	}
}

// TestRemoveDuringRuns: callbacks come and go while events run. After remove has
// returned, a callback is not called; until then, each event that began later
// than Add calls it once.
func TestRemoveDuringRuns(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), goleak.IgnoreAnyFunction("github.com/dlclark/regexp2.runClock"))
	rapid.Check(t, func(t *rapid.T) {
		reg := &Registry{}
		r, err := NewRunner(nil, &Options{Callbacks: reg})
		if err != nil {
			t.Fatal(err)
		}
		var stop atomic.Bool
		var firing sync.WaitGroup
		var fired atomic.Int64
		for range 3 {
			firing.Go(func() {
				for !stop.Load() {
					if _, err := r.Run(context.Background(), Input{Payload: StopInput{}}, nil); err != nil {
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
		if left := reg.Of(Stop); len(left) != 0 {
			t.Errorf("%d callbacks are left", len(left))
		}
	})
}

// comeAndGo adds a callback, fires so many events itself, and removes it again.
func comeAndGo(t *rapid.T, reg *Registry, r *Runner, events int) {
	var gone atomic.Bool
	var mine atomic.Int64
	remove, err := reg.On(Stop, "", func(_ context.Context, in Input) (Answer, error) {
		if gone.Load() {
			t.Errorf("it was called after it was removed")
		}
		if in.SessionID == "mine" {
			mine.Add(1)
		}
		return Answer{}, nil
	})
	if err != nil {
		t.Errorf("On: %v", err)
		return
	}
	for i := range events {
		in := Input{Common: Common{SessionID: "mine"}, Payload: StopInput{}}
		if _, err := r.Run(context.Background(), in, nil); err != nil || mine.Load() < int64(i+1) {
			t.Errorf("event %d: %d calls, %v", i, mine.Load(), err)
		}
	}
	remove()
	reg.mu.Lock()
	begun := slices.Collect(maps.Keys(reg.running))
	reg.mu.Unlock()
	for _, c := range begun {
		<-c.done
	}
	gone.Store(true)
	remove()
}

// TestRemoveByItself: a callback may take itself off while it runs.
func TestRemoveByItself(t *testing.T) {
	reg := &Registry{}
	var remove func()
	remove, err := reg.On(Stop, "", func(context.Context, Input) (Answer, error) {
		remove()
		return Answer{Decision: Block, Reason: "once"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRunner(nil, &Options{Callbacks: reg})
	if err != nil {
		t.Fatal(err)
	}
	if out := outcome(t, r, StopInput{}); out.Decision != Block {
		t.Errorf("the call that removed itself: %+v", out)
	}
	if out := outcome(t, r, StopInput{}); out.Matched != 0 {
		t.Errorf("after that: %+v", out)
	}
}

// TestNoRegistry: without one, nothing changes and nothing is waited for.
func TestNoRegistry(t *testing.T) {
	var reg *Registry
	if err := reg.Wait(t.Context()); err != nil || reg.Of(Stop) != nil {
		t.Error(err)
	}
}
