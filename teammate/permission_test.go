package teammate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/workspace"
)

func ruleList(tb testing.TB, texts ...string) []rules.Rule {
	tb.Helper()
	var all []rules.Rule
	for _, text := range texts {
		r, err := rules.Parse(text)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// What each mode does with each kind of tool when no rule and no hook speaks.
func modeTable() map[string]map[string]behavior {
	return map[string]map[string]behavior{
		modeDefault: {"team": allow, "read in": allow, "read out": ask, "edit in": ask, "edit out": ask,
			"shell": ask},
		modePlan: {"team": allow, "read in": allow, "read out": ask, "edit in": deny, "edit out": deny,
			"shell": deny},
		modeEdits: {"team": allow, "read in": allow, "read out": ask, "edit in": allow, "edit out": ask,
			"shell": ask},
		modeNoAsk: {"team": allow, "read in": allow, "read out": deny, "edit in": deny, "edit out": deny,
			"shell": deny},
		modeBypass: {"team": allow, "read in": allow, "read out": allow, "edit in": allow,
			"edit out": allow, "shell": allow},
	}
}

func kinds() map[string]question {
	return map[string]question{
		"team":     {spec: agent.Spec{Team: true}},
		"read in":  {spec: agent.Spec{ReadOnly: true}, inside: true},
		"read out": {spec: agent.Spec{ReadOnly: true}},
		"edit in":  {spec: agent.Spec{Edits: true}, inside: true},
		"edit out": {spec: agent.Spec{Edits: true}},
		"shell":    {inside: true},
	}
}

// Every combination of mode, kind of tool, hook and rules.
func TestDecide(t *testing.T) {
	rule := ruleList(t, "Thing")
	asks := func(mode string) behavior {
		if mode == modeNoAsk {
			return deny
		}
		return ask
	}
	for mode, byKind := range modeTable() {
		for kind, base := range byKind {
			for n := range 4 * 8 {
				q := kinds()[kind]
				q.call = rules.Call{Tool: "Thing", Input: json.RawMessage(`{}`)}
				q.hook = []behavior{"", allow, ask, deny}[n%4]
				p := Permissions{Mode: mode}
				denyRule, askRule, allowRule := n/4&1 > 0, n/4&2 > 0, n/4&4 > 0
				if denyRule {
					p.Deny = rule
				}
				if askRule {
					p.Ask = rule
				}
				if allowRule {
					p.Allow = rule
				}
				planned := mode == modePlan && base == deny
				want := ruling{behavior: base, by: "mode"}
				switch {
				case q.hook == deny:
					want = ruling{behavior: deny, by: "hook"}
				case denyRule:
					want = ruling{behavior: deny, by: "rule", rule: "Thing"}
				case askRule:
					want = ruling{behavior: asks(mode), by: "rule", rule: "Thing"}
				case q.hook == ask:
					want = ruling{behavior: asks(mode), by: "hook"}
				case planned:
				case q.hook == allow:
					want = ruling{behavior: allow, by: "hook"}
				case allowRule:
					want = ruling{behavior: allow, by: "rule", rule: "Thing"}
				}
				if got := p.decide(q); got != want {
					t.Errorf("%s, %s, hook %q, deny rule %v, ask rule %v, allow rule %v: got %v, want %v",
						mode, kind, q.hook, denyRule, askRule, allowRule, got, want)
				}
			}
		}
	}
}

// Rules are about what is called, not only about the tool; several allow rules
// may allow a command line together, one deny rule forbids all of it.
func TestDecideByInput(t *testing.T) {
	p := Permissions{
		Allow: ruleList(t, "Bash(go test *)", "Bash(git status)"),
		Deny:  ruleList(t, "Bash(git push*)"),
	}
	for command, want := range map[string]behavior{
		"go test ./...":               allow,
		"go test ./... && git status": allow,
		"go test ./... && make":       ask,
		"git push":                    deny,
		"go test ./... ; git push -f": deny,
		"echo $(git push)":            deny,
	} {
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		got := p.decide(question{call: rules.Call{Tool: "Bash", Input: input}}).behavior
		equal(t, command, got, want)
	}
}

// asker answers and remembers.
type asker struct {
	yes    bool
	by     string
	said   string
	absent bool
	asked  []string
}

func (a *asker) Present() bool { return !a.absent }

func (a *asker) Ask(_ context.Context, q Question) Answer {
	a.asked = append(a.asked, q.Member+" "+q.Call.Name+": "+q.Reason)
	return Answer{Allow: a.yes, By: a.by, Said: a.said}
}

// What the model reads and the journal tells, for each way a call is decided.
func TestPermissionTexts(t *testing.T) {
	way := " Go on without it, or tell your lead what you need it for. A person can allow it for api in the team's spec: " +
		"by a rule for Bash under permissions.allow, or by another permission_mode."
	hookSays := func(decision, reason string) hooks.Outcome {
		return hooks.Outcome{Permission: hooks.Permission{Decision: decision, Reason: reason}}
	}
	denied := hookSays("deny", "denied by hook")
	denied.Decision, denied.Feedback = hooks.Block, []string{"PreToolUse:Bash hook error: denied by hook"}
	tests := map[string]struct {
		mode     string
		ask, den []string
		pre      hooks.Outcome
		asker    *asker
		want     string // "result: ran", or the error
		by       agent.PermissionDecided
	}{
		"bypass": {mode: modeBypass, want: "result: ran", by: agent.PermissionDecided{Decision: "allow", By: "mode"}},
		"hook allows": {pre: hookSays("allow", "ok"), want: "result: ran",
			by: agent.PermissionDecided{Decision: "allow", By: "hook"}},
		"hook denies": {mode: modeBypass, pre: denied, want: "error: PreToolUse:Bash hook error: denied by hook",
			by: agent.PermissionDecided{Decision: "deny", By: "hook"}},
		"hook blocks without a word": {mode: modeBypass, pre: hooks.Outcome{Decision: hooks.Block},
			want: "error: PreToolUse:Bash hook error: Blocked by hook", by: agent.PermissionDecided{Decision: "deny", By: "hook"}},
		"hook denies without feedback": {pre: hookSays("deny", "because"),
			want: "error: PreToolUse:Bash hook error: because", by: agent.PermissionDecided{Decision: "deny", By: "hook"}},
		"hook asks, nobody there": {mode: modeBypass, pre: hookSays("ask", "ask by hook"), want: "error: ask by hook",
			by: agent.PermissionDecided{Decision: "deny", By: "nobody"}},
		"hook asks, yes": {pre: hookSays("ask", "really?"), asker: &asker{yes: true, by: "person"},
			want: "result: ran",
			by:   agent.PermissionDecided{Decision: "allow", By: "person"}},
		"hook defers": {mode: modeBypass, pre: hookSays("defer", ""), want: "error: " + deferredText,
			by: agent.PermissionDecided{Decision: "defer", By: "hook"}},
		"deny rule, hook allows": {mode: modeBypass, den: []string{"Bash(touch:*)"}, pre: hookSays("allow", "ok"),
			want: "error: Permission to use Bash with command touch x && echo y has been denied.",
			by:   agent.PermissionDecided{Decision: "deny", By: "rule", Rule: "Bash(touch:*)"}},
		"ask rule, hook allows": {mode: modeBypass, ask: []string{"Bash(touch:*)"}, pre: hookSays("allow", "ok"),
			want: "error: Permission to use Bash was not given (ask rule Bash(touch:*)), for there is nobody to ask now." + way,
			by:   agent.PermissionDecided{Decision: "deny", By: "nobody", Rule: "Bash(touch:*)"}},
		"default, nobody there": {
			want: "error: Permission to use Bash was not given (permission mode default), for there is nobody to ask now." + way,
			by:   agent.PermissionDecided{Decision: "deny", By: "nobody"}},
		"default, no": {asker: &asker{by: "person"},
			want: "error: Permission to use Bash was not given (permission mode default), and person said no." + way,
			by:   agent.PermissionDecided{Decision: "deny", By: "person"}},
		"default, no, with a reason": {asker: &asker{by: "person", said: "use v2"},
			want: "error: Permission to use Bash was not given (permission mode default), and person said no. " +
				"What they said: use v2",
			by: agent.PermissionDecided{Decision: "deny", By: "person"}},
		"default, everybody left": {asker: &asker{yes: true, absent: true},
			want: "error: Permission to use Bash was not given (permission mode default), for there is nobody to ask now." + way,
			by:   agent.PermissionDecided{Decision: "deny", By: "nobody"}},
		"default, nobody answers": {asker: &asker{},
			want: "error: Permission to use Bash was not given (permission mode default), for there is nobody to ask now." + way,
			by:   agent.PermissionDecided{Decision: "deny", By: "nobody"}},
		"default, yes": {asker: &asker{yes: true, by: "person"}, want: "result: ran",
			by: agent.PermissionDecided{Decision: "allow", By: "person"}},
		"dontAsk": {mode: modeNoAsk, asker: &asker{yes: true},
			want: "error: Permission to use Bash was not given, for permission mode dontAsk asks nobody." + way,
			by:   agent.PermissionDecided{Decision: "deny", By: "mode"}},
		"plan": {mode: modePlan, pre: hookSays("allow", "ok"),
			want: "error: Bash was not run: you are in plan mode, where only tools that change nothing run. Go on planning without it.",
			by:   agent.PermissionDecided{Decision: "deny", By: "mode"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, say{calls: []agent.ToolCall{callTool("c1", "Bash", `{"command":"touch x && echo y"}`)}})
			r.opts.Permissions = Permissions{Mode: test.mode, Ask: ruleList(t, test.ask...),
				Deny: ruleList(t, test.den...)}
			if test.asker != nil {
				r.opts.Asker = test.asker
			}
			r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.PreToolUse: {test.pre}})
			r.mustRun(t)
			equal(t, "model", r.agent.seen[1], test.want)
			test.by.ID, test.by.Tool = "c1", "Bash"
			equal(t, "journal", one[agent.PermissionDecided](t, r.journal), test.by)
			ran := len(r.runner.of(hooks.PostToolUse)) == 1
			equal(t, "ran", ran, test.want == "result: ran")
			if test.asker != nil && !test.asker.absent && test.mode != modeNoAsk {
				equal(t, "asked", len(test.asker.asked), 1)
				equal(t, "notified", r.runner.of(hooks.Notification)[0].Payload.(hooks.NotificationInput),
					hooks.NotificationInput{Message: "api needs your permission to use Bash",
						NotificationType: "permission_prompt"})
			}
		})
	}
}

func TestInWorkspace(t *testing.T) {
	root, out := t.TempDir(), t.TempDir()
	w := workspace.NewWorkdir(root)
	sub := filepath.Join(root, "sub")
	for _, dir := range []string{sub, filepath.Join(root, ".git")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.Move(sub)
	links := map[string]string{
		"in": "sub", "out": out, "up": "../..", "dangling": filepath.Join(out,
			"new"), "loop": "loop", "chain": "dangling",
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		path   string
		edits  bool
		inside bool
	}{
		{"", true, true},
		{"a.go", true, true},
		{"../a.go", true, true},
		{"../../a.go", false, false},
		{root, false, true},
		{filepath.Join(root, "not", "there", "yet"), true, true},
		{filepath.Join(root, "in", "x"), true, true},
		{filepath.Join(root, "out"), false, false},
		{filepath.Join(root, "out", "x"), true, false},
		{root + "/out/../a.go", false, false},
		{root + "/in/../a.go", false, true},
		{filepath.Join(root, "up", "x"), false, false},
		{filepath.Join(root, "dangling"), true, false},
		{filepath.Join(root, "chain"), true, false},
		{filepath.Join(root, "loop", "x"), true, false},
		{"/etc/passwd", false, false},
		{root + "x/a.go", false, false},
		{filepath.Join(root, ".git", "hooks", "pre-commit"), true, false},
		{filepath.Join(root, ".git", "HEAD"), false, true},
	}
	for _, test := range tests {
		for _, name := range []string{"file_path", "path"} {
			input, err := json.Marshal(map[string]string{name: test.path})
			if err != nil {
				t.Fatal(err)
			}
			tl := &tool{Tool: fakeTool{}, spec: agent.Spec{Edits: test.edits}}
			if got := inWorkspace(w, tl, input); got != test.inside {
				t.Errorf("%s %q, edits %v: inside %v", name, test.path, test.edits, got)
			}
		}
	}
	if inWorkspace(w, &tool{Tool: fakeTool{}}, json.RawMessage(`{"path":3}`)) {
		t.Error("a path that cannot be read is inside")
	}
	w.Move(out)
	if inWorkspace(w, &tool{Tool: fakeTool{}}, json.RawMessage(`{}`)) {
		t.Error("a tool that names no path works in the current directory, which is outside")
	}
	located := &tool{Tool: locator{fakeTool{}}}
	for pattern, inside := range map[string]bool{"/etc/*": false, root + "/*": true} {
		equal(t, pattern, inWorkspace(w, located, json.RawMessage(fmt.Sprintf(`{"pattern":%q}`, pattern))), inside)
	}
}

// locator is a tool that reaches the folder of its pattern.
type locator struct{ fakeTool }

func (locator) Locations(input json.RawMessage) []string {
	var in struct{ Pattern string }
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	return []string{strings.TrimSuffix(in.Pattern, "*")}
}
