package teammate

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/workspace"
)

// requested is what a PermissionRequest hook decided.
func requested(behavior, message, more string) hooks.Outcome {
	return hooks.Outcome{
		Permission: hooks.Permission{Decision: behavior, Reason: message},
		Output:     map[string]json.RawMessage{"decision": json.RawMessage(`{"behavior":"` + behavior + `"` + more + `}`)},
	}
}

// asksBash is a member that calls Bash in mode default, where somebody would
// have to be asked, as often as it is given commands.
func asksBash(t *testing.T, pr hooks.Outcome, commands ...string) *rig {
	t.Helper()
	var script []say
	for i, command := range commands {
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		script = append(script, say{calls: []agent.ToolCall{callTool("c"+string(rune('1'+i)), "Bash",
			string(input))}})
	}
	r := newRig(t, append(script, say{text: "end"})...)
	r.opts.Rights = permission.NewRights(permission.Policy{Mode: permission.ModeDefault}, nil)
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.PermissionRequest: {pr, pass}})
	return r
}

// A yes that changes what the session may do spares the next question.
func TestPermissionRequestChangesTheSession(t *testing.T) {
	rule := `"rules":[{"toolName":"Bash","ruleContent":"echo *"}],`
	for name, c := range map[string]struct {
		updates string
		asked   int
		warning string
	}{
		"nothing":       {``, 2, ""},
		"a rule":        {`,"updatedPermissions":[{"type":"addRules",` + rule + `"behavior":"allow","destination":"session"}]`, 1, ""},
		"a rule to ask": {`,"updatedPermissions":[{"type":"addRules",` + rule + `"behavior":"ask","destination":"session"}]`, 2, ""},
		"a mode":        {`,"updatedPermissions":[{"type":"setMode","mode":"bypassPermissions","destination":"session"}]`, 1, ""},
		"a file": {
			`,"updatedPermissions":[{"type":"replaceRules",` + rule + `"behavior":"allow","destination":"localSettings"}]`, 1,
			"it applies only to this session",
		},
		"a wrong mode": {`,"updatedPermissions":[{"type":"setMode","mode":"yolo","destination":"session"}]`,
			2, "yolo"},
		"nonsense": {`,"updatedPermissions":[{"type":"makeTea","destination":"session"}]`, 2, "makeTea"},
		"no list":  {`,"updatedPermissions":7`, 2, "was ignored"},
	} {
		t.Run(name, func(t *testing.T) {
			r := asksBash(t, requested("allow", "", c.updates), "echo 1", "echo 2")
			r.mustRun(t)
			equal(t, "asked", len(r.runner.of(hooks.PermissionRequest)), c.asked)
			equal(t, "first", r.agent.seen[1], "result: ran")
			var warnings []string
			for _, w := range all[events.Warning](r.journal) {
				warnings = append(warnings, w.Text)
			}
			if got := strings.Join(warnings, "\n"); !strings.Contains(got, c.warning) || c.warning == "" &&
				got != "" {
				t.Errorf("warnings %q, want %q", got, c.warning)
			}
		})
	}
}

// TestPermissionRequestAgainstPolicy: a yes of a hook is no person's to a rule that a policy has, and lifts neither
// such rules nor the modes that the policy leaves.
func TestPermissionRequestAgainstPolicy(t *testing.T) {
	lift := `,"updatedPermissions":[{"type":"removeRules","rules":[{"toolName":"Bash","ruleContent":"echo *"}],"behavior":"ask","destination":"session"},` +
		`{"type":"replaceRules","rules":[],"behavior":"deny","destination":"session"},` +
		`{"type":"setMode","mode":"bypassPermissions","destination":"session"}]`
	yes := requested("allow", "", lift)
	yes.UpdatedInput = json.RawMessage(`{"command":"true"}`)
	r := asksBash(t, yes, "echo 1", "rm x", "ls")
	held := ruleList(t, "Bash(echo *)", "Bash(rm *)")
	r.opts.Rights = permission.NewRights(permission.Policy{
		Ask: append(ruleList(t, "Bash(echo 1)"), held[0]), Deny: held[1:], Held: held, Modes: []string{permission.ModeDefault},
	}, nil)
	person := &asker{yes: true, by: "person"}
	r.opts.Asker = person
	r.mustRun(t)
	equal(t, "asked", len(person.asked), 2)
	equal(t, "input", string(r.runner.of(hooks.PostToolUse)[0].Payload.(hooks.PostToolUseInput).ToolInput), `{"command":"echo 1"}`)
	now := r.opts.Rights.Now()
	equal(t, "mode", now.EffectiveMode(), permission.ModeDefault)
	equal(t, "rules", len(now.Ask)+len(now.Deny), 3)
	var who []string
	for _, d := range all[events.PermissionDecided](r.journal) {
		who = append(who, d.By)
	}
	equal(t, "decided", strings.Join(who, " "), "person rule person")
}

// A no tells the model why, and may end the turn at once.
func TestPermissionRequestDenies(t *testing.T) {
	for more, end := range map[string]string{``: events.EndCompleted, `,"interrupt":true`: events.EndAbortedTools} {
		r := asksBash(t, requested("deny", "pr says no", more), "echo 1")
		r.mustRun(t)
		equal(t, "model", r.agent.seen[1], "error: pr says no")
		equal(t, "end", one[events.TurnEnded](t, r.journal).Reason, end)
		equal(t, "decided", one[events.PermissionDecided](t, r.journal).By, "hook")
	}
}

// An input that a yes brings along is held against the deny rules, and against
// the tool's schema.
func TestPermissionRequestInput(t *testing.T) {
	for input, want := range map[string]string{
		`{"command":"echo other"}`: "result: ran",
		`{"command":"rm -rf x"}`:   "error: Permission to use Bash with command rm -rf x has been denied. The rule Bash(rm *) forbids this part: rm -rf x",
	} {
		yes := requested("allow", "", "")
		yes.UpdatedInput = json.RawMessage(input)
		r := asksBash(t, yes, "echo 1")
		r.opts.Rights = permission.NewRights(permission.Policy{Mode: permission.ModeDefault, Deny: ruleList(t, "Bash(rm *)")}, nil)
		r.mustRun(t)
		equal(t, "model", r.agent.seen[1], want)
		for _, in := range r.runner.of(hooks.PostToolUse) {
			equal(t, "input", string(in.Payload.(hooks.PostToolUseInput).ToolInput), input)
		}
	}
}

// In plan mode the hooks are heard, but their yes does not end it.
func TestPermissionRequestInPlanMode(t *testing.T) {
	r := asksBash(t, requested("allow", "", ""), "echo 1")
	r.opts.Rights = permission.NewRights(permission.Policy{Mode: permission.ModePlan}, nil)
	r.mustRun(t)
	if !strings.HasPrefix(r.agent.seen[1], "error: Bash was not run: you are in plan mode") {
		t.Error(r.agent.seen[1])
	}
}

// An added folder counts as workspace, the hooks are told of it, and what they
// say is for the model.
func TestDirectoryAdded(t *testing.T) {
	beside := t.TempDir()
	path, err := json.Marshal(filepath.Join(beside, "f"))
	if err != nil {
		t.Fatal(err)
	}
	r := asksBash(t, requested("allow", "",
		`,"updatedPermissions":[{"type":"addDirectories","directories":[`+strings.Replace(string(path), "/f", "", 1)+
			`],"destination":"session"}]`), "echo 1")
	read := callTool("c2", "Read", `{"file_path":`+string(path)+`}`)
	told := make(chan struct{})
	r.agent.script = []say{r.agent.script[0], {do: func(context.Context) { <-told },
		calls: []agent.ToolCall{read}}, {text: "end"}}
	r.opts.Tools = append(r.opts.Tools, fakeTool{spec: agent.Spec{Name: "Read", ReadOnly: true}})
	answer := r.runner.answer
	r.runner.answer = func(ctx context.Context, in hooks.Input) (hooks.Outcome, error) {
		if in.Payload.Event() == hooks.DirectoryAdded {
			defer close(told)
			return hooks.Outcome{SystemMessages: []string{"mind the licences"}}, nil
		}
		return answer(ctx, in)
	}
	r.mustRun(t)
	equal(t, "added", r.runner.of(hooks.DirectoryAdded)[0].Payload.(hooks.DirectoryAddedInput).Directory, beside)
	equal(t, "asked", len(r.runner.of(hooks.PermissionRequest)), 1)
	if !strings.Contains(strings.Join(r.agent.seen, "\n"), "user: mind the licences") {
		t.Errorf("the model saw %q", r.agent.seen)
	}
}

// A model's no is an automatic one, of which hooks are told; they may let the
// agent try again.
func TestPermissionDenied(t *testing.T) {
	for _, kind := range []string{"prompt", "agent", "command"} {
		r := newRig(t, say{calls: []agent.ToolCall{callTool("c1", "Bash", `{"command":"x"}`)}}, say{text: "end"})
		no := refuse("not now")
		no.Results[0].Type = kind
		r.runner.answer = on(map[hooks.Event][]hooks.Outcome{
			hooks.PreToolUse:       {no},
			hooks.PermissionDenied: {{Output: map[string]json.RawMessage{"retry": json.RawMessage(`true`)}}},
		})
		r.mustRun(t)
		denied := r.runner.of(hooks.PermissionDenied)
		if kind == "command" {
			equal(t, "told", len(denied), 0)
			continue
		}
		equal(t, "told", denied[0].Payload.(hooks.PermissionDeniedInput).Reason, "not now")
		equal(t, "model", r.agent.seen[2], "user: "+mayRetry)
	}
}

// Nobody answered in time: automatic, too.
func TestPermissionDeniedByTime(t *testing.T) {
	r := asksBash(t, pass, "echo 1")
	r.opts.Asker = &asker{by: ByTimeLimit}
	r.mustRun(t)
	equal(t, "told", len(r.runner.of(hooks.PermissionDenied)), 1)
}

// The calls of one answer are one batch, whatever became of them, and what its
// hooks say stands below the last result.
func TestPostToolBatch(t *testing.T) {
	r := newRig(t, say{calls: []agent.ToolCall{
		callTool("c1", "Bash", `{"command":"1"}`), callTool("c2", "Nope", `{}`), callTool("c3", "Bash",
			`{"command":"3"}`),
	}}, say{calls: []agent.ToolCall{callTool("c4", "Bash", `{}`)}}, say{text: "end"})
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{
		hooks.PostToolBatch: {{AdditionalContext: []string{"batch ctx"}}, pass},
	})
	r.mustRun(t)
	equal(t, "last", r.agent.seen[3], "result: ran\n\nbatch ctx")
	batches := r.runner.of(hooks.PostToolBatch)
	equal(t, "batches", len(batches), 2)
	var ids []string
	for _, c := range batches[0].Payload.(hooks.PostToolBatchInput).ToolCalls {
		ids = append(ids, c.ToolUseID+" "+string(c.ToolResponse))
	}
	equal(t, "first", ids[0]+ids[2], `c1 "ran"c3 "ran"`)
	equal(t, "mode", batches[0].PermissionMode, permission.ModeBypass)
}

// The instructions of a folder are read when the member first touches a file there, and again when
// a compaction reads such a file again.
func TestNestedInstructions(t *testing.T) {
	r := newRig(t)
	root := r.opts.Workdir.Root()
	if err := os.CopyFS(root, fstest.MapFS{
		"AGENTS.md":          {Data: []byte("at the top, see @sub/AGENTS.md")},
		"sub/AGENTS.md":      {Data: []byte("in sub")},
		"sub/deep/CLAUDE.md": {Data: []byte("deep down")},
		"sub/deep/f":         {Data: []byte("f")},
		"new/AGENTS.md":      {Data: []byte("in new, see @more.md")},
		"new/more.md":        {Data: []byte("more")},
	}); err != nil {
		t.Fatal(err)
	}
	r.opts.Instructions = workspace.ReadInstructions(root, root)
	read := func(id string) say {
		return say{calls: []agent.ToolCall{callTool(id, "Read", `{"file_path":"sub/deep/f"}`)}}
	}
	write := say{calls: []agent.ToolCall{callTool("c3", "Write", `{"file_path":"new/f"}`)}}
	r.agent.script = []say{read("c1"), read("c2"), write, {text: "end"}}
	r.opts.Tools = []agent.Tool{fakeTool{spec: agent.Spec{Name: "Read", ReadOnly: true}}, fakeTool{spec: agent.Spec{Name: "Write"}}}
	m := r.member(t)
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	run := &agentRun{u: &turn{t: m, at: m.hookContext(1, "")}}
	for range 2 { // of the second compaction, the model has none of the first
		reminders := strings.Join(run.Reminders(t.Context(), []string{"sub/deep/f"}), "\n")
		if strings.Count(reminders, "deep down") != 1 || strings.Contains(reminders, "in new") {
			t.Errorf("after a compaction: %s", reminders)
		}
	}
	var loaded []string
	for _, in := range r.runner.of(hooks.InstructionsLoaded) {
		p := in.Payload.(hooks.InstructionsLoadedInput)
		loaded = append(loaded, p.LoadReason+" "+strings.TrimPrefix(p.FilePath, workspace.Real(root)))
	}
	equal(t, "loaded", loaded, []string{
		"session_start /AGENTS.md", "include /sub/AGENTS.md", "nested_traversal /sub/deep/CLAUDE.md",
		"nested_traversal /new/AGENTS.md", "include /new/more.md", "compact /sub/deep/CLAUDE.md", "compact /sub/deep/CLAUDE.md",
	})
	seen := strings.Join(r.agent.seen, "\n")
	if strings.Count(seen, "deep down") != 1 || strings.Contains(seen, "in sub") {
		t.Errorf("the model saw %s", seen)
	}
}
