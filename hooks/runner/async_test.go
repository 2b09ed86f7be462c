//go:build unix

package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// fireAll fires an event and waits for the hooks that go on in the background,
// too. Their results stand behind the others; behind is what they say to the model.
func (b *bench) fireAll(tb testing.TB, r *Runner, payload hooks.Payload) (out hooks.Outcome, behind []string) {
	tb.Helper()
	return b.fireAllOf(tb, r, b.input(payload))
}

// fireAllOf is fireAll with an input that is complete.
func (b *bench) fireAllOf(tb testing.TB, r *Runner, in hooks.Input) (out hooks.Outcome, behind []string) {
	tb.Helper()
	var w watcher
	out, err := r.Run(tb.Context(), in, w.see)
	if err != nil {
		tb.Fatal(err)
	}
	r.Drain(tb.Context(), "")
	for _, p := range w.late() {
		out.Results = append(out.Results, *p.Result)
		behind = append(behind, p.Background.Messages...)
	}
	return out, behind
}

// watcher is an observer that notes what it is told.
type watcher struct {
	mu  sync.Mutex
	all []hooks.Progress
}

func (w *watcher) see(p hooks.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, p)
}

// late are the ends of hooks in the background.
func (w *watcher) late() []hooks.Progress {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.all), func(p hooks.Progress) bool { return p.Background == nil || p.Result == nil })
}

// words is what happened, in a word each.
func (w *watcher) words() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var words []string
	for _, p := range w.all {
		word := p.Command + " started"
		switch {
		case p.Background != nil && p.Result != nil:
			word = p.Command + " ended behind"
		case p.Background != nil:
			word = p.Command + " left"
		case p.Result != nil:
			word = p.Command + " ended"
		}
		words = append(words, word)
	}
	return words
}

// async is a settings section of one event with a hook that nobody waits for.
func async(event hooks.Event, command string) hooks.Settings {
	s := on(event, command)
	s[event][0].Hooks[0].Async = true
	return s
}

// rewake is the same with a hook that may wake the agent.
func rewake(event hooks.Event, command string) hooks.Settings {
	s := on(event, command)
	s[event][0].Hooks[0].AsyncRewake = true
	return s
}

// fifo makes a named pipe and returns its path and what lets a reader go on.
func fifo(t *testing.T) (path string, release func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "gate")
	return path, sync.OnceFunc(func() {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Error(err)
		}
	})
}

// await is a shell loop that waits for a file.
func await(path string) string { return "while ! [ -e '" + path + "' ]; do sleep 0.01; done; " }

func TestAsyncDoesNotHoldTheEventUp(t *testing.T) {
	b := newBench(t)
	for name, settings := range map[string]func(hooks.Event, string) hooks.Settings{
		"async": async, "asyncRewake": rewake,
		"first line": func(e hooks.Event, c string) hooks.Settings { return on(e, `echo '{"async":true}'; `+c) },
		"first line without an end": func(e hooks.Event, c string) hooks.Settings {
			return on(e, `printf '{"async":true, "asyncTimeout": 60000}'; `+c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, release := fifo(t)
			defer release()
			command := await(path) + "exit 1"
			r := b.runner(t, settings(hooks.Stop, command))
			var w watcher
			ctx, cancel := context.WithCancel(t.Context())
			out, err := r.Run(ctx, b.input(hooks.StopInput{}), w.see)
			cancel() // the end of the turn is not the end of the hook
			if err != nil || out.Decision != hooks.Pass || out.Matched != 1 || out.Background != 1 || len(out.Results) != 0 {
				t.Fatalf("outcome %+v, %v", out, err)
			}
			label := settings(hooks.Stop, command)[hooks.Stop][0].Hooks[0].Command
			if got, want := w.words(), []string{label + " started", label + " left"}; !slices.Equal(got, want) {
				t.Errorf("seen %q, want %q", got, want)
			}
			release()
			r.Drain(t.Context(), "")
			late := w.late()
			if len(late) != 1 || late[0].ToolUseID != out.ToolUseID || late[0].Event != hooks.Stop {
				t.Fatalf("late %+v", late)
			}
			res := late[0].Result
			if res.Outcome != hooks.NonBlockingError || res.ExitCode != 1 || res.Duration <= 0 ||
				res.FailedOpen != (name == "asyncRewake") {
				t.Errorf("result %+v", res)
			}
		})
	}
}

func TestAsyncDecidesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	block := `{"decision":"block","reason":"r","continue":false,"systemMessage":"m",` +
		`"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"c"}}`
	after := hooks.PostToolUseInput{ToolName: "Bash", ToolUseID: "toolu_1"}
	context := "<system-reminder>\nPostToolUse:Bash hook additional context: c\n</system-reminder>"
	message := "<system-reminder>\nPostToolUse:Bash hook system message: m\n</system-reminder>"
	for _, test := range []struct {
		name     string
		settings hooks.Settings
		want     []string // what the model gets
		people   []string
		outcome  hooks.Status
	}{
		{"exit 2", async(hooks.PostToolUse, "echo no >&2; exit 2"), nil, nil, hooks.NonBlockingError},
		{"plain", async(hooks.PostToolUse, "echo text"), nil, nil, hooks.Success},
		{"JSON", async(hooks.PostToolUse, "echo '"+block+"'"), []string{message, context}, []string{"m"}, hooks.Success},
		{"JSON and another exit code", async(hooks.PostToolUse, "echo '"+block+"'; exit 3"),
			[]string{message, context}, []string{"m"}, hooks.Success},
		{"a field of a wrong type", async(hooks.PostToolUse, `echo '{"decision":7,"systemMessage":[],`+
			`"hookSpecificOutput":{"additionalContext":"c","x":1}}'`), []string{context}, nil, hooks.Success},
		{"another event's", async(hooks.PostToolUse, `echo '{"hookSpecificOutput":{"hookEventName":"Stop",`+
			`"additionalContext":"c"}}'`), nil, nil, hooks.Success},
		{"after a first line", on(hooks.PostToolUse, `echo '{"async":true}'; sleep 0.1; echo '`+block+"'"),
			nil, []string{"m"}, hooks.Success},
		{"a first line, at once", on(hooks.PostToolUse, `echo '{"async":true}'; echo no >&2; exit 2`),
			nil, nil, hooks.NonBlockingError},
		{"a first line alone", on(hooks.PostToolUse, `echo '{"async":true}'`), nil, nil, hooks.Success},
	} {
		t.Run(test.name, func(t *testing.T) {
			var w watcher
			r := b.runner(t, test.settings)
			out, err := r.Run(t.Context(), b.input(after), w.see)
			if err != nil || out.Decision != hooks.Pass || out.Background != 1 || len(out.Messages)+len(out.Results) != 0 {
				t.Fatalf("outcome %+v, %v", out, err)
			}
			r.Drain(t.Context(), "")
			late := w.late()
			if len(late) != 1 {
				t.Fatalf("late %+v", late)
			}
			behind := late[0].Background
			if !slices.Equal(behind.Messages, test.want) || !slices.Equal(behind.SystemMessages, test.people) ||
				behind.Wakes || late[0].Result.Outcome != test.outcome || late[0].Result.FailedOpen {
				t.Errorf("%+v, result %+v", behind, late[0].Result)
			}
		})
	}
}

func TestRewakeTexts(t *testing.T) {
	b := newBench(t)
	withWords := func(message, summary string) hooks.Settings {
		s := rewake(hooks.Stop, "echo find >&2; exit 2")
		s[hooks.Stop][0].Hooks[0].RewakeMessage, s[hooks.Stop][0].Hooks[0].RewakeSummary = message, summary
		return s
	}
	printing := func(stdout string) hooks.Settings {
		s := withWords("Review findings:", "Review")
		s[hooks.Stop][0].Hooks[0].Command = "echo '" + stdout + "'; echo find >&2; exit 2"
		return s
	}
	frame := func(summary, text string) string {
		return "<task-notification>\n<summary>" + summary + "</summary>\n</task-notification>\n<system-reminder>\n" +
			text + "\n</system-reminder>"
	}
	tool := hooks.PostToolUseInput{ToolName: "Write", ToolUseID: "toolu_1"}
	for _, test := range []struct {
		name     string
		settings hooks.Settings
		payload  hooks.Payload
		want     string // empty: nobody is woken
		summary  string
	}{
		{"a turn end", rewake(hooks.Stop, "echo no >&2; exit 2"), hooks.StopInput{},
			"Stop hook feedback:\n[echo no >&2; exit 2]: no", "Stop hook feedback"},
		{"stdout if there is no stderr", rewake(hooks.TeammateIdle, "echo no; exit 2"), hooks.TeammateIdleInput{},
			"TeammateIdle hook feedback:\n[echo no; exit 2]: no", "Stop hook feedback"},
		{"nothing said", rewake(hooks.Stop, "exit 2"), hooks.StopInput{}, "Stop hook feedback:\n[exit 2]: No stderr output",
			"Stop hook feedback"},
		{"a tool", rewake(hooks.PostToolUse, "echo no >&2; exit 2"), tool,
			frame("Stop hook feedback", `Stop hook blocking error from command "PostToolUse:Write": no`), "Stop hook feedback"},
		{"a session", rewake(hooks.SessionStart, "echo no >&2; exit 2"), hooks.SessionStartInput{Source: "resume"},
			frame("Stop hook feedback", `Stop hook blocking error from command "SessionStart:resume": no`), "Stop hook feedback"},
		{"a printed summary", rewake(hooks.Stop, `echo '{"rewakeSummary":"Two bugs"}'; echo no >&2; exit 2`), hooks.StopInput{},
			frame("Two bugs", `Stop hook blocking error from command "Stop": no`), "Two bugs"},
		{"a printed summary before a configured one", printing(`{"rewakeSummary":"Two bugs"}`), hooks.StopInput{},
			frame("Two bugs", "Review findings: find"), "Two bugs"},
		{"a printed summary that is none", printing(`{"rewakeSummary":2}`), hooks.StopInput{},
			frame("Review", "Review findings: find"), "Review"},
		{"words of its own", withWords("Review findings:", "Review"), hooks.StopInput{},
			frame("Review", "Review findings: find"), "Review"},
		{"a message of its own", withWords("Review findings:", ""), hooks.StopInput{},
			frame("Stop hook feedback", "Review findings: find"), "Stop hook feedback"},
		{"a summary of its own", withWords("", "Review"), hooks.StopInput{},
			frame("Review", `Stop hook blocking error from command "Stop": find`), "Review"},
		{"exit 0", rewake(hooks.Stop, "echo fine >&2"), hooks.StopInput{}, "", ""},
		{"exit 1", rewake(hooks.Stop, "echo broken >&2; exit 1"), hooks.StopInput{}, "", ""},
		{"the end of a session", rewake(hooks.SessionEnd, "exit 2"), hooks.SessionEndInput{Reason: "other"}, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var w watcher
			r := b.runner(t, test.settings)
			if _, err := r.Run(t.Context(), b.input(test.payload), w.see); err != nil {
				t.Fatal(err)
			}
			r.Drain(t.Context(), "")
			late := w.late()
			if len(late) != 1 || !late[0].Background.Rewake {
				t.Fatalf("late %+v", late)
			}
			behind, result := late[0].Background, late[0].Result
			got := strings.Join(behind.Messages, "|")
			if test.want != "" && hooks.Unframed(got) == got {
				t.Errorf("the model may take this for the user's words: %q", got)
			}
			if got = hooks.Unframed(got); got != test.want || behind.Wakes != (test.want != "") ||
				behind.Summary != test.summary || (result.Outcome == hooks.Blocking) != behind.Wakes {
				t.Errorf("%+v, result %+v", behind, result)
			}
			if behind.Feedback != (behind.Wakes && hooks.InfoOf(late[0].Event).EndsTurn()) {
				t.Errorf("feedback %v on %s", behind.Feedback, late[0].Event)
			}
		})
	}
}

// TestRewakeOfASessionThatStays: there a turn end's hook notifies, as any other does.
func TestRewakeOfASessionThatStays(t *testing.T) {
	b := newBench(t)
	r := b.runnerWith(t, Options{Interactive: true}, settings.Source{Name: "test", Settings: rewake(hooks.Stop, "echo no >&2; exit 2")})
	var w watcher
	if _, err := r.Run(t.Context(), b.input(hooks.StopInput{}), w.see); err != nil {
		t.Fatal(err)
	}
	r.Drain(t.Context(), "")
	late := w.late()
	if len(late) != 1 || !late[0].Background.Feedback || !slices.Equal(late[0].Background.Messages, []string{
		hooks.FramedWake("<task-notification>\n<summary>Stop hook feedback</summary>\n</task-notification>\n<system-reminder>\n" +
			"Stop hook blocking error from command \"Stop\": no\n</system-reminder>")}) {
		t.Errorf("late %+v", late)
	}
}

func TestRewakeThatOnlyObserves(t *testing.T) {
	b := newBench(t)
	settings := rewake(hooks.Stop, "echo no >&2; exit 2")
	settings[hooks.Stop][0].Hooks[0].Mode = hooks.Observe
	out, behind := b.fireAll(t, b.runner(t, settings), hooks.StopInput{})
	if len(behind) != 0 || len(out.Results) != 1 || out.Results[0].Observed == "" {
		t.Errorf("%q, %+v", behind, out.Results)
	}
}

func TestAsyncTimesOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	short := async(hooks.Stop, "sleep 3600")
	short[hooks.Stop][0].Hooks[0].Timeout = 0.2
	for name, settings := range map[string]hooks.Settings{
		"timeout":      short,
		"asyncTimeout": on(hooks.Stop, `echo '{"async":true,"asyncTimeout":200}'; sleep 3600`),
		"both": func() hooks.Settings {
			s := on(hooks.Stop, `echo '{"async":true}'; sleep 3600`)
			s[hooks.Stop][0].Hooks[0].Timeout = 0.5
			return s
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			var out hooks.Outcome
			var behind []string
			returns(t, func() { out, behind = b.fireAll(t, b.runner(t, settings), hooks.StopInput{}) })
			if len(out.Results) != 1 || out.Results[0].Outcome != hooks.Cancelled || len(behind) != 0 ||
				!strings.Contains(out.Results[0].Warning, "timed out after") {
				t.Fatalf("results %+v", out.Results)
			}
		})
	}
}

func TestDrainEndsWhatStillRuns(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	b := newBench(t)
	r := b.runner(t, hooks.Settings{hooks.Stop: slices.Concat(async(hooks.Stop, "sleep 61")[hooks.Stop],
		on(hooks.Stop, `trap '' TERM; echo '{"async":true}'; while :; do sleep 62; done`)[hooks.Stop])})
	var w watcher
	out, err := r.Run(t.Context(), b.input(hooks.StopInput{}), w.see)
	if err != nil || out.Background != 2 {
		t.Fatalf("%+v, %v", out, err)
	}
	r.Drain(t.Context(), "another session") // has nothing to wait for
	if len(w.late()) != 0 {
		t.Fatal("a hook of one session was ended with another")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r.Drain(ctx, b.input(hooks.StopInput{}).SessionID)
	late := w.late()
	if len(late) != 2 {
		t.Fatalf("late %+v", late)
	}
	for _, p := range late {
		if p.Result.Outcome != hooks.Cancelled || p.Result.FailedOpen ||
			!strings.Contains(p.Result.Warning, "still ran when the session ended") {
			t.Errorf("%+v", p.Result)
		}
	}
	r.Drain(ctx, "") // twice does no harm
}

// Hooks in the background have slots of their own: they hold none up that is
// waited for, and there are no more of them than may be.
func TestAsyncSlots(t *testing.T) {
	b := newBench(t)
	path, release := fifo(t)
	defer release()
	var mu sync.Mutex
	running, most := 0, 0
	opts := Options{Parallel: 2, Spawned: func(int, Spawn) func() {
		mu.Lock()
		defer mu.Unlock()
		running++
		most = max(most, running)
		return func() {
			mu.Lock()
			defer mu.Unlock()
			running--
		}
	}}
	var commands []hooks.Group
	for i := range 6 {
		commands = append(commands, async(hooks.Stop, fmt.Sprintf("%s: %d", await(path), i))[hooks.Stop]...)
	}
	r := b.runnerWith(t, opts, settings.Source{Settings: hooks.Settings{hooks.Stop: commands, hooks.TeammateIdle: on(hooks.TeammateIdle, "exit 2")[hooks.TeammateIdle]}})
	var w watcher
	out, err := r.Run(t.Context(), b.input(hooks.StopInput{}), w.see)
	if err != nil || out.Background != 6 {
		t.Fatalf("%+v, %v", out, err)
	}
	if out := b.fire(t, r, hooks.TeammateIdleInput{}); out.Decision != hooks.Block {
		t.Errorf("a hook that is waited for starved: %+v", out)
	}
	release()
	r.Drain(t.Context(), "")
	if late := w.late(); len(late) != 6 || late[0].Result.Outcome != hooks.Success {
		t.Errorf("late %+v", late)
	}
	mu.Lock()
	defer mu.Unlock()
	if most > 3 || running != 0 {
		t.Errorf("%d ran at once, %d still do", most, running)
	}
}

// A hook that asks to leave when the background is full is waited for until there
// is room, and has no say either way.
func TestNoSlotToLeaveFor(t *testing.T) {
	b := newBench(t)
	path, release := fifo(t)
	defer release()
	r := b.runnerWith(t, Options{Parallel: 1}, settings.Source{Settings: hooks.Settings{hooks.Stop: async(hooks.Stop, await(path))[hooks.Stop],
		hooks.TeammateIdle: on(hooks.TeammateIdle, `echo '{"async":true}'; sleep 0.1; echo no >&2; exit 2`)[hooks.TeammateIdle]}})
	if out := b.fire(t, r, hooks.StopInput{}); out.Background != 1 {
		t.Fatalf("%+v", out)
	}
	for len(r.background.slots) == 0 { // the first one has its slot
		time.Sleep(time.Millisecond)
	}
	out := b.fire(t, r, hooks.TeammateIdleInput{})
	if out.Background != 0 || len(out.Results) != 1 {
		t.Errorf("%+v", out)
	}
	release()
	r.Drain(t.Context(), "")
}

func TestAsyncOnceAndDedupe(t *testing.T) {
	b := newBench(t)
	settings := async(hooks.Stop, "REC a '{}'")
	settings[hooks.Stop] = append(settings[hooks.Stop], settings[hooks.Stop][0]) // twice the same
	settings[hooks.Stop][0].Hooks[0].Once = true
	r := b.runner(t, settings)
	for range 3 {
		b.fireAll(t, r, hooks.StopInput{})
	}
	if tags := b.tags(t); !slices.Equal(tags, []string{"a"}) {
		t.Errorf("called %q", tags)
	}
}

// A gate has to agree, so it never leaves; nor does what is no command.
func TestGatesAreWaitedFor(t *testing.T) {
	b := newBench(t)
	settings := gateOn(hooks.Stop, `echo '{"async":true}'; sleep 0.1; exit 1`)
	settings[hooks.Stop][0].Hooks[0].Async = true
	out := b.fire(t, b.runner(t, settings), hooks.StopInput{})
	if out.Background != 0 || out.Decision != hooks.Block {
		t.Errorf("%+v", out)
	}
}

func TestRenewKeepsWhatRuns(t *testing.T) {
	b := newBench(t)
	path, release := fifo(t)
	r := b.runner(t, async(hooks.Stop, await(path)))
	var w watcher
	if _, err := r.Run(t.Context(), b.input(hooks.StopInput{}), w.see); err != nil {
		t.Fatal(err)
	}
	next := r.Renew(nil)
	release()
	next.Drain(t.Context(), "")
	if len(w.late()) != 1 {
		t.Error("a hook of the old sources was forgotten")
	}
}

func TestFirstLine(t *testing.T) {
	const none = -1
	for _, test := range []struct {
		writes []string
		want   time.Duration // none: it does not ask
	}{
		{[]string{`{"async":true}` + "\n"}, 0},
		{[]string{` `, "\n", `{"as`, `ync":true}`}, 0},
		{[]string{`{"async":true,"asyncTimeout":1500}` + "\nmore"}, 1500 * time.Millisecond},
		{[]string{`{"async":true,"asyncTimeout":1e300}`}, hooks.MaxTimeout},
		{[]string{`{"async":true,"asyncTimeout":-5}`}, 0},
		{[]string{`{"async":true,"asyncTimeout":"x"}`}, 0},
		{[]string{`{"async":false}` + "\n"}, none},
		{[]string{`{"decision":"block"}`, "\n", `{"async":true}`}, none},
		{[]string{"profile\n", `{"async":true}`}, none},
		{[]string{`[{"async":true}]` + "\n"}, none},
		{[]string{"{\n\"async\":true}\n"}, none},
		{[]string{`{"x":"`, strings.Repeat("x", 2*maxFirstLine), `","async":true}`}, none},
		{[]string{"", ""}, none},
	} {
		asked, got := none, time.Duration(none)
		var out strings.Builder
		w := &asyncDetector{to: &out, ask: func(limit time.Duration) { asked++; got = limit }}
		for _, text := range test.writes {
			if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
				t.Fatal(n, err)
			}
		}
		if got != test.want || asked > 0 || out.String() != strings.Join(test.writes, "") {
			t.Errorf("%q: asked %d times for %v, want %v; passed on %q", test.writes, asked+1, got, test.want, out.String())
		}
	}
}

// Drain waits for exactly what runs, also for what comes while it waits.
func TestDrainWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := New(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		h := &armed{Handler: hooks.Handler{Type: "command"}}
		first := r.background.add(h, "s", func(error) {})
		go func() {
			time.Sleep(time.Second)
			second := r.background.add(h, "s", func(error) {})
			r.background.remove(first)
			time.Sleep(time.Second)
			r.background.remove(second)
		}()
		began := time.Now()
		r.Drain(t.Context(), "s")
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("it returned after %v", took)
		}
	})
}

// FuzzFirstLine: whatever a hook prints, in whatever pieces, is passed on, and
// what asks to leave is a JSON object that says so.
func FuzzFirstLine(f *testing.F) {
	f.Add(`{"async":true}`+"\nx", 3)
	f.Add(` {"async":true,"asyncTimeout":5}`, 1)
	f.Add("text\n{\"async\":true}", 7)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		var out strings.Builder
		asked := 0
		w := &asyncDetector{to: &out, ask: func(limit time.Duration) {
			if asked++; limit < 0 || limit > hooks.MaxTimeout {
				t.Errorf("limit %v", limit)
			}
		}}
		cut = min(max(cut, 0), len(text))
		for _, part := range []string{text[:cut], text[cut:]} {
			if _, err := w.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != text || asked > 1 || asked == 1 && !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
			t.Errorf("%q: asked %d times, passed on %q", text, asked, out.String())
		}
	})
}

// TestRewakeWhileARefusedTurnGoesOn: the wake is a notification then, also in a run that would
// give it as feedback otherwise (HOOKS.md section 12, point 6).
func TestRewakeWhileARefusedTurnGoesOn(t *testing.T) {
	b := newBench(t)
	gate := filepath.Join(b.dir, "gate")
	settings := rewake(hooks.Stop, "while [ ! -e "+gate+" ]; do sleep 0.01; done; echo no >&2; exit 2")
	settings[hooks.Stop] = append(settings[hooks.Stop], on(hooks.Stop, "echo first >&2; exit 2")[hooks.Stop]...)
	var w watcher
	r := b.runner(t, settings)
	if _, err := r.Run(t.Context(), b.input(hooks.StopInput{}), w.see); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.Drain(t.Context(), "")
	for _, p := range w.late() {
		if !strings.HasPrefix(hooks.Unframed(p.Background.Messages[0]), "<task-notification>") {
			t.Errorf("%q", p.Background.Messages)
		}
	}
	if len(w.late()) != 1 {
		t.Errorf("late %+v", w.late())
	}
}
