package orchestrator

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/budget"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/watch"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// TestToolsAndHooksSeeNoSecrets looks at what really arrives.
func TestToolsAndHooksSeeNoSecrets(t *testing.T) {
	r := newRig(t, map[string]string{
		"team.yaml": strings.Replace(soloSpec, "lead: {model: lead}",
			"lead: {model: lead, permission_mode: bypassPermissions}", 1) +
			"hooks: {Stop: [{hooks: [{type: command, command: \"env > hook.env\"}]}]}\n",
		"lead.yaml": `steps:
  - call: [{tool: Bash, input: {command: env}}]
  - say: Looked.
`,
	})
	for _, name := range []string{"ANTHROPIC_API_KEY", "GITHUB_TOKEN", "DATABASE_URL", "LD_PRELOAD", "HF_TOKEN"} {
		t.Setenv(name, "secret-of-"+name)
	}
	t.Setenv("COVEY_PASS_ENV", "HF_TOKEN")
	r.want(r.run(Options{}), CodeDone, "all work is done")
	seen := map[string]string{
		"a tool": of[agent.ToolReturned](r, "tool_result")[0].Content, "a hook": r.read("hook.env"),
	}
	for who, text := range seen {
		if got := strings.Count(text, "secret-of-"); got != 1 || !strings.Contains(text,
			"HF_TOKEN=secret-of-HF_TOKEN") {
			t.Errorf("%s sees %d secrets, want that of HF_TOKEN alone:\n%s", who, got, text)
		}
		for _, name := range []string{"COVEY_TEAM=crew", "COVEY_MEMBER=lead", "COVEY_BIN=", "COVEY_RUN=",
			"COVEY_WORKSPACE=" + r.dir} {
			if !strings.Contains(text, name) {
				t.Errorf("%s does not see %s:\n%s", who, name, text)
			}
		}
	}
}

func TestWatchSeesWhatMembersDo(t *testing.T) {
	var w watch.Watch
	steps := []struct {
		event agent.EventData
		doing string
	}{
		{agent.TurnStarted{}, "starting a turn"},
		{agent.PassStarted{Pass: 1}, "thinking"},
		{agent.TextSaid{Text: "one"}, "thinking"},
		{agent.ToolCalled{Name: "Bash"}, "Bash"},
		{agent.ToolReturned{}, "thinking"},
		// Calls of one pass are announced together and made in order.
		{agent.ToolCalled{ID: "1", Name: "Read"}, "Read"},
		{agent.ToolCalled{ID: "2", Name: "Bash"}, "Read"},
		{agent.ToolReturned{ID: "1"}, "Bash"},
		{agent.HookStarted{Event: string(hooks.PreToolUse)}, "PreToolUse hooks"},
		{agent.HookStarted{Event: string(hooks.PreToolUse)}, "PreToolUse hooks"},
		{agent.HookFinished{}, "PreToolUse hooks"},
		{agent.HookFinished{}, "Bash"},
		{agent.ToolReturned{ID: "2"}, "thinking"},
		{agent.PassStarted{Pass: 2}, "thinking"},
		{agent.TextSaid{Text: "two"}, "thinking"},
		{agent.HookStarted{Event: string(hooks.Stop)}, "Stop hooks"},
		{agent.HookFinished{FailedOpen: true}, "Stop hooks"},
		{agent.HookFeedback{}, "Stop hooks"},
		{agent.TurnEnded{Usage: agent.Usage{InputTokens: 3, OutputTokens: 4}}, ""},
		{agent.TurnEnded{Usage: agent.Usage{InputTokens: 10}, UsageUnknown: true}, ""},
		{agent.TurnEnded{}, ""}, // what is not known stays so
	}
	var tally budget.Tally
	for i, s := range steps {
		w.See("", agent.Event{Turn: 7, Data: s.event})
		tally.See(agent.Event{Turn: 7, Data: s.event})
		now := w.Of("")
		if now.Doing != s.doing {
			t.Errorf("after event %d (%s) it is %q, want %q", i, s.event.EventType(), now.Doing, s.doing)
		}
		if now.InTurn != (s.doing != "") {
			t.Errorf("after event %d (%s): in a turn %v", i, s.event.EventType(), now.InTurn)
		}
	}
	w.See("", agent.Event{Data: agent.Warning{}}) // of no turn
	if now := w.Of(""); now.Turn != 7 || now.Pass != 2 || now.LastText != "two" || now.Refusals != 1 {
		t.Errorf("the watch holds %+v", now)
	}
	if done := tally.Of(""); done.Turns != 1 || done.Passes != 2 || !done.Useful || done.Usage.InputTokens != 13 ||
		done.Usage.OutputTokens != 4 || !done.UsageUnknown {
		t.Errorf("it has done %+v", done)
	}
}

func TestPromptsNameWhatIsMeant(t *testing.T) {
	one, two := listedTask("1", tasks.Pending, "dev"), listedTask("2", tasks.InProgress, "dev", "1")
	one.Description = "in full"
	all := []tasks.Task{one, two}
	wants := map[string][]string{
		byTools.assignmentText(assignmentOf("m", "1"),
			all): {"You own task #1: do 1\nin full", "It is ready: set it to in_progress"},
		byTools.assignmentText(assignmentOf("m", "2"),
			all): {"You own task #2: do 2", "It waits for task 1; you will be told"},
		byTools.assignmentText(mail.Message{Text: "as it was", Kind: mail.TaskAssignment}, all): {"as it was"},
		byTools.claimText(one): {"claimed task #1: do 1\nin full", "set it to completed"},
		byTools.nudgeText(all): {"- #1 do 1 (pending)\n- #2 do 2 (in_progress)\n", "give them back"},
		reportText([]tasks.Task{listedTask("3", tasks.Completed, "ops"), listedTask("4", tasks.Completed, "")}): {
			"- #3 do 3 (by ops)\n- #4 do 4\n", "report to the user"},
		plan.TellText(plan.Move{Reason: "nobody can go on: x"}): {"nobody can go on: x", "otherwise the team ends unfinished"},
	}
	for text, parts := range wants {
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%q lacks %q", text, part)
			}
		}
	}
	for _, bad := range []string{`{"taskId":""}`, `{"taskId":1}`, `nonsense`, ``} {
		if id, ok := tasks.AssignedTask(mail.Message{Kind: mail.TaskAssignment, Data: []byte(bad)}); ok {
			t.Errorf("the assignment %q is of task %q", bad, id)
		}
	}
	if _, ok := tasks.AssignedTask(mail.Message{Kind: mail.Text, Data: []byte(`{"taskId":"1"}`)}); ok {
		t.Error("a text was taken for an assignment")
	}
}
