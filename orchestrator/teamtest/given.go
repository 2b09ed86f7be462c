package teamtest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/teammate/agent"
)

// AgentFunc is an agent that is a function.
type AgentFunc func(ctx context.Context, prompt []agent.Input, h agent.Host) (agent.Reply, error)

func (f AgentFunc) Run(ctx context.Context, p []agent.Input, h agent.Host) (agent.Reply, error) {
	return f(ctx, p, h)
}

// Quiet is an agent that has nothing to do.
func Quiet(context.Context, []agent.Input, agent.Host) (agent.Reply, error) {
	return agent.Reply{Text: "done"}, nil
}

// MakerOf makes the same agent for everybody.
func MakerOf(f AgentFunc) orchestrator.AgentMaker {
	return func(orchestrator.Brief) (agent.Agent, error) { return f, nil }
}

// GivenSpec is a team whose members are agents of the program's own.
const GivenSpec = `covey: 1
name: crew
goal: Ship it.
lead: {agent: boss}
teammates:
  dev: {agent: dev, tools: [Read]}
`

// NewGiven makes the Orchestrator of a run of spec with these agents.
func NewGiven(t *testing.T, dir, spec string, opts orchestrator.Options) (*orchestrator.Orchestrator, *testkit.Log[events.Line], error) {
	t.Helper()
	team, err := configs.ParseWith(filepath.Join(dir, "team.yaml"), []byte(spec),
		configs.Options{Given: []string{"boss", "dev"}})
	if err != nil {
		t.Fatal(err)
	}
	log := &testkit.Log[events.Line]{}
	opts.OnLine, opts.StateHome = log.Add, dir+"-state"
	o, err := orchestrator.New(team, opts)
	return o, log, err
}
