package builtin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/teammate/agent"
)

func message(role agent.Role, blocks ...agent.Block) agent.Message {
	return agent.Message{Role: role, Content: blocks}
}

func result(id, text string) agent.Block {
	return agent.Block{Type: agent.ToolResultBlock, ToolUseID: id, Content: text}
}

func TestResume(t *testing.T) {
	asked := message(agent.User, says("x"))
	batch := message(agent.Assistant, says("three"), calls("Bash", "c1"), calls("TaskUpdate", "c2"),
		calls("Read", "c3"), calls("Edit", "c4"))
	tests := []struct {
		name     string
		history  []agent.Message
		calls    string // what is called
		recorded string // what is recorded besides the answer
		requests int
		text     string
	}{
		{"nothing to go on with", nil, "[]", "", 0, ""},
		{"a prompt that nobody answered", []agent.Message{asked}, "[]", "", 1, "ok"},
		{"results that nobody answered",
			[]agent.Message{asked, message(agent.Assistant, calls("Bash", "c1")),
				message(agent.User, result("c1", "r"))}, "[]", "", 1, "ok"},
		{
			"a turn that had only its end to come",
			[]agent.Message{asked, message(agent.Assistant, says(" said "))}, "[]", "", 0, "said",
		},
		{"an empty answer", []agent.Message{asked, message(agent.Assistant)}, "[]", "", 0, ""},
		{"a batch not begun", []agent.Message{asked, batch}, "[TaskUpdate c2 Read c3]",
			"user: !c1 " + lostText + "\nuser: =c2 did TaskUpdate\nuser: =c3 did Read\nuser: !c4 " +
				lostText + "\n", 1, "ok"},
		{"a batch in its middle",
			[]agent.Message{asked, batch, message(agent.User, result("c1", "r1")),
				message(agent.User, result("c2", "r2"))}, "[Read c3]", "user: =c3 did Read\nuser: !c4 " +
				lostText + "\n", 1, "ok"},
		{"a tool that is no more",
			[]agent.Message{asked, message(agent.Assistant, calls("Gone", "c1"))}, "[]",
			"user: !c1 " + lostText + "\n", 1, "ok"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := &fakeModel{t: t, answers: []any{answer(says("ok"))}}
			h := &fakeHost{}
			reply, err := newAgent(t, m, test.history...).Resume(t.Context(), h)
			if err != nil || reply.Text != test.text || len(m.requests) != test.requests {
				t.Errorf("%+v, %v after %d requests", reply, err, len(m.requests))
			}
			if got := fmt.Sprint(h.calls); got != test.calls {
				t.Errorf("calls %s, want %s", got, test.calls)
			}
			recorded := h.transcript()
			if len(m.requests) > 0 {
				recorded = recorded[:len(recorded)-1]
			}
			if got := written(recorded); got != test.recorded {
				t.Errorf("recorded\n%s\nwant\n%s", got, test.recorded)
			}
			if err := checkResults(append(slices.Clone(test.history), h.transcript()...)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestResumeAsksAgain: a call that was waiting for permission has not started, nor has any
// call after it, so they run; a call before it may have started.
func TestResumeAsksAgain(t *testing.T) {
	h := &fakeHost{unbegun: "c2"}
	batch := message(agent.Assistant, calls("Bash", "c1"), calls("Bash", "c2"), calls("Edit", "c3"))
	m := &fakeModel{t: t, answers: []any{answer(says("ok"))}}
	if _, err := newAgent(t, m, message(agent.User, says("x")), batch).Resume(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	want := "user: !c1 " + lostText + "\nuser: =c2 did Bash\nuser: =c3 did Edit\nassistant: ok\n"
	if got := written(h.transcript()); got != want {
		t.Errorf("recorded\n%s\nwant\n%s", got, want)
	}
}

// TestStoppedInACall: calls of team tools and of tools that read which failed, or were not
// made, because their member stops are made by Resume. One that succeeded, one of another
// tool, one that a person interrupted and one whose turn took too long keep their results.
func TestStoppedInACall(t *testing.T) {
	for _, test := range []struct {
		name, tool string
		result     agent.ToolResult
		cause      error
		again      string // calls of Resume
	}{
		{"a team tool", "TaskUpdate", agent.Failed("context canceled"), context.Canceled, "[TaskUpdate c1 TaskUpdate c3]"},
		{"a tool that reads", "Read", agent.Failed("context canceled"), context.Canceled, "[Read c1 TaskUpdate c3]"},
		{"one that succeeded", "TaskUpdate", agent.ToolResult{Content: "done"}, context.Canceled, "[TaskUpdate c3]"},
		{"a tool that changes files", "Bash", agent.Failed("killed"), context.Canceled, "[TaskUpdate c3]"},
		{"an interrupt", "TaskUpdate", agent.Failed("interrupted"), agent.ErrInterrupted, "[]"},
		{"a turn that took too long", "TaskUpdate", agent.Failed("too long"), context.DeadlineExceeded, "[]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := stoppable(t.Context(), test.cause)
			defer cancel()
			h := &fakeHost{
				results: map[string]agent.ToolResult{test.tool: test.result},
				onCall:  func(agent.ToolCall) { cancel() },
			}
			m := &fakeModel{t: t, answers: []any{answer(calls(test.tool, "c1"), calls("Edit", "c2"), calls("TaskUpdate", "c3"))}}
			if _, err := newAgent(t, m).Run(ctx, prompt("x"), h); err != ctx.Err() {
				t.Fatal(err)
			}
			next := &fakeHost{}
			m = &fakeModel{t: t, answers: []any{answer(says("ok"))}}
			if _, err := newAgent(t, m, h.transcript()...).Resume(t.Context(), next); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(next.calls); got != test.again {
				t.Errorf("Resume called %s, want %s", got, test.again)
			}
			if err := checkResults(append(h.transcript(), next.transcript()...)); err != nil {
				t.Error(err)
			}
		})
	}
}

// stoppable returns a context that cancel ends with a cause; with DeadlineExceeded it ends
// as by a deadline.
func stoppable(parent context.Context, cause error) (ctx context.Context, cancel func()) {
	ctx, end := context.WithCancelCause(parent)
	if cause == context.DeadlineExceeded {
		return late{ctx}, func() { end(cause) }
	}
	return ctx, func() { end(cause) }
}

// late is a context whose end is that of a deadline.
type late struct{ context.Context }

func (l late) Err() error {
	if l.Context.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}

func TestRunSettlesWhatACrashLeftOpen(t *testing.T) {
	m := &fakeModel{t: t, answers: []any{answer(says("ok"))}}
	h := &fakeHost{}
	a := newAgent(t, m, message(agent.User, says("x")), message(agent.Assistant, calls("Read", "c1")))
	if _, err := a.Run(t.Context(), prompt("y"), h); err != nil {
		t.Fatal(err)
	}
	want := "user: !c1 " + lostText + "\nuser: y\nassistant: ok\n"
	if got := written(h.transcript()); got != want || len(h.calls) > 0 {
		t.Errorf("recorded\n%s\nwant\n%s", got, want)
	}
}

func TestABrokenHistoryIsMended(t *testing.T) {
	m := &fakeModel{t: t, answers: []any{answer(calls("Bash", "c1"))}}
	h := &fakeHost{mail: [][]agent.Input{nil}, passErr: agent.ErrMaxTurns}
	a := newAgent(t, m,
		message(agent.User, result("never", "asked"), says("x")),
		message(agent.Assistant, calls("Bash", "c1"), calls("Bash", "c2")),
		message(agent.User, result("c1", "r"), result("c1", "again"), says("y")),
		message(agent.Assistant, says("z")),
		message(agent.User, result("c2", "too late")),
	)
	_, err := a.Run(t.Context(), prompt("go"), h)
	if !errors.Is(err, agent.ErrMaxTurns) {
		t.Fatal(err)
	}
	want := `user: x
assistant: Bash c1 {"a":1} | Bash c2 {"a":1}
user: =c1 r | !c2 ` + lostText + ` | y
assistant: z
user: go
`
	if got := written(m.requests[0].Messages); got != want {
		t.Errorf("request\n%s\nwant\n%s", got, want)
	}
	// The id c1 has been used in the history, so the new call gets another.
	if got := fmt.Sprint(h.calls); got != "[Bash c1_2]" {
		t.Errorf("calls %s", got)
	}
}

// For all answers of models and errors of hosts, and for interrupts, full disks and
// crashes at any time: every call has exactly one result, no unrepeatable call runs
// twice, and the conversation continues.
func TestEveryCallHasExactlyOneResult(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{rt: rt, t: t, made: map[string]int{}}
		w.restart()
		for range rapid.IntRange(1, 5).Draw(rt, "turns") {
			w.turn()
		}
	})
}

// world is the state of a property test.
type world struct {
	rt    *rapid.T
	t     *testing.T
	agent *Agent
	disk  []agent.Message // what has been recorded, over all lives
	made  map[string]int  // how often each call was made
	next  int
}

// restart makes a new agent from the transcript on disk.
func (w *world) restart() {
	w.agent = newAgent(w.t, w, w.disk...)
}

// Generate answers with random texts and calls, or fails.
func (w *world) Generate(ctx context.Context, r agent.Request) (agent.Response, error) {
	if err := checkRequest(r); err != nil {
		w.rt.Fatalf("request: %v\n%s", err, written(r.Messages))
	}
	switch rapid.IntRange(0, 9).Draw(w.rt, "answer") {
	case 0:
		return agent.Response{}, &agent.APIError{Type: "overloaded", Overflow: rapid.Bool().Draw(w.rt, "too long")}
	case 1:
		return agent.Response{}, nil
	case 2:
		return agent.Response{Content: []agent.Block{says("done")}}, nil
	}
	var blocks []agent.Block
	for range rapid.IntRange(1, 3).Draw(w.rt, "calls") {
		w.next++
		id := fmt.Sprintf("c%d", rapid.IntRange(max(1, w.next-3), w.next).Draw(w.rt, "id"))
		name := rapid.SampledFrom([]string{"Bash", "Read", "TaskUpdate", "Edit", "Nope"}).Draw(w.rt, "tool")
		blocks = append(blocks, calls(name, id))
	}
	return agent.Response{Content: blocks, CutOff: rapid.IntRange(0, 4).Draw(w.rt, "cut off") == 0}, nil
}

// errCrash represents the end of the process.
var errCrash = errors.New("crash")

// turn is one Run or Resume, and perhaps a crash.
func (w *world) turn() {
	cause := rapid.SampledFrom([]error{context.Canceled, agent.ErrInterrupted, context.DeadlineExceeded}).Draw(w.rt, "cause")
	ctx, cancel := stoppable(w.t.Context(), cause)
	defer cancel()
	h := &randomHost{world: w, cancel: cancel,
		left: rapid.IntRange(0, 12).Draw(w.rt, "records until trouble")}
	h.dies = rapid.Bool().Draw(w.rt, "dies")
	_, err := w.run(ctx, h)
	switch {
	case h.dead, ctx.Err() != nil && cause == context.Canceled:
		w.restart()
		live := &randomHost{world: w, cancel: func() {}, left: 1000}
		_, err = w.agent.Resume(w.t.Context(), live)
	case h.left < 0:
		err = nil // what a full disk swallowed is mended in memory
	}
	if err != nil && !known(err) {
		w.rt.Fatalf("unexpected: %v", err)
	}
	if err := checkResults(w.agent.conv.messages); err != nil {
		w.rt.Fatalf("in memory: %v\n%s", err, written(w.agent.conv.messages))
	}
	for call, n := range w.made {
		if n > 1 && (call[0] == 'B' || call[0] == 'E' || call[0] == 'N') {
			w.rt.Fatalf("%s was made %d times", call, n)
		}
	}
}

// run runs the agent. A crash is a panic of the host, which ends the agent like a real
// crash.
func (w *world) run(ctx context.Context, h *randomHost) (reply agent.Reply, err error) {
	defer func() {
		if h.dead {
			if p := recover(); p != nil && p != errCrash {
				panic(p)
			}
		}
	}()
	return w.agent.Run(ctx, prompt("go"), h)
}

func known(err error) bool {
	var failure *agent.APIError
	return errors.As(err, &failure) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, agent.ErrMaxTurns) || errors.Is(err, errDiskFull)
}

// randomHost interrupts, halts, limits, reports a full disk, and crashes, at random.
type randomHost struct {
	*world
	cancel func()
	left   int // records that succeed
	dies   bool
	dead   bool
	passes int
}

func (h *randomHost) Pass(ctx context.Context) ([]agent.Input, error) {
	if h.passes++; h.passes > 6 {
		return nil, agent.ErrMaxTurns
	}
	if rapid.IntRange(0, 3).Draw(h.rt, "mail") == 0 {
		return []agent.Input{{Kind: agent.FromMail, Text: "hello"}}, ctx.Err()
	}
	return nil, ctx.Err()
}

func (h *randomHost) Call(_ context.Context, c agent.ToolCall) agent.ToolResult {
	h.made[c.Name+" "+c.ID]++
	r := agent.ToolResult{Content: "r"}
	switch rapid.IntRange(0, 9).Draw(h.rt, "call") {
	case 0:
		h.cancel()
	case 1:
		r.Halted = "halt"
	case 2:
		r.Extra = []string{"extra"}
	case 3:
		r.IsError = true
	}
	return r
}

func (h *randomHost) Record(r agent.Record) error {
	if h.left--; h.left < 0 {
		if h.dies {
			h.dead = true
			panic(errCrash)
		}
		return errDiskFull
	}
	h.disk = append(h.disk, r.Message)
	return nil
}

// steps is a model that returns answers one after another, like a script.
type steps struct {
	answers []agent.Response
	next    int
}

func (m *steps) Generate(context.Context, agent.Request) (agent.Response, error) {
	step := m.next
	m.next++
	r := m.answers[step]
	r.Step = &step
	return r, nil
}

// A member that crashes after any record, and is resumed from its transcript, does the
// same as one that never crashed.
func TestAMemberGoesOnAfterACrash(t *testing.T) {
	answers := []agent.Response{
		answer(says("one"), calls("TaskUpdate", "c1"), calls("Read", "c2")), answer(calls("Read", "c3")),
		answer(says("three")),
	}
	whole := &fakeHost{}
	if _, err := newAgent(t, &steps{answers: answers}).Run(t.Context(), prompt("go"), whole); err != nil {
		t.Fatal(err)
	}
	for cut := range whole.records {
		history := whole.transcript()[:cut+1]
		served := 0
		for _, r := range whole.records[:cut+1] {
			if r.Step != nil {
				served = *r.Step + 1
			}
		}
		h := &fakeHost{records: slices.Clone(whole.records[:cut+1])}
		reply, err := newAgent(t, &steps{answers, served}, history...).Resume(t.Context(), h)
		if err != nil || reply.Text != "three" {
			t.Errorf("cut after %d: %+v, %v", cut, reply, err)
		}
		if got, want := written(h.transcript()), written(whole.transcript()); got != want {
			t.Errorf("cut after %d:\n%s\nwant\n%s", cut, got, want)
		}
	}
}
