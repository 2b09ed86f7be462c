package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/budget"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/teammate/acp"
)

// MCPName is the name of the team's MCP server in agent programs. It is part of the
// names of the team tools in permission rules.
const MCPName = "covey"

// instance is the agent program of one member. Only the member's goroutine uses it.
type instance struct {
	programs *Programs
	Request
	launch Found
	agent  thinker
	// put stores the session; it may be called as long as the team runs.
	put  func(programSession) error
	past programSession
	bill *budget.Bill
	last string // the member's last text before this run
	// noMemory is set if another program did the member's earlier work, so that this
	// one has no memory of it.
	noMemory bool
}

// acp returns the agent of a program that speaks ACP.
func (f *instance) acp(start *offer) (thinker, error) {
	p := f.launch.program
	return acp.New(acp.Options{
		Command: append(f.launch.argv[:1:1], start.args...), Env: pairs(start.env), Dir: start.workspace, Meta: start.meta,
		Enter: f.enter(start), Connect: f.connect, System: f.system, SystemBy: p.systemBy, Mode: p.mode,
		Session: f.past.ID, SessionMade: f.past.Made, OnSession: f.keepSession,
		Brief: f.lostBrief, History: f.History, Started: f.alive, Quirks: p.quirks,
		OnUsage:  func(used acp.Spent) { f.bill.AddPrompt(used.CostUSD, used.Known) },
		Known:    f.launch.preset.name != "",
		OnLive:   func(used acp.Spent) { f.bill.AddLive(used.Usage, used.CostUSD) },
		Timeouts: f.programs.opts.Timeouts, Backoff: f.programs.opts.Backoff, Restarts: programRestarts(f.Member.Restart),
	})
}

// offer returns how to start the program: its environment and arguments, with the files
// that it reads written.
func (f *instance) offer(ctx context.Context) (*offer, error) {
	p, member := f.launch.program, f.Member.Current()
	dir := filepath.Join(f.programs.opts.Place.Scratch(), member.Name+".agent")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	start := &offer{args: slices.Clone(f.launch.argv[1:]), dir: dir, workspace: f.Member.Dir, rules: f.Rules}
	for _, kv := range programEnvironment(f.programs.opts.Bin, f.programs.opts.Place, f.launch.preset) {
		name, value, _ := strings.Cut(kv, "=")
		start.set(name, value)
	}
	start.set("COVEY_MEMBER", member.Name)
	start.set("PWD", f.Member.Dir)
	for _, kv := range f.Environ {
		name, value, _ := strings.Cut(kv, "=")
		start.set(name, value)
	}
	start.env = append(start.env, p.env...)
	if f.launch.key.Name != "" {
		start.env = append(start.env, f.launch.key)
	}
	start.env = append(start.env, member.Agent.Env...)
	if p.writeSettings != nil {
		if err := p.writeSettings(start); err != nil {
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

// scripted lets the program use its member's script as its model, if there is one.
func (f *instance) scripted(ctx context.Context, start *offer) error {
	played := f.programs.opts.Scripts()[f.Member.CurrentAgent().Model.Script]
	if played == nil {
		return nil
	}
	home, err := home(f.programs.opts.Place, f.Member.Name)
	if err != nil {
		return err
	}
	url, key, err := f.programs.models.admit(ctx, played, f.programs.opts.Log)
	if err != nil {
		return fmt.Errorf("serve its script: %w", err)
	}
	// The locations of the user's settings do not concern it then.
	before := offer{env: slices.Clone(start.env)}
	start.env = slices.DeleteFunc(start.env, func(v configs.EnvVar) bool {
		user := []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"}
		return slices.Contains(user, v.Name) || f.launch.preset.routed(v.Name, before.value)
	})
	return f.launch.program.offline(start, url, key, home)
}

// connect gives the program access to the team tools, with a new token each time it
// starts.
func (f *instance) connect() ([]acp.MCPServer, error) {
	if f.launch.program.stdioMCP {
		argv, env := mcpCommand(f.programs.opts.Bin, f.programs.opts.Place)
		if f.Member.Current().PlanRequired {
			argv = append(argv, "--plan")
		}
		s := acp.MCPServer{Name: MCPName, Command: argv[0], Args: argv[1:]}
		for _, kv := range env {
			name, value, _ := strings.Cut(kv, "=")
			s.Env = append(s.Env, acp.Pair{Name: name, Value: value})
		}
		return []acp.MCPServer{s}, nil
	}
	url, token, err := f.programs.opts.Admit(f.Member, !f.Member.CurrentAgent().IsTeam())
	if err != nil {
		return nil, err
	}
	header := acp.Pair{Name: "Authorization", Value: "Bearer " + token}
	return []acp.MCPServer{{Name: MCPName, URL: url, Headers: []acp.Pair{header}}}, nil
}

// started registers the program's process, for calls that it and its tools make.
func (f *instance) started(pid int) (release func()) {
	return f.programs.opts.Processes.Register(pid, process.Owner{Kind: process.MemberTool, Member: f.Member.Name})
}

// alive is started for a program that gets a token with each start: the token ends with
// the process. Processes that the program passed it on to cannot act for the member.
func (f *instance) alive(pid int) (release func()) {
	forget := f.started(pid)
	return func() {
		forget()
		f.programs.opts.Revoke(f.Member)
	}
}

// pairs returns variables in the form NAME=VALUE.
func pairs(env []configs.EnvVar) []string {
	list := make([]string, len(env))
	for i, v := range env {
		list[i] = v.Name + "=" + v.Value
	}
	return list
}

// programRestarts returns how often in a row an agent program that dies is restarted in
// one turn; 0 stands for the default of package acp.
func programRestarts(r configs.Restart) int {
	switch {
	case !r.Given:
		return 0
	case r.Max == 0:
		return -1 // never
	}
	return r.Max
}

// mcpCommand returns how an agent that supports MCP only over stdio reaches the team
// tools: the command and the variables that it needs even if the agent hides its own
// environment. It needs no token, because the kernel identifies the process.
func mcpCommand(bin string, p state.Place) (argv, env []string) {
	for _, kv := range ChildEnvironment(bin, p) {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains([]string{"COVEY_STATE_HOME",
			"XDG_STATE_HOME", "HOME"}, name) {
			env = append(env, kv)
		}
	}
	return []string{bin, "-C", p.Workspace, "--team", p.Team, "mcp"}, env
}
