package acp

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
	"github.com/coveyteam/covey/teammate/transcript"
)

func TestTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{
		"say I look. ", "say Now.", "tool c1 ls", "done c1 a.go", "say All good.",
		`answer {"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":5,"totalTokens":115,"cachedReadTokens":100}}`,
	}}})
	reply := r.mustTurn(t)
	r.host.wants("assistant: I look. Now.", `call c1: Bash {"command":"ls"}`, "result c1 (error false): a.go",
		"assistant: All good.")
	want := agent.Usage{InputTokens: 110, OutputTokens: 5, CacheReadTokens: 100}
	if reply.Text != "All good." || reply.ToolCalls != 1 || reply.Usage != want || r.host.usage != want {
		t.Errorf("reply %+v, usage %+v", reply, r.host.usage)
	}
	if r.host.passes != 1 || len(r.host.seen) != 1 || len(r.host.asked) != 0 {
		t.Errorf("%d passes, %d calls reported, %d asked", r.host.passes, len(r.host.seen), len(r.host.asked))
	}
	if got := r.methods(t); !slices.Equal(got, []string{"initialize", "session/new", "session/prompt"}) {
		t.Errorf("methods: %v", got)
	}
	r.mustTurn(t) // the same process and session
	if got := r.methods(t); len(got) != 4 || got[3] != "session/prompt" {
		t.Errorf("methods: %v", got)
	}
}

func TestSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{})
	var kept string
	r.opts.OnSession = func(id string) error { kept = id; return nil }
	r.opts.Mode = "plan"
	r.opts.MCPServers = []MCPServer{
		{Name: "covey", URL: "http://127.0.0.1:1/mcp", Headers: []Pair{{"Authorization", "Bearer x"}}},
		{Name: "local", Command: "covey", Args: []string{"mcp"}, Env: []Pair{{"A", "b"}}},
	}
	r.mustTurn(t)
	if !strings.HasPrefix(kept, "s-") {
		t.Errorf("session id %q", kept)
	}
	line := r.one(t, "session/new")
	for _, part := range []string{
		`{"headers":[{"name":"Authorization","value":"Bearer x"}],"name":"covey","type":"http","url":"http://127.0.0.1:1/mcp"}`,
		`{"args":["mcp"],"command":"covey","env":[{"name":"A","value":"b"}],"name":"local"}`,
	} {
		if !strings.Contains(line, part) {
			t.Errorf("session/new lacks %s:\n%s", part, line)
		}
	}
	r.one(t, "session/set_mode", `"modeId":"plan"`, kept)
}

// What a program connects to is asked for anew with each of its lives.
func TestConnect(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{"die"}}}, life{})
	r.opts.Meta = map[string]any{"claudeCode": map[string]any{"options": 1}}
	r.opts.SystemBy, r.opts.System = SystemMeta, func() string { return "be kind" }
	lives := 0
	r.opts.Connect = func() ([]MCPServer, error) {
		lives++
		return []MCPServer{{Name: "covey", URL: fmt.Sprintf("http://127.0.0.1:%d/mcp", lives)}}, nil
	}
	r.mustTurn(t)
	r.one(t, "session/new", "127.0.0.1:1/mcp",
		`"_meta":{"claudeCode":{"options":1},"systemPrompt":{"append":"be kind"}}`)
	r.one(t, "session/resume", "127.0.0.1:2/mcp", `"_meta":{"claudeCode":{"options":1}}`)
	r = newRig(t, life{})
	r.opts.Connect = func() ([]MCPServer, error) { return nil, errors.New("the team is ending") }
	if _, err := r.turn(t); err == nil || !strings.Contains(err.Error(), "the team is ending") {
		t.Errorf("the turn ended with %v", err)
	}
}

func TestSystemPrompt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		mode   SystemMode
		method string
		want   string
	}{
		{"field", SystemField, "session/new", `"systemPrompt":{"content":[{"text":"be <kind>","type":"text"}],"mode":"append"}`},
		{"meta", SystemMeta, "session/new", `"_meta":{"systemPrompt":{"append":"be <kind>"}}`},
		{"prompt", SystemInPrompt, "session/prompt",
			`"prompt":[{"text":"be <kind>","type":"text"},{"text":"go","type":"text"}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, life{})
			r.opts.System, r.opts.SystemBy = func() string { return "be <kind>" }, tt.mode
			r.mustTurn(t)
			r.mustTurn(t) // and only once
			r.one(t, "be <kind>", tt.method, tt.want)
		})
	}
}

func TestResumeAndLoad(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		init string
		on   mapped
		want []string
		lost bool
	}{
		{"resume", "", nil, []string{"session/resume"}, false},
		{"load", `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`,
			mapped{"session/load": {"say old news",
				`update {"sessionUpdate":"tool_call","toolCallId":"x","status":"completed"}`, "answer {}"}},
			[]string{"session/load"}, false},
		{"load that answers first", `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`,
			mapped{"session/load": {"answer {}", "sleep 100", "say old news", "sleep 100",
				`update {"sessionUpdate":"tool_call","toolCallId":"x","status":"completed"}`}},
			[]string{"session/load"}, false},
		{"resume refused", "", mapped{"session/resume": {`error {"code":-32602,"message":"no"}`}},
			[]string{"session/resume", "session/load"}, false},
		{"nothing", `{"protocolVersion":1,"agentCapabilities":{}}`, nil, []string{"session/new"}, true},
		{"unknown", "", mapped{
			"session/resume": {`error {"code":-32002,"message":"no"}`}, "session/load": {`error {"code":-32002,"message":"no"}`},
		}, []string{"session/resume", "session/load", "session/new"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, life{Init: tt.init, On: tt.on})
			r.opts.Session = "old"
			r.opts.Brief = func() string { return "the brief" }
			r.opts.System = func() string { return "the system" }
			r.mustTurn(t)
			got := r.methods(t)
			if got = got[1 : len(got)-1]; !slices.Equal(got, tt.want) {
				t.Errorf("methods %v, want %v", got, tt.want)
			}
			prompt := r.one(t, "session/prompt")
			if strings.Contains(prompt, "the brief") != tt.lost || strings.Contains(prompt, "the system") != tt.lost {
				t.Errorf("prompt: %s", prompt)
			}
			r.host.wants("assistant: done")
			if fresh := slices.ContainsFunc(r.host.events, isFresh); fresh != tt.lost {
				t.Errorf("a fresh session is reported: %t, want %t", fresh, tt.lost)
			}
		})
	}
}

func TestResumer(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{})
	r.opts.Session = "old"
	r.opts.History = transcript.History{
		Messages: []agent.Message{{Role: agent.User, Content: []agent.Block{{Type: agent.TextBlock, Text: "do it"}}}},
		Cut:      &transcript.Cut{Point: transcript.CutAtPrompt, Open: []agent.ToolCall{{ID: "c9"}}},
	}
	r.host.open = []string{"c9"}
	r.start(t)
	if _, err := r.Resume(context.Background(), r.host); err != nil {
		t.Fatal(err)
	}
	if len(r.host.said) != 3 || r.host.said[0] != "result c9 (error true): interrupted" ||
		!strings.Contains(r.host.said[1], "cut off") || !strings.HasSuffix(r.host.said[1], "do it") {
		t.Errorf("transcript: %q", r.host.said)
	}
}

func TestLoadWaitsForTheMinute(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 11, 1, 12, 0, 59, 800e6, time.UTC)
	for _, tt := range []struct {
		name  string
		now   time.Time
		since time.Time
		waits bool
	}{
		{"same minute", made, made, true},
		{"next minute", made.Add(time.Second), made, false},
		{"not known", made, time.Time{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &Agent{opts: Options{Options: program.Options{Clock: func() time.Time { return tt.now }},
					Quirks: Quirks{LoadAfterMinute: true}}, made: tt.since}
				eye := host{tb: t}
				a.observer = &eye
				began := time.Now()
				if err := a.waitForMinute(context.Background()); err != nil {
					t.Fatal(err)
				}
				if told := len(eye.events) > 0; told != tt.waits {
					t.Errorf("people were told: %t", told)
				}
				if waited := time.Since(began) > 0; waited != tt.waits {
					t.Errorf("waited: %t", waited)
				}
			})
		})
	}
}

// TestLoadOfNothing: a program that replays what it has loaded, and replays
// nothing, has lost the session, though it says that all is well.
func TestLoadOfNothing(t *testing.T) {
	const user = `update {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"go"}}`
	for _, tt := range []struct {
		quirk bool
		load  []string
		want  string
	}{
		{true, []string{"answer {}"}, "session/new"},
		{true, []string{"answer {}", user}, "session/prompt"},
		{false, []string{"answer {}"}, "session/prompt"},
	} {
		r := newRig(t, life{
			Init: `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`, On: mapped{"session/load": tt.load},
		})
		r.opts.Session, r.opts.SessionMade = "old", time.Now().Add(-time.Hour)
		r.opts.Quirks.LoadAfterMinute = tt.quirk
		r.opts.Brief = func() string { return "the brief" }
		r.mustTurn(t)
		if got := r.methods(t); got[2] != tt.want {
			t.Errorf("%+v: methods %v", tt, got)
		}
		if lost := tt.want == "session/new"; strings.Contains(r.one(t, "session/prompt"), "the brief") != lost {
			t.Errorf("%+v: the brief must come exactly if the session is lost", tt)
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{"tool c1 sleep 100", "say wait", "cancelled", "end cancelled"},
		{"say on", "end end_turn"}}})
	r.start(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.host.report = nil
	go func() {
		for len(r.logNow()) < 3 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if _, err := r.Run(ctx, goPrompt(), r.host); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	for _, line := range r.host.said[1:] {
		if strings.HasPrefix(line, "result c1") && !strings.Contains(line, "interrupted") {
			t.Error(line)
		}
	}
	if len(r.host.open) > 0 {
		t.Errorf("open: %v", r.host.open)
	}
	r.host.said = nil
	r.mustTurn(t)
	r.host.wants("assistant: on")
	if got := r.methods(t); slices.Contains(got, "session/resume") || !slices.Contains(got, "session/cancel") {
		t.Errorf("methods: %v", got)
	}
}

// A program that ignores cancel and TERM is killed, and started again with its
// session when there is work.
func TestCancelLadder(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Deaf: true, Prompts: [][]string{{"tool c1 x", "hang"}}}, life{})
	r.opts.Timeouts.Cancel, r.opts.Timeouts.Grace = 50*time.Millisecond, 50*time.Millisecond
	r.start(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.host.permit = nil
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for len(r.logNow()) < 3 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	_, err := r.Run(ctx, goPrompt(), r.host)
	<-stopped
	if !errors.Is(err, context.Canceled) || len(r.host.open) > 0 {
		t.Fatalf("error %v, open %v", err, r.host.open)
	}
	r.host.said = nil
	r.mustTurn(t)
	r.host.wants("assistant: done")
	if got := r.methods(t); !slices.Contains(got, "session/resume") {
		t.Errorf("methods: %v", got)
	}
}

func TestReopenAfterCancel(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{"say hm", "cancelled", "end cancelled"}}}, life{})
	r.opts.Quirks.ReopenAfterCancel = true
	r.opts.Timeouts.Silence = 100 * time.Millisecond
	if _, err := r.turn(t); err == nil {
		t.Fatal("no error")
	}
	r.Agent.opts.Timeouts.Silence = time.Minute // a busy machine may be silent for longer than that
	r.mustTurn(t)
	if got := r.methods(t); !slices.Contains(got, "session/resume") {
		t.Errorf("methods: %v", got)
	}
}

func TestWatchdog(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{
		{"say a", "await first", "update {}", "await second", "raw {\"method\":\"x\"}", "await third", "say b",
			"cancelled", "end end_turn"}, {"end end_turn"},
	}})
	r.opts.Timeouts.Silence = 3 * time.Second
	bells := newBells(t, &r.opts)
	go func() {
		watch := bells.next()
		bells.next()
		watch.set() // each sign of life sets it anew
		r.let(t, "first")
		watch.set()
		before := r.live.conn.heard.Load()
		r.let(t, "second")
		for r.live.conn.heard.Load() == before && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		watch.ring() // one that means nothing counts when it rings
		watch.set()
		r.let(t, "third")
		watch.set()
		watch.ring()
	}()
	_, err := r.turn(t)
	var api *agent.APIError
	if !errors.As(err, &api) || api.Type != "server_error" || !strings.Contains(api.Message, "3s") {
		t.Fatalf("error %v", err)
	}
	r.host.wants("assistant: ab")
	r.mustTurn(t) // the program has stopped when it was told to, and goes on
}

// TestQuiet: people are told, once, of a program that answers a prompt with
// silence, and of none that says something.
func TestQuiet(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{
		{"await told", "say late", "end end_turn"}, {"say soon", "await later", "end end_turn"},
	}})
	r.opts.Timeouts.Quiet = 2 * time.Second
	bells := newBells(t, &r.opts)
	lull := make(chan time.Duration, 1)
	go func() {
		bells.next()
		bells.next().ring()
		r.let(t, "told")
		bells.next()
		lull <- bells.next().set()
		r.let(t, "later")
	}()
	for range 2 {
		r.mustTurn(t)
	}
	if d := <-lull; d != 6*time.Second {
		t.Errorf("a program that has said something is told of after %v", d)
	}
	if want := []events.Data{events.HeldUp{For: "the agent program, which has said nothing for 2s"}}; !reflect.DeepEqual(r.host.events, want) {
		t.Errorf("observed %+v", r.host.events)
	}
}

func TestOptions(t *testing.T) {
	for name, opts := range map[string]program.Options{"no command": {Dir: "/"}, "no directory": {Command: []string{"x"}}} {
		if _, err := New(Options{Options: opts}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	a, err := New(Options{Options: program.Options{
		Command: []string{"no-such-program"}, Dir: t.TempDir(), Env: []string{"PATH=/usr/bin"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Run(context.Background(), goPrompt(), &host{tb: t}); err == nil ||
		!strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("error %v", err)
	}
	for range 2 {
		if err := a.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := a.Run(context.Background(), goPrompt(), &host{tb: t}); err == nil {
		t.Error("a closed agent runs")
	}
}

func TestPassRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{})
	r.host.refuse = agent.ErrMaxTurns
	if _, err := r.turn(t); !errors.Is(err, agent.ErrMaxTurns) {
		t.Fatalf("error %v", err)
	}
	r.host.refuse = nil
	r.mustTurn(t)
	if line := r.one(t, "session/prompt"); strings.Count(line, `"go"`) != 2 {
		t.Errorf("what was held back is not there: %s", line)
	}
}

func TestStarted(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{})
	pids, released := 0, 0
	r.opts.Started = func(pid int) func() { pids = pid; return func() { released = pid } }
	r.mustTurn(t)
	r.Close()
	if pids == 0 || released != pids {
		t.Errorf("started %d, released %d", pids, released)
	}
}

// A program starts when it may, and tells once whether its session came to be.
func TestEnter(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{Prompts: [][]string{{"say a", "end end_turn"}}})
	var told []bool
	entered, refusal := 0, errors.New("not now")
	r.opts.Enter = func(context.Context) (func(bool), error) {
		if entered++; entered == 1 {
			return nil, refusal
		}
		return func(opened bool) { told = append(told, opened) }, nil
	}
	if _, err := r.turn(t); !errors.Is(err, refusal) {
		t.Errorf("the turn failed with %v", err)
	}
	r.mustTurn(t)
	r.mustTurn(t) // the same process
	if entered != 2 || !slices.Equal(told, []bool{true}) {
		t.Errorf("it entered %d times and told %v", entered, told)
	}
}
