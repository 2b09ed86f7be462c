package replica_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/hooks/testkit"
)

// faults is how many faults TestNetwork has; the proof of docs/reliability.md is
//
//	go test ./tasks/replica -run TestNetwork -faults 24 -clocks
var faults = flag.Int("faults", 3, "how many faults TestNetwork has")

// only chooses faults, to repeat one.
var only = flag.String("only", "", "which faults TestNetwork has, by a regular expression")

// clocks makes TestNetwork build itself with a clock that can be wrong.
var clocks = flag.Bool("clocks", false, "TestNetwork: the clocks of a server and of a host are an hour off")

// cluster is three servers and two hosts, each in a network namespace and each server with a disk of
// its own, and an oracle outside of them.
type cluster struct {
	*testkit.Network
	t       *testing.T
	dir     string
	program string // of those whose clock is off
	hosts   []hostConfig
	disks   map[string]*testkit.Disk
	count   map[string]int // faults, by kind

	mu      sync.Mutex
	running map[string]*exec.Cmd // servers
	now     *hosted              // which has begun the last epoch; nil: none has
	both    map[string]*hosted
	changed chan struct{} // closed when now changes
	asked   map[uint64]*question
	next    uint64
	added   map[string]bool
	owners  map[string]string
	acks    chan struct{}
	refused string // the last answer that was an error
}

// question is a request under way.
type question struct {
	ask
	newest uint64 // epoch when it was asked
	answer chan tell
}

var machines = []string{"a", "b", "c", "x", "y"} // servers, hosts

func newCluster(t *testing.T) *cluster {
	testkit.NeedNetwork(t)
	c := &cluster{
		t: t, dir: t.TempDir(), Network: testkit.NewNetwork(t, machines...), disks: map[string]*testkit.Disk{}, count: map[string]int{},
		running: map[string]*exec.Cmd{}, both: map[string]*hosted{}, changed: make(chan struct{}), asked: map[uint64]*question{},
		added: map[string]bool{}, owners: map[string]string{}, acks: make(chan struct{}, 1),
	}
	if *clocks {
		c.program = buildWithClock(t, c.dir)
	}
	creds := filepath.Join(c.dir, "crew.nk")
	key, err := bus.CoordinatorKey(creds)
	if err != nil {
		t.Fatal(err)
	}
	var routes, urls []string
	for _, name := range machines[:3] {
		routes = append(routes, c.At(name).Address.String()+":6222")
		urls = append(urls, "nats://"+c.At(name).Address.String()+":4222")
	}
	for i, name := range machines[:3] {
		c.disks[name] = testkit.NewDisk(t, c.dir, name)
		text := bus.ServerConfig{
			Name: name, Listen: c.At(name).Address.String() + ":4222", Peers: routes[i], Routes: routes, Dir: filepath.Join(c.disks[name].Dir, "data"),
			Most: "4GB", Accounts: []bus.Account{{Team: "crew", Key: key}},
		}.String()
		if err := os.WriteFile(filepath.Join(c.dir, name+".conf"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c.start(name)
	}
	t.Cleanup(func() {
		for _, name := range machines[:3] {
			c.kill(name)
		}
	})
	for _, name := range machines[3:] {
		dir := filepath.Join(c.dir, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		c.hosts = append(c.hosts, hostConfig{Name: name, Dir: dir, Creds: creds, URL: urls})
	}
	return c
}

// in returns how this program is run on a machine.
func (c *cluster) in(name string) []string {
	program := os.Args[0]
	if c.program != "" && (name == "b" || name == "y") {
		program = c.program
	}
	return []string{"ip", "netns", "exec", c.At(name).Namespace, program}
}

// start starts a server.
func (c *cluster) start(name string) {
	args := c.in(name)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), serverVariable+"="+filepath.Join(c.dir, name+".conf"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[name] = cmd
}

// kill kills a server.
func (c *cluster) kill(name string) {
	c.mu.Lock()
	cmd := c.running[name]
	delete(c.running, name)
	c.mu.Unlock()
	if cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// stop stops a server, or continues it.
func (c *cluster) stop(name string, signal syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.running[name].Process.Signal(signal); err != nil {
		c.t.Error(err)
	}
}

// supervise starts a host again when it has ended, as systemd does, until ctx ends.
func (c *cluster) supervise(ctx context.Context, config hostConfig) {
	for ctx.Err() == nil {
		h, err := startHost(config, c.in(config.Name), c.hear)
		if err != nil {
			c.t.Error(err)
			return
		}
		c.mu.Lock()
		c.both[config.Name] = h
		c.mu.Unlock()
		select {
		case <-h.gone:
			time.Sleep(100 * time.Millisecond) // it may have found no server
		case <-ctx.Done():
			_ = h.cmd.Process.Kill()
			<-h.gone
		}
	}
}

// hear notes what a host says. An answer counts whenever it comes.
func (c *cluster) hear(h *hosted, t tell) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.Leads > 0 && (c.now == nil || t.Leads > c.now.leads()) {
		c.now = h
		close(c.changed)
		c.changed = make(chan struct{})
	}
	if t.N == 0 {
		c.t.Logf("%s: epoch %d %s", h.name, t.Leads, t.Err)
	}
	q := c.asked[t.N]
	if q == nil {
		return
	}
	if t.Err != "" {
		c.refused = h.name + ": " + t.Err
	}
	delete(c.asked, t.N)
	if changes := q.Do == "add" || q.Do == "claim"; changes && t.Err == "" {
		if q.newest > h.leads() {
			c.t.Errorf("%s had %s of %q acknowledged for epoch %d after epoch %d had begun", h.name, q.Do, q.Subject, h.leads(), q.newest)
		}
		if q.Do == "add" {
			c.added[q.Subject] = true
		} else if was := c.owners[q.Subject]; was != "" {
			c.t.Errorf("%s was won by %s and %s", q.Subject, was, q.Member)
		} else {
			c.owners[q.Subject] = q.Member
		}
		select {
		case c.acks <- struct{}{}:
		default:
		}
	}
	q.answer <- t
}

var errUnanswered = errors.New("whether it has happened is unknown")

// leader returns the host that leads, and a channel that is closed when it is another one.
func (c *cluster) leader() (*hosted, chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now, c.changed
}

// ask asks a host; nil: the one that leads, until there is another one.
func (c *cluster) ask(ctx context.Context, h *hosted, a ask) (tell, error) {
	leads, changed := c.leader()
	if h == nil {
		h = leads
	} else {
		changed = nil
	}
	q := &question{ask: a, answer: make(chan tell, 1)}
	c.mu.Lock()
	c.next++
	q.N = c.next
	if c.now != nil {
		q.newest = c.now.leads()
	}
	c.asked[q.N] = q
	c.mu.Unlock()
	if h == nil {
		select {
		case <-changed:
		case <-ctx.Done():
		}
		return tell{}, errUnanswered
	}
	send := h.send
	for {
		select {
		case send <- q.ask:
			send = nil
		case t := <-q.answer:
			if t.Err != "" {
				return t, errors.New(t.Err)
			}
			return t, nil
		case <-h.gone:
			time.Sleep(10 * time.Millisecond) // another one needs longer
			return tell{}, errUnanswered
		case <-changed:
			return tell{}, errUnanswered
		case <-ctx.Done():
			return tell{}, errUnanswered
		}
	}
}

// call adds tasks and claims each for two members at once, until ctx ends.
func (c *cluster) call(ctx context.Context, caller int) {
	for n := 0; ctx.Err() == nil; n++ {
		subject := fmt.Sprintf("%d.%d", caller, n)
		made, err := c.ask(ctx, nil, ask{Do: "add", Subject: subject})
		if err != nil {
			time.Sleep(10 * time.Millisecond) // until there is another coordinator
			continue
		}
		var both sync.WaitGroup
		for _, member := range []string{"ana", "ben"} {
			both.Go(func() { _, _ = c.ask(ctx, nil, ask{Do: "claim", Subject: subject, Task: made.Task, Member: member}) })
		}
		both.Wait()
	}
}

// patience is a limit for what hangs.
const patience = 5 * time.Minute

// stuck ends the test, and shows in which state servers and hosts are.
func (c *cluster) stuck(why string) {
	c.t.Helper()
	for _, name := range machines[:3] {
		const most = 8 << 10
		text, err := os.ReadFile(filepath.Join(c.dir, name+".log"))
		c.t.Logf("server %s, with %d MiB free (%v):\n%s", name, c.free()[name], err, text[max(0, len(text)-most):])
	}
	c.mu.Lock()
	for _, h := range c.both {
		_ = h.cmd.Process.Signal(syscall.SIGQUIT) // prints its goroutines
	}
	c.mu.Unlock()
	c.t.Fatal(why)
}

// acked waits for acknowledgements.
func (c *cluster) acked(n int) {
	c.t.Helper()
	for range n {
		select {
		case <-c.acks:
		case <-time.After(patience):
			c.mu.Lock()
			refused := c.refused
			c.mu.Unlock()
			c.stuck("nothing is acknowledged any more; the last error is of " + refused)
		}
	}
}

// takenOver waits until another host than this leads.
func (c *cluster) takenOver(old *hosted) {
	c.t.Helper()
	for end := time.After(patience); ; {
		now, changed := c.leader()
		if now != nil && now.name != old.name {
			return
		}
		select {
		case <-changed:
		case <-end:
			c.stuck("no host takes over")
		}
	}
}

// depose shows that a host that led gets nothing acknowledged, as long as it runs.
func (c *cluster) depose(old *hosted) {
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	for {
		_, err := c.ask(ctx, old, ask{Do: "add", Subject: "of a deposed coordinator"})
		if err == nil || errors.Is(err, errUnanswered) {
			return // hear tells of the former
		}
	}
}

// whole waits until all servers have all messages, and returns the one that leads the log.
func (c *cluster) whole() string {
	c.t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var t tell
		ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
		t, err = c.ask(ctx, nil, ask{Do: "servers"})
		cancel()
		if err == nil {
			return t.Leader
		}
	}
	c.stuck(fmt.Sprint("not all servers are up to date: ", err))
	return ""
}

// TestNetwork: three servers and two hosts are killed, stopped and cut off from each other under
// load, their network is slow and loses packets, their disks are full and lose what nobody has
// synced. Nothing that was acknowledged is lost or done twice, and a deposed coordinator gets
// nothing acknowledged.
func TestNetwork(t *testing.T) {
	c := newCluster(t)
	ctx, stop := context.WithCancel(t.Context())
	var callers, hosts sync.WaitGroup
	hosting, end := context.WithCancel(context.Background())
	defer hosts.Wait()
	defer end()
	defer callers.Wait()
	defer stop()
	for _, config := range c.hosts {
		hosts.Go(func() { c.supervise(hosting, config) })
	}
	for i := range 8 {
		callers.Go(func() { c.call(ctx, i) })
	}
	all := slices.DeleteFunc(networkFaults(), func(f fault) bool { return !regexp.MustCompile(*only).MatchString(f.name) })
	longest := map[string]time.Duration{}
	for i := range *faults {
		f := all[i%len(all)]
		leader := c.whole()
		c.acked(20)
		begun := time.Now()
		f.do(c, leader)
		c.acked(3)
		c.count[f.kind]++
		took := time.Since(begun)
		longest[f.name] = max(longest[f.name], took)
		t.Logf("%d %s: %s; %s MiB are free", i, f.name, took.Round(100*time.Millisecond), counts(c.free()))
		if t.Failed() {
			break
		}
	}
	stop()
	callers.Wait()
	c.whole()
	var last tell
	var err error
	for range 20 {
		if last, err = c.ask(t.Context(), nil, ask{Do: "list"}); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	compare(t, last.Tasks, c.added, c.owners)
	carried, dropped := c.Packets()
	t.Logf("%d tasks and %d claims were acknowledged in %d epochs, through %s; %d packets were carried and %d dropped; the longest: %s",
		len(c.added), len(c.owners), c.now.leads(), counts(c.count), carried, dropped, counts(longest))
}

// free returns how many MiB the disks of the servers have.
func (c *cluster) free() map[string]uint64 {
	free := map[string]uint64{}
	for name, d := range c.disks {
		free[name] = d.Free() >> 20
	}
	return free
}

// counts describes a map in the order of its keys.
func counts[V any](m map[string]V) (text string) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		text += fmt.Sprintf("%s %v, ", key, m[key])
	}
	return text
}
