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
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/acp"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/script"
	"github.com/coveyteam/covey/teammate/transcript"
)

// Programs starts and ends the agent programs of a running team, and stores the session
// id and the cost of each.
type Programs struct {
	opts   Options
	models modelServer
	starts firstStarts

	mu      sync.Mutex
	members map[string]*memberProgram
}

// Options are what Programs needs from the team.
type Options struct {
	Bin       string // the path of the running covey
	Place     state.Place
	Log       *slog.Logger
	Store     *tasks.Store
	Processes *process.Processes
	Ledger    *budget.Ledger
	Timeouts  acp.Timeouts  // zero fields have package acp's defaults
	Backoff   time.Duration // before a program is started again; zero: package acp's default

	// The current spec, and the programs that were found for it.
	Team    func() *configs.Team
	Found   func() map[string]Found // by the agents' names
	Scripts func() map[string]*script.Script
	Goal    func() string // the team's goal; empty: none

	// Admit returns the URL of the team tools and a token for a member's program. lists
	// says that the program must list the tools before it works.
	Admit func(m *lives.Member, lists bool) (url, token string, err error)
	// Revoke invalidates the token of a member's program.
	Revoke func(m *lives.Member)
}

// Request describes the member whose program is started.
type Request struct {
	Member  *lives.Member
	History transcript.History
	Rules   permission.Policy
	Environ []string      // for this member, in addition to covey's
	System  func() string // the system prompt
	Said    func() string // the member's last text in this run; empty: none
}

// memberProgram is the state of a member's program.
type memberProgram struct {
	member *lives.Member
	// switched says that the member had another agent before, so that the session of
	// this program lacks the work since.
	switched bool
	run      *instance // nil: its agent has no program
}

// NewPrograms returns the programs of a team. It starts none.
func NewPrograms(o Options) *Programs {
	return &Programs{opts: o, members: map[string]*memberProgram{}}
}

// of returns the state of a member; if begin is set, it creates a missing one.
func (p *Programs) of(m *lives.Member, begin bool) *memberProgram {
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

// Switch prepares for the next agent of a member. It ends the previous agent's program,
// and returns the conversation that the next agent continues. past is nil for a new
// member.
func (p *Programs) Switch(m *lives.Member, past *transcript.History) (transcript.History, error) {
	if p.of(m, false) == nil {
		p.of(m, true)
		if past == nil {
			return transcript.History{}, nil
		}
		return *past, nil
	}
	if err := p.End(m); err != nil {
		p.opts.Log.Warn("end the program of a member that switches its agent", "member", m.Name, "err", err)
	}
	known := p.of(m, true)
	p.mu.Lock()
	known.switched, known.run = true, nil
	p.mu.Unlock()
	return transcript.ReadHistory(p.opts.Place.Transcript(m.Name, m.Session.Session))
}

// Open returns the agent of a member that is a program. The program itself starts with
// its first prompt.
func (p *Programs) Open(ctx context.Context, r Request) (agent.Agent, error) {
	a := r.Member.CurrentAgent()
	l, ok := p.opts.Found()[a.Name]
	if !ok {
		return nil, notation.Errorf(configs.ErrSpec, "agent %q has no program", a.Name)
	}
	known := p.of(r.Member, true)
	f := &instance{programs: p, Request: r, launch: l, last: LastSaid(r.History.Messages)}
	// Sessions and costs must be stored even while the team ends.
	ctx = context.WithoutCancel(ctx)
	f.put = func(v programSession) error {
		return p.opts.Store.Put(ctx, programKey(r.Member.Name), notation.Encode(v))
	}
	if err := f.loadSession(ctx, known.switched); err != nil {
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

// End ends the program of a member and its access to the team tools. The member takes
// no more turns with it. End may be called twice.
func (p *Programs) End(m *lives.Member) error {
	run := p.running(m)
	if run == nil {
		return nil
	}
	err := run.agent.Close()
	p.opts.Revoke(m) // processes that the program left running cannot act for the member
	return err
}

// running returns the program of a member; nil if it has none.
func (p *Programs) running(m *lives.Member) *instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.members[m.Name]; known != nil && known.member == m {
		return known.run
	}
	return nil
}

// Billed returns the cost of a member's program since the last call, in US dollars, and
// whether there were prompts without a token count. Only the member's goroutine may
// call it.
func (p *Programs) Billed(m *lives.Member) (usd float64, unknown bool) {
	run := p.running(m)
	if run == nil {
		return 0, false
	}
	return run.bill.EndTurn()
}

// Close ends what all programs share. Call it after each of them has ended.
func (p *Programs) Close() { p.models.close() }

// thinker is an agent whose program ends when it is closed.
type thinker interface {
	agent.Agent
	io.Closer
}
