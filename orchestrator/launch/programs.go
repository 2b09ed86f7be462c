package launch

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/budget"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/acp"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/script"
	"github.com/coveyteam/covey/teammate/transcript"
)

// Programs are the agent programs of a running team. It starts and ends them, and
// keeps in the store what a program's session is called and what it has cost.
type Programs struct {
	opts   Options
	models modelServer
	starts firstStarts

	mu      sync.Mutex
	members map[string]*memberProgram
}

// Options are what programs needs of the team.
type Options struct {
	Bin       string // the path of the running covey
	Place     state.Place
	Log       *slog.Logger
	Store     *tasks.Store
	Processes *process.Processes
	Ledger    *budget.Ledger
	Timeouts  acp.Timeouts  // zero fields have package acp's defaults
	Backoff   time.Duration // before a program is started again; zero: package acp's default

	// What the spec in force says, and what was read for it.
	Team    func() *configs.Team
	Found   func() map[string]Found // by the agents' names
	Scripts func() map[string]*script.Script
	Goal    func() string // the team's goal; empty: none

	// Admit gives a member's program the URL of the team tools and the token for
	// them. Lists says that the program has to list the tools before it works.
	Admit func(m *roster.Member, lists bool) (url, token string, err error)
	// Revoke makes the token of a member's program void.
	Revoke func(m *roster.Member)
}

// Request is what a member's program is started for.
type Request struct {
	Member  *roster.Member
	History transcript.History
	Rules   permission.Policy
	Environ []string      // for this member, beside covey's
	System  func() string // the system prompt
	Said    func() string // what the member said last in this run; empty: nothing
}

// memberProgram is what programs knows of a member.
type memberProgram struct {
	member *roster.Member
	// switched says that the member has had another agent before: the session of
	// its program lacks what the member has done since.
	switched bool
	run      *instance // nil: its agent is no program
}

// NewPrograms makes the programs of a team. None is started.
func NewPrograms(o Options) *Programs {
	return &Programs{opts: o, members: map[string]*memberProgram{}}
}

// of returns the state of a member; make says to begin one if there is none.
func (p *Programs) of(m *roster.Member, begin bool) *memberProgram {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.members[m.Name]; known != nil && known.member == m {
		return known
	}
	if !begin {
		return nil
	}
	known := &memberProgram{member: m}
	p.members[m.Name] = known
	return known
}

// Switch prepares for the next agent of a member. It ends the program of the agent
// before it, and returns the conversation that the next one goes on with. A nil past
// is that of a new member.
func (p *Programs) Switch(m *roster.Member, past *transcript.History) (transcript.History, error) {
	if p.of(m, false) == nil {
		p.of(m, true)
		if past == nil {
			return transcript.History{}, nil
		}
		return *past, nil
	}
	if err := p.End(m); err != nil {
		p.opts.Log.Warn("ending the program of a member that goes on with another agent", "member", m.Name, "err", err)
	}
	known := p.of(m, true)
	p.mu.Lock()
	known.switched, known.run = true, nil
	p.mu.Unlock()
	return transcript.ReadHistory(p.opts.Place.Transcript(m.Name, m.Session.Session))
}

// Open makes the agent of a member that is a program. The program itself starts
// with its first prompt.
func (p *Programs) Open(ctx context.Context, r Request) (agent.Agent, error) {
	a := r.Member.CurrentAgent()
	l, ok := p.opts.Found()[a.Name]
	if !ok {
		return nil, notation.Errorf(configs.ErrSpec, "agent %q has no program", a.Name)
	}
	known := p.of(r.Member, true)
	f := &instance{programs: p, Request: r, launch: l, last: lastSaid(r.History.Messages)}
	// What a program wants kept must be kept also while the team is being ended.
	ctx = context.WithoutCancel(ctx)
	f.put = func(v programSession) error {
		return p.opts.Store.Put(ctx, programKey(r.Member.Name), notation.Encode(v))
	}
	if err := f.recall(ctx, known.switched); err != nil {
		return nil, err
	}
	start, err := f.offer(ctx)
	if err != nil {
		return nil, fmt.Errorf("prepare the agent program: %w", err)
	}
	if a.Kind == configs.Command {
		f.agent, err = f.command(start)
	} else {
		f.agent, err = f.acp(start)
	}
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	known.run = f
	p.mu.Unlock()
	return f.agent, nil
}

// End ends the program of a member, and its right to the team tools. The member
// takes no more turns with it. It may be called twice.
func (p *Programs) End(m *roster.Member) error {
	run := p.running(m)
	if run == nil {
		return nil
	}
	err := run.agent.Close()
	p.opts.Revoke(m) // nothing that the program has left behind acts for the member
	return err
}

// running returns the program that a member has; nil: none.
func (p *Programs) running(m *roster.Member) *instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.members[m.Name]; known != nil && known.member == m {
		return known.run
	}
	return nil
}

// Billed returns what a member's program has cost since the last call, in US dollars,
// and whether there were prompts of which it did not tell the tokens. Only the
// member's goroutine may call it.
func (p *Programs) Billed(m *roster.Member) (usd float64, unknown bool) {
	run := p.running(m)
	if run == nil {
		return 0, false
	}
	return run.bill.EndTurn()
}

// Close ends what serves all programs. It is called after each of them has ended.
func (p *Programs) Close() { p.models.close() }

// thinker is an agent whose program ends when it is closed.
type thinker interface {
	agent.Agent
	io.Closer
}
