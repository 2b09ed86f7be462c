package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/teammate/agent"
)

// runGiven runs such a team to its end.
func runGiven(t *testing.T, spec string, opts orchestrator.Options) (orchestrator.Ending, []events.Line) {
	t.Helper()
	o, log, err := teamtest.NewGiven(t, t.TempDir(), spec, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	ending, err := o.Run(ctx)
	if err != nil || ctx.Err() != nil {
		t.Fatalf("Run: %v, %v\n%s", err, ctx.Err(), teamtest.Show(log.All()))
	}
	return ending, log.All()
}

// TestGivenAgentMissing: a spec cannot run if the program lacks one of its agents.
func TestGivenAgentMissing(t *testing.T) {
	t.Parallel()
	_, _, err := teamtest.NewGiven(t, t.TempDir(), teamtest.GivenSpec, orchestrator.Options{Agents: map[string]orchestrator.AgentMaker{"dev": teamtest.MakerOf(teamtest.Quiet)}})
	if !errors.Is(err, configs.ErrSpec) || !strings.Contains(err.Error(),
		`member lead: the program brings no agent "boss"`) ||
		strings.Contains(err.Error(), "member dev") {
		t.Errorf("New says %v", err)
	}
}

// TestGivenAgentBrief: the program is told for whom it makes an agent.
func TestGivenAgentBrief(t *testing.T) {
	t.Parallel()
	var told []orchestrator.Brief
	maker := func(b orchestrator.Brief) (agent.Agent, error) {
		told = append(told, b)
		return teamtest.AgentFunc(teamtest.Quiet), nil
	}
	dir := t.TempDir()
	o, _, err := teamtest.NewGiven(t, dir, teamtest.GivenSpec, orchestrator.Options{Agents: map[string]orchestrator.AgentMaker{"boss": maker, "dev": teamtest.MakerOf(teamtest.Quiet)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 {
		t.Fatalf("%d agents were made for the lead", len(told))
	}
	b := told[0]
	has := func(name string) bool {
		return slices.ContainsFunc(b.Tools, func(s agent.Spec) bool { return s.Name == name })
	}
	if b.Team != "crew" || b.Member != "lead" || !b.Lead || b.Workspace != o.Place().Workspace && b.Workspace != dir ||
		!strings.Contains(b.System, "You are lead") || !has("Bash") || !has("TaskUpdate") || b.History.Turns != 0 {
		t.Errorf("%+v", b)
	}
}

// TestGivenAgentTools: an agent reaches the tools that the spec gives its member,
// through hooks and permissions, and no others.
func TestGivenAgentTools(t *testing.T) {
	t.Parallel()
	var results []string
	dev := func(ctx context.Context, _ []agent.Input, h agent.Host) (agent.Reply, error) {
		for i, name := range []string{"Bash", "TaskList"} {
			r := h.Call(ctx, agent.ToolCall{ID: fmt.Sprint(name, len(results), i), Name: name,
				Input: []byte(`{"command":"id"}`)[:map[string]int{"Bash": 16, "TaskList": 0}[name]]})
			results = append(results, fmt.Sprintf("%s %v", name, r.IsError))
		}
		return agent.Reply{}, nil
	}
	spec := teamtest.GivenSpec + "tasks: [{subject: Look around, owner: dev}]\n"
	_, lines := runGiven(t, spec, orchestrator.Options{Agents: map[string]orchestrator.AgentMaker{"boss": teamtest.MakerOf(teamtest.Quiet), "dev": teamtest.MakerOf(dev)}})
	if len(results) < 2 || results[0] != "Bash true" || results[1] != "TaskList false" {
		t.Errorf("%q\n%s", results, teamtest.Show(lines))
	}
}

// TestGivenAgentBroken: what is wrong with an agent of the program's own ends its
// member, and is told; the others go on.
func TestGivenAgentBroken(t *testing.T) {
	t.Parallel()
	for want, maker := range map[string]orchestrator.AgentMaker{
		"make agent \"dev\": no key": func(orchestrator.Brief) (agent.Agent, error) {
			return nil,
				errors.New("no key")
		},
		"make agent \"dev\": panic: boom":            func(orchestrator.Brief) (agent.Agent, error) { panic("boom") },
		"make agent \"dev\": the maker returned nil": func(orchestrator.Brief) (agent.Agent, error) { return nil, nil },
		"agent: panic: bang": teamtest.MakerOf(func(context.Context, []agent.Input, agent.Host) (agent.Reply, error) {
			panic("bang")
		}),
	} {
		spec := teamtest.GivenSpec + "tasks: [{subject: Look around, owner: dev}]\n"
		ending, lines := runGiven(t, spec, orchestrator.Options{Agents: map[string]orchestrator.AgentMaker{"boss": teamtest.MakerOf(teamtest.Quiet), "dev": maker}})
		if ending.Code != orchestrator.CodeUnfinished || !strings.Contains(fmt.Sprint(ending.Problems), want) {
			t.Errorf("%s: %+v\n%s", want, ending, teamtest.Show(lines))
		}
	}
}

// closing is an agent that counts how often it is closed.
type closing struct {
	teamtest.AgentFunc
	closed *atomic.Int32
}

func (c closing) Close() error { c.closed.Add(1); return nil }

// TestGivenAgentClosed: an agent that holds something open is closed once.
func TestGivenAgentClosed(t *testing.T) {
	t.Parallel()
	var closed atomic.Int32
	_, lines := runGiven(t, "covey: 1\nname: crew\ngoal: x\nlead: {agent: boss}\n",
		orchestrator.Options{Agents: map[string]orchestrator.AgentMaker{
			"boss": func(orchestrator.Brief) (agent.Agent, error) { return closing{teamtest.Quiet, &closed}, nil },
		}})
	if closed.Load() != 1 {
		t.Errorf("it was closed %d times\n%s", closed.Load(), teamtest.Show(lines))
	}
}

// TestGivenAgentResumes: an agent is told of the turn that it was stopped in.
func TestGivenAgentResumes(t *testing.T) {
	t.Parallel()
	dir, spec := t.TempDir(), "covey: 1\nname: crew\ngoal: x\nlead: {agent: boss}\n"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stuck := func(ctx context.Context, _ []agent.Input, h agent.Host) (agent.Reply, error) {
		if _, err := h.Pass(ctx); err != nil {
			return agent.Reply{}, err
		}
		cancel()
		<-ctx.Done()
		return agent.Reply{}, ctx.Err()
	}
	o, _, err := teamtest.NewGiven(t, dir, spec, orchestrator.Options{Agents: map[string]orchestrator.AgentMaker{"boss": teamtest.MakerOf(stuck)}})
	if err != nil {
		t.Fatal(err)
	}
	if ending, err := o.Run(ctx); err != nil || ending.Code != orchestrator.CodeInterrupted {
		t.Fatalf("%+v, %v", ending, err)
	}
	var b orchestrator.Brief
	var prompts []string
	o, log, err := teamtest.NewGiven(t, dir, spec, orchestrator.Options{Agents: map[string]orchestrator.AgentMaker{"boss": func(brief orchestrator.Brief) (agent.Agent, error) {
		b = brief
		return teamtest.AgentFunc(func(_ context.Context, in []agent.Input, _ agent.Host) (agent.Reply, error) {
			prompts = append(prompts, in[0].Text)
			return agent.Reply{Text: "done"}, nil
		}), nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	ending, err := o.Run(t.Context())
	if err != nil || ending.Code != orchestrator.CodeDone || !ending.Resumed || b.History.Turns != 1 || b.History.Cut == nil {
		t.Errorf("%+v, %v, %+v\n%s", ending, err, b.History, teamtest.Show(log.All()))
	}
	if len(prompts) == 0 || !strings.Contains(prompts[0], "cut off") {
		t.Errorf("the agent was told %q", prompts)
	}
}

// finisher completes task 1, again and again until it may.
func finisher(tries *atomic.Int32) teamtest.AgentFunc {
	return func(ctx context.Context, in []agent.Input, h agent.Host) (agent.Reply, error) {
		reply := agent.Reply{Text: "done"}
		for strings.Contains(in[0].Text, "#1") {
			n := tries.Add(1)
			reply.ToolCalls++
			r := h.Call(ctx, agent.ToolCall{ID: fmt.Sprint("call-", n), Name: "TaskUpdate",
				Input: []byte(`{"taskId":"1","status":"completed"}`)})
			if strings.Contains(r.Content, "Updated") || ctx.Err() != nil || n > 5 {
				break
			}
		}
		return reply, nil
	}
}

// TestCallbackInTeam: a callback is asked where a command is, its words reach the
// agent, and the journal names it.
func TestCallbackInTeam(t *testing.T) {
	t.Parallel()
	var reg hooks.Registry
	var asked, tries atomic.Int32
	_, err := reg.Add(hooks.TaskCompleted, hooks.Callback{Name: "review", Gate: true,
		Do: func(_ context.Context, in hooks.Input) (hooks.Answer, error) {
			p, err := hooks.As[hooks.TaskCompletedInput](in)
			if err != nil || p.TaskSubject != "Look around" || p.TeammateName != "dev" || in.SessionID == "" {
				t.Errorf("%+v, %v", in, err)
			}
			if asked.Add(1) == 1 {
				return hooks.Answer{Decision: hooks.Block, Reason: "look again"}, nil
			}
			return hooks.Answer{}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reg.On(hooks.PreToolUse, "TaskUpdate", func(context.Context, hooks.Input) (hooks.Answer, error) {
		return hooks.Answer{}, errors.New("down")
	}); err != nil {
		t.Fatal(err)
	}
	spec := teamtest.GivenSpec + "tasks: [{subject: Look around, owner: dev}]\n"
	ending, lines := runGiven(t, spec, orchestrator.Options{Hooks: &reg,
		Agents: map[string]orchestrator.AgentMaker{"boss": teamtest.MakerOf(teamtest.Quiet), "dev": teamtest.MakerOf(finisher(&tries))}})
	var seen []string
	for _, l := range lines {
		var d struct{ Event, Command, Outcome, Text string }
		if strings.HasPrefix(l.Type, "hook_f") && json.Unmarshal(l.Data, &d) == nil && d.Event == "TaskCompleted" {
			seen = append(seen, strings.TrimSpace(l.Type+" "+d.Command+d.Outcome+d.Text))
		}
	}
	want := []string{"hook_finished callback reviewblocking",
		"hook_feedback TaskCompleted hook feedback:\nlook again", "hook_finished callback reviewsuccess"}
	if ending.Code != orchestrator.CodeDone || tries.Load() != 2 || ending.FailedOpen != 2 || !slices.Equal(seen, want) {
		t.Errorf("%+v, %d tries, %q\n%s", ending, tries.Load(), seen, teamtest.Show(lines))
	}
}

// TestCallbackDeafInTeam: a callback that does not heed its context cannot keep a
// team from ending; people are told of it.
func TestCallbackDeafInTeam(t *testing.T) {
	teamtest.StateHome(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	var reg hooks.Registry
	release := make(chan struct{})
	_, err := reg.Add(hooks.Stop, hooks.Callback{Name: "deaf", Timeout: 50 * time.Millisecond,
		Do: func(context.Context, hooks.Input) (hooks.Answer, error) { <-release; return hooks.Answer{}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	ending, lines := runGiven(t, "covey: 1\nname: crew\ngoal: x\nlead: {agent: boss}\n",
		orchestrator.Options{Hooks: &reg, Agents: map[string]orchestrator.AgentMaker{"boss": teamtest.MakerOf(teamtest.Quiet)}})
	warned := slices.ContainsFunc(lines, func(l events.Line) bool {
		return l.Type == "warning" && strings.Contains(string(l.Data), "callback deaf")
	})
	if ending.Code != orchestrator.CodeDone || ending.FailedOpen == 0 || !warned {
		t.Errorf("%+v\n%s", ending, teamtest.Show(lines))
	}
	close(release)
	if err := reg.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAfterTurnInTeam: callbacks behind a turn get its whole context, the last
// added first, and leave a line; a turn that was interrupted has none.
func TestAfterTurnInTeam(t *testing.T) {
	t.Parallel()
	var reg hooks.Registry
	var tries atomic.Int32
	for _, name := range []string{"first", "second"} {
		reg.AfterTurn(name, func(_ context.Context, turn hooks.Turn) (hooks.Note, error) {
			var calls []string
			for _, c := range turn.ToolCalls {
				calls = append(calls, fmt.Sprint(c.Name, c.Success))
			}
			if len(calls) == 0 {
				return hooks.Note{}, errors.New("no calls")
			}
			return hooks.Note{Message: fmt.Sprint(name, calls, turn.FinalResponse, len(turn.Messages) > 2)}, nil
		})
	}
	spec := teamtest.GivenSpec + "tasks: [{subject: Look around, owner: dev}]\n"
	_, lines := runGiven(t, spec, orchestrator.Options{Hooks: &reg,
		Agents: map[string]orchestrator.AgentMaker{"boss": teamtest.MakerOf(teamtest.Quiet), "dev": teamtest.MakerOf(finisher(&tries))}})
	var told []string
	failures := 0
	for _, l := range lines {
		var d events.AfterTurn
		switch {
		case l.Type == "after_turn" && json.Unmarshal(l.Data, &d) == nil:
			told = append(told, l.Member+" "+d.Callback+" "+d.Message)
		case l.Type == "warning" && strings.Contains(string(l.Data), "the callback failed: no calls"):
			failures++
		}
	}
	want := []string{"dev second second[TaskUpdatetrue]donetrue", "dev first first[TaskUpdatetrue]donetrue"}
	if !slices.Equal(told, want) || failures < 2 {
		t.Errorf("%q, %d failures\n%s", told, failures, teamtest.Show(lines))
	}
}

// TestAfterTurnInterrupted: nobody is told of a turn that had no end of its own.
func TestAfterTurnInterrupted(t *testing.T) {
	t.Parallel()
	var reg hooks.Registry
	reg.AfterTurn("never", func(context.Context, hooks.Turn) (hooks.Note, error) {
		t.Error("it was called")
		return hooks.Note{}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o, _, err := teamtest.NewGiven(t, t.TempDir(), aloneSpec, orchestrator.Options{Hooks: &reg, Agents: map[string]orchestrator.AgentMaker{
		"boss": teamtest.MakerOf(func(ctx context.Context, _ []agent.Input, _ agent.Host) (agent.Reply, error) {
			cancel()
			<-ctx.Done()
			return agent.Reply{}, ctx.Err()
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if ending, err := o.Run(ctx); err != nil || ending.Code != orchestrator.CodeInterrupted {
		t.Errorf("%+v, %v", ending, err)
	}
}

// TestAfterTurnAtTheLimit: a turn that used up its passes has come to its end.
func TestAfterTurnAtTheLimit(t *testing.T) {
	t.Parallel()
	var reg hooks.Registry
	var reached atomic.Bool
	reg.AfterTurn("limit", func(_ context.Context, turn hooks.Turn) (hooks.Note, error) {
		reached.Store(turn.ReachedMaxIterations)
		return hooks.Note{}, nil
	})
	ending, lines := runGiven(t, aloneSpec+"defaults: {limits: {max_turns: 2}}\n", orchestrator.Options{Hooks: &reg,
		Agents: map[string]orchestrator.AgentMaker{"boss": teamtest.MakerOf(func(
			ctx context.Context, _ []agent.Input, h agent.Host,
		) (agent.Reply, error) {
			for {
				if _, err := h.Pass(ctx); err != nil {
					return agent.Reply{}, err
				}
			}
		})}})
	if !reached.Load() || ending.Code != orchestrator.CodeLimit {
		t.Errorf("%+v\n%s", ending, teamtest.Show(lines))
	}
}
