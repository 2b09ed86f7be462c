package launch

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/gateway"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/acp"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/command"
	shared "github.com/coveyteam/covey/teammate/program"
	"github.com/coveyteam/covey/teammate/script"
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
	bill *accounts.Bill
	last string // the member's last text before this run
	// logins are shared with the program in its box; nil: it uses them itself.
	logins *sharedLogins
	// noMemory is set if another program did the member's earlier work, so that this
	// one has no memory of it.
	noMemory bool
	door     *gateway.Door // its way to its models; nil: it has one of its own
}

// options returns what programs of all kinds are started with.
func (f *instance) options(start *offer) shared.Options {
	return shared.Options{
		Command: append(f.launch.argv[:1:1], start.args...), Env: start.env, Dir: start.workspace, Box: start.box,
		Enter: f.enter(start), System: f.system, Session: f.past.ID, OnSession: f.keepSession,
		Brief: f.lostBrief, History: f.History, Started: f.alive,
		Watch: f.watch(),
		// A program that reports its cost (claude) counts from the start of its session.
		OnUsage: func(used shared.Spent) { f.bill.AddPrompt(used.CostUSD, used.Known) },
	}
}

// watch returns what watches the program's model requests; nil: nobody does.
func (f *instance) watch() func(context.Context) (context.Context, func(error) error) {
	if f.door == nil {
		return nil
	}
	return f.door.Watch
}

// acp returns the agent of a program that speaks ACP.
func (f *instance) acp(start *offer) (thinker, error) {
	p, all := f.launch.program, f.options(start)
	all.Backoff, all.Restarts = f.programs.deps.Backoff, programRestarts(f.Member.Restart)
	return acp.New(acp.Options{
		Options: all, Meta: start.meta, Connect: f.connect, SystemBy: p.systemBy, Mode: p.mode,
		SessionMade: f.past.Made, Quirks: p.quirks, Known: f.launch.preset.name != "", Timeouts: f.programs.deps.Timeouts,
		OnLive: func(used shared.Spent) { f.bill.AddLive(used.Usage, used.CostUSD) },
	})
}

// offer returns how to start the program: its environment and arguments, with the files
// that it reads written.
func (f *instance) offer(ctx context.Context) (*offer, error) {
	member := f.Member.Current()
	dir := filepath.Join(f.programs.deps.Place.Scratch(), member.Name+".agent")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	start := &offer{args: slices.Clone(f.launch.argv[1:]), dir: dir, workspace: f.Member.Dir, rules: f.Rules}
	start.env = programEnvironment(f.programs.deps.Bin, f.programs.deps.Place, f.launch.preset)
	start.set("COVEY_MEMBER", member.Name)
	start.set("PWD", f.Member.Dir)
	start.env = append(start.env, f.Environ...)
	own := len(start.env)
	if err := f.launch.complete(start, member.Agent.Env, member.Agent.NativeHooks); err != nil {
		return nil, err
	}
	model, err := f.route(ctx, start)
	if err != nil {
		return nil, err
	}
	return start, f.boxed(start, model, own)
}

// complete adds to an offer what the program and its agent set, and writes the program's settings.
func (l Found) complete(start *offer, own []configs.EnvVar, nativeHooks bool) error {
	start.env = append(start.env, l.program.env...)
	if l.key.Name != "" {
		start.set(l.key.Name, l.key.Value)
	}
	start.env = append(start.env, pairs(own)...)
	steps := []func(*offer) error{l.program.writeSettings}
	if !nativeHooks {
		steps = append(steps, l.program.nativeHooksOff)
	}
	for _, step := range steps {
		if step == nil {
			continue
		}
		if err := step(start); err != nil {
			return err
		}
	}
	return nil
}

// scripted lets the program use its member's script as its model, if there is one, and returns the URL
// of its server.
func (f *instance) scripted(ctx context.Context, start *offer, played *script.Script) (url string, err error) {
	if played == nil {
		return "", nil
	}
	url, key, err := f.programs.models.admit(ctx, played, f.programs.deps.Log)
	if err != nil {
		return "", fmt.Errorf("serve its script: %w", err)
	}
	return url, f.offline(start, url, key)
}

// offline lets the program use a model server, without the user's settings and logins.
func (f *instance) offline(start *offer, url, key string) error {
	home, err := home(f.programs.deps.Place, f.Member.Name)
	if err != nil {
		return err
	}
	// The locations of the user's settings do not concern it then.
	before := offer{env: slices.Clone(start.env)}
	start.env = slices.DeleteFunc(start.env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		user := []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"}
		return slices.Contains(user, name) || f.launch.preset.routed(name, before.value)
	})
	return f.launch.program.offline(start, url, key, home)
}

// connect gives the program access to the team tools, with a new token each time it
// starts.
func (f *instance) connect() ([]acp.MCPServer, error) {
	if f.launch.program.stdioMCP {
		argv, env := mcpCommand(f.programs.deps.Bin, f.programs.deps.Place, f.Environ)
		if f.Member.Current().PlanRequired {
			argv = append(argv, "--plan")
		}
		for _, template := range f.Member.Spawns {
			argv = append(argv, "--spawn", template)
		}
		s := acp.MCPServer{Name: MCPName, Command: argv[0], Args: argv[1:]}
		for _, kv := range env {
			name, value, _ := strings.Cut(kv, "=")
			s.Env = append(s.Env, acp.Pair{Name: name, Value: value})
		}
		return []acp.MCPServer{s}, nil
	}
	url, token, err := f.programs.deps.Admit(f.Member, !f.Member.CurrentAgent().IsTeam())
	if err != nil {
		return nil, err
	}
	header := acp.Pair{Name: "Authorization", Value: "Bearer " + token}
	return []acp.MCPServer{{Name: MCPName, URL: url, Headers: []acp.Pair{header}}}, nil
}

// alive registers the program's process, for calls that it and its tools make. The token that
// it got with its start ends with the process. Processes that the program passed it on to cannot act for the member.
func (f *instance) alive(pid int) (release func()) {
	forget := f.programs.deps.Processes.Register(pid, process.Owner{Kind: process.MemberTool, Member: f.Member.Name})
	return func() {
		forget()
		f.programs.deps.Revoke(f.Member)
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
// environment. It needs no token, because the kernel identifies the process. own is what the member's
// processes get in addition.
func mcpCommand(bin string, p state.Place, own []string) (argv, env []string) {
	for _, kv := range slices.Concat(ChildEnvironment(bin, p), own) {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains([]string{"COVEY_STATE_HOME", "XDG_STATE_HOME", "HOME",
			"COVEY_TEAM", "COVEY_WORKSPACE", state.RunVariable, state.SocketVariable}, name) {
			env = append(env, kv)
		}
	}
	return []string{bin, "-C", p.Workspace, "--team", p.Team, "mcp"}, env
}

// The environment variables through which a command finds the team tools.
const (
	mcpURLVar   = "COVEY_MCP_URL"
	mcpTokenVar = "COVEY_MCP_TOKEN"
)

// command returns the agent of a program that runs once for each prompt.
func (f *instance) command(start *offer) (thinker, error) {
	resume := f.Member.CurrentAgent().Resume
	if resume == nil {
		resume = f.launch.program.resume
	}
	return command.New(command.Options{
		Options: f.options(start), Resume: resume, Connect: f.connectCommand,
		Dialect: command.Dialect(f.launch.program.dialect),
	})
}

// connectCommand gives one run of the program access to the team tools, with its own
// token.
func (f *instance) connectCommand() (command.Extra, error) {
	connect := f.launch.program.connect
	url, token, err := f.programs.deps.Admit(f.Member, connect != nil)
	if err != nil {
		return command.Extra{}, err
	}
	extra := command.Extra{Env: []string{mcpURLVar + "=" + url, mcpTokenVar + "=" + token}}
	if connect != nil {
		extra.Args = connect(url)
	}
	return extra, nil
}

// programSession is the stored session of a member's agent program.
type programSession struct {
	ID      string    `json:"id"`
	Made    time.Time `json:"made"`
	Agent   string    `json:"agent"`          // members.AgentTitle then; another program cannot resume it
	Member  string    `json:"session"`        // the member's own session at that time
	CostUSD float64   `json:"cost,omitempty"` // the cost that the program reported last
	LifeUSD float64   `json:"life,omitempty"` // the member's cost with all its agents
}

// programKey is the store key of the session of a member's program.
func programKey(member string) string { return "program/" + member }

// RecallCost adds the cost of a member's programs in earlier runs to the ledger.
func (p *Programs) RecallCost(ctx context.Context, member string) error {
	var past programSession
	if err := tasks.ReadValue(ctx, p.deps.Store, programKey(member), &past); err != nil {
		return err
	}
	p.deps.Ledger.Recall(member, past.LifeUSD)
	return nil
}

// loadSession loads the session that the member's program had in an earlier run.
func (f *instance) loadSession(ctx context.Context, switched bool) error {
	var past programSession
	if err := tasks.ReadValue(ctx, f.programs.deps.Store, programKey(f.Member.Name), &past); err != nil {
		return err
	}
	if switched {
		past.ID = "" // that session lacks the work since
	}
	before := accounts.Cost{Life: past.LifeUSD}
	if past.Agent == members.AgentTitle(f.Member.CurrentAgent()) && past.Member == f.Member.Session.Session {
		f.past = past
		before.Session = past.CostUSD
	}
	f.noMemory = f.past.ID == "" && f.last != ""
	f.bill = f.programs.deps.Ledger.NewBill(f.Member.Name, before, func(now accounts.Cost) {
		f.past.CostUSD, f.past.LifeUSD = now.Session, now.Life
		f.past.Agent, f.past.Member = members.AgentTitle(f.Member.CurrentAgent()), f.Member.Session.Session
		// If it is not stored, the next run may count the cost of this run again.
		if err := f.put(f.past); err != nil {
			f.programs.deps.Log.Warn("store the cost of a session", "member", f.Member.Name, "err", err)
		}
	})
	return nil
}

// keepSession stores the id of a new session before the program uses it.
func (f *instance) keepSession(id string) error {
	f.past = programSession{
		ID: id, Made: time.Now(), Agent: members.AgentTitle(f.Member.CurrentAgent()),
		Member: f.Member.Session.Session, LifeUSD: f.bill.NewSession(),
	}
	return f.put(f.past)
}

// system returns the system prompt of a new session. A member that worked with another
// agent before has a past that no session of this program contains.
func (f *instance) system() string {
	text := f.System()
	if f.noMemory {
		text += "\n" + f.brief()
	}
	return text
}

// lostBrief returns the brief for a session that replaces a lost one; empty where
// system included it.
func (f *instance) lostBrief() string {
	if f.noMemory {
		return ""
	}
	return f.brief()
}

// Limits of a brief.
const (
	briefTimeout = 5 * time.Second // for the store
	briefText    = 4000            // characters of the member's last text
)

// brief tells a program whose session is lost about its member's current work.
func (f *instance) brief() string {
	ctx, cancel := context.WithTimeout(context.Background(), briefTimeout)
	defer cancel()
	return f.programs.Brief(ctx, f.Member.Name, cmp.Or(f.Said(), f.last))
}

// Brief tells a member that has lost its memory about its work: the goal, its tasks, and its
// last text.
func (p *Programs) Brief(ctx context.Context, member, last string) string {
	var b strings.Builder
	b.WriteString("You have worked in this team before, and have no memory of it. What is known:\n")
	if goal := strings.TrimSpace(p.deps.Goal()); goal != "" {
		b.WriteString("\nThe team's goal:\n" + texts.Clip(goal, briefText) + "\n")
	}
	all, err := p.deps.Store.List(ctx)
	if err != nil {
		b.WriteString("\nThe task list could not be read; look at it before you go on.\n")
	}
	b.WriteString(briefTasks(all, member))
	if last != "" {
		b.WriteString("\nWhat you said last:\n" + texts.Clip(last, briefText) + "\n")
	}
	b.WriteString("\nLook at the state of the files before you go on: work that you have begun may be in them.")
	return b.String()
}

// briefTasks lists a member's tasks with their details.
func briefTasks(all []tasks.Task, member string) string {
	var b strings.Builder
	for _, t := range all {
		if t.Owner != member {
			continue
		}
		if b.Len() == 0 {
			b.WriteString("\nYour tasks:\n")
		}
		fmt.Fprintf(&b, "- #%s %s (%s)\n", t.ID, mail.Summary(texts.Defuse(texts.Unbroken(t.Subject))), t.Status)
		if t.Status == tasks.InProgress && t.Description != "" {
			b.WriteString("  " + strings.ReplaceAll(t.Description, "\n", "\n  ") + "\n")
		}
		for _, e := range t.Evidence {
			if e.File != "" {
				b.WriteString("  evidence: " + texts.Unbroken(e.File) + "\n")
			}
		}
	}
	return b.String()
}

// LastSaid returns the text of the last message of a conversation that contains text of
// the member.
func LastSaid(messages []agent.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if m := messages[i]; m.Role == agent.Assistant && m.Text() != "" {
			return m.Text()
		}
	}
	return ""
}
