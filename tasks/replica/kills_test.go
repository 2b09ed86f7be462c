//go:build unix

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
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// kills is how often TestKills kills or stops a server; the proof of docs/reliability.md is
//
//	go test ./tasks/replica -run TestKills -kills 100 -timeout 60m
var kills = flag.Int("kills", 3, "how often TestKills kills or stops a server")

// These variables make this test a server with that configuration, or a host.
const (
	serverVariable = "COVEY_TEST_SERVER"
	hostVariable   = "COVEY_TEST_HOST"
)

func TestMain(m *testing.M) {
	if conf := os.Getenv(serverVariable); conf != "" {
		opts, err := server.ProcessConfigFile(conf)
		if err != nil {
			panic(err)
		}
		opts.LogFile, opts.Logtime = logOf(conf), true
		s, err := server.NewServer(opts)
		if err != nil {
			panic(err)
		}
		s.ConfigureLogger()
		s.Start()
		s.WaitForShutdown()
		return
	}
	if config := os.Getenv(hostVariable); config != "" {
		serveHost(config)
		return
	}
	os.Exit(m.Run())
}

// logOf returns the path of the log of the server with that configuration.
func logOf(conf string) string { return strings.TrimSuffix(conf, ".conf") + ".log" }

// processes are three servers, each a process.
type processes struct {
	t       *testing.T
	dir     string
	trial   *bus.Trial // where they listen
	running map[string]*exec.Cmd
	js      jetstream.JetStream
}

func startProcesses(t *testing.T) *processes {
	t.Helper()
	return startEdited(t, func(conf string) string { return conf })
}

// startEdited starts three servers whose configurations are edited before.
func startEdited(t *testing.T, edit func(conf string) string) *processes {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	p := &processes{t: t, dir: t.TempDir(), running: map[string]*exec.Cmd{}}
	var err error
	if p.trial, err = bus.StartTrial(ctx, p.dir, "crew", nil); err != nil {
		t.Fatal(err)
	}
	p.trial.Close() // only its configurations are needed
	for _, name := range []string{"a", "b", "c"} {
		path := filepath.Join(p.dir, name+".conf")
		conf, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(edit(string(conf))), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		p.start(name)
	}
	t.Cleanup(func() {
		for name := range p.running {
			p.kill(name)
		}
	})
	key, err := nats.NkeyOptionFromSeed(p.trial.Creds)
	if err != nil {
		t.Fatal(err)
	}
	var nc *nats.Conn
	p.until("a connection", func() (err error) {
		nc, err = nats.Connect(p.trial.URL[0], key, nats.MaxReconnects(-1))
		return err
	})
	nc.Close()
	if nc, err = nats.Connect(fmt.Sprintf("%s,%s,%s", p.trial.URL[0], p.trial.URL[1], p.trial.URL[2]), key, nats.MaxReconnects(-1)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if p.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	return p
}

// until repeats try until it succeeds.
func (p *processes) until(what string, try func() error) {
	p.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s: %v", what, err)
		}
	}
}

func (p *processes) start(name string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverVariable+"="+filepath.Join(p.dir, name+".conf"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.running[name] = cmd
}

func (p *processes) kill(name string) {
	cmd := p.running[name]
	delete(p.running, name)
	_ = cmd.Process.Signal(syscall.SIGCONT)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// whole waits until all servers have all messages, and returns the one that leads the team's log.
func (p *processes) whole() (leader string) {
	p.until("servers that are up to date", func() (err error) {
		leader, err = upToDate(p.t.Context(), p.js)
		return err
	})
	return leader
}

// oracle knows what callers were told.
type oracle struct {
	mu     sync.Mutex
	added  map[string]bool   // subjects
	owners map[string]string // of tasks that were claimed, by subject
	acks   chan struct{}
	hosts  []*host // the last one is the coordinator
}

// now returns the coordinator.
func (o *oracle) now() *host {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.hosts[len(o.hosts)-1]
}

// call adds tasks and claims each for two members at once, until ctx ends.
func (o *oracle) call(ctx context.Context, t *testing.T, caller int) {
	for n := 0; ctx.Err() == nil; n++ {
		h, subject := o.now(), fmt.Sprintf("%d.%d", caller, n)
		made, err := h.Add(ctx, actors.Actor{}, []tasks.New{{Subject: subject}})
		if err != nil {
			if h.Cause() == nil && ctx.Err() == nil {
				t.Errorf("%s: %v", subject, err)
			}
			time.Sleep(10 * time.Millisecond) // until there is another coordinator
			continue
		}
		o.tell(func() { o.added[subject] = true })
		var both sync.WaitGroup
		for _, member := range []string{"ana", "ben"} {
			both.Go(func() {
				if _, err := h.Claim(ctx, actors.Actor{Name: member}, made[0].ID, tasks.Claim{}); err == nil {
					o.tell(func() {
						if was := o.owners[subject]; was != "" {
							t.Errorf("%s was won by %s and %s", subject, was, member)
						}
						o.owners[subject] = member
					})
				}
			})
		}
		both.Wait()
	}
}

// tell notes an acknowledged change.
func (o *oracle) tell(note func()) {
	o.mu.Lock()
	note()
	o.mu.Unlock()
	select {
	case o.acks <- struct{}{}:
	default:
	}
}

// takeOver makes a new host the coordinator, and shows that the old one gets nothing acknowledged.
func (o *oracle) takeOver(t *testing.T, next *host) {
	old := o.now()
	for {
		err := next.takeOver(false)
		if err == nil {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
		t.Log("again:", err)
	}
	if err := old.add("of a deposed coordinator", ""); err == nil {
		t.Error("a deposed coordinator had a change acknowledged")
	}
	o.mu.Lock()
	o.hosts = append(o.hosts, next)
	o.mu.Unlock()
}

// TestKills: the server that leads the log is killed or stopped under load, and at every third time
// another host takes over in the same moment. Nothing that was acknowledged is lost or done twice.
func TestKills(t *testing.T) {
	p := startProcesses(t)
	first := newHost(t, p.trial)
	p.until("a coordinator", func() error { return first.takeOver(false) })
	o := &oracle{added: map[string]bool{}, owners: map[string]string{}, acks: make(chan struct{}, 1), hosts: []*host{first}}
	ctx, stop := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() { o.call(ctx, t, i) })
	}
	longest := time.Duration(0)
	for round := range *kills {
		name := p.whole()
		for range 20 {
			<-o.acks
		}
		if round%2 == 0 {
			p.kill(name)
		} else if err := p.running[name].Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if round%3 == 2 {
			o.takeOver(t, newHost(t, p.trial))
		}
		for range 3 { // one may have been under way
			<-o.acks
		}
		longest = max(longest, time.Since(begun))
		if round%2 == 0 {
			p.start(name)
		} else if err := p.running[name].Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	callers.Wait()
	p.whole()
	o.takeOver(t, newHost(t, p.trial))
	o.judge(t)
	t.Logf("%d tasks and %d claims were acknowledged, by %d coordinators; the longest silence was %s", len(o.added), len(o.owners), len(o.hosts), longest)
}

// judge compares what the last coordinator has with what callers were told.
func (o *oracle) judge(t *testing.T) {
	last := o.now()
	all, err := last.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	compare(t, all, o.added, o.owners)
	if err := last.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// compare compares the tasks of a store with what callers were told.
func compare(t *testing.T, all []tasks.Task, added map[string]bool, owners map[string]string) {
	t.Helper()
	have := map[string]tasks.Task{}
	for _, task := range all {
		if _, twice := have[task.Subject]; twice {
			t.Errorf("%s is there twice", task.Subject)
		}
		have[task.Subject] = task
	}
	for subject := range added {
		if have[subject].Subject == "" {
			t.Errorf("%s is lost", subject)
		}
	}
	for subject, owner := range owners {
		if have[subject].Owner != owner {
			t.Errorf("%s was won by %s and belongs to %q", subject, owner, have[subject].Owner)
		}
	}
	if _, is := have["of a deposed coordinator"]; is {
		t.Error("a change of a deposed coordinator is there")
	}
}

// TestKilledInSnapshot: what a coordinator has stored of a snapshot when it is killed is gone after the
// next one has begun, and what is in use stays.
func TestKilledInSnapshot(t *testing.T) {
	p := startProcesses(t)
	first := newHost(t, p.trial)
	p.until("a coordinator", func() error { return first.takeOver(false) })
	long := strings.Repeat("a long text. ", 200_000)
	if err := first.add("a task", long); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil { // stores a snapshot
		t.Fatal(err)
	}
	names := func() (subjects []string) {
		p.until("the objects", func() error {
			s, err := p.js.Stream(t.Context(), "OBJ_covey_crew")
			if err != nil {
				return err
			}
			info, err := s.Info(t.Context(), jetstream.WithSubjectFilter("$O.covey_crew.C.>"))
			if err == nil {
				subjects = slices.Sorted(maps.Keys(info.State.Subjects))
			}
			return err
		})
		return subjects
	}
	want := names()

	leads := make(chan struct{})
	h, err := startHost(hostConfig{Name: "same", Dir: t.TempDir(), Creds: p.trial.Creds, URL: p.trial.URL}, []string{os.Args[0]}, func(h *hosted, a tell) {
		if a.Leads > 0 {
			close(leads)
		} else {
			t.Log(h.name, a.Err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	<-leads
	// A snapshot that never ends.
	pipe := filepath.Join(t.TempDir(), "snapshot")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	h.send <- ask{N: 1, Do: "snapshot", Subject: pipe}
	w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.WriteString(long); err != nil {
		t.Fatal(err)
	}
	p.until("parts of a snapshot", func() error {
		if len(names()) == len(want) {
			return errors.New("there are none")
		}
		return nil
	})
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-h.gone

	next := newHost(t, p.trial)
	p.until("another coordinator", func() error { return next.takeOver(false) })
	p.until("no parts that nobody needs", func() error {
		if have := names(); !slices.Equal(have, want) {
			return fmt.Errorf("there are %q, want %q", have, want)
		}
		return nil
	})
	if all, err := next.List(t.Context()); err != nil || len(all) != 1 || all[0].Description != long {
		t.Errorf("the next host has %d tasks, %v", len(all), err)
	}
}
