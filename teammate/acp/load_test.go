package acp

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/program"
	"github.com/coveyteam/covey/teammate/transcript"
	"github.com/coveyteam/covey/teammate/workspace"
)

// gates is a hook runner whose three gates cost nothing. Each refuses every
// third of its turn ends, once.
type gates struct {
	mu    sync.Mutex
	asked map[hooks.Event]int
	tools int
}

func (g *gates) Run(ctx context.Context, in hooks.Input, _ func(hooks.Progress)) (hooks.Outcome, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	event := in.Payload.Event()
	out := hooks.Outcome{Event: event, Decision: hooks.Pass}
	switch event {
	case hooks.Stop, hooks.TaskCompleted, hooks.TeammateIdle:
		g.asked[event]++
		if g.asked[event]%3 == 0 {
			out.Decision, out.Feedback, out.Messages = hooks.Block, []string{"not yet"}, []string{"not yet"}
		}
	case hooks.PreToolUse, hooks.PostToolUse:
		g.tools++
	}
	return out, ctx.Err()
}

// office is the inbox, the task list and the journal of one member.
type office struct {
	turns int // still to be given

	mu     sync.Mutex
	events []events.Data
	times  map[string]time.Time
	took   []time.Duration // from the start of each turn to its end
}

func (o *office) Next(ctx context.Context) (teammate.Work, error) {
	if o.turns--; o.turns < 0 {
		return teammate.Work{}, io.EOF
	}
	in := agent.Input{Kind: agent.FromMail, Text: "work", MessageID: fmt.Sprint("m", o.turns)}
	return teammate.Work{Cause: events.ByMessage, Inputs: []agent.Input{in}}, ctx.Err()
}

func (o *office) Waiting(context.Context) ([]agent.Input, error) { return nil, nil }
func (o *office) Taken(context.Context, []string) error          { return nil }

func (o *office) InProgress(context.Context, string) ([]tasks.Task, error) {
	return []tasks.Task{{ID: "1", Subject: "s", Status: tasks.InProgress}}, nil
}

func (o *office) sink(e events.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch e.Data.(type) {
	case events.TurnStarted:
		o.times["turn"] = time.Now()
	case events.TurnEnded:
		o.took = append(o.took, time.Since(o.times["turn"]))
	}
	o.events = append(o.events, e.Data)
}

// ended counts how turns ended.
func (o *office) ended() map[string]int {
	counts := map[string]int{}
	for _, e := range o.events {
		if d, ok := e.(events.TurnEnded); ok {
			counts[d.Reason]++
		}
	}
	return counts
}

// newMember makes a real member on a fake program.
func newMember(tb testing.TB, name string, turns int, g *gates, l life) (*teammate.Teammate, *Agent, *office) {
	tb.Helper()
	r := newRig(tb, l)
	r.opts.Env = append(r.opts.Env, "ACP_FAKE_QUIET=1", "GOMAXPROCS=1", "GOGC=off")
	r.start(tb)
	file, history, err := transcript.Open(filepath.Join(r.dir, "t.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { file.Close() })
	o := &office{turns: turns, times: map[string]time.Time{}}
	m, err := teammate.New(teammate.Options{
		Name: name, Team: "crew", Kind: "acp", Agent: r.Agent, Hooks: g, Tasks: o, Inbox: o, Sink: o.sink, SessionID: name,
		Transcript: file, History: &history, Workdir: workspace.NewWorkdir(r.dir),
		Rights: permission.NewRights(permission.Policy{Mode: "bypassPermissions"}, nil), Limits: teammate.Limits{StopBlockCap: 8},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return m, r.Agent, o
}

// A turn of the fake: it speaks, asks, calls, and speaks again.
var busyTurn = []string{"say I look.", "ask c1 ls", "done c1 a.go", "say done", "end end_turn"}

// allRounds has the tests with many programs take their full size.
var allRounds = flag.Bool("all", false, "try all seeds, with as many members as a large team has")

// 200 members with a program each take 10 turns with three gates, all at once; fewer
// unless all rounds are asked for.
func TestCrowd(t *testing.T) {
	members, turns := 40, 10
	if *allRounds {
		members = 200
	}
	g := &gates{asked: map[hooks.Event]int{}}
	errs := make([]error, members)
	offices := make([]*office, members)
	var all sync.WaitGroup
	began := time.Now()
	for i := range members {
		m, agent, o := newMember(t, fmt.Sprint("m", i), turns, g, life{Prompts: [][]string{busyTurn}})
		offices[i] = o
		all.Go(func() {
			errs[i] = errors.Join(m.Run(t.Context()), agent.Close())
		})
	}
	all.Wait()
	t.Logf("%d members took %d turns each in %v", members, turns, time.Since(began))
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for i, o := range offices {
		if got := o.ended(); got[events.EndCompleted] != turns || len(got) != 1 {
			t.Fatalf("member %d: %v", i, got)
		}
	}
	prompts := 0
	for _, event := range []hooks.Event{hooks.Stop, hooks.TaskCompleted, hooks.TeammateIdle} {
		if g.asked[event] < members*turns {
			t.Errorf("%s asked %d times", event, g.asked[event])
		}
		prompts += g.asked[event]
	}
	if g.tools < 2*members*turns {
		t.Errorf("%d hooks of tool calls, %d gates", g.tools, prompts)
	}
}

// What a turn costs beside the program: the same conversation once with a
// member, its transcript, its hooks and gates, and once with the wire alone. A
// busy machine gets three tries.
func TestOverhead(t *testing.T) {
	const turns, limit = 200, 2 * time.Millisecond
	l := life{Prompts: [][]string{{"say I look.", "tool c1 ls", "done c1 a.go", "say done", "end end_turn"}}}
	var cost time.Duration
	for first := time.Now(); time.Since(first) < time.Minute; { // the best counts: a busy machine adds to it
		g := &gates{asked: map[hooks.Event]int{hooks.Stop: -1e6, hooks.TaskCompleted: -1e6, hooks.TeammateIdle: -1e6}}
		m, _, o := newMember(t, "m", turns, g, l)
		if err := m.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		full, bare := median(o.took), median(bareTurns(t, l, turns))
		t.Logf("a turn takes %v (median), of which the fake program alone %v", full, bare)
		if cost = full - bare; cost < limit || raced {
			return
		}
	}
	t.Errorf("overhead of a turn is %v", cost)
}

// bareTurns are turns on the wire alone.
func bareTurns(t *testing.T, l life, turns int) []time.Duration {
	t.Helper()
	r := newRig(t, l)
	r.opts.Env = append(r.opts.Env, "ACP_FAKE_QUIET=1", "GOMAXPROCS=1", "GOGC=off")
	if err := r.opts.check(); err != nil {
		t.Fatal(err)
	}
	p, err := program.Start(r.opts.process())
	if err != nil {
		t.Fatal(err)
	}
	c := newConn(p.Stdout, p.Stdin)
	defer c.close()
	defer p.Stop()
	var took []time.Duration
	for _, method := range slices.Concat([]string{"initialize", "session/new"},
		slices.Repeat([]string{"session/prompt"}, turns)) {
		began := time.Now()
		if _, err := c.do(t.Context(), method, map[string]any{"sessionId": "s", "prompt": []any{}}); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(method, "prompt") {
			took = append(took, time.Since(began))
		}
	}
	return took
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// BenchmarkTurn is a whole turn of a member with an ACP agent.
func BenchmarkTurn(b *testing.B) {
	g := &gates{asked: map[hooks.Event]int{hooks.Stop: -1e9, hooks.TaskCompleted: -1e9, hooks.TeammateIdle: -1e9}}
	m, _, o := newMember(b, "m", b.N, g, life{Prompts: [][]string{busyTurn}})
	b.ReportAllocs()
	b.ResetTimer()
	if err := m.Run(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	if len(o.took) != b.N {
		b.Errorf("%d turns", len(o.took))
	}
}
