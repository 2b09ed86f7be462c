package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// AgentMaker makes the agent of a member whose spec names one that the program
// brings along. It is called when the member's first turn begins, once for each
// member in each run; its error ends the member. An agent that is an io.Closer
// is closed when the team has ended.
type AgentMaker func(Brief) (agent.Agent, error)

// Brief is what an agent is told of the member that it is to think for.
type Brief struct {
	Team      string
	Member    string
	Lead      bool
	Workspace string // absolute path
	// System is what covey tells the models of its own agents: who the member is,
	// who the others are, how they work together, and the spec's instructions.
	System string
	// Tools are what the agent can call through Host.Call: the team tools, and of
	// the tools for the workspace those that the spec gives the member.
	Tools []agent.Spec
	// Functions is where the agent registers function hooks: Go functions that are
	// called when one of the member's turns ends, until the member ends.
	Functions *hooks.Session
	// History is what the transcript holds of earlier runs.
	History transcript.History
}

// callbackPatience is how long Run waits in the end for callbacks that do not
// heed their context.
const callbackPatience = 2 * time.Second

// checkGiven sees to it that each agent that the spec only names is there.
func checkGiven(team *configs.Team, agents map[string]AgentMaker) error {
	var errs []error
	for _, m := range team.Members() {
		if m.Agent.Kind == configs.Given && agents[m.Agent.Name] == nil {
			errs = append(errs, fmt.Errorf("member %s: the program brings no agent %q (Options.Agents)",
				m.Name, m.Agent.Name))
		}
	}
	return errors.Join(errs...)
}

// givenAgent makes a member's agent of kind Given.
func (h hiring) givenAgent(
	s *crew.Seat, history transcript.History, tools []agent.Spec, system string,
) (agent agent.Agent, err error) {
	name := s.Member.CurrentAgent().Name
	// It is not our code: its panic is the end of one member and not of all.
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("make agent %q: panic: %v", name, cause)
		}
	}()
	agent, err = h.o.opts.Agents[name](Brief{
		Team: h.o.team().Name, Member: s.Member.Name, Lead: s.Member.Lead, Workspace: s.Member.Dir,
		System: system, Tools: tools, History: history,
		Functions: h.r.hooks.functions.Session(s.Member.Session.Session),
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("make agent %q: %w", name, err)
	case agent == nil:
		return nil, fmt.Errorf("make agent %q: it came to nothing", name)
	}
	if c, ok := agent.(io.Closer); ok {
		s.OnClose(c.Close)
	}
	return agent, nil
}

// awaitCallbacks waits for callbacks that go on behind their deadline, and warns
// of those that do not end: what they still do, they do without a team.
func awaitCallbacks(ctx context.Context, registry *hooks.Registry, j *journal.Journal) {
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), callbackPatience)
	defer cancel()
	if err := registry.Wait(patience); err != nil {
		j.Tell(agent.Warning{Text: err.Error()})
	}
}
