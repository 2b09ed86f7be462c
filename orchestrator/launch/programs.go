package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/boxes"
	"github.com/coveyteam/covey/orchestrator/gateway"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/recordings"
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
	deps   Deps
	models modelServer
	starts firstStarts

	mu      sync.Mutex
	members map[string]*memberProgram
}

// Deps are what Programs needs from the team.
type Deps struct {
	Bin       string // the path of the running covey
	Place     state.Place
	Log       *slog.Logger
	Store     *tasks.Store
	Processes *process.Processes
	Ledger    *accounts.Ledger
	Timeouts  acp.Timeouts  // zero fields have package acp's defaults
	Backoff   time.Duration // before a program is started again; zero: package acp's default

	// The current spec, and the programs that were found for it.
	Found   func() map[string]Found // by the agents' names
	Scripts func() map[string]*script.Script
	Goal    func() string // the team's goal; empty: none

	// Admit returns the URL of the team tools and a token for a member's program. lists
	// says that the program must list the tools before it works.
	Admit func(m *members.Member, lists bool) (url, token string, err error)
	// Charge adds what a member's program has cost to the member's tasks.
	Charge func(ctx context.Context, member string, c tasks.Cost) error
	// Revoke invalidates the token of a member's program.
	Revoke func(m *members.Member)
	// Box makes the box of a member's program, and InBox what serves the team tools in it, at the
	// address of Admit's URL.
	Box   func(m *members.Member, n boxes.Needs) (*boxes.Kit, error)
	InBox func(m *members.Member) (address string, serve func(net.Listener), err error)
	// Gateway passes the model requests of programs. Lane returns where those of a member are recorded, or answered
	// from; nil: neither.
	Gateway *gateway.Gateway
	Lane    func(m *members.Member) (*recordings.Lane, error)
}

// Request describes the member whose program is started.
type Request struct {
	Member  *members.Member
	History transcript.History
	Rules   permission.Policy
	Environ []string      // for this member, in addition to covey's
	System  func() string // the system prompt
	Said    func() string // the member's last text in this run; empty: none
}

// memberProgram is the state of a member's program.
type memberProgram struct {
	member *members.Member
	// switched means that the member had another agent before, so that the session of
	// this program lacks the work since.
	switched bool
	run      *instance // nil: its agent has no program
}

// NewPrograms returns the programs of a team. It starts none.
func NewPrograms(o Deps) *Programs {
	return &Programs{deps: o, members: map[string]*memberProgram{}}
}

// of returns the state of a member; if begin is set, it creates a missing one.
func (p *Programs) of(m *members.Member, begin bool) *memberProgram {
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
func (p *Programs) Switch(m *members.Member, past *transcript.History) (transcript.History, error) {
	if p.of(m, false) == nil {
		p.of(m, true)
		if past == nil {
			return transcript.History{}, nil
		}
		return *past, nil
	}
	if err := p.Stopped(m); err != nil {
		p.deps.Log.Warn("end the program of a member that switches its agent", "member", m.Name, "err", err)
	}
	known := p.of(m, true)
	p.mu.Lock()
	known.switched, known.run = true, nil
	p.mu.Unlock()
	return transcript.ReadHistory(p.deps.Place.Transcript(m.Name, m.Session.Session))
}

// Open returns the agent of a member that is a program. The program itself starts with
// its first prompt.
func (p *Programs) Open(ctx context.Context, r Request) (agent.Agent, error) {
	a := r.Member.CurrentAgent()
	l, ok := p.deps.Found()[a.Name]
	if !ok {
		return nil, texts.Errorf(configs.ErrSpec, "agent %q has no program", a.Name)
	}
	known := p.of(r.Member, true)
	f := &instance{programs: p, Request: r, launch: l, last: LastSaid(r.History.Messages)}
	// Sessions and costs must be stored even while the team ends.
	ctx = context.WithoutCancel(ctx)
	f.put = func(v programSession) error {
		return p.deps.Store.Put(ctx, programKey(r.Member.Name), texts.Encode(v))
	}
	if err := f.loadSession(ctx, known.switched); err != nil {
		return nil, err
	}
	start, err := f.offer(ctx)
	if err != nil {
		f.closeDoor()
		return nil, fmt.Errorf("prepare the agent program: %w", err)
	}
	if a.Kind == configs.Command {
		f.agent, err = f.command(start)
	} else {
		f.agent, err = f.acp(start)
	}
	if err != nil {
		f.closeDoor()
		return nil, err
	}
	p.mu.Lock()
	known.run = f
	p.mu.Unlock()
	return f.agent, nil
}

// Complete adds the cost of a member's program to the end of a turn. It implements crew.Completer.
func (p *Programs) Complete(ctx context.Context, m *members.Member, e events.Event) (events.Event, error) {
	end, ok := e.Data.(events.TurnEnded)
	if !ok {
		return e, nil
	}
	cost := 0.0 // since the last turn
	if run := p.running(m); run != nil {
		cost, end.UsageUnknown = run.bill.EndTurn()
	}
	end.CostUSD += cost
	e.Data = end
	if cost <= 0 {
		return e, nil
	}
	return e, p.deps.Charge(ctx, m.Name, tasks.Cost{USD: cost})
}

// Saw ends the prompt of a program that does not use its gateway. It implements crew.Watcher.
func (p *Programs) Saw(_ context.Context, m *members.Member, e events.Event) error {
	if run := p.running(m); run != nil && run.door != nil {
		run.door.Saw(e.Data)
	}
	return nil
}

// Stopped ends the program of a member and its access to the team tools. The member takes
// no more turns with it. Stopped may be called twice. It implements crew.Stopper.
func (p *Programs) Stopped(m *members.Member) error {
	run := p.running(m)
	if run == nil {
		return nil
	}
	err := errors.Join(run.agent.Close(), run.logins.Close())
	run.closeDoor()
	p.deps.Revoke(m) // processes that the program left running cannot act for the member
	return err
}

// running returns the program of a member; nil if it has none.
func (p *Programs) running(m *members.Member) *instance {
	known := p.of(m, false)
	if known == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return known.run
}

// Close ends what all programs share. Call it after each of them has ended.
func (p *Programs) Close() {
	p.deps.Gateway.Close()
	p.models.close()
}

// thinker is an agent whose program ends when it is closed.
type thinker interface {
	agent.Agent
	io.Closer
}

// firstStarts lets agent programs that share a folder start one after another until one
// of them has opened a session: two programs that create the databases of the folder at
// the same time can corrupt them. After that they start concurrently. The zero value is
// ready to use. It covers one team only: another team may still start a program in the
// same folder at the same time.
type firstStarts struct {
	mu      sync.Mutex
	folders map[string]*firstStart
}

// firstStart is the state of one folder.
type firstStart struct {
	turn chan struct{} // holds one element while a program starts alone
	done chan struct{} // closed once a program has opened a session
}

// enter waits until a program may start in a folder. Call leave when it has opened its
// session or failed; later calls of leave do nothing. The error is that of ctx.
func (f *firstStarts) enter(ctx context.Context, folder string) (leave func(opened bool), err error) {
	first := f.of(folder)
	select {
	case first.turn <- struct{}{}:
	case <-first.done:
		return func(bool) {}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-first.done: // select picks randomly if both are ready
		<-first.turn
		return func(bool) {}, nil
	default:
	}
	var once sync.Once
	return func(opened bool) {
		once.Do(func() {
			if opened {
				close(first.done)
			}
			<-first.turn
		})
	}, nil
}

// of returns the state of a folder, creating it if needed.
func (f *firstStarts) of(folder string) *firstStart {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.folders == nil {
		f.folders = map[string]*firstStart{}
	}
	first := f.folders[folder]
	if first == nil {
		first = &firstStart{turn: make(chan struct{}, 1), done: make(chan struct{})}
		f.folders[folder] = first
	}
	return first
}

// enter is firstStarts.enter for the member's program; nil if it may start at any time.
func (f *instance) enter(start *offer) func(context.Context) (func(bool), error) {
	p := f.launch.preset
	if !p.firstAlone {
		return nil
	}
	login, _ := p.logins[0].at(start.value)
	return func(ctx context.Context) (func(bool), error) {
		return f.programs.starts.enter(ctx, filepath.Dir(login))
	}
}

// The versions of what a member thinks with and of what it leaves.
const (
	ScriptFormat     = script.Format
	TranscriptFormat = transcript.Format
)

// ErrNewerTranscript is wrapped by the error of OpenTranscript if a newer covey has written
// the transcript.
var ErrNewerTranscript = transcript.ErrNewer

// OpenTranscript opens a member's transcript. A damaged one does not stop the others: its
// member gets an empty transcript, so that it can be shown, and does not begin. Its past
// work is unknown, so a person has to decide whether it starts over.
//
// unfit is why the member does not begin; empty: it begins.
func OpenTranscript(place state.Place, m *members.Member) (
	file *transcript.File, history transcript.History, unfit string, err error,
) {
	file, history, err = transcript.Open(place.Transcript(m.Name, m.Session.Session))
	if !errors.Is(err, transcript.ErrDamaged) {
		return file, history, "", err
	}
	unfit = fmt.Sprintf("it cannot begin: %v; then run covey up again", err)
	instead := filepath.Join(place.Scratch(), m.Name+".no-transcript.jsonl")
	if err := os.Remove(instead); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, transcript.History{}, "", fmt.Errorf("replace a damaged transcript: %w", err)
	}
	file, history, err = transcript.Open(instead)
	return file, history, unfit, err
}
