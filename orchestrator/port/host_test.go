package port_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/port"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
)

// cable connects a coordinator with one node at a time, in one process. All that it carries is JSON.
type cable struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced with each change
	node    *plug
	lost    map[string]bool
	end     *end              // of the coordinator; nil: there is none
	numbers map[string]uint64 // of the last reports of nodes
	sat     map[string]string // nodes of members
	spool   []func() error    // reports that wait for a coordinator
}

// end is the coordinator's end of a cable. It implements orchestrator.Nodes.
type end struct {
	*cable
	dead   bool // what it says is lost
	ask    func(ctx context.Context, node, member, method string, in json.RawMessage) (json.RawMessage, error)
	report func(ctx context.Context, node string, number uint64, member string, body json.RawMessage) error
}

// plug is the node's end of a cable.
type plug struct {
	*cable
	name     string
	gone     chan struct{}
	specs    chan *configs.Team
	draining bool // no member chooses it
	handle   func(ctx context.Context, member, method string, in json.RawMessage) (json.RawMessage, error)
	order    sync.Mutex // held while a report is delivered
}

func newCable() *cable {
	return &cable{changed: make(chan struct{}), lost: map[string]bool{}, numbers: map[string]uint64{}, sat: map[string]string{}}
}

// until waits until ready returns true. ready is called with mu held.
func (c *cable) until(ctx context.Context, ready func() bool) error {
	for {
		c.mu.Lock()
		ok, changed := ready(), c.changed
		c.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// change changes the cable.
func (c *cable) change(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
	close(c.changed)
	c.changed = make(chan struct{})
}

// plug makes the end of a node.
func (c *cable) plug(name string) *plug {
	return &plug{cable: c, name: name, gone: make(chan struct{}), specs: make(chan *configs.Team, 1)}
}

// cut takes a node away.
func (p *plug) cut(lost bool) {
	p.change(func() {
		p.lost[p.name] = lost
		if p.node == p {
			p.node = nil
		}
		close(p.gone)
	})
}

func (c *end) Seat(ctx context.Context, member string, labels []string) (string, <-chan struct{}, func(), error) {
	var p *plug
	err := c.until(ctx, func() bool {
		p = c.node
		return p != nil && !p.draining && slices.Contains(labels, "big")
	})
	if err != nil {
		return "", nil, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sat[member] = p.name
	return p.name, p.gone, func() {}, nil
}

func (c *end) Sat(_ context.Context, member string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sat[member], nil
}

func (c *end) Order(ctx context.Context, node, member, method string, in json.RawMessage) (json.RawMessage, error) {
	c.mu.Lock()
	p := c.node
	c.mu.Unlock()
	if p == nil || p.name != node || c.dead {
		return nil, errors.New("the node is gone")
	}
	return p.handle(ctx, member, method, in)
}

func (c *end) Lost(node string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost[node]
}

func (c *end) Serve(ctx context.Context,
	ask func(ctx context.Context, node, member, method string, in json.RawMessage) (json.RawMessage, error),
	report func(ctx context.Context, node string, number uint64, member string, body json.RawMessage) error,
) error {
	c.ask, c.report = ask, report
	c.change(func() { c.cable.end = c })
	c.mu.Lock()
	waiting := c.spool
	c.spool = nil
	c.mu.Unlock()
	for _, again := range waiting {
		if err := again(); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// kill lets a coordinator be silent from now on, as after kill -9.
func (c *end) kill() { c.change(func() { c.dead, c.cable.end = true, nil }) }

// number returns the number of a node's next report.
func (c *cable) number(node string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.numbers[node]++
	return c.numbers[node]
}

func (p *plug) Serve(ctx context.Context, handle func(ctx context.Context, member, method string, in json.RawMessage) (json.RawMessage, error)) error {
	p.handle = handle
	p.change(func() { p.node, p.lost[p.name] = p, false })
	<-ctx.Done()
	return context.Cause(ctx)
}

func (c *end) Respec() {}

func (p *plug) Spec(ctx context.Context) (*configs.Team, error) {
	select {
	case team := <-p.specs:
		return team, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (p *plug) Ask(ctx context.Context, member, method string, in json.RawMessage) (json.RawMessage, error) {
	for {
		var to *end
		err := p.until(ctx, func() bool {
			to = p.end
			return to != nil && !p.isGone()
		})
		if err != nil {
			return nil, err
		}
		out, err := to.ask(ctx, p.name, member, method, in)
		p.mu.Lock()
		lost := to.dead
		p.mu.Unlock()
		if lost {
			continue
		}
		for _, known := range port.Errors {
			if errors.Is(err, known) {
				return out, known
			}
		}
		if err != nil {
			err = errors.New(err.Error())
		}
		return out, err
	}
}

func (p *plug) isGone() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

func (p *plug) Report(ctx context.Context, member string, body json.RawMessage) error {
	p.order.Lock()
	defer p.order.Unlock()
	if p.isGone() {
		return nil
	}
	number := p.number(p.name)
	p.mu.Lock()
	to := p.end
	if to == nil {
		p.spool = append(p.spool, func() error { return p.end.report(context.WithoutCancel(ctx), p.name, number, member, body) })
	}
	p.mu.Unlock()
	if to == nil {
		return nil
	}
	return to.report(ctx, p.name, number, member, body)
}

// afar is a team of a lead, ana and ben, of which ana and ben work on another host.
type afar struct {
	teamtest.Grove
	*cable
	node *teamtest.Rig
	dir  string
}

func newAfar(t *testing.T, files map[string]string) *afar {
	t.Helper()
	a := &afar{Grove: teamtest.NewGrove(t, files), cable: newCable(), dir: testkit.Folder(t)}
	testkit.Shell(t, a.Dir, "git init -q --bare "+a.dir+"/origin.git && git remote add origin "+a.dir+"/origin.git && git push -q origin HEAD:main")
	testkit.Shell(t, a.dir, "git clone -q -b main origin.git clone")
	a.node = &teamtest.Rig{T: t, Dir: filepath.Join(a.dir, "clone"), Home: t.TempDir(), Log: &strings.Builder{}}
	return a
}

// host runs a node until stop is called.
func (a *afar) host(name string) (p *plug, stop func()) {
	a.T.Helper()
	p, _, _, stop = a.draining(name, 0)
	return p, stop
}

// draining runs a node until stop is called. drain lets it drain, which wait waits for.
func (a *afar) draining(name string, grace time.Duration) (p *plug, drain, wait, stop func()) {
	a.T.Helper()
	o := a.node.Orchestrator(orchestrator.Options{})
	p = a.plug(name)
	ctx, cancel := context.WithCancel(context.Background())
	done, drained, over := make(chan error, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		done <- o.Host(ctx, p, drained, grace)
	}()
	drain = func() {
		p.change(func() { p.draining = true })
		close(drained)
	}
	wait = func() {
		testkit.Eventually(a.T, "the end of the node", func() bool {
			select {
			case <-over:
				return true
			default:
				return false
			}
		})
	}
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			a.T.Errorf("the node ended with: %v", err)
		}
	})
	a.T.Cleanup(stop)
	return p, drain, wait, stop
}

// options are those of the coordinator, with these members on the node.
func (a *afar) options(away ...string) orchestrator.Options {
	return orchestrator.Options{Overrides: orchestrator.Overrides{Nodes: &end{cable: a.cable}, On: func(member string) []string {
		if slices.Contains(away, member) {
			return []string{"big"}
		}
		return nil
	}}}
}

const afarGate = `merge: {into: main}
gates: {task: ['./gate.sh']}
`

// TestMembersAfar: members of another host, which shares nothing with this one but git's remote, work on
// tasks, pass gates there, and their work is merged.
func TestMembersAfar(t *testing.T) {
	t.Parallel()
	files := teamtest.GroveFiles("echo ana >ana.txt; pwd", "echo ben >ben.txt; pwd", afarGate)
	files["gate.sh"] = "#!/bin/sh\nls ana.txt ben.txt 2>/dev/null | grep . && touch ran.log\n"
	a := newAfar(t, files)
	a.host("one")
	ending := a.Run(a.options("ana", "ben"))
	a.Want(ending, orchestrator.CodeDone, "all work is done")
	if got := a.Git("show HEAD:ana.txt HEAD:ben.txt"); got != "ana\nben" {
		t.Errorf("merged is %q", got)
	}
	a.CompletedOnce()
	for _, member := range []string{"ana", "ben"} {
		if _, err := os.Stat(filepath.Join(a.node.Place().Worktrees(), member, "ran.log")); err != nil {
			t.Errorf("the gate has not run on the node: %v", err)
		}
		if _, err := os.Stat(a.Tree(member, "ran.log")); err == nil {
			t.Error("the gate has run on the coordinator's host")
		}
	}
	seen := map[string]int{}
	for _, l := range a.Lines.All() {
		if l.Member == "ana" {
			seen[l.Type]++
		}
		if l.Member == "ana" && events.Is[events.ToolReturned](l) && strings.Contains(string(l.Data), a.Dir) {
			t.Errorf("ana worked in the workspace: %s", l.Data)
		}
	}
	if seen["tool_result"] != 2 || seen["member_started"] != 1 {
		t.Errorf("the lines of ana are %v", seen)
	}
}

// asks sends requests about ana as a node would, in ana's first life.
func (a *afar) asks(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	ask := a.end.ask
	a.mu.Unlock()
	for _, c := range []struct{ node, verb, in, want string }{
		{"two", "task-create", `{"subject":"C"}`, port.ErrNoSeat.Error()}, // ana is not there
		{"one", "send", `{"to":"ben","text":"hello"}`, `"ids":`},
		{"one", "send", `{"to":"ben","text":"hello","as":"lead"}`, "may not act as lead"},
		{"one", "task-claim", `{"id":"99","force":true}`, "force"},
		{"one", "task-claim", `{"id":"99"}`, "99"},
		{"one", "task", `{"id":"1"}`, `"subject":"A"`},
		{"one", "down", `{}`, "no command"},
	} {
		in := `{"member":"ana","life":1,"tool":{"tool":"` + c.verb + `","command":true,"call":{"Input":` + c.in + `}}}`
		out, err := ask(t.Context(), c.node, "ana", "ask", json.RawMessage(in))
		if got := fmt.Sprint(string(out), err); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.verb, got, c.want)
		}
	}
	type message struct{ From, To, Text string }
	testkit.Eventually(t, "ana's message", func() bool {
		return slices.Contains(teamtest.Of[message](a.Rig, "message"), message{"ana", "ben", "hello"})
	})
}

// TestNodeIsGone: a member whose host dies in the middle of a turn goes on when the host is back: with its
// task, if the host has only begun anew, and else with a task that has become open meanwhile.
func TestNodeIsGone(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"lost": true, "restarted": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := teamtest.GroveFiles("", "echo ben >ben.txt", afarGate)
			work := teamtest.YAMLText("test -e hung.log || { touch hung.log; exec tail -f /dev/null; }; echo ana >ana.txt")
			files["ana.yaml"] = `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]
  - call: [{tool: Bash, input: {command: ` + work + `}}]
  - say: again
  - call: [{tool: Bash, input: {command: ` + work + `}}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - {say: done, times: -1}
`
			files["team.yaml"] = strings.Replace(files["team.yaml"], "ana: {model: ana}", "ana: {model: ana, self_claim: true}", 1)
			files["gate.sh"] = "#!/bin/sh\nls ana.txt ben.txt 2>/dev/null | grep .\n"
			a := newAfar(t, files)
			first, stop := a.host("one")
			o := a.Orchestrator(a.options("ana"))
			ended := make(chan orchestrator.Ending, 1)
			go func() {
				e, err := o.Run(t.Context())
				if err != nil {
					t.Error(err)
				}
				ended <- e
			}()
			hung := filepath.Join(a.node.Place().Worktrees(), "ana", "hung.log")
			testkit.Eventually(t, "ana to work", func() bool {
				_, err := os.Stat(hung)
				return err == nil
			})
			a.asks(t)
			first.cut(lost)
			stop()
			a.host("one")
			a.Want(<-ended, orchestrator.CodeDone, "all work is done")
			a.CompletedOnce()
			if got := a.Git("ls-tree --name-only HEAD ana.txt ben.txt"); got != "ana.txt\nben.txt" {
				t.Errorf("merged is %q\n%s", got, teamtest.Show(a.Lines.All()))
			}
			released := 0
			for _, c := range teamtest.Of[tasks.Change](a.Rig, "task") {
				if c.Op == tasks.Released && c.Task.ID == "1" {
					released++
				}
			}
			if lost != (released > 0) {
				t.Errorf("the task became open %d times", released)
			}
		})
	}
}

// TestGatesThatNeedTheTeam: on a node, gates that need the team's tasks or answers judge as they do elsewhere.
func TestGatesThatNeedTheTeam(t *testing.T) {
	t.Parallel()
	files := teamtest.GroveFiles("", "echo ben >ben.txt", `merge: {into: main}
gates: {task: [{policy: changed-something}, {approve: lead}], stop: [{policy: report-sent}]}
`)
	files["lead.yaml"] = `steps:
  - when: '"type":"approval_request"'
    call: [{tool: SendMessage, input: {to: ana, message: {type: approval_response, request_id: ana, approve: true}}}]
  - {say: fine, times: -1}
`
	files["team.yaml"] = strings.Replace(files["team.yaml"], ", {id: b, subject: B, owner: ben}", "", 1)
	files["ana.yaml"] = `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - when: You have changed no file
    call: [{tool: Bash, input: {command: "echo ana >ana.txt"}}, {tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - when: "approve\":true"
    call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - when: the lead has not heard of it
    call: [{tool: SendMessage, input: {to: lead, message: "Done.", summary: done}}]
  - {say: I wait., times: -1}
`
	a := newAfar(t, files)
	a.host("one")
	a.Want(a.Run(a.options("ana")), orchestrator.CodeDone, "all work is done")
	a.CompletedOnce()
	lines := teamtest.Show(a.Lines.All())
	for _, want := range []string{"You have changed no file", "waits for the approval of lead", "the lead has not heard of it"} {
		if !strings.Contains(lines, want) {
			t.Errorf("no line has %q:\n%s", want, lines)
		}
	}
}

// TestHooksAndSessionsAfar: on a node, a background hook wakes its member, and rotate gives it a new session for its
// next task, which begins with a brief.
func TestHooksAndSessionsAfar(t *testing.T) {
	t.Parallel()
	files := teamtest.GroveFiles("", "echo ben >ben.txt", `merge: {into: main}
hooks:
  PostToolUse:
    - matcher: Bash
      hooks: [{type: command, command: 'test -e ana.txt || exit 0; echo wake up >&2; exit 2', asyncRewake: true}]
`)
	files["team.yaml"] = strings.NewReplacer("ana: {model: ana}", "ana: {model: ana, rotate: task}",
		"{id: b, subject: B, owner: ben}", "{id: b, subject: B, owner: ana}").Replace(files["team.yaml"])
	files["ana.yaml"] = `steps:
  - call: [{tool: Bash, input: {command: "echo ana >ana.txt"}}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - {say: first}
  - when: wake up
    say: I am awake.
  - when: the brief
    say: A is done.
  - when: A is done.
    call: [{tool: Bash, input: {command: "echo ben >ben.txt"}}, {tool: TaskUpdate, input: {taskId: "2", status: completed}}]
  - {say: done, times: -1}
`
	a := newAfar(t, files)
	a.host("one")
	a.Want(a.Run(a.options("ana")), orchestrator.CodeDone, "all work is done")
	lines := a.Lines.All()
	var said, rotated int
	for _, l := range lines {
		switch d := l.Event().Data.(type) {
		case events.TextSaid:
			if d.Text == "I am awake." {
				said++
			}
		case events.Rotated:
			rotated++
		}
	}
	if said != 1 || rotated != 1 || a.Git("show HEAD:ben.txt") != "ben" {
		t.Errorf("it was awake %d times and had %d new sessions:\n%s", said, rotated, teamtest.Show(lines))
	}
}

// inTurn runs the team until ana's working copy on the node has a file.
func (a *afar) inTurn(ctx context.Context, file string) (ended chan orchestrator.Ending) {
	a.T.Helper()
	return a.inTurnOf(ctx, a.options("ana"), file)
}

// inTurnOf is inTurn with options.
func (a *afar) inTurnOf(ctx context.Context, with orchestrator.Options, file string) (ended chan orchestrator.Ending) {
	a.T.Helper()
	o := a.Orchestrator(with)
	ended = make(chan orchestrator.Ending, 1)
	go func() {
		e, err := o.Run(ctx)
		if err != nil && ctx.Err() == nil {
			a.T.Error(err)
		}
		ended <- e
	}()
	testkit.Eventually(a.T, "ana to work", func() bool {
		_, err := os.Stat(a.away(file))
		return err == nil
	})
	return ended
}

// away returns the path of a file in ana's working copy on the node.
func (a *afar) away(file string) string {
	return filepath.Join(a.node.Place().Worktrees(), "ana", file)
}

// goOn lets a command of ana go on that reads a pipe.
func (a *afar) goOn(pipe string) {
	a.T.Helper()
	f, err := os.OpenFile(a.away(pipe), os.O_WRONLY, 0)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		a.T.Error(err)
	}
}

// TestDrain: a node that drains lets a running turn end, and begins no more. It interrupts a turn that takes too
// long; then the team gets what the member has not committed, and the member goes on elsewhere.
func TestDrain(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"ends": false, "late": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := teamtest.YAMLText("echo ana >ana.txt; echo ran >>runs.log; if mkfifo pipe.log; then cat pipe.log; fi")
			files := teamtest.GroveFiles("", "echo ben >ben.txt", "merge: {into: main}\n")
			files["ana.yaml"] = `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]
  - call: [{tool: Bash, input: {command: ` + work + `}}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - {say: done, times: -1}
`
			if late { // the interrupted call is followed by a turn that says so
				files["ana.yaml"] = strings.Replace(files["ana.yaml"], `  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
`, "  - say: again\n  - call: [{tool: TaskUpdate, input: {taskId: \"1\", status: completed}}]\n", 1)
			}
			a := newAfar(t, files)
			grace := testkit.Patience
			if late {
				grace = 0
			}
			first, drain, wait, stop := a.draining("one", grace)
			ended := a.inTurn(t.Context(), "pipe.log")
			drain()
			if !late {
				a.goOn("pipe.log")
			}
			wait()
			if late && testkit.Read(t, a.Tree("ana", "ana.txt")) != "ana\n" {
				t.Error("the team does not have what the interrupted turn has done")
			}
			first.cut(false)
			stop()
			a.host("two")
			a.Want(<-ended, orchestrator.CodeDone, "all work is done")
			a.CompletedOnce()
			if got := a.Git("ls-tree --name-only HEAD ana.txt ben.txt"); got != "ana.txt\nben.txt" {
				t.Errorf("merged is %q", got)
			}
			if got := testkit.Read(t, a.away("runs.log")); got != "ran\n" {
				t.Errorf("the command has run as %q", got)
			}
		})
	}
}

// TestReportComesAgain: a report that a coordinator took which died before it said so comes again to the next one.
// The journal has it once.
func TestReportComesAgain(t *testing.T) {
	t.Parallel()
	files := teamtest.GroveFiles("", "echo ben >ben.txt", "merge: {into: main}\n")
	files["ana.yaml"] = `steps:
  - call: [{tool: Bash, input: {command: "touch hung.log; exec tail -f /dev/null"}}]
  - say: again
  - call: [{tool: Bash, input: {command: "mkfifo pipe.log; cat pipe.log; echo ana >ana.txt"}}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - {say: done, times: -1}
`
	a := newAfar(t, files)
	line, err := events.Event{Member: "ana", Data: events.Warning{Text: "told twice"}}.Line()
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(port.Reported{From: port.From{Member: "ana", Life: 1}, Report: port.Report{Event: &line}})
	if err != nil {
		t.Fatal(err)
	}
	told := func() int {
		data, err := os.ReadFile(a.Place().Journal())
		if err != nil {
			t.Error(err)
		}
		return strings.Count(string(data), "told twice")
	}
	a.host("one")
	ctx, kill := context.WithCancel(t.Context())
	ended := a.inTurn(ctx, "hung.log")
	number := a.number("one")
	if err := a.end.report(t.Context(), "one", number, "ana", body); err != nil {
		t.Error(err)
	}
	testkit.Eventually(t, "the report", func() bool { return told() == 1 })
	kill()
	<-ended
	ended = a.inTurn(t.Context(), "pipe.log")
	if err := a.end.report(t.Context(), "one", number, "ana", body); err != nil {
		t.Error(err)
	}
	a.goOn("pipe.log")
	a.Want(<-ended, orchestrator.CodeDone, "all work is done")
	if n := told(); n != 1 {
		t.Errorf("the journal has the report %d times", n)
	}
}

// TestTakeover: when a coordinator dies in the middle of a turn on a node, the next one goes on with it. It gets
// what has happened in between, once, and counts what the member has used.
func TestTakeover(t *testing.T) {
	t.Parallel()
	files := teamtest.GroveFiles("", "echo ben >ben.txt", "merge: {into: main}\n")
	files["ana.yaml"] = `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]
    usage: {input_tokens: 1000, output_tokens: 10}
  - call: [{tool: Bash, input: {command: "echo ana >ana.txt; echo ran >>runs.log; mkfifo pipe.log; cat pipe.log; echo in between"}}]
    usage: {input_tokens: 2000, output_tokens: 20}
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
    usage: {input_tokens: 3000, output_tokens: 30}
  - {say: done, times: -1}
`
	files["team.yaml"] = strings.Replace(files["team.yaml"], "ana: {model: ana}", "ana: {model: ana, limits: {max_tokens: 1000000}}", 1)
	a := newAfar(t, files)
	a.host("one")
	with := a.options("ana")
	ctx, kill := context.WithCancel(t.Context())
	ended := a.inTurnOf(ctx, with, "pipe.log")
	with.Overrides.Nodes.(*end).kill()
	kill()
	<-ended
	a.goOn("pipe.log")
	testkit.Eventually(t, "a report that waits", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.spool) > 0
	})
	a.Want(a.Run(a.options("ana")), orchestrator.CodeDone, "all work is done")
	a.CompletedOnce()
	if got := testkit.Read(t, a.away("runs.log")); got != "ran\n" {
		t.Errorf("the command has run as %q", got)
	}
	data, err := os.ReadFile(a.Place().Journal())
	if err != nil {
		t.Fatal(err)
	}
	returned := 0
	for _, line := range strings.Split(string(data), "\n") {
		if strings.Contains(line, `"type":"tool_result"`) && strings.Contains(line, "in between") {
			returned++
		}
	}
	if returned != 1 {
		t.Errorf("the journal has the result %d times", returned)
	}
	var used float64
	for _, l := range a.Lines.All() {
		if u, ok := l.Event().Data.(events.MemberUse); ok && l.Member == "ana" && len(u.Limits) > 0 {
			used = max(used, u.Limits[0].Used)
		}
	}
	if used < 3030+3030 || used > 3030+3030+2*3030 {
		t.Errorf("ana has used %v tokens", used)
	}
}

// TestTranscriptMoves: a member whose host is lost goes on on another one with what it knew when its last turn had
// ended.
func TestTranscriptMoves(t *testing.T) {
	t.Parallel()
	files := teamtest.GroveFiles("", "", "merge: {into: main}\n")
	files["team.yaml"] = strings.NewReplacer("{id: b, subject: B, owner: ben}", "{id: b, subject: B, owner: ana}",
		"ana: {model: ana}", "ana: {model: ana, self_claim: true}").Replace(files["team.yaml"])
	files["ana.yaml"] = `steps:
  - call: [{tool: Bash, input: {command: "echo ana >ana.txt; echo ran >>runs.log"}}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - {say: A is done.}
  - call: [{tool: Bash, input: {command: "mkfifo pipe.log; cat pipe.log; echo ben >ben.txt"}}]
  - call: [{tool: TaskUpdate, input: {taskId: "2", status: completed}}]
  - {say: done, times: -1}
`
	a := newAfar(t, files)
	first, stop := a.host("one")
	ended := a.inTurn(t.Context(), "pipe.log")
	first.cut(true)
	stop()
	testkit.Shell(t, a.dir, "git clone -q -b main origin.git other")
	a.node = &teamtest.Rig{T: t, Dir: filepath.Join(a.dir, "other"), Home: t.TempDir(), Log: &strings.Builder{}}
	a.host("two")
	testkit.Eventually(t, "ana to go on", func() bool {
		_, err := os.Stat(a.away("pipe.log"))
		return err == nil
	})
	if _, err := os.Stat(a.away("runs.log")); err == nil {
		t.Error("ana has begun from the start")
	}
	a.goOn("pipe.log")
	a.Want(<-ended, orchestrator.CodeDone, "all work is done")
	a.CompletedOnce()
	if got := a.Git("show HEAD:ana.txt HEAD:ben.txt"); got != "ana\nben" {
		t.Errorf("merged is %q", got)
	}
}
