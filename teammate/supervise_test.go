package teammate

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
)

// foreigner is an agent whose program calls tools by itself: in each Run it
// asks for one call, then says that it is done.
type foreigner struct {
	call     agent.ToolCall
	ask      bool // asks first
	fails    bool
	rejects  bool // refuses to make the call by itself
	answer   agent.Permission
	remarks  agent.Remarks
	mail     []agent.Input
	between  func()
	reported bool
}

func (f *foreigner) Run(ctx context.Context, prompt []agent.Input, h agent.Host) (agent.Reply, error) {
	if err := h.Record(agent.Record{Message: agent.TextMessage(agent.User, agent.Texts(prompt)...),
		Inputs: prompt}); err != nil {
		return agent.Reply{}, err
	}
	s := h.(agent.Supervisor)
	if f.ask {
		f.answer = s.Permit(ctx, f.call)
	}
	if f.between != nil {
		f.between()
	}
	if !f.ask || f.answer.Allow {
		f.remarks, f.reported = s.Report(ctx, f.call, agent.ToolResult{Content: "out", IsError: f.fails ||
			f.rejects, Rejected: f.rejects}), true
	}
	f.mail = h.(agent.Correspondent).Mail(ctx)
	h.(events.Observer).Observe(events.Planned{Entries: []events.PlanEntry{{Text: "look"}}})
	return agent.Reply{Text: "done", Halted: f.remarks.Halted + f.answer.Halted}, ctx.Err()
}

func foreignRig(t *testing.T, call agent.ToolCall) (*rig, *foreigner) {
	t.Helper()
	r, f := newRig(t), &foreigner{call: call, ask: true}
	r.opts.Agent, r.opts.Rights, r.opts.Tools = f, permission.NewRights(permission.Policy{}, nil), nil
	return r, f
}

// Calls of a foreign program are decided as the member's own are.
func TestPermitDecides(t *testing.T) {
	inside, outside := "IN/a.go", "/etc/passwd"
	for name, tt := range map[string]struct {
		mode        string
		allow, deny []string
		tool, input string
		want        bool
	}{
		"allowed by rule":  {"default", []string{"Bash(ls *)"}, nil, "Bash", `{"command":"ls x"}`, true},
		"not by this rule": {"default", []string{"Bash(ls *)"}, nil, "Bash", `{"command":"ls x; rm y"}`, false},
		"denied by rule": {"bypassPermissions", nil, []string{"Bash(rm *)"}, "Bash",
			`{"command":"rm y"}`, false},
		"doubt is denied":     {"bypassPermissions", nil, []string{"Bash(rm *)"}, "Bash", `{}`, false},
		"any file is doubt":   {"bypassPermissions", nil, []string{"Edit(/x/**)"}, "Write", `{}`, false},
		"anything is doubt":   {"bypassPermissions", nil, []string{"Edit(/x/**)"}, "Tool", `{}`, false},
		"no rule, no doubt":   {"bypassPermissions", nil, []string{"Edit(/x/**)"}, "Bash", `{}`, true},
		"bypass":              {"bypassPermissions", nil, nil, "Bash", `{"command":"rm y"}`, true},
		"read inside":         {"default", nil, nil, "Read", `{"file_path":"` + inside + `"}`, true},
		"read outside":        {"default", nil, nil, "Read", `{"file_path":"` + outside + `"}`, false},
		"read of who knows":   {"default", nil, nil, "Read", `{}`, false},
		"edit asks":           {"default", nil, nil, "Edit", `{"file_path":"` + inside + `"}`, false},
		"edit in acceptEdits": {"acceptEdits", nil, nil, "Edit", `{"file_path":"` + inside + `"}`, true},
		"edit of who knows":   {"acceptEdits", nil, nil, "Edit", `{}`, false},
		"edit outside":        {"acceptEdits", nil, nil, "Write", `{"file_path":"` + outside + `"}`, false},
		"plan mode":           {"plan", []string{"Bash"}, nil, "Bash", `{"command":"ls"}`, false},
		"grep":                {"plan", nil, nil, "Grep", `{"pattern":"x"}`, true},
		"mcp":                 {"default", []string{"mcp__docs"}, nil, "mcp__docs__find", `{}`, true},
		"team tool":           {"default", nil, nil, "mcp__covey__team_report", `{}`, true},
		"no object":           {"bypassPermissions", nil, nil, "Bash", `[1]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, f := foreignRig(t, agent.ToolCall{})
			f.call = callTool("c1", tt.tool, strings.ReplaceAll(tt.input, "IN", r.opts.Workdir.Root()))
			r.opts.Rights = permission.NewRights(permission.Policy{Mode: tt.mode, Allow: ruleList(t, tt.allow...),
				Deny: ruleList(t, tt.deny...)}, nil)
			r.opts.Tools = []agent.Tool{fakeTool{spec: agent.Spec{Name: "mcp__covey__team_report", Team: true}}}
			r.mustRun(t)
			if f.answer.Allow != tt.want || (f.answer.Reason == "") != tt.want {
				t.Errorf("answer %+v, want %t", f.answer, tt.want)
			}
			if tt.input != `[1]` {
				decided := one[events.PermissionDecided](t, r.journal)
				if (decided.Decision == "allow") != tt.want || decided.ID != "c1" {
					t.Errorf("journal: %+v", decided)
				}
			}
			if len(all[events.CallDetected](r.journal)) != 0 {
				t.Error("a call that was asked about is told as detected")
			}
		})
	}
}

// PreToolUse hooks see the call with its path made absolute, and may refuse it,
// add to it, or halt; they cannot change it.
func TestPermitAsksHooks(t *testing.T) {
	for name, tt := range map[string]struct {
		out    hooks.Outcome
		err    error
		allow  bool
		reason string
		halted string
		told   []string
	}{
		"pass":  {hooks.Outcome{}, nil, true, "", "", nil},
		"block": {refuse("not this one"), nil, false, "not this one", "", nil},
		"deny": {hooks.Outcome{Permission: hooks.Permission{Decision: "deny", Reason: "why"}}, nil,
			false, "why", "", nil},
		"ask": {hooks.Outcome{Permission: hooks.Permission{Decision: "ask", Reason: "sure?"}}, nil,
			false, "sure?", "", nil},
		"context": {hooks.Outcome{AdditionalContext: []string{"mind the gap"}}, nil, true, "", "",
			[]string{"mind the gap"}},
		"halt": {haltFor("enough"), nil, true, "", "enough", nil},
		"changed": {hooks.Outcome{UpdatedInput: json.RawMessage(`{"command":"echo"}`)}, nil, false,
			`{"command":"echo"}`, "", nil},
		"unchanged": {hooks.Outcome{UpdatedInput: json.RawMessage(`{ "command": "ls" }`)}, nil, true, "", "", nil},
		"broken":    {hooks.Outcome{}, errors.New("no runner"), false, "could not run", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, f := foreignRig(t, callTool("c1", "Bash", `{"command":"ls"}`))
			r.opts.Rights = permission.NewRights(permission.Policy{Mode: permission.ModeBypass}, nil)
			r.runner.answer = func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
				if in.Payload.Event() == hooks.PreToolUse {
					return tt.out, tt.err
				}
				return hooks.Outcome{}, nil
			}
			r.mustRun(t)
			a := f.answer
			if a.Allow != tt.allow || !strings.Contains(a.Reason, tt.reason) || a.Halted != tt.halted ||
				!slices.Equal(agent.Texts(a.Feedback), tt.told) && len(tt.told)+len(a.Feedback) > 0 {
				t.Errorf("answer %+v", a)
			}
		})
	}
}

func TestReport(t *testing.T) {
	for name, tt := range map[string]struct {
		ask, fails bool
		deny       string
		event      hooks.Event
		detected   bool
		broke      string
	}{
		"asked":            {true, false, "", hooks.PostToolUse, false, ""},
		"failed":           {true, true, "", hooks.PostToolUseFailure, false, ""},
		"not asked":        {false, false, "Bash(rm *)", hooks.PostToolUse, true, ""},
		"against the rule": {false, false, "Bash(ls *)", hooks.PostToolUse, true, "Bash(ls *)"},
	} {
		t.Run(name, func(t *testing.T) {
			r, f := foreignRig(t, callTool("c1", "Bash", `{"command":"ls x"}`))
			f.ask, f.fails = tt.ask, tt.fails
			r.opts.Rights = permission.NewRights(permission.Policy{Mode: permission.ModeBypass}, nil)
			if tt.deny != "" {
				r.opts.Rights = permission.NewRights(permission.Policy{Mode: permission.ModeBypass, Deny: ruleList(t, tt.deny)}, nil)
			}
			r.runner.answer = on(map[hooks.Event][]hooks.Outcome{tt.event: {refuse("format it")}})
			r.mustRun(t)
			if !slices.Equal(agent.Texts(f.remarks.Feedback), []string{"format it"}) ||
				len(r.runner.of(tt.event)) != 1 {
				t.Errorf("remarks %+v, events %v", f.remarks, r.runner.events())
			}
			found := all[events.CallDetected](r.journal)
			if (len(found) == 1) != tt.detected || tt.detected && (found[0].Violated != tt.broke ||
				found[0].ID != "c1") {
				t.Errorf("detected: %+v", found)
			}
			if warned := slices.ContainsFunc(all[events.Warning](r.journal), func(w events.Warning) bool {
				return strings.Contains(w.Text, "without asking")
			}); warned != (tt.broke != "") {
				t.Errorf("warnings: %+v", all[events.Warning](r.journal))
			}
		})
	}
}

// A halt by the hooks of a foreign call ends the turn; its gates do not run.
func TestReportHalts(t *testing.T) {
	r, f := foreignRig(t, callTool("c1", "Bash", `{"command":"ls"}`))
	f.ask = false
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.PostToolUse: {haltFor("enough")}})
	r.mustRun(t)
	if f.remarks.Halted != "enough" || one[events.TurnEnded](t, r.journal).Reason != events.EndHookStopped ||
		len(r.runner.of(hooks.Stop)) > 0 {
		t.Errorf("remarks %+v, events %v", f.remarks, r.runner.events())
	}
}

// The hooks of a call hear of it when the turn is interrupted, too.
func TestReportAfterInterrupt(t *testing.T) {
	r, f := foreignRig(t, callTool("c1", "Bash", `{"command":"ls"}`))
	f.ask, f.fails = false, true
	m := r.member(t)
	f.between = func() { m.Interrupt("enough") }
	if err := m.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	heard := r.runner.of(hooks.PostToolUseFailure)
	if len(heard) != 1 || !heard[0].Payload.(hooks.PostToolUseFailureInput).IsInterrupt {
		t.Errorf("events %v", r.runner.events())
	}
}

// Mail is handed out once without a pass, and counts as given.
func TestMailInMidTurn(t *testing.T) {
	r, f := foreignRig(t, callTool("c1", "Bash", `{}`))
	f.between = func() { r.inbox.waiting = []agent.Input{{Kind: agent.FromMail, Text: "mail", MessageID: "m2"}} }
	r.mustRun(t)
	if !slices.Equal(agent.Texts(f.mail), []string{"mail"}) || one[events.TurnEnded](t, r.journal).Passes != 0 {
		t.Errorf("mail %+v", f.mail)
	}
	if !slices.Contains(r.inbox.taken, "m2") { // not recorded by the agent: the host does
		t.Errorf("taken %v", r.inbox.taken)
	}
	if p := one[events.Planned](t, r.journal); len(p.Entries) != 1 || p.Type() != "plan" {
		t.Errorf("plan %+v", p)
	}
}

// Relative paths mean the member's workspace.
func TestPermitMakesPathsAbsolute(t *testing.T) {
	r, _ := foreignRig(t, callTool("c1", "Edit", `{"file_path":"sub/../a.go"}`))
	r.opts.Rights = permission.NewRights(permission.Policy{Mode: permission.ModeEdits}, nil)
	r.mustRun(t)
	in := r.runner.of(hooks.PreToolUse)[0].Payload.(hooks.PreToolUseInput)
	if want := filepath.Join(r.opts.Workdir.Root(), "a.go"); !strings.Contains(string(in.ToolInput), `"`+want+`"`) {
		t.Errorf("input %s", in.ToolInput)
	}
}

// A read for which a program has run a command is held against the rules for commands, be it
// asked about or not; what the program has refused to do itself was not called at all.
func TestReadsByCommand(t *testing.T) {
	call := callTool("c1", "Read", `{"file_path":"a"}`)
	call.Shell = []string{"cat a", "head a"}
	for _, ask := range []bool{true, false} {
		r, f := foreignRig(t, call)
		f.ask = ask
		r.opts.Rights = permission.NewRights(permission.Policy{Mode: permission.ModeBypass, Deny: ruleList(t, "Bash(head *)")}, nil)
		r.mustRun(t)
		if ask {
			decided := one[events.PermissionDecided](t, r.journal)
			if f.answer.Allow || decided.Rule != "Bash(head *)" || !strings.Contains(f.answer.Reason,
				"Bash(head *)") {
				t.Errorf("answer %+v, journal %+v", f.answer, decided)
			}
			continue
		}
		if broke := one[events.CallDetected](t, r.journal).Violated; broke != "Bash(head *)" {
			t.Errorf("it broke %q", broke)
		}
	}
	r, f := foreignRig(t, callTool("c1", "Bash", `{"command":"rm x"}`))
	f.ask, f.rejects = false, true
	r.opts.Rights = permission.NewRights(permission.Policy{Mode: permission.ModeBypass, Deny: ruleList(t, "Bash(rm *)")}, nil)
	r.mustRun(t)
	if n := len(all[events.CallDetected](r.journal)) + len(all[events.Warning](r.journal)) + len(r.runner.of(hooks.PostToolUseFailure)); n != 0 {
		t.Errorf("a call that was not made is told of: %v", r.runner.events())
	}
}
