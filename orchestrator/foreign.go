package orchestrator

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/budget"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/teammate/acp"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// mcpName is what agent programs know the team's MCP server by. It is part of
// the names by which permission rules know the team tools.
const mcpName = "covey"

// foreigner is what the orchestrator knows of a member whose agent is a program
// of its own. All of it belongs to the member's goroutine.
type foreigner struct {
	o       *Orchestrator
	seat    *seat
	launch  launch
	history transcript.History
	// put keeps a value in the store; it may be called as long as the team runs.
	put  func(key string, value any) error
	past programSession
	bill *budget.Bill
	last string // what the member said last, before this run
	// unasked is the right to the team tools of a program that has said nothing yet; nil:
	// none, or it has.
	unasked *grant
	// stranger says that the program knows nothing of what the member has done:
	// another one did it.
	stranger bool
}

// thinker is an agent whose program ends when it is closed.
type thinker interface {
	agent.Agent
	io.Closer
}

// foreignGear makes the agent of a member that is a program, and tells which
// team tools it has. The program itself starts with its first prompt.
func (o *Orchestrator) foreignGear(
	ctx context.Context, s *seat, history transcript.History,
) (agent.Agent, []agent.Tool, error) {
	a := s.member.CurrentAgent()
	l, ok := o.programs()[a.Name]
	if !ok {
		return nil, nil, wording.Errorf(ErrSpec, "agent %q has no program", a.Name)
	}
	// What a program wants kept must be kept also while the team is being ended.
	ctx = context.WithoutCancel(ctx)
	f := &foreigner{
		o: o, seat: s, launch: l, history: history, last: lastSaid(history.Messages),
		put: func(key string, v any) error { return s.crew.store.Put(ctx, key, rawjson.Encode(v)) },
	}
	if err := f.recall(ctx); err != nil {
		return nil, nil, err
	}
	start, err := f.offer(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("prepare the agent program: %w", err)
	}
	tools, err := o.programTools(s)
	if err != nil {
		return nil, nil, err
	}
	var agent thinker
	if a.Kind == configs.Command {
		agent, err = f.command(start)
	} else {
		agent, err = f.acp(start)
	}
	if err != nil {
		return nil, nil, err
	}
	s.foreign = f
	s.program = agent
	s.closers = append(s.closers, s.endProgram)
	return agent, tools, nil
}

// endProgram ends the member's agent program, and its right to the team tools.
// The member takes no more turns. It may be called twice.
func (s *seat) endProgram() error {
	if s.program == nil {
		return nil
	}
	err := s.program.Close()
	s.crew.mcpRevoke(s) // nothing that the program has left behind acts for the member
	return err
}

// acp makes the agent of a program that speaks ACP.
func (f *foreigner) acp(start *offer) (thinker, error) {
	p := f.launch.program
	return acp.New(acp.Options{
		Command: append(f.launch.argv[:1:1], start.args...), Env: pairs(start.env), Dir: start.workspace, Meta: start.meta,
		Enter: f.enter(start), Connect: f.connect, System: f.system, SystemBy: p.systemBy, Mode: p.mode,
		Session: f.past.ID, SessionMade: f.past.Made, OnSession: f.keepSession,
		Brief: f.makeUp, History: f.history, Started: f.alive,
		OnUsage: func(used acp.Spent) { f.bill.AddPrompt(used.CostUSD, used.Known) },
		OnLive:  func(used acp.Spent) { f.bill.AddLive(used.Usage, used.CostUSD) }, Quirks: p.quirks,
		Timeouts: f.o.patience, Backoff: f.o.backoff, Restarts: programRestarts(f.seat.member.Restart),
	})
}

// offer is what the program is started with: its environment and arguments,
// and the files that it finds.
func (f *foreigner) offer(ctx context.Context) (*offer, error) {
	o, p, member := f.o, f.launch.program, f.seat.member.Current()
	dir := filepath.Join(o.place.Scratch(), member.Name+".agent")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	start := &offer{args: slices.Clone(f.launch.argv[1:]), dir: dir, workspace: f.seat.member.Dir, rules: f.seat.rulesNow()}
	for _, kv := range programEnvironment(o.opts, o.place, f.launch.preset) {
		name, value, _ := strings.Cut(kv, "=")
		start.set(name, value)
	}
	start.set("COVEY_MEMBER", member.Name)
	start.set("PWD", f.seat.member.Dir)
	for _, kv := range f.seat.crew.trees.AuthorEnv(f.seat.member.Name) {
		name, value, _ := strings.Cut(kv, "=")
		start.set(name, value)
	}
	start.env = append(start.env, p.env...)
	if f.launch.key.Name != "" {
		start.env = append(start.env, f.launch.key)
	}
	start.env = append(start.env, member.Agent.Env...)
	if p.settle != nil {
		if err := p.settle(start); err != nil {
			return nil, err
		}
	}
	if !member.Agent.NativeHooks && p.nativeHooksOff != nil {
		if err := p.nativeHooksOff(start); err != nil {
			return nil, err
		}
	}
	return start, f.scripted(ctx, start)
}

// scripted lets the program think with its member's script, if it has one.
func (f *foreigner) scripted(ctx context.Context, start *offer) error {
	played := f.o.scripts()[f.seat.member.CurrentAgent().Model.Script]
	if played == nil {
		return nil
	}
	home, err := f.o.home(f.seat.member.Name)
	if err != nil {
		return err
	}
	url, key, err := f.seat.crew.models.admit(ctx, played, f.o.opts.Log)
	if err != nil {
		return fmt.Errorf("serve its script: %w", err)
	}
	// Where the user's settings lie is none of its business then.
	start.env = slices.DeleteFunc(start.env, func(v configs.EnvVar) bool {
		user := []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"}
		return slices.Contains(append(user, f.launch.preset.pass...), v.Name)
	})
	return f.launch.program.offline(start, url, key, home)
}

// connect gives the program the team tools, with a token of its own for each
// of its lives.
func (f *foreigner) connect() ([]acp.MCPServer, error) {
	if f.launch.program.stdioMCP {
		argv, env := mcpCommand(f.o.opts, f.o.place)
		s := acp.MCPServer{Name: mcpName, Command: argv[0], Args: argv[1:]}
		for _, kv := range env {
			name, value, _ := strings.Cut(kv, "=")
			s.Env = append(s.Env, acp.Pair{Name: name, Value: value})
		}
		return []acp.MCPServer{s}, nil
	}
	url, token, err := f.seat.crew.mcpFor(f.seat)
	if err != nil {
		return nil, err
	}
	f.unasked = f.seat.crew.grantOf(f.seat)
	header := acp.Pair{Name: "Authorization", Value: "Bearer " + token}
	return []acp.MCPServer{{Name: mcpName, URL: url, Headers: []acp.Pair{header}}}, nil
}

// started notes whose the program is, for calls that it and its tools make.
func (f *foreigner) started(pid int) (release func()) {
	return f.seat.crew.processes.Register(pid, process.Owner{Kind: process.MemberTool, Member: f.seat.member.Name})
}

// alive is started for a program that is given a token with each of its lives: the token
// ends with the life. What the program has handed it to does not speak for the member.
func (f *foreigner) alive(pid int) (release func()) {
	forget := f.started(pid)
	return func() {
		forget()
		f.seat.crew.mcpRevoke(f.seat)
	}
}

// pairs are variables as a process gets them.
func pairs(env []configs.EnvVar) []string {
	list := make([]string, len(env))
	for i, v := range env {
		list[i] = v.Name + "=" + v.Value
	}
	return list
}

// programTools are the team tools under the names by which they come to the
// member's rules when its program asks. It runs none of them through its
// member: they come in over MCP.
func (o *Orchestrator) programTools(s *seat) ([]agent.Tool, error) {
	list, err := s.foreignTools()
	if err != nil {
		return nil, err
	}
	tools := make([]agent.Tool, len(list))
	for i, t := range list {
		tools[i] = namedTool{Tool: t.Tool, name: "mcp__" + mcpName + "__" + t.Spec().Name}
	}
	return tools, nil
}

// namedTool is a tool under another name.
type namedTool struct {
	agent.Tool
	name string
}

// Spec is the tool's own but for the name.
func (t namedTool) Spec() agent.Spec {
	spec := t.Tool.Spec()
	spec.Name = t.name
	return spec
}

// withheld are the tools that a member's spec does not give it, as deny rules:
// an agent program brings tools of its own, which nobody can take away. What it
// asks for is refused by them, and what it does without asking is detected.
func withheld(m configs.Member) []string {
	if m.Tools == nil || m.Agent.Kind != configs.ACP && m.Agent.Kind != configs.Command {
		return nil
	}
	given := func(tool string) bool { return slices.Contains(m.Tools, tool) }
	// Programs do not tell writing from editing as the builtin agent does.
	edits := given("Edit") || given("Write")
	var rules []string
	for _, kind := range ToolKinds() {
		for _, tool := range toolsOf(kind) {
			edit := edits && (kind == "Edit" || kind == "Write")
			if kind == mcpTools || given(tool) || edit || tool == "LS" && given("Glob") {
				continue
			}
			rules = append(rules, tool)
		}
	}
	return rules
}
