package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/nodes"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
)

// nodeCuts is how many cuts TestNodeCuts has; each third one lasts three minutes.
var nodeCuts = flag.Int("nodecuts", 0, "how many cuts TestNodeCuts has; 0: it is skipped")

// machine is a host of a team in a network namespace, with a program that starts again when it ends.
type machine struct {
	*testkit.Port
	t    *testing.T
	log  string
	args []string
	mu   sync.Mutex
	now  *exec.Cmd
	over bool // it does not start again
}

// start runs the program.
func (m *machine) start() *exec.Cmd {
	log, err := os.OpenFile(m.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		m.t.Error(err)
		return nil
	}
	defer log.Close()
	cmd := exec.Command("ip", append([]string{"netns", "exec", m.Namespace}, m.args...)...)
	cmd.Env = append(os.Environ(), "COVEY_STATE_HOME="+strings.TrimSuffix(m.log, ".log")+"-state", "HOME="+filepath.Dir(m.log))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		m.t.Error(err)
		return nil
	}
	return cmd
}

// keep runs the program until it has done all that there is, or stop is called.
func (m *machine) keep() {
	for {
		m.mu.Lock()
		if m.over {
			m.mu.Unlock()
			return
		}
		m.now = m.start()
		cmd := m.now
		m.mu.Unlock()
		if cmd == nil || cmd.Wait() == nil {
			return
		}
		time.Sleep(500 * time.Millisecond) // the network may be cut
	}
}

// kill kills the program alone, as when memory is short.
func (m *machine) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = m.now.Process.Kill()
}

// stop ends the program and what it has started.
func (m *machine) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over = true; m.now != nil {
		_ = syscall.Kill(-m.now.Process.Pid, syscall.SIGKILL)
	}
}

// cutTeam is a team whose members are on two nodes, and what an oracle outside knows of it.
type cutTeam struct {
	*testkit.Network
	t        *testing.T
	dir      string
	machines map[string]*machine
	count    int // tasks
	mu       sync.Mutex
	kills    map[string][]time.Time // of nodes
	alone    [][2]time.Time         // when the coordinator reached nobody
}

// cutWorker works on the task of its prompt. What it does and what its team answers, it writes down where
// nobody else looks.
const cutWorker = `id=$(grep -o '#[0-9]*' | head -n 1 | tr -d '#')
[ "$id" ] || { echo nothing; exit; }
turn=$COVEY_MEMBER-$id-$(date +%%s%%N)
note() { echo "$(date +%%s%%N) $1 $COVEY_MEMBER $id $turn $(pwd | sed 's/.*\(big\|small\)-state.*/\1/') $2" >>%[1]s/worked; }
note began
sleep $(cat %[1]s/pace)
[ -f work-$id ] || { echo "$turn" >work-$id; git add work-$id; git commit -qm "task $id"; }
said=$(covey tasks update $id --status completed 2>&1)
note ended "$? $(echo $said)"
echo "said $turn"
`

// newCutTeam makes the hosts and the files of a team with tasks.
func newCutTeam(t *testing.T, count int) *cutTeam {
	testkit.NeedNetwork(t)
	c := &cutTeam{t: t, dir: t.TempDir(), count: count, machines: map[string]*machine{}, kills: map[string][]time.Time{},
		Network: testkit.NewNetwork(t, "hub", "lead", "big", "small")}
	hub := c.At("hub").Address.String()
	c.write("pace", "5\n")
	for i, name := range []string{"a", "b", "c"} {
		c.write("servers/"+name+".conf", fmt.Sprintf("listen: %q\ncluster { name: covey, listen: %q }\n", fmt.Sprint(hub, ":", 4222+i), fmt.Sprint(hub, ":", 6222+i)))
	}
	for name, args := range map[string][]string{
		"hub":   {"covey", "--team", "cuts", "nats", "--trial", "--dir", filepath.Join(c.dir, "servers"), "--node", "big,small"},
		"lead":  {"covey", "-C", filepath.Join(c.dir, "one"), "up", "--trust"},
		"big":   {"covey", "node", "--creds", filepath.Join(c.dir, "servers/big.creds"), "--trust"},
		"small": {"covey", "node", "--creds", filepath.Join(c.dir, "servers/small.creds"), "--trust"},
	} {
		c.machines[name] = &machine{Port: c.At(name), t: t, log: filepath.Join(c.dir, name+".log"), args: args}
	}
	var spec strings.Builder
	fmt.Fprintf(&spec, `covey: 1
name: cuts
goal: Work.
models: {lead: {provider: script, script: lead.yaml}}
agents: {worker: {use: command, command: [sh, worker.sh]}}
lead: {model: lead}
defaults: {on: [linux]}
gates: {task: ["sleep 1"]}
merge: {into: main}
nodes: {big: {labels: [linux]}, small: {labels: [linux]}}
bus: {url: ["nats://%[1]s:4222", "nats://%[1]s:4223", "nats://%[1]s:4224"], creds: "%s/servers/cuts.nk"}
teammates: {w1: {agent: worker}, w2: {agent: worker}, w3: {agent: worker}, w4: {agent: worker}}
tasks:
`, hub, c.dir)
	for n := range count {
		fmt.Fprintf(&spec, "  - {id: t%d, subject: Do it, owner: w%d}\n", n+1, n%4+1)
	}
	c.write("one/team.yaml", spec.String())
	c.write("one/worker.sh", fmt.Sprintf(cutWorker, c.dir))
	c.write("one/lead.yaml", "steps: [{say: Fine., times: -1}]\n")
	c.write(".gitconfig", "[user]\nname = a\nemail = a@example.com\n")
	testkit.Run(t, "sh", "-c", "export HOME="+c.dir+"; cd "+c.dir+` && git init -q --bare -b main origin.git && git init -q -b main one &&
		cd one && git add . && git commit -qm files && git remote add origin ../origin.git && git push -q origin main`)
	return c
}

// write writes a file.
func (c *cutTeam) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		c.t.Fatal(err)
	}
}

// until waits until a file has some text.
func (c *cutTeam) until(name, text string) {
	c.t.Helper()
	for begun := time.Now(); time.Since(begun) < testkit.Patience; {
		data, _ := os.ReadFile(filepath.Join(c.dir, name))
		if strings.Contains(string(data), text) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.t.Fatalf("%s has no %q", name, text)
}

// cut cuts a machine off for a while, some time after the last cut, and then perhaps kills something.
func (c *cutTeam) cut(name string, i int) {
	others := slices.DeleteFunc([]string{"hub", "lead", "big", "small"}, func(other string) bool { return other == name })
	lasts := []time.Duration{5 * time.Second, 45 * time.Second, 3 * time.Minute}[i%3]
	from := time.Now()
	c.Drop(name, true, true, others...)
	time.Sleep(lasts)
	c.Drop(name, false, false, others...)
	if name == "lead" {
		c.mu.Lock()
		c.alone = append(c.alone, [2]time.Time{from, time.Now()})
		c.mu.Unlock()
	}
	time.Sleep(5 * time.Second)
	what := [][]string{{name}, {"lead"}, {"lead", name}}[i/3%3]
	for _, killed := range what {
		c.mu.Lock()
		c.kills[killed] = append(c.kills[killed], time.Now())
		c.mu.Unlock()
		c.machines[killed].kill()
	}
	c.t.Logf("%s was cut off for %s, then killed: %v", name, lasts, what)
	time.Sleep(5 * time.Second)
}

// TestNodeCuts: nodes and the coordinator are cut off for 5 s, 45 s and 3 min and killed in the middle of turns,
// gates and merges. Each task is completed and merged once, no report is lost, no result of a member that still has
// its task is refused, and a turn that is over does not run.
func TestNodeCuts(t *testing.T) {
	if *nodeCuts == 0 {
		t.Skip("it takes minutes; say -nodecuts 3")
	}
	t.Parallel()
	c := newCutTeam(t, 10**nodeCuts)
	defer c.show()
	var running sync.WaitGroup
	defer running.Wait()
	for _, m := range c.machines {
		defer m.stop()
	}
	keep := func(name string) { running.Go(c.machines[name].keep) }
	keep("hub")
	c.until("hub.log", "bus:")
	keep("big")
	keep("small")
	done := make(chan struct{})
	running.Go(func() { defer close(done); c.machines["lead"].keep() })
	c.until("worked", "ended")
	var cutting sync.WaitGroup
	of := []string{"big", "small", "lead"}
	for k, name := range of { // each with its own, beside each other
		cutting.Go(func() {
			for i := k; i < *nodeCuts; i += len(of) {
				c.cut(name, i/len(of)+k)
			}
		})
	}
	cutting.Wait()
	c.write("pace", "0\n")
	select {
	case <-done:
	case <-time.After(30 * time.Minute): // merges take longer than tasks
		t.Error("the team has not ended")
	}
	c.judge()
}

// show shows what has been said if the test has failed.
func (c *cutTeam) show() {
	if !c.t.Failed() {
		return
	}
	for _, name := range []string{"hub", "lead", "big", "small"} {
		text, _ := os.ReadFile(filepath.Join(c.dir, name+".log"))
		c.t.Logf("%s:\n%s", name, text[max(0, len(text)-3000):])
	}
}

// workedLine is a line of what cutWorker writes down.
var workedLine = regexp.MustCompile(`(?m)^(\d+) (began|ended) (\S+) (\d+) (\S+) (\S+) ?(\d*) ?(.*)$`)

// judge compares the journal, git and what the workers have written down.
func (c *cutTeam) judge() {
	place, err := state.PlaceIn(filepath.Join(c.dir, "lead-state"), "cuts", filepath.Join(c.dir, "one"))
	if err != nil {
		c.t.Fatal(err)
	}
	completed, released, said, runs := map[string]int{}, map[string]bool{}, map[string]int{}, map[string]int{}
	var asks []string
	placed, lost := map[string]string{}, map[string][]string{} // the node of a member; whom a node lost, in order
	for l, err := range state.ReadJournal(place.Journal(), 0) {
		if err != nil {
			continue // torn by a kill
		}
		e := l.Event()
		switch d := e.Data.(type) {
		case events.TaskChanged:
			switch d.Op {
			case tasks.TaskCompleted:
				completed[d.Task.ID]++
			case tasks.Released:
				released[d.Task.ID] = true
			}
		case events.TextSaid:
			if _, turn, ok := strings.Cut(strings.TrimSpace(d.Text), "said "); ok {
				said[turn]++
			}
		case events.TurnStarted:
			runs[e.Member] = e.Turn
		case events.TurnEnded:
			delete(runs, e.Member)
		case events.RequestChanged:
			asks = append(asks, d.Text)
		case events.MemberPlaced:
			placed[e.Member] = d.Node
		case events.NodeChanged:
			if d.State != string(nodes.Lost) || slices.ContainsFunc(c.alone, func(cut [2]time.Time) bool {
				return cut[0].Before(e.Time) && e.Time.Before(cut[1])
			}) { // a coordinator that reaches nobody cannot decide
				continue
			}
			lost[d.Node] = lost[d.Node][:len(lost[d.Node]):len(lost[d.Node])]
			for member, node := range placed {
				if node == d.Node {
					lost[d.Node] = append(lost[d.Node], member)
				}
			}
		}
	}
	merged, err := exec.Command("git", "-C", filepath.Join(c.dir, "origin.git"), "log", "--format=%s", "main").Output()
	if err != nil {
		c.t.Error(err)
	}
	for n := 1; n <= c.count; n++ {
		id := fmt.Sprint(n)
		if commits := strings.Count("\n"+string(merged), "\ntask "+id+"\n"); completed[id] != 1 || commits != 1 {
			c.t.Errorf("task %s was completed %d times and is %d times in main", id, completed[id], commits)
		}
	}
	for member, turn := range runs {
		c.t.Errorf("turn %d of %s still runs", turn, member)
	}
	for node, members := range lost {
		for _, member := range members {
			named := fmt.Sprintf("node %s is back; what %s did", node, member)
			if !slices.ContainsFunc(asks, func(text string) bool { return strings.HasPrefix(text, named) }) {
				c.t.Errorf("node %s was lost, and nothing names what %s had there", node, member)
			}
		}
	}
	c.judgeTurns(said, released)
	carried, dropped := c.Packets()
	c.t.Logf("%d tasks, %d turns were told of, %d tasks were released; nodes were lost: %v; %d packets were carried and %d dropped",
		c.count, len(said), len(released), slices.Sorted(maps.Keys(lost)), carried, dropped)
}

// judgeTurns judges each turn that a worker has ended, unless its node was killed before the worker's next one.
func (c *cutTeam) judgeTurns(said map[string]int, released map[string]bool) {
	text, err := os.ReadFile(filepath.Join(c.dir, "worked"))
	if err != nil {
		c.t.Fatal(err)
	}
	lines := workedLine.FindAllStringSubmatch(string(text), -1)
	for i, l := range lines {
		if l[2] != "ended" {
			continue
		}
		began, ends := l[1], fmt.Sprint(time.Now().UnixNano())
		for _, other := range lines[:i] {
			if other[5] == l[5] {
				began = other[1]
			}
		}
		if j := slices.IndexFunc(lines[i+1:], func(next []string) bool { return next[3] == l[3] }); j >= 0 {
			ends = lines[i+1+j][1]
		}
		killed := slices.ContainsFunc(c.kills[l[6]], func(at time.Time) bool {
			return began <= fmt.Sprint(at.UnixNano()) && fmt.Sprint(at.UnixNano()) <= ends
		})
		if said[l[5]] > 1 {
			c.t.Errorf("turn %s was told of %d times", l[5], said[l[5]])
		}
		if killed {
			continue
		}
		if said[l[5]] == 0 {
			c.t.Errorf("turn %s of node %s was not told of", l[5], l[6])
		}
		if l[7] != "0" && !released[l[4]] {
			c.t.Errorf("the result of turn %s was refused, though the task was not released: %s", l[5], l[8])
		}
	}
}
