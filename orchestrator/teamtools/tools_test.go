package teamtools

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// call runs one team tool as a member, with its input repaired as an agent's
// call would be.
func (b *table) call(member, tool, input string) agent.ToolResult {
	b.t.Helper()
	tools := b.tools(BuiltinNames, b.caller(member, func(id string) Actor { return b.as(member, id) }))
	i := slices.IndexFunc(tools, func(t Tool) bool { return t.Spec().Name == tool })
	if i < 0 {
		b.t.Fatalf("there is no tool %s", tool)
	}
	repaired := tools[i].Repair(json.RawMessage(input))
	return tools[i].Run(b.t.Context(), agent.ToolCall{Name: tool, Input: repaired})
}

// tools are those of a caller.
func (b *table) tools(n ToolNames, c Caller) []Tool {
	b.t.Helper()
	tools, err := b.board.Tools(n, c)
	if err != nil {
		b.t.Fatal(err)
	}
	return tools
}

// step is one call of a team tool, and what it must answer.
type step struct {
	tool, input string
	text        string // the whole content
	response    string // the whole structured answer; empty: not looked at
	isError     bool
}

// play makes the calls one after another as dev.
func (b *table) play(steps []step) {
	b.t.Helper()
	for _, s := range steps {
		r := b.call("dev", s.tool, s.input)
		if r.Content != s.text || r.IsError != s.isError {
			b.t.Errorf("%s %s\nsays %q (error %v)\nwant %q (error %v)", s.tool, s.input, r.Content,
				r.IsError, s.text, s.isError)
		}
		if s.response != "" && string(r.Response) != s.response {
			b.t.Errorf("%s %s\nanswers %s\nwant    %s", s.tool, s.input, r.Response, s.response)
		}
	}
}

func TestTaskToolsSay(t *testing.T) {
	newTable(t).play([]step{
		{"TaskList", `{}`, "No tasks found", `{"tasks":[]}`, false},
		{"TaskGet", `{"taskId":"1"}`, "Task not found", `{"task":null}`, false},
		{"TaskCreate", `{"subject":"Add it","description":"GET /x","activeForm":"Adding it","metadata":{"k":[1]}}`,
			"Task #1 created successfully: Add it", `{"task":{"id":"1","subject":"Add it","description":"GET /x"}}`, false},
		{"TaskCreate", `{"subject":"Test it","description":""}`,
			"Task #2 created successfully: Test it", `{"task":{"id":"2","subject":"Test it"}}`, false},
		{"TaskUpdate", `{"taskId":"2","addBlockedBy":["1"]}`, "Updated task #2 blockedBy",
			`{"success":true,"taskId":"2","updatedFields":["blockedBy"]}`, false},
		{"TaskUpdate", `{"taskId":"2","owner":"ops"}`, "Updated task #2 owner",
			`{"success":true,"taskId":"2","updatedFields":["owner"]}`, false},
		{"TaskUpdate", `{"taskId":"1","status":"in_progress"}`, "Updated task #1 owner, status",
			`{"success":true,"taskId":"1","updatedFields":["owner","status"],` +
				`"statusChange":{"from":"pending","to":"in_progress"}}`, false},
		{"TaskList", `{}`, "#1 [in_progress] Add it (dev)\n#2 [pending] Test it (ops) [blocked by #1]",
			`{"tasks":[{"id":"1","subject":"Add it","status":"in_progress","owner":"dev","blockedBy":[]},` +
				`{"id":"2","subject":"Test it","status":"pending","owner":"ops","blockedBy":["1"]}]}`, false},
		{"TaskGet", `{"taskId":"1"}`,
			"Task #1: Add it\nStatus: in_progress\nOwner: dev\nDescription: GET /x\nBlocks: #2",
			`{"task":{"id":"1","subject":"Add it","description":"GET /x","status":"in_progress","owner":"dev",` +
				`"blocks":["2"],"blockedBy":[]}}`, false},
		{"TaskGet", `{"taskId":"2"}`,
			"Task #2: Test it\nStatus: pending\nOwner: ops\nDescription: \nBlocked by: #1", "", false},
		{"TaskUpdate", `{"taskId":"1","status":"completed"}`,
			"Updated task #1 status\n\nTask completed. Call TaskList now to find your next available task" +
				" or see if your work unblocked others.",
			`{"success":true,"taskId":"1","updatedFields":["status"],` +
				`"statusChange":{"from":"in_progress","to":"completed"}}`, false},
		{"TaskList", `{}`, "#1 [completed] Add it (dev)\n#2 [pending] Test it (ops)", "", false},
		{"TaskUpdate", `{"taskId":"1","status":"completed"}`, "Updated task #1 ",
			`{"success":true,"taskId":"1","updatedFields":[]}`, false},
		{"TaskUpdate", `{"taskId":"2","subject":"Try it","owner":""}`, "Updated task #2 subject, owner", "", false},
		{"TaskUpdate", `{"taskId":"2","status":"deleted"}`, "Updated task #2 deleted",
			`{"success":true,"taskId":"2","updatedFields":["deleted"],"statusChange":{"from":"pending","to":"deleted"}}`, false},
		{"TaskGet", `{"taskId":"2"}`, "Task not found", "", false},
		{"TaskUpdate", `{"taskId":"2","status":"deleted"}`, "Task not found",
			`{"success":false,"taskId":"2","updatedFields":[],"error":"task 2 not found"}`, false},
	})
}

func TestInputsAreRepaired(t *testing.T) {
	newTable(t).play([]step{
		{"TaskCreate", `{"subject":"Add it","description":"d","active_form":"Adding it"}`,
			"Task #1 created successfully: Add it", "", false},
		{"TaskUpdate", `{"id":"1","owner":"main"}`, "Updated task #1 owner", "", false},
		{"TaskUpdate", `{"task_id":"1","owner":"dev"}`, "Updated task #1 owner", "", false},
		{"TaskUpdate", `{"taskId":"1","id":"9","owner":"ops"}`, "Updated task #1 owner", "", false},
		{"TaskGet", `{"id":"1"}`, "Task #1: Add it\nStatus: pending\nOwner: ops\nDescription: d", "", false},
	})
	b := newTable(t)
	b.add(tasks.New{Subject: "one"})
	for input, want := range map[string]string{
		`{"taskId":"1","status":"done"}`:      `status "done" is none of pending, in_progress, completed, deleted`,
		`{"taskId":1}`:                        "input of TaskUpdate",
		`[]`:                                  "input of TaskUpdate",
		`nonsense`:                            "input of TaskUpdate",
		`{"taskId":"1","owner":"ghost"}`:      `no member is called "ghost"`,
		`{"taskId":"1","addBlockedBy":["1"]}`: "1",
	} {
		if r := b.call("dev", "TaskUpdate", input); !r.IsError || !strings.Contains(r.Content, want) {
			t.Errorf("TaskUpdate %s says %q (error %v), want an error with %q", input, r.Content, r.IsError, want)
		}
	}
	b.want("1", tasks.Pending, "")
}

func TestRefusalsReadAsFeedback(t *testing.T) {
	b := newTable(t)
	b.add(tasks.New{Subject: "one", Owner: "dev"})
	b.hook = blocking("TaskCompleted hook feedback:\n- run the tests")
	b.play([]step{
		{"TaskUpdate", `{"taskId":"1","status":"completed"}`, "TaskCompleted hook feedback:\n- run the tests",
			`{"success":false,"taskId":"1","updatedFields":[],"error":"TaskCompleted hook feedback:\n- run the tests"}`, false},
		{"TaskCreate", `{"subject":"x","description":"d"}`, "TaskCompleted hook feedback:\n- run the tests",
			"", true},
		{"TaskCreate", `{"subject":" ","description":"d"}`, b.call("dev", "TaskCreate",
			`{"subject":"","description":"d"}`).Content, "", true},
	})
	b.want("1", tasks.Pending, "dev")
}

func TestListMembers(t *testing.T) {
	newTable(t).play([]step{{"ListMembers", `{}`, "lead (lead): working\ndev (you): idle - owns the service\nops: idle",
		`{"members":[{"name":"lead","lead":true,"agent":"builtin/script","state":"working"},` +
			`{"name":"dev","lead":false,"agent":"builtin/script","description":"owns the service","state":"idle"},` +
			`{"name":"ops","lead":false,"agent":"builtin/script","state":"idle"}]}`, false}})
}

// TestRepeatedCallsHappenOnce: a call that a crash cut off behind its effect
// is answered like the first time.
func TestRepeatedCallsHappenOnce(t *testing.T) {
	b := newTable(t)
	b.add(tasks.New{Subject: "one"})
	me := b.as("dev", "call-7")
	tools := b.tools(BuiltinNames, b.caller("dev", func(string) Actor { return me }))
	for name, input := range map[string]string{
		"TaskCreate":  `{"subject":"two","description":"d"}`,
		"SendMessage": `{"to":"lead","message":"hi"}`,
		"TaskUpdate":  `{"taskId":"1","status":"deleted"}`,
	} {
		i := slices.IndexFunc(tools, func(t Tool) bool { return t.Spec().Name == name })
		call := agent.ToolCall{ID: "call-7", Name: name, Input: json.RawMessage(input)}
		first, second := tools[i].Run(t.Context(), call), tools[i].Run(t.Context(), call)
		if first.IsError || second.IsError {
			t.Errorf("%s: %+v, then %+v", name, first, second)
		}
		if first.Content != second.Content {
			t.Errorf("%s answers %q, then %q", name, first.Content, second.Content)
		}
	}
	all, err := b.board.deps.Store.List(t.Context())
	mail, err2 := b.board.deps.Store.Mail().Unread(t.Context(), "lead")
	if err != nil || err2 != nil || len(all) != 1 || len(mail) != 1 {
		t.Errorf("%d tasks and %d messages, %v, %v; each call happens once", len(all), len(mail), err, err2)
	}
}
