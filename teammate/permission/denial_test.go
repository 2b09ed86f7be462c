package permission

import (
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/workspace"
)

// TestDenial: what a model reads comes from what denied the call.
func TestDenial(t *testing.T) {
	call := agent.ToolCall{Name: "Bash", Input: []byte(`{"command":"make"}`)}
	said := hooks.Outcome{Permission: hooks.Permission{Reason: "not now"}}
	for name, test := range map[string]struct {
		mode string
		r    Ruling
		says hooks.Outcome
		want string
	}{
		"a hook's feedback": {r: Ruling{By: "hook"}, says: hooks.Outcome{Feedback: []string{"a", "b"}}, want: "a\nb"},
		"a hook's reason":   {r: Ruling{By: "hook"}, says: said, want: "PreToolUse:Bash hook error: not now"},
		"a silent hook":     {r: Ruling{By: "hook"}, want: "PreToolUse:Bash hook error: Blocked by hook"},
		"a rule":            {r: Ruling{By: "rule"}, want: "Permission to use Bash with command make has been denied."},
		"the plan": {mode: ModePlan, r: Ruling{By: "mode"}, want: "Bash was not run: you are in plan mode, " +
			"where only tools that change nothing run. Go on planning without it."},
		"the mode": {mode: ModeNoAsk, r: Ruling{By: "mode"}, want: "Permission to use Bash was not given, " +
			"because permission mode dontAsk asks nobody. " + (Policy{}).Advice("ana", call)},
	} {
		if got := (Policy{Mode: test.mode}).Denial("ana", test.r, call, test.says); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestWritable: a refusal that nobody can override counts before one that a person can.
func TestWritable(t *testing.T) {
	dir := workspace.Real(t.TempDir())
	files := map[string]bool{dir + "/asks": true, dir + "/never": false}
	w := Writable(func(path string) Refusal {
		ask, refused := files[path]
		if !refused {
			return Refusal{}
		}
		return Refusal{Text: path, Ask: ask}
	})
	edit := &Tool{Spec: agent.Spec{Name: "Edit", Edits: true}}
	for _, test := range []struct {
		w     Writable
		tl    *Tool
		input string
		want  string
		ask   bool
	}{
		{w, edit, `{"file_path":"asks"}`, dir + "/asks", true},
		{w, edit, `{"file_path":"asks","path":"never"}`, dir + "/never", false},
		{w, edit, `{"file_path":"free"}`, "", false},
		{w, &Tool{Spec: agent.Spec{Name: "Read"}}, `{"file_path":"never"}`, "", false},
		{nil, edit, `{"file_path":"never"}`, "", false},
	} {
		if got := test.w.Refusal(test.tl, agent.ToolCall{Input: []byte(test.input)}, dir); got.Text != test.want || got.Ask != test.ask {
			t.Errorf("%s of %s: %+v", test.tl.Spec.Name, test.input, got)
		}
	}
}

// TestOutside: outside of a member's working copy nothing counts that allows all files.
func TestOutside(t *testing.T) {
	outside, owns := Refusal{Text: "no", Outside: true}, Refusal{Text: "no"}
	for name, test := range map[string]struct {
		r              Refusal
		by             Ruling
		person, inside bool
		want           bool
	}{
		"bypassPermissions":    {r: outside, by: Ruling{By: "mode"}, want: true},
		"a hook":               {r: outside, by: Ruling{By: "hook"}, want: true},
		"a rule for all files": {r: outside, by: Ruling{By: "rule", Rule: "Write"}, want: true},
		"a rule for these":     {r: outside, by: Ruling{By: "rule", Rule: "Edit(//srv/**)"}},
		"a person":             {r: outside, by: Ruling{By: "mode"}, person: true},
		"an added folder":      {r: outside, by: Ruling{By: "mode"}, inside: true},
		"not one's own":        {r: owns, by: Ruling{By: "rule", Rule: "Edit(//srv/**)"}, person: true, inside: true, want: true},
		"a question":           {r: Refusal{Text: "no", Ask: true}, by: Ruling{By: "mode"}},
		"nothing forbids it":   {by: Ruling{By: "mode"}},
	} {
		if got := test.r.Holds(test.by, test.person, test.inside); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
