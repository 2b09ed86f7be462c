package runner

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// oracle is a Model that says what a test wants, and remembers what it was asked.
type oracle struct {
	say   func(ctx context.Context, q Question) (Reply, error)
	mu    sync.Mutex
	asked []Question
}

func (o *oracle) Ask(ctx context.Context, q Question) (Reply, error) {
	o.mu.Lock()
	o.asked = append(o.asked, q)
	o.mu.Unlock()
	return o.say(ctx, q)
}

// saying is an oracle that always answers text.
func saying(text string) *oracle {
	return &oracle{say: func(context.Context, Question) (Reply, error) { return Reply{Text: text}, nil }}
}

// judged fires an event with one handler of a model.
func judged(t *testing.T, o *oracle, h hooks.Handler, in hooks.Input) hooks.Outcome {
	t.Helper()
	r, err := New([]settings.Source{{Name: "test", Settings: hooks.Settings{in.Payload.Event(): {{Hooks: []hooks.Handler{h}}}}}},
		&Options{Models: o})
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.Run(t.Context(), in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// modelCase is a recorded conversation with models of hooks.
type modelCase struct {
	Hooks    hooks.Settings `json:"hooks"`
	Requests []struct {
		Kind string   `json:"kind"`
		New  []string `json:"new_messages"`
	} `json:"requests"`
	Stream []struct {
		Event    string `json:"hook_event"`
		Stdout   string `json:"stdout"`
		Stderr   string `json:"stderr"`
		ExitCode int    `json:"exit_code"`
	} `json:"host_stream"`
}

func modelCases(t *testing.T) map[string]modelCase {
	t.Helper()
	data, err := os.ReadFile("testdata/golden_models.json")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]modelCase{}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// recordedStop is the Stop that the recordings were made with.
func recordedStop(last string, active bool) hooks.Input {
	return hooks.Input{Common: hooks.Common{SessionID: "<UUID-1>", TranscriptPath: "<HOME>/.claude/projects/<WDSLUG>-proj/<UUID-1>.jsonl",
		Cwd: "<CWD>", PromptID: "<UUID-2>", PermissionMode: "default"},
		Payload: hooks.StopInput{StopHookActive: active, LastAssistantMessage: last}}
}

// TestConformanceQuestions: what models are asked is what recorded hosts ask, and
// what follows from their answers is what followed there.
func TestConformanceQuestions(t *testing.T) {
	cases := modelCases(t)
	for name, tc := range map[string]struct {
		say, feedback string
		failed        int
		request       int // the recorded request, and the message in it
		message       int
	}{
		"prompt_hook_ok":      {`{"ok": true}`, "", 0, 1, 1},
		"prompt_hook_badjson": {"yes, sure", "", 1, 1, 1},
		"prompt_hook_block":   {`{"ok": false, "reason": "not done yet"}`, "2/0", 0, 1, 1},
		"agent_hook":          {"no script", "", 1, 1, 0},
	} {
		recorded := cases[name]
		o := saying(tc.say)
		out := judged(t, o, recorded.Hooks[hooks.Stop][0].Hooks[0], recordedStop("first answer", false))
		if want := recorded.Requests[tc.request].New[tc.message]; "user: "+o.asked[0].Text != want {
			t.Errorf("%s asks\n%s\nwant\n%s", name, o.asked[0].Text, want)
		}
		if q := o.asked[0]; q.Transcript == q.Agent || q.System == "" {
			t.Errorf("%s: %+v", name, q)
		}
		want := ""
		if tc.feedback != "" {
			want = recorded.Requests[2].New[0]
		}
		if got := hooks.Unframed(strings.Join(out.Messages, "|")); want != "" && "user: "+got != want || want == "" && got != "" {
			t.Errorf("%s: the model sees %q, want %q", name, got, want)
		}
		if out.FailedOpen() != tc.failed {
			t.Errorf("%s: %+v", name, out.Results)
		}
	}
	if want := "user: " + AnswerReminder; cases["agent_hook"].Requests[2].New[1] != want {
		t.Errorf("the reminder is %q, want %q", AnswerReminder, cases["agent_hook"].Requests[2].New[1])
	}
	o := saying(`{"ok": true}`)
	judged(t, o, cases["prompt_hook_block"].Hooks[hooks.Stop][0].Hooks[0], recordedStop("second answer", true))
	if "user: "+o.asked[0].Text != cases["prompt_hook_block"].Requests[3].New[1] {
		t.Errorf("the second time: %s", o.asked[0].Text)
	}
}

// TestWhatANoDoes goes through HOOKS.md section 3, event by event.
func TestWhatANoDoes(t *testing.T) {
	const no = `{"ok":false,"reason":"because"}`
	mode := hooks.Common{PermissionMode: "default"}
	tests := []struct {
		in       hooks.Input
		prompt   hooks.Decision // of a prompt hook
		carries  hooks.Decision // of one with continueOnBlock
		agent    hooks.Decision
		feedback string
	}{
		{hooks.Input{Payload: hooks.StopInput{}}, hooks.Block, hooks.Block, hooks.Block, "Stop hook feedback:\n[p]: because"},
		{hooks.Input{Payload: hooks.PreToolUseInput{ToolName: "Bash"}}, hooks.Halt, hooks.Block, hooks.Block, "PreToolUse:Bash hook error: [p]: because"},
		{hooks.Input{Payload: hooks.PostToolUseInput{ToolName: "Bash"}}, hooks.Halt, hooks.Block, hooks.Block, "because"},
		{hooks.Input{Payload: hooks.PostToolUseFailureInput{ToolName: "Bash"}}, hooks.Block, hooks.Block, hooks.Block, "because"},
		{hooks.Input{Payload: hooks.RawPayload{Name: hooks.PostToolBatch}}, hooks.Halt, hooks.Halt, hooks.Block, "because"},
		{hooks.Input{Payload: hooks.UserPromptSubmitInput{}}, hooks.Block, hooks.Block, hooks.Block, ""},
		{hooks.Input{Payload: hooks.TeammateIdleInput{}}, hooks.Halt, hooks.Block, hooks.Block, "TeammateIdle hook feedback:\n[p]: because"},
		{hooks.Input{Payload: hooks.TaskCreatedInput{}}, hooks.Block, hooks.Block, hooks.Block, "TaskCreated hook feedback:\n[p]: because"},
		{hooks.Input{Payload: hooks.TaskCompletedInput{}}, hooks.Block, hooks.Block, hooks.Block, "TaskCompleted hook feedback:\n[p]: because"},
		{hooks.Input{Common: mode, Payload: hooks.TaskCompletedInput{}}, hooks.Halt, hooks.Block, hooks.Block, "[p]: because"},
		{hooks.Input{Payload: hooks.RawPayload{Name: hooks.PermissionDenied}}, hooks.Pass, hooks.Pass, hooks.Pass, ""},
	}
	for _, tc := range tests {
		event := tc.in.Payload.Event()
		for _, h := range []struct {
			hooks.Handler
			want hooks.Decision
		}{
			{hooks.Handler{Type: "prompt", Prompt: "p"}, tc.prompt},
			{hooks.Handler{Type: "prompt", Prompt: "p", ContinueOnBlock: true}, tc.carries},
			{hooks.Handler{Type: "agent", Prompt: "p"}, tc.agent},
		} {
			out := judged(t, saying(no), h.Handler, tc.in)
			if out.Decision != h.want {
				t.Errorf("%s, %s, continueOnBlock %v: %s, want %s", event, h.Type, h.ContinueOnBlock, out.Decision, h.want)
			}
			feedback := tc.feedback
			if h.Type == "agent" {
				feedback = strings.NewReplacer("because", agentRefusal+"because", "[p]: ", "").Replace(feedback)
			}
			if !strings.Contains(strings.Join(out.Feedback, ""), feedback) {
				t.Errorf("%s, %s: feedback %q", event, h.Type, out.Feedback)
			}
			if out.Decision == hooks.Halt && out.StopReason != "because" {
				t.Errorf("%s: stop reason %q", event, out.StopReason)
			}
			if event == hooks.PreToolUse && out.Permission.Decision != "deny" {
				t.Errorf("a refused call is not denied: %+v", out.Permission)
			}
			if out.FailedOpen() != 0 {
				t.Errorf("%s: %+v", event, out.Results)
			}
		}
	}
}

func TestImpossible(t *testing.T) {
	const never = `{"ok":false,"reason":"no network","impossible":true}`
	prompt, agent := hooks.Handler{Type: "prompt", Prompt: "p"}, hooks.Handler{Type: "agent", Prompt: "p"}
	out := judged(t, saying(never), prompt, hooks.Input{Payload: hooks.StopInput{}})
	if out.Decision != hooks.Pass || !strings.Contains(out.Results[0].Warning, "no network") || out.FailedOpen() != 0 {
		t.Errorf("%+v", out)
	}
	if out := judged(t, saying(never), agent, hooks.Input{Payload: hooks.StopInput{}}); out.Decision != hooks.Block {
		t.Errorf("an agent has no such answer: %+v", out)
	}
	if out := judged(t, saying(never), prompt, hooks.Input{Payload: hooks.TaskCreatedInput{}}); out.Decision != hooks.Block {
		t.Errorf("it counts at turn ends alone: %+v", out)
	}
	prompt.Gate = true
	if out := judged(t, saying(never), prompt, hooks.Input{Payload: hooks.StopInput{}}); out.Decision != hooks.Block {
		t.Errorf("a gate that is told no agrees: %+v", out)
	}
}

// TestAgentRefusal: an agent hook's reason has a heading of its own, as recorded, and
// a prompt hook's and a gate's have none.
func TestAgentRefusal(t *testing.T) {
	for _, tc := range []struct{ kind, answer, stop, tool string }{
		{"agent", `{"ok":false,"reason":"tests fail"}`, "Stop hook feedback:\nAgent hook condition was not met: tests fail",
			"PreToolUse:Bash hook error: Agent hook condition was not met: tests fail"},
		{"agent", `{"ok":false}`, "Stop hook feedback:\nAgent hook condition was not met: Blocked by hook",
			"PreToolUse:Bash hook error: Agent hook condition was not met: Blocked by hook"},
		{"prompt", `{"ok":false,"reason":"tests fail"}`, "Stop hook feedback:\n[look]: tests fail",
			"PreToolUse:Bash hook error: [look]: tests fail"},
	} {
		h := hooks.Handler{Type: tc.kind, Prompt: "look"}
		for want, in := range map[string]hooks.Payload{tc.stop: hooks.StopInput{}, tc.tool: hooks.PreToolUseInput{ToolName: "Bash"}} {
			if out := judged(t, saying(tc.answer), h, hooks.Input{Payload: in}); !slices.Equal(out.Feedback, []string{want}) {
				t.Errorf("%s, %s: the model reads %q, want %q", tc.kind, tc.answer, out.Feedback, want)
			}
		}
	}
	gate := hooks.Handler{Type: "agent", Prompt: "look", Gate: true}
	out := judged(t, saying(`{"ok":false,"reason":"tests fail"}`), gate, hooks.Input{Payload: hooks.StopInput{}})
	if len(out.Feedback) != 1 || strings.Contains(out.Feedback[0], "Agent hook") || !strings.Contains(out.Feedback[0], "tests fail") {
		t.Errorf("of a gate the model reads %q", out.Feedback)
	}
}

// TestModelTrouble: a hook fails open where its model gives no verdict, and a
// gate refuses.
func TestModelTrouble(t *testing.T) {
	troubles := map[string]func(context.Context, Question) (Reply, error){
		"no money":           func(context.Context, Question) (Reply, error) { return Reply{}, errors.New("no money") },
		"panicked: oh":       func(context.Context, Question) (Reply, error) { panic("oh") },
		"answer is empty":    func(context.Context, Question) (Reply, error) { return Reply{}, nil },
		"no field ok":        func(context.Context, Question) (Reply, error) { return Reply{Text: `{"okay":true}`}, nil },
		`ok: "yes", want tr`: func(context.Context, Question) (Reply, error) { return Reply{Text: `{"ok":"yes"}`}, nil },
	}
	for want, say := range troubles {
		for _, gate := range []bool{false, true} {
			out := judged(t, &oracle{say: say}, hooks.Handler{Type: "prompt", Prompt: "p", Gate: gate}, hooks.Input{Payload: hooks.StopInput{}})
			if gate && (out.Decision != hooks.Block || !strings.Contains(out.Feedback[0], want)) {
				t.Errorf("%s: the gate %+v", want, out)
			}
			if !gate && (out.Decision != hooks.Pass || out.FailedOpen() != 1 || !strings.Contains(out.Results[0].Warning, want)) {
				t.Errorf("%s: %+v", want, out)
			}
		}
	}
	r, err := New([]settings.Source{{Settings: hooks.Settings{hooks.SessionStart: {{Hooks: []hooks.Handler{{Type: "prompt", Prompt: "p"}}}}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.Run(t.Context(), hooks.Input{Payload: hooks.SessionStartInput{}}, nil)
	if err != nil || !strings.Contains(out.Results[0].Warning, "SessionStart runs no prompt hooks") {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestModelDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := &oracle{say: func(ctx context.Context, _ Question) (Reply, error) {
			<-ctx.Done()
			return Reply{}, ctx.Err()
		}}
		for _, tc := range []struct {
			h    hooks.Handler
			want time.Duration
		}{
			{hooks.Handler{Type: "prompt", Prompt: "p"}, 30 * time.Second},
			{hooks.Handler{Type: "agent", Prompt: "p"}, 60 * time.Second},
			{hooks.Handler{Type: "prompt", Prompt: "p", Timeout: 1.5}, 1500 * time.Millisecond},
		} {
			began := time.Now()
			out := judged(t, silent, tc.h, hooks.Input{Payload: hooks.StopInput{}})
			if took := time.Since(began); took != tc.want || out.Results[0].Outcome != hooks.Cancelled || !out.Results[0].FailedOpen {
				t.Errorf("%+v: after %v: %+v", tc.h, took, out.Results[0])
			}
		}
	})
}

// TestVerifierAsksNoModel: the calls of an agent hook's agent are looked at by
// hooks, but not by those that ask models.
func TestVerifierAsksNoModel(t *testing.T) {
	var r *Runner
	var inner hooks.Outcome
	o := &oracle{say: func(ctx context.Context, q Question) (Reply, error) {
		if !q.Agent {
			return Reply{Text: `{"ok":false}`}, nil
		}
		var err error
		inner, err = r.Run(ctx, hooks.Input{Payload: hooks.PreToolUseInput{ToolName: "Read"}}, nil)
		return Reply{Text: `{"ok":true}`}, err
	}}
	called := &hooks.Registry{}
	if _, err := called.On(hooks.PreToolUse, "", func(context.Context, hooks.Input) (hooks.Answer, error) { return hooks.Answer{}, nil }); err != nil {
		t.Fatal(err)
	}
	r, err := New([]settings.Source{{Settings: hooks.Settings{
		hooks.Stop:       {{Hooks: []hooks.Handler{{Type: "agent", Prompt: "verify"}}}},
		hooks.PreToolUse: {{Hooks: []hooks.Handler{{Type: "prompt", Prompt: "p", Once: true}, {Type: "agent", Prompt: "a"}}}},
	}}}, &Options{Models: o, Callbacks: called})
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.Run(t.Context(), hooks.Input{Payload: hooks.StopInput{}}, nil)
	if err != nil || out.Decision != hooks.Pass || inner.Matched != 1 || len(o.asked) != 1 {
		t.Errorf("%+v, inside %+v, %v; asked %d times", out, inner, err, len(o.asked))
	}
	// That call has not spent the hook with `once`.
	if out, err = r.Run(t.Context(), hooks.Input{Payload: hooks.PreToolUseInput{ToolName: "Bash"}}, nil); err != nil || out.Matched != 3 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestFillPrompt(t *testing.T) {
	for prompt, want := range map[string]string{
		"is $ARGUMENTS ok":             `is {"a":"$ARGUMENTS"} ok`,
		"$ARGUMENTS$ARGUMENTS":         `{"a":"$ARGUMENTS"}{"a":"$ARGUMENTS"}`,
		"done?":                        "done?\n\nARGUMENTS: " + `{"a":"$ARGUMENTS"}`,
		`costs \$5 and \$ARGUMENTS`:    "costs $5 and $ARGUMENTS\n\nARGUMENTS: " + `{"a":"$ARGUMENTS"}`,
		`a \ b $ARG \\$ARGUMENTS`:      `a \ b $ARG \$ARGUMENTS` + "\n\nARGUMENTS: " + `{"a":"$ARGUMENTS"}`,
		"":                             "\n\nARGUMENTS: " + `{"a":"$ARGUMENTS"}`,
		"$ARGUMENTS[0] stays as it is": `{"a":"$ARGUMENTS"}[0] stays as it is`,
	} {
		if got := fillPrompt(prompt, `{"a":"$ARGUMENTS"}`); got != want {
			t.Errorf("%q becomes %q, want %q", prompt, got, want)
		}
	}
}

func TestReadSaid(t *testing.T) {
	for text, want := range map[string]modelAnswer{
		`{"ok":true}`: {ok: true},
		" {\"ok\":false,\"reason\":\"r\",\"more\":1}\n": {reason: "r"},
		"```json\n{\"ok\":true,\"reason\":null}\n```":   {ok: true},
		"```{\"ok\":false,\"impossible\":true}```":      {impossible: true},
		`{"ok":false}`: {},
	} {
		if got, err := parseAnswer(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "true", `{"ok":null}`, `{"ok":1}`, `{"ok":true} I think`, "sure: {\"ok\":true}",
		"```", "``````", `[{"ok":true}]`, `{"ok":true,"reason":{}}`, `{"ok":true,"impossible":"x"}`, "{"} {
		if got, err := parseAnswer(text); err == nil || CheckAnswer(text) == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// FuzzReadSaid: whatever a model says, it is read or refused; what is no JSON
// object with a boolean ok never counts.
func FuzzReadSaid(f *testing.F) {
	f.Add("```json\n{\"ok\":true}\n```")
	f.Add(`{"ok":false,"reason":"x"}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseAnswer(text)
		if err == nil && s.ok && !strings.Contains(text, "true") {
			t.Errorf("%q counts as a yes", text)
		}
	})
}

// FuzzFillPrompt: the event stands in every prompt, whole, and what it holds is
// not taken for a placeholder.
func FuzzFillPrompt(f *testing.F) {
	f.Add(`a $ARGUMENTS \$ b`, `{"x":"$ARGUMENTS"}`)
	f.Add(`\`, `{}`)
	f.Fuzz(func(t *testing.T, prompt, wire string) {
		got := fillPrompt(prompt, wire)
		if !strings.Contains(got, wire) {
			t.Errorf("%q lacks %q", got, wire)
		}
		if n := strings.Count(prompt, arguments); n == 0 && !strings.HasSuffix(got, "\n\nARGUMENTS: "+wire) {
			t.Errorf("%q", got)
		}
	})
}
