package permission

import (
	"reflect"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/teammate/agent"
)

// TestSuggestions: only a question that the mode asks has suggestions. An edit in the workspace
// suggests the mode for edits, and any other call a rule for just this call.
func TestSuggestions(t *testing.T) {
	edit, other := &Tool{Spec: agent.Spec{Edits: true}}, &Tool{}
	rule := func(name, content string) []hooks.PermissionUpdate {
		return []hooks.PermissionUpdate{{Type: "addRules", Behavior: "allow", Destination: "session",
			Rules: []hooks.PermissionRule{{ToolName: name, RuleContent: content}}}}
	}
	for name, test := range map[string]struct {
		by     string
		tool   *Tool
		call   string
		input  string
		inside bool
		want   []hooks.PermissionUpdate
	}{
		"a rule asks":      {"rule", other, "Bash", `{"command":"make"}`, true, nil},
		"a hook asks":      {"hook", edit, "Edit", `{}`, true, nil},
		"an edit inside":   {"mode", edit, "Edit", `{}`, true, []hooks.PermissionUpdate{{Type: "setMode", Mode: ModeEdits, Destination: "session"}}},
		"an edit outside":  {"mode", edit, "Edit", `{"file_path":"/etc/hosts"}`, false, rule("Edit", "")},
		"a command":        {"mode", other, "Bash", `{"command":"make all"}`, true, rule("Bash", "make all")},
		"a page":           {"mode", other, "WebFetch", `{"url":"https://u:p@example.com:8443/a?b=c"}`, false, rule("WebFetch", "domain:example.com")},
		"no page":          {"mode", other, "WebFetch", `{"url":"::"}`, false, rule("WebFetch", "")},
		"a tool's own url": {"mode", other, "mcp__x__get", `{"url":"https://example.com"}`, false, rule("mcp__x__get", "")},
		"broken input":     {"mode", other, "Bash", `{"command":`, true, rule("Bash", "")},
		"no text":          {"mode", other, "Bash", `{"command":["make"]}`, true, rule("Bash", "")},
	} {
		got := Ruling{By: test.by}.Suggestions(test.tool, agent.ToolCall{Name: test.call, Input: []byte(test.input)}, test.inside)
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// TestAcceptedSuggestion: who accepts a suggestion is asked about other calls, but not about the
// same one again.
func TestAcceptedSuggestion(t *testing.T) {
	for _, test := range []struct {
		tool          *Tool
		name          string
		input, other  string
		inside        bool
		stillAsksElse bool
	}{
		{&Tool{}, "Bash", `{"command":"go test ./..."}`, `{"command":"go run ."}`, true, true},
		{&Tool{}, "WebFetch", `{"url":"https://example.com/a"}`, `{"url":"https://example.org/a"}`, false, true},
		{&Tool{}, "mcp__x__get", `{"url":"https://example.com"}`, `{}`, false, false},
		{&Tool{Spec: agent.Spec{Edits: true}}, "Edit", `{"file_path":"a"}`, `{"file_path":"b"}`, true, false},
	} {
		rights := NewRights(Policy{}, nil)
		decide := func(input string) Ruling {
			return rights.Now().Decide(Call{Spec: test.tool.Spec, Inside: test.inside,
				Rules: rules.Call{Tool: test.name, Input: []byte(input)}})
		}
		asked := decide(test.input)
		for _, u := range asked.Suggestions(test.tool, agent.ToolCall{Name: test.name, Input: []byte(test.input)}, test.inside) {
			if _, err := rights.Change(u); err != nil {
				t.Fatal(err)
			}
		}
		if again := decide(test.input); asked.Behavior != Ask || again.Behavior != Allow {
			t.Errorf("%s: %+v at first, then %+v", test.name, asked, again)
		}
		if other := decide(test.other); (other.Behavior == Ask) != test.stillAsksElse {
			t.Errorf("%s of %s: %+v", test.name, test.other, other)
		}
	}
}

// TestSaidBy: a block denies, and whatever is no decision about a call leaves it to the rules.
func TestSaidBy(t *testing.T) {
	for _, test := range []struct {
		hook hooks.Outcome
		want Behavior
	}{
		{hooks.Outcome{}, ""},
		{hooks.Outcome{Permission: hooks.Permission{Decision: "allow"}}, Allow},
		{hooks.Outcome{Permission: hooks.Permission{Decision: "ask"}}, Ask},
		{hooks.Outcome{Permission: hooks.Permission{Decision: "deny"}}, Deny},
		{hooks.Outcome{Permission: hooks.Permission{Decision: "defer"}}, ""},
		{hooks.Outcome{Permission: hooks.Permission{Decision: "later"}}, ""},
		{hooks.Outcome{Decision: hooks.Block}, Deny},
		{hooks.Outcome{Decision: hooks.Block, Permission: hooks.Permission{Decision: "allow"}}, Deny},
	} {
		if got := SaidBy(test.hook); got != test.want {
			t.Errorf("%+v: %q, want %q", test.hook, got, test.want)
		}
	}
}

// TestDenialNamesTheWayOut: the advice names the member and the tool, and a rule counts more than
// the plan, because leaving plan mode would not help.
func TestDenialNamesTheWayOut(t *testing.T) {
	call := agent.ToolCall{Name: "mcp__db__query", Input: []byte(`{"q":"\u001b[2J"}`)}
	text := Policy{Mode: ModeNoAsk}.Denial("ben", Ruling{By: "mode"}, call, hooks.Outcome{})
	for _, part := range []string{"ben", "mcp__db__query", "permissions.allow", "permission_mode", "your lead"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q lacks %s", text, part)
		}
	}
	text = Policy{Mode: ModeNoAsk, ByFlags: true}.Denial("ben", Ruling{By: "mode"}, call, hooks.Outcome{})
	if !strings.Contains(text, "with covey run --allow RULE, where RULE is one for mcp__db__query") || strings.Contains(text, "spec") {
		t.Errorf("to a team whose spec covey run writes it says %q", text)
	}
	text = Policy{Mode: ModePlan, Deny: []rules.Rule{}}.Denial("ben", Ruling{By: "rule"}, call, hooks.Outcome{})
	if text != "Permission to use mcp__db__query has been denied." {
		t.Errorf("in plan mode a rule says %q", text)
	}
	silent := hooks.Outcome{Feedback: []string{"first"}, Permission: hooks.Permission{Reason: "second"}}
	if text := (Policy{}).Denial("ben", Ruling{By: "hook"}, call, silent); text != "first" {
		t.Errorf("a hook with feedback and a reason says %q", text)
	}
}
