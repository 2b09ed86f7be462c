package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coveyteam/covey/orchestrator/crew"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

func TestTeamToolsOverHTTP(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, mcpFiles("tasks: [{id: a, subject: One, description: the first}]\n"))
	dev, docs := r.connect("dev"), r.connect("docs")
	dev.Use(teamtools.ListTool, `{}`).Want(t, false, "1", "pending", "One")
	dev.Use(teamtools.CreateTool, `{"subject":"Two","description":"the second"}`).Want(t, false, "2", "Two")
	dev.Use(teamtools.UpdateTool, `{"task_id":"2","addBlockedBy":["1"]}`).Want(t, false, "2", "blockedBy")
	docs.Use(teamtools.GetTool, `{"taskId":"2"}`).Want(t, false, "2", "Two", "the second", "pending", "1")
	docs.Use(teamtools.GetTool, `{"taskId":"9"}`)
	dev.Use(teamtools.ClaimTool, `{"taskId":"1"}`).Want(t, false, "1", "One", "the first", "in_progress")
	dev.Use(teamtools.ClaimTool, `{"taskId":"1"}`).Want(t, false, "in_progress")
	docs.Use(teamtools.ClaimTool, `{"taskId":"1"}`).Want(t, true, "dev")
	docs.Use(teamtools.ClaimTool, `{"taskId":"2"}`).Want(t, true)
	dev.Use(teamtools.UpdateTool, `{"taskId":"1","status":"completed"}`).Want(t, false, "1", "completed", "in_progress")
	dev.Use(teamtools.UpdateTool, `{"taskId":"1","status":"finished"}`).Want(t, true, "finished")
	dev.Use(teamtools.UpdateTool, `{"taskId":1}`).Want(t, true, "taskId")
	dev.Use(teamtools.SendTool, `{"to":"docs","message":"hello","summary":"hi"}`).Want(t, false, "docs")
	dev.Use(teamtools.SendTool, `{"to":"nobody","message":"hello"}`).Want(t, true, "nobody")
	dev.Use(teamtools.SendTool, `{"recipient":"dev","content":"hello"}`).Want(t, true, "dev")
	dev.Use(teamtools.MembersTool, `{}`).Want(t, false, "lead", "dev", "docs", "writes", "starting", "builtin/script")
	r.lines.Wait(t, "dev's message", func(l events.Line) bool {
		return l.Type == "message" && strings.Contains(string(l.Data), `"from":"dev","to":"docs"`)
	})
	r.lines.Wait(t, "what dev did with task 1", func(l events.Line) bool {
		return l.Type == "task" && strings.Contains(string(l.Data), `"by":"dev"`) &&
			strings.Contains(string(l.Data), "completed")
	})
}

// A report is a message to the lead, and what the report-sent policy wants.
func TestReportIsForTheLead(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, mcpFiles("tasks: [{id: a, subject: One}]\n"))
	dev := r.connect("dev")
	dev.Use(teamtools.UpdateTool, `{"taskId":"1","status":"in_progress"}`)
	dev.Use(teamtools.UpdateTool, `{"taskId":"1","status":"completed"}`)
	unreported := func() int {
		return len(r.team.State.Unreported("dev"))
	}
	r.lines.Wait(t, "the completion", func(l events.Line) bool {
		return l.Type == "task" && strings.Contains(string(l.Data), `"op":"completed"`)
	})
	if n := unreported(); n != 1 {
		t.Fatalf("%d completed tasks are to be reported, want 1", n)
	}
	dev.Use(teamtools.ReportTool, `{"report":"One is done."}`).Want(t, false, "lead")
	line := r.lines.Wait(t, "the report", func(l events.Line) bool {
		return l.Type == "message" && strings.Contains(string(l.Data), "One is done")
	})
	var m mail.Message
	if err := json.Unmarshal(line.Data, &m); err != nil || m.From != "dev" || m.To != "lead" ||
		m.Kind != mail.Text || m.Summary != "report" {
		t.Errorf("the report is %+v, %v", m, err)
	}
	if n := unreported(); n != 0 {
		t.Errorf("%d completed tasks are still to be reported", n)
	}
	r.connect("lead").Use(teamtools.ReportTool, `{"report":"Well."}`).Want(t, true, "you are the lead")
}

// Every tool says what it and its arguments are for, and is there from the
// beginning of a session.
func TestToolsDescribeThemselves(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, mcpFiles(""))
	list, err := r.connect("dev").ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, tool := range list.Tools {
		names[tool.Name] = true
		if tool.Meta["anthropic/alwaysLoad"] != true || tool.Description == "" {
			t.Errorf("%s: meta %v, description %q", tool.Name, tool.Meta, tool.Description)
		}
		schema := tool.InputSchema.(map[string]any)
		properties, _ := schema["properties"].(map[string]any)
		for field, p := range properties {
			p := p.(map[string]any)
			if _, plain := p["type"].(string); !plain || p["description"] == nil {
				t.Errorf("%s: field %s is described as %v", tool.Name, field, p)
			}
		}
	}
	for tool, want := range map[string]string{
		teamtools.SendTool: `"required":["to","message"]`, teamtools.ReportTool: `"required":["report"]`, teamtools.CreateTool: `"required":["subject","description"]`,
		teamtools.AskTool: `"required":["question"]`, teamtools.ScheduleCreateTool: `"required":["cron","prompt"]`, teamtools.ClaimTool: `"required":["taskId"]`, teamtools.GetTool: `"required":["taskId"]`,
		teamtools.UpdateTool: `"enum":["pending","in_progress","completed","deleted"]`,
	} {
		i := slices.IndexFunc(list.Tools, func(other *mcp.Tool) bool { return other.Name == tool })
		if i < 0 || !strings.Contains(string(texts.Encode(list.Tools[i].InputSchema)), want) {
			t.Errorf("the schema of %s lacks %s", tool, want)
		}
	}
	for _, want := range []string{teamtools.SendTool, teamtools.AskTool, teamtools.MembersTool, teamtools.CreateTool, teamtools.GetTool, teamtools.UpdateTool, teamtools.ListTool, teamtools.ClaimTool, teamtools.ReportTool,
		teamtools.ScheduleCreateTool, teamtools.ScheduleDeleteTool, teamtools.ScheduleListTool} {
		if !names[want] {
			t.Errorf("there is no tool %s", want)
		}
	}
	if len(names) != 12 {
		t.Errorf("the tools are %v", names)
	}
}

const touchGates = `hooks:
  TaskCreated:
    - hooks: [{type: command, command: "grep -q banned && { echo not that >&2; exit 2; } || exit 0"}]
  TaskCompleted:
    - hooks: [{type: command, command: "test -f proof || { echo no proof yet >&2; exit 2; }"}]
`

func TestGatesHoldOverMCP(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, mcpFiles("tasks: [{id: a, subject: One, owner: dev}]\n"+touchGates))
	dev := r.connect("dev")
	dev.Use(teamtools.CreateTool, `{"subject":"banned","description":"d"}`).Want(t, true, "TaskCreated hook feedback",
		"not that")
	dev.Use(teamtools.ListTool, `{}`)
	if all := r.stored(); len(all) != 1 {
		t.Errorf("a refused task is there: %+v", all)
	}
	dev.Use(teamtools.UpdateTool, `{"taskId":"1","status":"in_progress"}`).Want(t, false, "in_progress")
	done := `{"taskId":"1","status":"completed"}`
	dev.Use(teamtools.UpdateTool, done).Want(t, false, "TaskCompleted hook feedback", "no proof yet")
	dev.Use(teamtools.UpdateTool, done).Want(t, false, "no proof yet") // asked again, judged again
	r.write("proof", "")
	dev.Use(teamtools.UpdateTool, done).Want(t, false, "completed")
	if all := r.stored(); all[0].Status != tasks.Completed {
		t.Errorf("the task is %s", all[0].Status)
	}
	r.lines.Wait(t, "the refusal in dev's name", func(l events.Line) bool {
		return l.Type == "hook_feedback" && l.Member == "dev" && strings.Contains(string(l.Data), "no proof yet")
	})
}

// slowGate answers once a file is there; it counts its runs in another.
const slowGate = `hooks:
  TaskCompleted: [{hooks: [{type: command, command: "echo run >>runs; until test -f go; do sleep 0.02; done"}]}]
`

func TestManyMembersClaimOneTask(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, mcpFiles("tasks: [{id: a, subject: One}]\n"))
	agents := []testkit.MCPAgent{r.connect("lead"), r.connect("dev"), r.connect("docs")}
	won := make(chan bool)
	for _, a := range agents {
		go func() {
			f, err := a.Try(t.Context(), teamtools.ClaimTool, `{"taskId":"1"}`)
			won <- err == nil && !f.IsError
		}()
	}
	wins := 0
	for range agents {
		if <-won {
			wins++
		}
	}
	if wins != 1 {
		t.Errorf("%d members own the task", wins)
	}
}

// Many agents at once: every task that they make is claimed and completed once.
func TestManyAgentsAtOnce(t *testing.T) {
	t.Parallel()
	const members, each = 12, 5
	spec := testkit.PairSpec
	for i := range members {
		spec += fmt.Sprintf("  m%d: {model: dev}\n", i)
	}
	r := newCrewRig(t, map[string]string{"team.yaml": spec, "lead.yaml": "steps: []\n", "dev.yaml": "steps: []\n"})
	var all sync.WaitGroup
	var claimed atomic.Int32
	for i := range members {
		a := r.connect(fmt.Sprint("m", i))
		all.Go(func() {
			for range each {
				f, err := a.Try(t.Context(), teamtools.CreateTool, `{"subject":"s","description":"d"}`)
				if err != nil || f.IsError {
					t.Errorf("create: %+v, %v", f, err)
				}
			}
			for id := 1; id <= members*each; id++ {
				f, err := a.Try(t.Context(), teamtools.ClaimTool, fmt.Sprintf(`{"taskId":"%d"}`, id))
				if err != nil || f.IsError {
					continue // somebody else has it, or it is not there yet
				}
				claimed.Add(1)
				done, err := a.Try(t.Context(), teamtools.UpdateTool, fmt.Sprintf(`{"taskId":"%d","status":"completed"}`, id))
				if err != nil || done.IsError {
					t.Errorf("complete: %+v, %v", done, err)
				}
			}
		})
	}
	all.Wait()
	if err := r.team.Store.Check(t.Context()); err != nil {
		t.Error(err)
	}
	completed := 0
	for _, task := range r.stored() {
		if task.Status == tasks.Completed {
			completed++
		}
	}
	if n := len(r.stored()); n != members*each || int32(completed) != claimed.Load() {
		t.Errorf("%d tasks, %d claimed, %d completed", n, claimed.Load(), completed)
	}
}

// A team that is told to end does not wait for gates that agents wait for.
func TestTeamEndsWhileAgentsWait(t *testing.T) {
	t.Parallel()
	// With keep the team does not end before the call, although no member works.
	r := newCrewRig(t, mcpFiles("keep: true\ntasks: [{id: a, subject: One, owner: dev}]\n"+slowGate))
	url, token, err := r.team.tools.Admit(r.seat("dev").Member, false)
	if err != nil {
		t.Fatal(err)
	}
	dev := testkit.DialMCP(t, url, token)
	ctx, cancel := context.WithCancel(t.Context())
	ended, failed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := r.team.crew.Run(ctx, crew.Purpose{})
		ended <- err
	}()
	// A run that is cancelled before its loop begins is not what ends the call.
	if err := r.team.Loop.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	go func() {
		f, err := dev.Try(t.Context(), teamtools.UpdateTool, `{"taskId":"1","status":"completed"}`)
		if err == nil && !f.IsError {
			err = errors.New("it was answered: " + f.Text)
		} else {
			err = nil
		}
		failed <- err
	}()
	r.whenRun(cancel)
	for what, c := range map[string]chan error{"the call": failed, "the team": ended} {
		select {
		case err := <-c:
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(testkit.Patience):
			t.Fatalf("%s does not end", what)
		}
	}
	if all := r.stored(); all[0].Status == tasks.Completed {
		t.Error("the task is completed, and the gate has not agreed")
	}
}

// Agent programs have it as wait_for of team_send_message, refused or kept as SendMessage's.
func TestMailWaitsByMCP(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, mcpFiles("tasks: [{id: a, subject: A, owner: dev}, {id: b, subject: B, owner: dev}, {id: c, subject: C, owner: dev}]\n"))
	a := r.connect("dev")
	unread := func(want int) {
		t.Helper()
		due, _, err := r.team.Board.Unread(t.Context(), &mail.Received{Member: "docs"})
		texts := 0
		for _, m := range due {
			if m.Kind == mail.Text {
				texts++
			}
		}
		if err != nil || texts != want {
			t.Errorf("docs may read %+v (%v), want %d texts", due, err, want)
		}
	}
	for in, want := range map[string]string{
		`{"to":"docs","message":"hi","wait_for":["2","9"]}`:                          "there is no task",
		`{"to":"docs","message":"{\"type\":\"shutdown_request\"}","wait_for":["2"]}`: "only a text can wait",
		`{"to":"docs","message":"hi","wait_for":"2"}`:                                "wait_for",
	} {
		if f := a.Use("team_send_message", in); !f.IsError || !strings.Contains(f.Text, want) {
			t.Errorf("%s: the answer is %+v, want an error with %q", in, f, want)
		}
	}
	for range 2 { // the same call again, as after a connection that broke
		a.Use("team_send_message", `{"to":"docs","message":"join","wait_for":["2","#3"]}`, "call-1").Want(t, false,
			"it is read once these tasks are completed or deleted: 2, 3")
	}
	unread(0)
	for _, step := range []struct {
		task  string
		texts int
	}{{"1", 0}, {"2", 0}, {"3", 1}} {
		a.Use("team_task_update", `{"taskId":"`+step.task+`","status":"completed"}`)
		unread(step.texts)
	}
}

// A hook that stops the member for good says so in the answer, and the member
// leaves when its turn is over.
func TestHaltOverMCP(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, mcpFiles(`tasks: [{id: a, subject: One, owner: dev}]
hooks:
  TaskCompleted:
    - hooks: [{type: command, command: "echo '{\"continue\":false,\"stopReason\":\"enough\"}'"}]
`))
	r.connect("dev").Use(teamtools.UpdateTool, `{"taskId":"1","status":"completed"}`).Want(t, false, "enough")
	if reason := r.seat("dev").Life.State().Halting; reason != "enough" {
		t.Errorf("dev is to leave because of %q", reason)
	}
	if all := r.stored(); all[0].Status == "completed" {
		t.Error("the task is completed")
	}
}

// Who has left the team cannot act in it, by no way.
func TestGoneMemberHasNoTools(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, mcpFiles("keep: true\n"))
	url, token, err := r.team.tools.Admit(r.seat("dev").Member, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := r.team.crew.Run(ctx, crew.Purpose{})
		ended <- err
	}()
	defer func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the team ends with %v", err)
		}
	}()
	<-r.team.crew.Up()
	if reply, err := r.team.crew.EndMember(ctx, api.EndMember{Member: "dev", Now: true, Reason: "it was enough"}); err != nil || !reply.Gone {
		t.Fatalf("dev was ended: %+v, %v", reply, err)
	}
	if code := testkit.Post(t.Context(), t, url, token, testkit.Hello).StatusCode; code != 401 {
		t.Errorf("its token is worth a %d", code)
	}
	a, err := r.team.tools.Call(t.Context(), api.TeamCall{Tool: teamtools.CreateTool,
		Input: []byte(`{"subject":"s","description":"d"}`), As: "dev"})
	if err != nil || !a.IsError || !strings.Contains(a.Text, "it was enough") {
		t.Errorf("its stdio tools answer %+v, %v", a, err)
	}
}

// leaves are the strings and numbers in a JSON value that are no keys.
func leaves(v any) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			out = append(out, leaves(inner)...)
		}
	case []any:
		for _, inner := range v {
			out = append(out, leaves(inner)...)
		}
	case string:
		out = append(out, v)
	case float64:
		out = append(out, string(texts.Encode(v)))
	}
	return out
}

// Some agents show a model only the text of an answer, some only its structured
// form (ACP.md): every fact of the one is in the other. What the caller itself
// has just said need not be repeated.
func TestBothFormsHaveTheSameFacts(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, mcpFiles("tasks: [{id: a, subject: One, owner: dev}, {id: b, subject: Two, blocked_by: [a]}]\n"+touchGates))
	dev := r.connect("dev")
	for _, c := range []struct{ tool, args string }{
		{teamtools.MembersTool, `{}`},
		{teamtools.ListTool, `{}`},
		{teamtools.CreateTool, `{"subject":"Three","description":"the third"}`},
		{teamtools.CreateTool, `{"subject":"banned","description":"d"}`},
		{teamtools.GetTool, `{"taskId":"2"}`},
		{teamtools.ClaimTool, `{"taskId":"1"}`},
		{teamtools.ClaimTool, `{"taskId":"2"}`},
		{teamtools.UpdateTool, `{"taskId":"1","status":"completed"}`},
		{teamtools.UpdateTool, `{"taskId":"1","subject":"One more","description":"d"}`},
		{teamtools.UpdateTool, `{"taskId":"1","status":"pending","owner":""}`},
		{teamtools.UpdateTool, `{"taskId":"1","subject":"One more"}`},
		{teamtools.UpdateTool, `{"taskId":"9","subject":"x"}`},
		{teamtools.UpdateTool, `{"taskId":"3","status":"deleted"}`},
		{teamtools.SendTool, `{"to":"*","message":"hello"}`},
		{teamtools.SendTool, `{"to":"dev","message":"hello"}`},
		{teamtools.ReportTool, `{"report":"hello"}`},
	} {
		f := dev.Use(c.tool, c.args)
		var structured any
		if err := json.Unmarshal([]byte(f.Structured), &structured); err != nil {
			t.Fatal(err)
		}
		if _, object := structured.(map[string]any); !object {
			t.Errorf("%s %s: the structured form is no object: %s", c.tool, c.args, f.Structured)
		}
		for _, fact := range leaves(structured) {
			if !strings.Contains(f.Text, fact) && !strings.Contains(c.args, fact) {
				t.Errorf("%s %s: %q is missing in the text %q", c.tool, c.args, fact, f.Text)
			}
		}
		if f.IsError && !slices.Contains(leaves(structured), f.Text) {
			t.Errorf("%s %s: the error is missing in the structured form: %s", c.tool, c.args, f.Structured)
		}
	}
}
