//go:build unix

package command

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
	"github.com/coveyteam/covey/teammate/transcript"
)

func TestText(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{"read", "print ", "print  I did it. ", "half Two lines."})
	var spent []program.Spent
	r.opts.OnUsage = func(s program.Spent) { spent = append(spent, s) }
	r.opts.System = func() string { return "You are api." }
	r.opts.Brief = func() string { return "So far: much." }
	reply := r.mustTurn(t)
	r.host.wants("assistant: I did it. \nTwo lines.")
	if reply.Text != "I did it. \nTwo lines." || reply.ToolCalls != 0 || r.host.passes != 1 {
		t.Errorf("reply %+v, %d passes", reply, r.host.passes)
	}
	if len(spent) != 1 || spent[0].Known {
		t.Errorf("spent %+v", spent)
	}
	r.mustTurn(t)
	starts := r.starts(t)
	if len(starts) != 2 || starts[0].Stdin != "You are api.\n\ngo" ||
		starts[1].Stdin != "You are api.\n\nSo far: much.\n\ngo" {
		t.Errorf("prompts %q", starts)
	}
}

func TestPromptAsArgument(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{"read", "print ok"})
	r.opts.Command = append(r.opts.Command, "-p", "{prompt}", "--x=<{prompt}>{session}")
	r.opts.Connect = func() (Extra, error) {
		return Extra{Args: []string{"--as-is", "{prompt}", "--token"}, Env: []string{"COMMAND_EXTRA=7"}}, nil
	}
	prompt := "--yolo {session} {prompt} \x00 $(x) 'y'"
	if _, err := r.start(t).Run(t.Context(), []agent.Input{{Text: prompt}}, r.host); err != nil {
		t.Fatal(err)
	}
	clean := strings.ReplaceAll(prompt, "\x00", "\uFFFD")
	want := []string{"-p", "\n" + clean, "--x=<" + clean + ">", "--as-is", "{prompt}", "--token"}
	got := r.starts(t)[0]
	if !slices.Equal(got.Args, want) || got.Stdin != "" || got.Extra != "7" {
		t.Errorf("started with %q\nwant %q", got, want)
	}
	_, err := r.Run(t.Context(), []agent.Input{{Text: strings.Repeat("x", 200_000)}}, r.host)
	var api *agent.APIError
	if !errors.As(err, &api) || api.Type != "invalid_request" || !strings.Contains(err.Error(), "stdin") {
		t.Errorf("a prompt that no argument holds: %v", err)
	}
}

func TestConnectFails(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{})
	want := errors.New("no token")
	r.opts.Connect = func() (Extra, error) { return Extra{}, want }
	if _, err := r.turn(t); !errors.Is(err, want) || len(r.starts(t)) != 0 {
		t.Errorf("%v", err)
	}
}

func TestCodex(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{"read", "file " + testdata(t, "codex.jsonl")})
	var spent []program.Spent
	var kept []string
	r.opts.Resume = []string{"resume", "{session}", "-"}
	r.opts.System = func() string { return "You are api." }
	r.opts.OnUsage = func(s program.Spent) { spent = append(spent, s) }
	r.opts.OnSession = func(id string) error { kept = append(kept, id); return nil }
	reply := r.mustTurn(t)
	r.host.wants("assistant: I look around.",
		`call item_2: Bash {"command":"echo hello; ls"}`, "result item_2 (error false): hello\n",
		`call item_3: Bash {"command":"exit 3"}`, "result item_3 (error true): exit code 3",
		`call item_4: Write {"file_path":"/w/new.txt"}`, "result item_4 (error false): add /w/new.txt",
		`call item_5: mcp__covey__greet {"name":"you"}`, "result item_5 (error false): hello you",
		`call item_6: mcp__covey__fail {}`, "result item_6 (error true): no luck", "assistant: All done.")
	want := agent.Usage{InputTokens: 930, OutputTokens: 93}
	if reply.Text != "All done." || reply.ToolCalls != 5 || reply.Usage != want || r.host.usage != want {
		t.Errorf("reply %+v, usage %+v", reply, r.host.usage)
	}
	if len(r.host.seen) != 5 || len(r.host.warned) != 1 || !strings.Contains(r.host.warned[0], "metadata") {
		t.Errorf("reported %q, warned %q", r.host.seen, r.host.warned)
	}
	// The second run prints the same total: it has used nothing.
	if second := r.mustTurn(t); second.Usage != (agent.Usage{}) {
		t.Errorf("usage counts from the thread's beginning: %+v", second.Usage)
	}
	id := "01a1fdb7-4402-7683-b11a-c4bc26e3fe21"
	if len(kept) != 1 || kept[0] != id || len(spent) != 2 || !spent[1].Known {
		t.Errorf("sessions %q, spent %+v", kept, spent)
	}
	starts := r.starts(t)
	if starts[0].Stdin != "You are api.\n\ngo" || starts[1].Stdin != "go" || len(starts[0].Args) != 0 ||
		!slices.Equal(starts[1].Args, []string{"resume", id, "-"}) {
		t.Errorf("started with %q", starts)
	}
}

// A thread of an earlier life has used nobody knows how much before.
func TestCodexUsageOfAnEarlierLife(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{"file " + testdata(t, "codex.jsonl")},
		life{`print {"type":"thread.started","thread_id":"t1"}`,
			`print {"type":"turn.completed","usage":{"input_tokens":1000,"output_tokens":100}}`})
	var spent []program.Spent
	r.opts.Resume, r.opts.Session = []string{"resume", "{session}"}, "t1"
	r.opts.OnUsage = func(s program.Spent) { spent = append(spent, s) }
	r.mustTurn(t)
	r.mustTurn(t)
	if spent[0].Known || spent[1].Usage != (agent.Usage{InputTokens: 70, OutputTokens: 7}) || !spent[1].Known {
		t.Errorf("spent %+v", spent)
	}
}

func TestClaude(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{"print npm warn something", "file " + testdata(t, "claude.jsonl")})
	var spent []program.Spent
	var kept string
	r.opts.Resume = []string{"--resume", "{session}"}
	r.opts.OnUsage = func(s program.Spent) { spent = append(spent, s) }
	r.opts.OnSession = func(id string) error { kept = id; return nil }
	reply := r.mustTurn(t)
	r.host.wants("assistant: I look around.", `call toolu_1: Bash {"command":"ls","description":"look"}`,
		"result toolu_1 (error false): a.go\n[image]",
		`call toolu_2: Write {"file_path":"/w/a","content":"x"}`,
		"result toolu_2 (error true): Claude requested permissions to write",
		`call toolu_3: TodoWrite {"todos":[{"content":"look","status":"completed"},{"content":"write","status":"in_progress"}]}`,
		"result toolu_3 (error false): ok", "assistant: All done.")
	want := agent.Usage{InputTokens: 650, OutputTokens: 47, CacheReadTokens: 50}
	if reply.Text != "All done." || reply.ToolCalls != 3 || reply.Usage != want || r.host.usage != want {
		t.Errorf("reply %+v, usage %+v", reply, r.host.usage)
	}
	if spent[0].CostUSD != 0.25 || !spent[0].Known || kept != "1e93674a-3926-427d-b4a4-5ec0c392f403" {
		t.Errorf("spent %+v, session %q", spent, kept)
	}
	if len(r.host.plans) != 1 || len(r.host.plans[0].Entries) != 2 ||
		r.host.plans[0].Entries[1].Status != "in_progress" {
		t.Errorf("plans %+v", r.host.plans)
	}
	if len(r.host.warned) != 1 || !strings.Contains(r.host.warned[0], "Write") {
		t.Errorf("warned %q", r.host.warned)
	}
}

// claude may give a resumed session a new id each time: the latest counts.
func TestLatestSession(t *testing.T) {
	t.Parallel()
	lives := []life{}
	for _, id := range []string{"s1", "s2", "s3"} {
		lives = append(lives, life{`print {"type":"system","subtype":"init","session_id":"` + id + `"}`,
			`print {"type":"result","subtype":"success","is_error":false,"result":"ok"}`})
	}
	r := newRig(t, lives...)
	r.opts.Resume = []string{"--resume", "{session}"}
	for range 3 {
		r.mustTurn(t)
	}
	starts := r.starts(t)
	if !slices.Equal(starts[1].Args, []string{"--resume", "s1"}) || !slices.Equal(starts[2].Args,
		[]string{"--resume", "s2"}) {
		t.Errorf("started with %q", starts)
	}
	r.host.wants("assistant: ok", "assistant: ok", "assistant: ok")
}

// An id that could be read as an option is no id.
func TestHostileSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{`print {"type":"thread.started","thread_id":"--yolo"}`, `print {"type":"turn.completed"}`})
	r.opts.Resume = []string{"{session}"}
	r.mustTurn(t)
	r.mustTurn(t)
	if starts := r.starts(t); len(starts[1].Args) != 0 {
		t.Errorf("started with %q", starts)
	}
}

func TestSessionCannotBeKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{"file " + testdata(t, "codex.jsonl"), "hang"})
	want := errors.New("disk full")
	r.opts.Resume = []string{"{session}"}
	r.opts.OnSession = func(string) error { return want }
	if _, err := r.turn(t); !errors.Is(err, want) {
		t.Errorf("%v", err)
	}
}

func TestLostSession(t *testing.T) {
	t.Parallel()
	for name, words := range map[string]life{
		"codex": {"err Error: thread/resume failed: no rollout found for thread id t1 (code -32600)", "exit 1"},
		"claude": {`print {"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"t1",` +
			`"errors":["No conversation found with session ID: t1"]}`, "exit 1"},
		"another": {"err session t1 not found", "exit 2"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, words, life{"read", "file " + testdata(t, "codex.jsonl")})
			r.opts.Resume, r.opts.Session = []string{"resume", "{session}"}, "t1"
			r.opts.System = func() string { return "You are api." }
			r.opts.Brief = func() string { return "So far: much." }
			r.opts.History = transcript.History{Messages: make([]agent.Message, 2)}
			r.mustTurn(t)
			starts := r.starts(t)
			if len(starts) != 2 || len(starts[0].Args) != 2 || len(starts[1].Args) != 0 ||
				starts[1].Stdin != "You are api.\n\nSo far: much.\n\ngo" {
				t.Errorf("started with %q", starts)
			}
			if len(r.host.fresh) != 1 || !strings.Contains(r.host.fresh[0].Reason, "lost its session") {
				t.Errorf("the journal says %+v", r.host.fresh)
			}
		})
	}
}

// Feedback of hooks on a call that is done is said in a prompt of its own.
func TestFeedback(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{"file " + testdata(t, "codex.jsonl")}, life{"read", "print thanks"})
	r.host.report = func(call agent.ToolCall, _ agent.ToolResult) (m agent.Remarks) {
		if call.Name == "Write" {
			m.Feedback = []agent.Input{{Kind: agent.FromHook, Text: "format it"}}
		}
		return m
	}
	if reply := r.mustTurn(t); reply.Text != "thanks" || reply.ToolCalls != 5 || r.host.passes != 2 {
		t.Errorf("reply %+v, %d passes", reply, r.host.passes)
	}
	if starts := r.starts(t); starts[1].Stdin != "format it" {
		t.Errorf("second prompt %q", starts[1].Stdin)
	}
	if !slices.Contains(r.host.said, "user: format it") {
		t.Errorf("transcript %q", r.host.said)
	}
}

func TestHalt(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{"file " + testdata(t, "codex.jsonl"), "hang"})
	r.host.report = func(call agent.ToolCall, _ agent.ToolResult) (m agent.Remarks) {
		if call.Name == "Write" {
			m.Halted = "enough"
		}
		return m
	}
	if reply := r.mustTurn(t); reply.Halted != "enough" {
		t.Errorf("reply %+v", reply)
	}
	if len(r.host.open) > 0 {
		t.Errorf("open %v", r.host.open)
	}
}

func TestPassRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{"read", "print ok"})
	r.host.refuse = agent.ErrMaxTurns
	if _, err := r.turn(t); !errors.Is(err, agent.ErrMaxTurns) {
		t.Errorf("%v", err)
	}
	r.host.refuse = nil
	r.mustTurn(t)
	if starts := r.starts(t); len(starts) != 1 || starts[0].Stdin != "go\n\ngo" {
		t.Errorf("what was refused is said later: %q", starts)
	}
}

func TestRecordFails(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{"file " + testdata(t, "codex.jsonl"), "flood 10", "hang"})
	want := errors.New("disk full")
	r.host.report = func(agent.ToolCall, agent.ToolResult) agent.Remarks {
		r.host.fail = want
		return agent.Remarks{}
	}
	if _, err := r.turn(t); !errors.Is(err, want) {
		t.Errorf("%v", err)
	}
}

func TestResumeAfterCrash(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cut      transcript.Cut
		messages []agent.Message
		want     string
		said     []string
	}{
		"at prompt": {transcript.Cut{Point: transcript.CutAtPrompt},
			[]agent.Message{agent.PromptRecord([]agent.Input{{Text: "do it"}}).Message},
			transcript.CutNotice + " If you have not seen it yet, this is what you were asked:\n\ndo it", nil},
		"at tools": {transcript.Cut{Point: transcript.CutAtTools, Open: []agent.ToolCall{{ID: "c1", Name: "Bash"}}},
			[]agent.Message{{Role: agent.Assistant}}, transcript.CutNotice, []string{"result c1 (error true): interrupted"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, life{"read", "print ok"})
			r.opts.Resume, r.opts.Session = []string{"--resume", "{session}"}, "s1"
			r.opts.System = func() string { return "You are api." }
			r.opts.History = transcript.History{Messages: tt.messages, Cut: &tt.cut}
			for _, c := range tt.cut.Open {
				r.host.open = append(r.host.open, c.ID)
			}
			reply, err := r.start(t).Resume(t.Context(), r.host)
			if err != nil || reply.Text != "ok" {
				t.Fatalf("%+v, %v", reply, err)
			}
			r.host.wants(append(tt.said, "user: "+tt.want, "assistant: ok")...)
			if starts := r.starts(t); starts[0].Stdin != tt.want || starts[0].Args[1] != "s1" {
				t.Errorf("started with %q", starts)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	for name, opts := range map[string]Options{
		"no command given":     {Options: program.Options{Dir: "/"}},
		"no working directory": {Options: program.Options{Command: []string{"x"}}},
		"unknown dialect":      {Options: program.Options{Command: []string{"x"}, Dir: "/"}, Dialect: "klingon"},
		"cannot be {prompt}":   {Options: program.Options{Command: []string{"{prompt}"}, Dir: "/"}},
	} {
		if _, err := New(opts); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	a, err := New(Options{Options: program.Options{Command: []string{"x"}, Dir: "/"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.Close(), a.Close()); err != nil {
		t.Error(err)
	}
	if _, err := a.Run(context.Background(), goPrompt(), &host{tb: t}); err == nil ||
		!strings.Contains(err.Error(), "closed") {
		t.Errorf("a closed agent ran: %v", err)
	}
}

// A hook that finds fault with every call keeps no turn up for ever: what it said last
// waits for the next prompt.
func TestFeedbackWithoutEnd(t *testing.T) {
	t.Parallel()
	var lives []life
	for range 9 {
		lives = append(lives, life{"file " + testdata(t, "codex.jsonl")})
	}
	r := newRig(t, append(lives, life{"read", "print thanks"})...)
	r.host.report = func(call agent.ToolCall, _ agent.ToolResult) (m agent.Remarks) {
		if call.Name == "Write" {
			m.Feedback = []agent.Input{{Kind: agent.FromHook, Text: "format it"}}
		}
		return m
	}
	if r.mustTurn(t); r.host.passes != 9 {
		t.Errorf("%d passes, want 9", r.host.passes)
	}
	r.mustTurn(t)
	if starts := r.starts(t); !strings.HasPrefix(starts[9].Stdin, "format it") {
		t.Errorf("the next prompt is %q", starts[9].Stdin)
	}
}

// A run begins when it may, and tells first that its session came to be, or last that
// none did.
func TestEnter(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		life life
		told []bool
	}{
		"session": {life{"read", `print {"type":"thread.started","thread_id":"t-1"}`,
			`print {"type":"turn.completed"}`}, []bool{true, false}},
		"no session": {life{"read", `print {"type":"turn.completed"}`}, []bool{false}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tt.life)
			r.opts.Dialect = Codex
			var told []bool
			r.opts.Enter = func(context.Context) (func(bool), error) {
				return func(opened bool) { told = append(told, opened) }, nil
			}
			r.mustTurn(t)
			if !slices.Equal(told, tt.told) {
				t.Errorf("told %v, want %v", told, tt.told)
			}
		})
	}
	r := newRig(t, life{"read"})
	refusal := errors.New("not now")
	r.opts.Enter = func(context.Context) (func(bool), error) { return nil, refusal }
	if _, err := r.start(t).Run(t.Context(), []agent.Input{{Text: "go"}}, r.host); !errors.Is(err, refusal) {
		t.Errorf("the turn failed with %v", err)
	}
}
