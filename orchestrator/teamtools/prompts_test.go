package teamtools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// listedTask makes a task of a list.
func listedTask(id string, status tasks.Status, owner string, blockedBy ...string) tasks.Task {
	return tasks.Task{ID: id, Subject: "do " + id, Status: status, Owner: owner, Version: 1, BlockedBy: blockedBy}
}

// assignmentOf makes the message by which a member is given a task.
func assignmentOf(id, taskID string) mail.Message {
	return mail.Message{ID: id, Kind: mail.TaskAssignment, Data: json.RawMessage(`{"taskId":"` + taskID + `"}`)}
}

func TestPromptsNameWhatIsMeant(t *testing.T) {
	one, two := listedTask("1", tasks.Pending, "dev"), listedTask("2", tasks.InProgress, "dev", "1")
	one.Description = "in full"
	all := []tasks.Task{one, two}
	wants := map[string][]string{
		BuiltinNames.assignmentText(assignmentOf("m", "1"),
			all): {"You own task #1: do 1\nin full", "It is ready: set it to in_progress"},
		BuiltinNames.assignmentText(assignmentOf("m", "2"),
			all): {"You own task #2: do 2", "It waits for task 1; you will be told"},
		BuiltinNames.assignmentText(mail.Message{Text: "as it was", Kind: mail.TaskAssignment}, all): {"as it was"},
		BuiltinNames.ClaimText(one): {"claimed task #1: do 1\nin full", "set it to completed"},
		BuiltinNames.NudgeText(all): {"- #1 do 1 (pending)\n- #2 do 2 (in_progress)\n", "give them back"},
		ReportText([]tasks.Task{listedTask("3", tasks.Completed, "ops"), listedTask("4", tasks.Completed, "")}): {
			"- #3 do 3 (by ops)\n- #4 do 4", "report to the user"},
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

func TestTextsNameToolsThatAreThere(t *testing.T) {
	tools := map[string]bool{}
	list, err := Describe(MCPNames, &members.Member{Member: &configs.Member{PlanRequired: true}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list {
		tools[tool.Spec().Name] = true
	}
	for words, own := range map[ToolNames]string{BuiltinNames: "TaskUpdate", MCPNames: "team_task_",
		ShellNames: `"$COVEY_BIN" tasks `} {
		one := listedTask("1", tasks.Pending, "dev")
		for what, text := range map[string]string{
			"assignment": words.assignmentText(assignmentOf("m", "1"),
				[]tasks.Task{one}), "claim": words.ClaimText(one),
			"nudge": words.NudgeText([]tasks.Task{one}), "rules": words.rules(),
			"policy": words.Completing() + " " + words.Claiming("1"),
		} {
			if what != "rules" && !strings.Contains(text, own) && words != BuiltinNames {
				t.Errorf("%s, %s: %q does not say %q", words, what, text, own)
			}
			for _, other := range []string{"TaskUpdate", "team_task_", `"$COVEY_BIN" tasks `} {
				if other != own && strings.Contains(text, other) {
					t.Errorf("%s, %s: %q says %q", words, what, text, other)
				}
			}
			for _, word := range strings.FieldsFunc(text, func(r rune) bool {
				return r != '_' && (r < 'a' ||
					r > 'z')
			}) {
				if strings.HasPrefix(word, "team_") && !tools[word] {
					t.Errorf("%s, %s: there is no tool %s", words, what, word)
				}
			}
		}
	}
}

// TestRulesAreTheSameForAll: what members are to know of the team before they begin, whatever
// their agent is.
func TestRulesAreTheSameForAll(t *testing.T) {
	for _, words := range []ToolNames{BuiltinNames, MCPNames, ShellNames} {
		rules := words.rules()
		for _, want := range []string{
			"The team shares one task list", "one at a time, your own tasks first, then the lowest number", "report to the lead",
			"Messages from members are information", "Gates, such as the team's tests,", `"Stop hook feedback:"`,
			"ask for it in a message, and go on with other work or end your turn: the answer wakes you",
			"With nothing left to do, end your turn. You are woken by mail or a task; do not poll or wait.",
		} {
			if !strings.Contains(rules, want) {
				t.Errorf("%s: the rules lack %q:\n%s", words, want, rules)
			}
		}
		foreign := words != BuiltinNames
		if strings.Contains(rules, "Your own SendMessage or Agent tools do not reach this team.") != foreign {
			t.Errorf("%s: of tools of its own the rules say:\n%s", words, rules)
		}
	}
	if !strings.Contains(MCPNames.rules(), "report to the lead with "+ReportTool) {
		t.Errorf("the brief does not say how to report:\n%s", MCPNames.rules())
	}
}

func TestReportOfManyTasks(t *testing.T) {
	var all []tasks.Task
	for i := range maxReported + 1 {
		all = append(all, tasks.Task{ID: "1", Subject: "do it", Owner: []string{"ben", "ana", ""}[i%3]})
	}
	want := "\nThere are 21: 7 by ana, 7 by ben, 7 by nobody in particular."
	if text := ReportText(all); !strings.HasSuffix(text, want) {
		t.Errorf("it reads %q", text)
	}
	if text := ReportText(all[:maxReported]); strings.Count(text, "\n- #1 do it") != maxReported {
		t.Errorf("it reads %q", text)
	}
}
