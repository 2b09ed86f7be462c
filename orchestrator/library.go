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
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// AgentMaker makes the agent of a member whose spec names one of Options.Agents. It is
// called when the member's first turn begins, once for each member in each run. Its error
// ends the member. An agent that is an io.Closer is closed when the team has ended.
type AgentMaker func(Brief) (agent.Agent, error)

// Brief describes a member to its agent.
type Brief struct {
	Team      string
	Member    string
	Lead      bool
	Workspace string // absolute path
	// System is the system prompt that covey gives its own agents: who the member is, who
	// the others are, how they work together, and the spec's instructions.
	System string
	// Tools are what the agent can call through Host.Call: the team tools, and the
	// workspace tools that the spec gives the member.
	Tools []agent.Spec
	// Functions registers function hooks: Go functions that are called at the end of the
	// member's turns, until the member ends.
	Functions *hooks.Session
	// History is the transcript of earlier runs.
	History transcript.History
}

// callbackPatience is how long Run waits at its end for callbacks that ignore their
// context.
const callbackPatience = 2 * time.Second

// checkGiven checks that each agent that the spec only names exists.
func checkGiven(team *configs.Team, agents map[string]AgentMaker) error {
	var errs []error
	for m := range team.EachAndTemplates() {
		if m.Agent.Kind == configs.Given && agents[m.Agent.Name] == nil {
			errs = append(errs, fmt.Errorf("member %s: the program brings no agent %q (Options.Agents)",
				m.Name, m.Agent.Name))
		}
	}
	return errors.Join(errs...)
}

// givenAgent makes a member's agent of kind Given.
func (h *seatBuilder) givenAgent(
	s *crew.Seat, history transcript.History, tools []agent.Spec, system string,
) (agent agent.Agent, err error) {
	name := s.Member.CurrentAgent().Name
	// Recover, so that a panic of the program's code ends one member and not the team.
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("make agent %q: panic: %v", name, cause)
		}
	}()
	agent, err = h.o.opts.Agents[name](Brief{
		Team: h.o.team().Name, Member: s.Member.Name, Lead: s.Member.Lead, Workspace: s.Member.Dir,
		System: system, Tools: tools, History: history,
		Functions: h.hooks.Functions.Session(s.Member.Session.Session),
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("make agent %q: %w", name, err)
	case agent == nil:
		return nil, fmt.Errorf("make agent %q: the maker returned nil", name)
	}
	if c, ok := agent.(io.Closer); ok {
		s.OnClose(c.Close)
	}
	return agent, nil
}

// awaitCallbacks waits for callbacks that continue after their deadline, and warns of
// those that do not end.
func awaitCallbacks(ctx context.Context, registry *hooks.Registry, j *state.Journal) {
	// ctx has mostly ended by now, because it ended the run.
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), callbackPatience)
	defer cancel()
	if err := registry.Wait(patience); err != nil {
		j.Warn("%v", err)
	}
}
