package teammate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// drawScript makes a conversation: answers with and without calls, to tools
// that work, fail and do not exist. Ids are unique over all lives of a member.
func drawScript(t *rapid.T, ids *atomic.Int64) []say {
	var script []say
	for range rapid.IntRange(1, 8).Draw(t, "answers") {
		s := say{text: rapid.SampledFrom([]string{"", "x", "two\nlines"}).Draw(t, "text")}
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			name := rapid.SampledFrom([]string{"Bash", "Fails", "Panics", "NoSuchTool"}).Draw(t, "tool")
			s.calls = append(s.calls, callTool(fmt.Sprint("c", ids.Add(1)), name, `{}`))
		}
		script = append(script, s)
	}
	return script
}

// disturb makes gates that refuse at random, and a Stop hook that interrupts.
func disturb(t *rapid.T, r *rig, m *Teammate) {
	refusals := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 12).Draw(t, "gates")
	r.runner.answer = func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
		event := in.Payload.Event()
		if event != hooks.Stop && event != hooks.TeammateIdle && event != hooks.PreToolUse || len(refusals) == 0 {
			return pass, nil
		}
		now := refusals[0]
		refusals = refusals[1:]
		switch now {
		case 1, 2:
			return refuse(string(event) + " hook feedback:\nno"), nil
		case 3:
			m.Interrupt("at random")
		}
		return pass, nil
	}
}

// life gives a member one life over its transcript: all mail is delivered anew,
// as if nothing had ever been confirmed.
func life(t *rapid.T, tb testing.TB, path string, ids *atomic.Int64) {
	r := newRig(tb)
	r.opts.Transcript.Close()
	r.path = path
	r.reopen(tb, drawScript(t, ids)...)
	r.opts.Tools = append(r.opts.Tools,
		fakeTool{spec: agent.Spec{Name: "Fails"}, run: func(context.Context,
			agent.ToolCall) agent.ToolResult {
			return agent.Failed("no")
		}},
		fakeTool{spec: agent.Spec{Name: "Panics"}, run: func(context.Context,
			agent.ToolCall) agent.ToolResult {
			panic("no")
		}})
	if rapid.Bool().Draw(t, "agent cannot resume") {
		r.opts.Agent = agentFunc(r.agent.Run)
	}
	r.opts.Limits.MaxTurns = rapid.SampledFrom([]int{0, 3}).Draw(t, "max turns")
	r.inbox.work = nil
	for i := range 4 {
		r.inbox.work = append(r.inbox.work, Work{Cause: events.ByMessage,
			Inputs: []agent.Input{mailed(fmt.Sprint("mail ", i), fmt.Sprint("m", i))}})
	}
	r.inbox.waiting = []agent.Input{mailed("mail 9", "m9")}
	m := r.member(tb)
	disturb(t, r, m)
	if err := m.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.opts.Transcript.Close()
}

// checkConversation fails unless every tool call has exactly one result, before
// anything else is said, and every mail stands there once.
func checkConversation(t *rapid.T, h transcript.History) {
	var calls transcript.OpenCalls
	shown := map[string]int{}
	for i, m := range h.Messages {
		if err := calls.Check(m); err != nil {
			all, _ := json.MarshalIndent(h.Messages, "", " ")
			t.Fatalf("message %d: %v\n%s", i, err, all)
		}
		calls.Add(m)
		for _, b := range m.Content {
			if b.Type == agent.TextBlock && m.Role == agent.User {
				shown[b.Text]++
			}
		}
	}
	if len(calls.List) > 0 {
		t.Fatalf("calls without a result: %v", calls.List)
	}
	for _, i := range []int{0, 1, 2, 3, 9} {
		if n := shown[fmt.Sprint("mail ", i)]; n != 1 {
			t.Fatalf("mail %d is shown %d times", i, n)
		}
	}
}

// However often and wherever a member is cut off: every tool call gets exactly
// one result, every message is shown exactly once, and in the end no turn is
// left open.
func TestCrashAnywhere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "crash")
		if err != nil {
			rt.Fatal(err)
		}
		path := filepath.Join(dir, "t.jsonl")
		var ids atomic.Int64
		for range rapid.IntRange(0, 2).Draw(rt, "crashes") {
			life(rt, t, path, &ids)
			data, err := os.ReadFile(path)
			if err != nil {
				rt.Fatal(err)
			}
			cut := rapid.IntRange(0, len(data)).Draw(rt, "cut at")
			if err := os.WriteFile(path, slices.Clip(data)[:cut], 0o600); err != nil {
				rt.Fatal(err)
			}
		}
		life(rt, t, path, &ids)
		h := history(t, path)
		if h.Cut != nil {
			rt.Fatalf("a turn is left open: %+v", *h.Cut)
		}
		checkConversation(rt, h)
	})
}
