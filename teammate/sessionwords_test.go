package teammate

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/workspace"
)

// output is an outcome with one output field.
func output(field, value string) hooks.Outcome {
	return hooks.Outcome{Output: map[string]json.RawMessage{field: json.RawMessage(value)}}
}

// golden: user_prompt_expansion. What a person typed is a command's name, and
// its prompt is what the model gets.
func TestPromptExpansion(t *testing.T) {
	for name, c := range map[string]struct {
		typed, file string
		answer      hooks.Outcome
		want        []string
	}{
		"expanded": {"/mycmd foo", "---\na: b\n---\nSCRIPT:a expanded $ARGUMENTS\n", pass, []string{
			"user: <command-message>mycmd</command-message>\n<command-name>/mycmd</command-name>\n<command-args>foo</command-args>",
			"user: SCRIPT:a expanded foo",
		}},
		"words":      {"/mycmd a b", "$2 before $1$3", pass, []string{"user: b before a"}},
		"new line":   {"/mycmd\nthe test\nof it\n", "Fix $ARGUMENTS", pass, []string{"user: Fix the test\nof it"}},
		"no place":   {"/mycmd a", "Do it.", pass, []string{"user: Do it.\n\nARGUMENTS: a"}},
		"no command": {"/usr/bin is broken", "x", pass, []string{"user: /usr/bin is broken"}},
		"refused":    {"/mycmd", "x", hooks.Outcome{Decision: hooks.Block}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			root := r.opts.Workdir.Root()
			put(t, filepath.Join(root, ".claude", "commands", "mycmd.md"), c.file)
			r.opts.Commands = func(name string) (workspace.PromptCommand, bool) { return workspace.FindCommand(root, name) }
			r.inbox.work = []Work{{Cause: events.ByGoal, Inputs: []agent.Input{person(c.typed, "goal")}}}
			r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.UserPromptExpansion: {c.answer}})
			r.mustRun(t)
			seen := strings.Join(r.agent.seen, "\n--\n")
			for _, want := range c.want {
				if !strings.Contains(seen, want) {
					t.Errorf("the model saw %q, want %q", seen, want)
				}
			}
			if c.want == nil && seen != "" {
				t.Errorf("the model saw %q", seen)
			}
		})
	}
}

// UserPromptSubmit hooks are asked about the notice of a helper in the background as about
// a prompt, and about no other notice. It names no command.
func TestHelperNoticeIsSubmitted(t *testing.T) {
	const notice = "/mycmd <task-notification>"
	for name, c := range map[string]struct {
		answer hooks.Outcome
		seen   []string
		ends   string
	}{
		"passes": {pass, []string{"user: a notice", "user: " + notice, "assistant: end 2"}, events.EndCompleted},
		"refused": {hooks.Outcome{Decision: hooks.Block}, []string{"user: a notice", "assistant: end 1"},
			events.EndCompleted},
		"halts": {haltFor("not now"), nil, events.EndHookStopped},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.opts.Commands = func(string) (workspace.PromptCommand, bool) { return workspace.PromptCommand{Text: "expanded"}, true }
			r.inbox.work = []Work{{Cause: events.ByMessage, Inputs: []agent.Input{
				{Kind: agent.FromCovey, Text: "a notice", MessageID: "n1"}, {Kind: agent.FromHelper,
					Text: notice, MessageID: "n2"},
			}}}
			r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.UserPromptSubmit: {c.answer}})
			r.mustRun(t)
			equal(t, "model", r.agent.seen, c.seen)
			equal(t, "reason", one[events.TurnEnded](t, r.journal).Reason, c.ends)
			submitted := r.runner.of(hooks.UserPromptSubmit)
			equal(t, "times", len(submitted), 1)
			equal(t, "prompt", submitted[0].Payload.(hooks.UserPromptSubmitInput).Prompt, notice)
			slices.Sort(r.inbox.taken)
			equal(t, "taken", r.inbox.taken, []string{"n1", "n2"})
		})
	}
}

// What SessionStart hooks say of the session: its title, and a first turn.
func TestSessionWords(t *testing.T) {
	r := newRig(t)
	r.opts.Lead = true
	r.inbox.work = []Work{{Cause: events.ByGoal, Inputs: []agent.Input{person("the goal", "g")}}}
	start := output("sessionTitle", `"The title"`)
	start.Output["initialUserMessage"] = json.RawMessage(`"first of all"`)
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.SessionStart: {start}})
	r.mustRun(t)
	equal(t, "model", r.agent.seen[0]+" "+r.agent.seen[2], "user: first of all user: the goal")
	for _, in := range r.runner.of(hooks.UserPromptSubmit) {
		equal(t, "title", in.Payload.(hooks.UserPromptSubmitInput).SessionTitle, "The title")
	}
}

// A refused prompt is not repeated to people if the hook says so.
func TestSuppressOriginalPrompt(t *testing.T) {
	for value, shown := range map[string]bool{`true`: false, `false`: true} {
		r := newRig(t)
		r.inbox.work = []Work{{Cause: events.ByGoal, Inputs: []agent.Input{person("my password", "g")}}}
		no := output("suppressOriginalPrompt", value)
		no.Decision = hooks.Block
		r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.UserPromptSubmit: {no}})
		r.mustRun(t)
		equal(t, "shown", strings.Contains(one[events.Warning](t, r.journal).Text, "my password"), shown)
	}
}

// rendered shows a response as it is.
type rendered struct{ fakeTool }

func (rendered) Render(response json.RawMessage) (agent.ToolResult, error) {
	return agent.ToolResult{Content: string(response)}, nil
}

// golden: post_updated_mcp. Only tools of MCP servers heed it.
func TestUpdatedMCPToolOutput(t *testing.T) {
	for tool, want := range map[string]string{"mcp__rig__ask": `result: [{"type":"text","text":"MCPCHANGED"}]`, "Other": "result: ran"} {
		server := strings.TrimSuffix(strings.TrimPrefix(tool, "mcp__"), "__ask")
		if tool == "Other" {
			server = ""
		}
		r := newRig(t, say{calls: []agent.ToolCall{callTool("c1", tool, `{}`)}})
		r.opts.Tools = []agent.Tool{rendered{fakeTool{spec: agent.Spec{Name: tool, Server: server}}}}
		r.runner.answer = on(map[hooks.Event][]hooks.Outcome{
			hooks.PostToolUse: {output("updatedMCPToolOutput", `[{"type":"text","text":"MCPCHANGED"}]`)},
		})
		r.mustRun(t)
		equal(t, tool, r.agent.seen[1], want)
	}
}
