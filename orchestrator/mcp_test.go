package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// crewRig is a rig whose crew a test can reach. Its members are there, but take
// no turns: what happens, happens by the team tools.
type crewRig struct {
	*rig
	rooms *rooms
	stop  func()
}

// newCrewRig hires the members of a team.
func newCrewRig(t *testing.T, files map[string]string) *crewRig {
	t.Helper()
	return crewRigOn(t, newRig(t, files))
}

func crewRigOn(t *testing.T, r *rig) *crewRig {
	t.Helper()
	o := r.orchestrator(Options{Log: slog.New(slog.DiscardHandler)})
	if err := o.place.Create(); err != nil {
		t.Fatal(err)
	}
	store, err := tasks.Open(o.place.Store(), &tasks.Options{BlobDir: o.place.Blobs()})
	if err != nil {
		t.Fatal(err)
	}
	live := view.NewLive(store.Outbox())
	j := openTestJournal(t, o.place.Journal(), store, live.Apply)
	b, err := bus.Embed(bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := newRooms(t.Context(), o, store, j, b, live)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.assemble(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	views := viewsOf(o.opts.OnLine)
	views.Stored = c.crew.Stored
	go j.Run(events.TeamStarted{Members: o.memberNames()}, views)
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		c.dismiss()
		if err := errors.Join(j.Close(), b.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return &crewRig{r, c, stop}
}

// seat finds a member.
func (r *crewRig) seat(name string) *crew.Seat {
	r.t.Helper()
	s, ok := r.rooms.seats.Of(name)
	if !ok {
		r.t.Fatalf("no member %s", name)
	}
	return s
}

// stored are the tasks that there are now.
func (r *crewRig) stored() []tasks.Task {
	r.t.Helper()
	all, err := r.rooms.store.List(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// write makes a file of the workspace.
func (r *crewRig) write(name, text string) {
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		r.t.Error(err)
	}
}

// connect logs an agent in as a member.
func (r *crewRig) connect(member string) testkit.MCPAgent {
	r.t.Helper()
	url, token, err := r.rooms.tools.Admit(r.seat(member).Member, false)
	if err != nil {
		r.t.Fatal(err)
	}
	return testkit.DialMCP(r.t, url, token)
}

func mcpFiles(more string) map[string]string {
	return map[string]string{
		"team.yaml": pairSpec + "  docs: {model: dev, description: writes}\n" + more,
		"lead.yaml": "steps: []\n", "dev.yaml": "steps: []\n",
	}
}

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
		return len(r.rooms.state.Unreported("dev"))
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
	if err := decode(line.Data, &m); err != nil || m.From != "dev" || m.To != "lead" ||
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
	spec := pairSpec
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
	if err := r.rooms.store.Check(t.Context()); err != nil {
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
	url, token, err := r.rooms.tools.Admit(r.seat("dev").Member, false)
	if err != nil {
		t.Fatal(err)
	}
	dev := testkit.DialMCP(t, url, token)
	ctx, cancel := context.WithCancel(t.Context())
	ended, failed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := r.rooms.crew.Run(ctx)
		ended <- err
	}()
	// A run that is cancelled before its loop begins is not what ends the call.
	if err := r.rooms.loop.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
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

// whenRun calls f once the gate runs.
func (r *crewRig) whenRun(f func()) {
	r.lines.Wait(r.t, "the gate to run", func(l events.Line) bool { return l.Type == "hook_started" })
	f()
}
