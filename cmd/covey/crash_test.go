//go:build unix

package main

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
)

// crashes is how often TestCrash kills covey; .ci/long sets more.
var crashes = flag.Int("crashes", 2, "how often TestCrash kills covey and all its children")

// crashBinary names a covey to kill instead of the test binary, which is the same
// program with its tests: what `go build` made, or a release.
const crashBinary = "COVEY_TEST_BINARY"

// crashesOfATeam is how often one team is killed before it is looked at as a
// whole and another one begins: transcripts and histories that grow for ever would
// make the rounds longer and no harder.
const crashesOfATeam = 50

// TestCrash kills covey and its children at random moments (ADVERSARIAL 17, 23 and
// 24), again and again, while its members work and while clients claim, complete,
// release, create and send through the socket and by command. Nothing that was
// acknowledged may be lost, no task may have two owners, and each message is shown
// exactly once. A failure names the seed.
func TestCrash(t *testing.T) {
	t.Parallel()
	rounds := *crashes
	if testing.Short() {
		rounds = min(rounds, 10)
	}
	var all crashFigures
	for first := 0; first < rounds && !t.Failed(); first += crashesOfATeam {
		c := newCrashTeam(t, uint64(first)+1)
		for round := range min(crashesOfATeam, rounds-first) {
			if c.round(round); t.Failed() {
				break
			}
		}
		c.rest()
		all.add(c.check())
		c.keep()
	}
	t.Logf("%d crashes: %s", rounds, all)
	if all.acknowledged == 0 {
		t.Errorf("no call was acknowledged in %d rounds, which proves nothing", rounds)
	}
}

// crashTeam is a team that is killed, and what the clients know of it.
type crashTeam struct {
	t       *testing.T
	seed    uint64
	random  *rand.Rand
	dir     string
	env     []string
	place   state.Place
	clients []*crashClient
	history *claimHistory
	done    []string // tasks that the workers had completed, in turns that were over, before the end
}

func newCrashTeam(t *testing.T, seed uint64) *crashTeam {
	t.Helper()
	c := crashTeamOf(t, seed, crashFiles())
	for i, hand := range crashHands {
		c.clients = append(c.clients, &crashClient{
			team: c, number: i, member: hand, random: rand.New(rand.NewPCG(seed, uint64(i)+100)), byCommand: i == 0,
		})
	}
	return c
}

// crashTeamOf is a team named crash of these files, without clients.
func crashTeamOf(t *testing.T, seed uint64, files map[string]string) *crashTeam {
	t.Helper()
	home := t.TempDir()
	c := &crashTeam{
		t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 17)), dir: t.TempDir(), history: newClaimHistory(),
	}
	c.env = append(os.Environ(), "COVEY_STATE_HOME="+home, "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_CONFIG_NOSYSTEM=1")
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	place, err := state.PlaceIn(home, "crash", c.dir)
	if err != nil {
		t.Fatal(err)
	}
	c.place = place
	return c
}

// start runs `covey up` as the leader of a process group.
func (c *crashTeam) start() *exec.Cmd {
	c.t.Helper()
	program := os.Getenv(crashBinary)
	if program == "" {
		program = "covey"
	}
	cmd := exec.Command(program, "-C", c.dir, "up", "--trust", "--keep")
	cmd.Env = c.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log, err := os.OpenFile(filepath.Join(c.dir, "up.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return cmd
}

// round is one life of covey. One in five ends while it starts, the others after
// some calls were accepted, so that a slow machine is given its time.
func (c *crashTeam) round(n int) {
	cmd := c.start()
	ctx, stop := context.WithCancel(c.t.Context())
	defer stop()
	loaded, target := make(chan struct{}), int64(1+c.random.IntN(40))
	var accepts atomic.Int64
	var load sync.WaitGroup
	for _, client := range c.clients {
		load.Go(func() {
			client.run(ctx, n, func() {
				if accepts.Add(1) == target {
					close(loaded)
				}
			})
		})
	}
	moment := time.Duration(c.random.IntN(120)) * time.Millisecond
	if c.random.IntN(5) > 0 {
		select {
		case <-loaded:
			moment /= 10
		case <-time.After(scriptPatience):
			c.t.Errorf("seed %d, round %d: %d calls were accepted: %s", c.seed, n, accepts.Load(), c.log())
		}
	}
	time.Sleep(moment)
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		c.t.Errorf("seed %d, round %d: covey was gone before it was killed (%v): %s", c.seed, n, err, c.log())
	}
	_ = cmd.Wait() // killed
	stop()
	load.Wait()
	c.look(n)
}

// rest lets the team come to rest, so that all mail has been shown, and ends it in
// order.
func (c *crashTeam) rest() {
	cmd := c.start()
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }()
	ctx, stop := context.WithCancel(c.t.Context())
	defer stop()
	hung := time.AfterFunc(scriptPatience, stop)
	defer hung.Stop()
	client := dialCrash(ctx, c.place)
	if client == nil {
		c.t.Fatalf("seed %d: the team cannot be reached after the last crash: %s", c.seed, c.log())
	}
	defer client.Close()
	var journal int64
	for rests := false; !rests; time.Sleep(20 * time.Millisecond) {
		if ctx.Err() != nil {
			c.keep()
			c.t.Fatalf("seed %d: the team does not come to rest: %s", c.seed, c.log())
		}
		// A team that still writes to its journal is slow, and does not hang.
		if info, err := os.Stat(c.place.Journal()); err == nil && info.Size() > journal {
			journal = info.Size()
			hung.Reset(scriptPatience)
		}
		// Before it is looked at who works: who rests then has done with these.
		all, err := client.Tasks(ctx)
		if rests = c.atRest(ctx, client) && err == nil; rests {
			c.done = doneByWorkers(all)
		}
	}
	if _, err := client.Down(ctx, "looked at"); err != nil {
		c.t.Errorf("seed %d: down: %v", c.seed, err)
	}
	_ = cmd.Wait() // its code says that tasks are open
}

// atRest says whether nobody works and no mail waits.
func (c *crashTeam) atRest(ctx context.Context, client *api.Client) bool {
	st, err := client.Status(ctx)
	if err != nil || !st.Up {
		return false
	}
	for _, m := range st.Members {
		if m.Unread > 0 || m.State == api.Working || m.State == api.Starting {
			return false
		}
	}
	return true
}

// keep copies what a team that failed has left to where it stays.
func (c *crashTeam) keep() {
	if !c.t.Failed() {
		return
	}
	dir, err := os.MkdirTemp("", "covey-crash-")
	if err == nil {
		_ = c.place.ClearSockets() // no files to copy
		err = os.CopyFS(filepath.Join(dir, "state"), os.DirFS(c.place.Dir))
	}
	c.t.Logf("seed %d: its state is in %s (%v)", c.seed, dir, err)
}

// log is the end of what covey has printed.
func (c *crashTeam) log() string {
	text, err := os.ReadFile(filepath.Join(c.dir, "up.log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}
