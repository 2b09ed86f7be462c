package permission

import (
	"encoding/json"
	"testing"

	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/teammate/agent"
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
func modeTable() map[string]map[string]Behavior {
	return map[string]map[string]Behavior{
		ModeDefault: {"team": Allow, "read in": Allow, "read out": Ask, "web": Ask, "edit in": Ask, "edit out": Ask,
			"shell": Ask},
		ModePlan: {"team": Allow, "read in": Allow, "read out": Ask, "web": Ask, "edit in": Deny, "edit out": Deny,
			"shell": Deny},
		ModeEdits: {"team": Allow, "read in": Allow, "read out": Ask, "web": Ask, "edit in": Allow, "edit out": Ask,
			"shell": Ask},
		ModeNoAsk: {"team": Allow, "read in": Allow, "read out": Deny, "web": Deny, "edit in": Deny, "edit out": Deny,
			"shell": Deny},
		ModeBypass: {"team": Allow, "read in": Allow, "read out": Allow, "web": Allow, "edit in": Allow,
			"edit out": Allow, "shell": Allow},
	}
}

func kinds() map[string]Call {
	return map[string]Call{
		"team":     {Spec: agent.Spec{Team: true}},
		"read in":  {Spec: agent.Spec{ReadOnly: true}, Inside: true},
		"read out": {Spec: agent.Spec{ReadOnly: true}},
		"web":      {Spec: agent.Spec{ReadOnly: true, Web: true}, Inside: true},
		"edit in":  {Spec: agent.Spec{Edits: true}, Inside: true},
		"edit out": {Spec: agent.Spec{Edits: true}},
		"shell":    {Inside: true},
	}
}

// Every combination of mode, kind of tool, hook and rules.
func TestDecide(t *testing.T) {
	rule := ruleList(t, "Thing")
	asks := func(mode string) Behavior {
		if mode == ModeNoAsk {
			return Deny
		}
		return Ask
	}
	for mode, byKind := range modeTable() {
		for kind, base := range byKind {
			for n := range 4 * 8 {
				q := kinds()[kind]
				q.Rules = rules.Call{Tool: "Thing", Input: json.RawMessage(`{}`)}
				q.Hook = []Behavior{"", Allow, Ask, Deny}[n%4]
				p := Policy{Mode: mode}
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
				planned := mode == ModePlan && base == Deny
				want := Ruling{Behavior: base, By: "mode"}
				switch {
				case q.Hook == Deny:
					want = Ruling{Behavior: Deny, By: "hook"}
				case denyRule:
					want = Ruling{Behavior: Deny, By: "rule", Rule: "Thing"}
				case askRule:
					want = Ruling{Behavior: asks(mode), By: "rule", Rule: "Thing"}
				case q.Hook == Ask:
					want = Ruling{Behavior: asks(mode), By: "hook"}
				case planned:
				case q.Hook == Allow:
					want = Ruling{Behavior: Allow, By: "hook"}
				case allowRule:
					want = Ruling{Behavior: Allow, By: "rule", Rule: "Thing"}
				}
				if got := p.Decide(q); got != want {
					t.Errorf("%s, %s, hook %q, deny rule %v, ask rule %v, allow rule %v: got %v, want %v",
						mode, kind, q.Hook, denyRule, askRule, allowRule, got, want)
				}
			}
		}
	}
}

// Rules are about what is called, not only about the tool; several allow rules
// may allow a command line together, one deny rule forbids all of it.
func TestDecideByInput(t *testing.T) {
	p := Policy{
		Allow: ruleList(t, "Bash(go test *)", "Bash(git status)"),
		Deny:  ruleList(t, "Bash(git push*)"),
	}
	for command, want := range map[string]Behavior{
		"go test ./...":               Allow,
		"go test ./... && git status": Allow,
		"go test ./... && make":       Ask,
		"git push":                    Deny,
		"go test ./... ; git push -f": Deny,
		"echo $(git push)":            Deny,
	} {
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		got := p.Decide(Call{Rules: rules.Call{Tool: "Bash", Input: input}}).Behavior
		if got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

// A rule names a host only in full: a wildcard does not mean this machine.
func TestNames(t *testing.T) {
	call := rules.Call{Tool: "WebFetch", Input: json.RawMessage(`{"url":"http://localhost:8080/x"}`)}
	for rule, want := range map[string]bool{
		"WebFetch(domain:localhost)": true, "WebFetch": false, "WebFetch(domain:*)": false, "WebFetch(domain:*host)": false,
		"WebFetch(domain:example.com)": false, "Read(/x)": false,
	} {
		if got := (Policy{Allow: ruleList(t, rule)}).Names(call); got != want {
			t.Errorf("%s names localhost: %v", rule, got)
		}
	}
}

func TestRuleFor(t *testing.T) {
	for _, c := range []struct{ tool, input, want string }{
		{"Bash", `{"command":"go test ./..."}`, "Bash(go test ./...)"},
		{"WebFetch", `{"url":"https://example.com:8443/x","prompt":"what"}`, "WebFetch(domain:example.com)"},
		{"WebFetch", `{"url":"::"}`, "WebFetch()"},
		{"Other", `{"url":"https://example.com/"}`, "Other()"},
		{"Read", `[]`, "Read()"},
	} {
		got := RuleFor(agent.ToolCall{Name: c.tool, Input: json.RawMessage(c.input)})
		if text := got.ToolName + "(" + got.RuleContent + ")"; text != c.want {
			t.Errorf("%s %s: %s, want %s", c.tool, c.input, text, c.want)
		}
	}
}

// TestHinted: that a server claims that its tool only reads opens plan mode to a rule, a hook or a person,
// and nothing else.
func TestHinted(t *testing.T) {
	call := Call{Spec: agent.Spec{Name: "mcp__docs__find", Web: true, Hinted: true}, Rules: rules.Call{Tool: "mcp__docs__find"}, Inside: true}
	rule, err := rules.Parse("mcp__docs")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{ModePlan, ModeEdits, "default"} {
		if r := (Policy{Mode: mode}).Decide(call); r.Behavior != Ask {
			t.Errorf("%s: without a rule it is %+v", mode, r)
		}
		if r := (Policy{Mode: mode, Allow: []rules.Rule{rule}}).Decide(call); r.Behavior != Allow {
			t.Errorf("%s: with a rule it is %+v", mode, r)
		}
	}
	call.Spec.Hinted = false
	if r := (Policy{Mode: ModePlan, Allow: []rules.Rule{rule}}).Decide(call); r.Behavior != Deny {
		t.Errorf("without the claim plan mode says %+v", r)
	}
}
