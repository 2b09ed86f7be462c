package tasks

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/tasks/replica"
	"github.com/coveyteam/covey/tasks/store"
)

// serversEnv has the path of a key and the addresses of servers, for a process that plays a host.
const serversEnv = "COVEY_TASKS_TEST_SERVERS"

// leads is the client of the line that a host writes once it leads.
const leads = -1

// monotonic returns a time that all processes of this machine share.
func monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}

// ackCounter counts whose changes the servers have acknowledged.
type ackCounter struct {
	store.Replica
	mu    sync.Mutex
	acked map[string]int // by member
}

func (c *ackCounter) Commit(record []byte) error {
	err := c.Replica.Commit(record)
	c.mu.Lock()
	defer c.mu.Unlock()
	for member := range c.acked {
		if err == nil && bytes.Contains(record, fmt.Appendf(nil, `"member":%q`, member)) {
			c.acked[member]++
		}
	}
	return err
}

func (c *ackCounter) of(member string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.acked[member]
}

// takeOver makes this process the coordinator, and opens its store in a folder.
func takeOver(ctx context.Context, dir, servers string) (s *Store, c *ackCounter, err error) {
	creds, urls, _ := strings.Cut(servers, ",")
	link, err := replica.Connect(replica.Config{Team: "crew", URL: strings.Split(urls, ","), Creds: creds, OnError: func(error) {}})
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, "tasks.db")
	open := func(r store.Replica) (err error) {
		s, err = Open(path, &Options{Replica: r, LockTimeout: time.Minute})
		return err
	}
	lead, err := link.Lead(ctx, replica.Candidate{
		Holder: "same", // so that it waits for nobody's end
		Store:  path, Journal: filepath.Join(dir, "journal.jsonl"), Prepare: func(r store.Replica) error {
			if err := open(r); err != nil {
				return err
			}
			return s.Close()
		},
	}, false)
	if err != nil {
		return nil, nil, err
	}
	c = &ackCounter{Replica: lead.Log, acked: map[string]int{}}
	for client := range historyClients {
		c.acked[historyMember(client)] = 0
	}
	return s, c, open(c)
}

// hostChild is historyChild of a host that takes over.
func hostChild(dir string) error {
	ctx := context.Background()
	s, c, err := takeOver(ctx, dir, os.Getenv(serversEnv))
	for errors.Is(err, replica.ErrServers) { // a busy machine
		s, c, err = takeOver(ctx, dir, os.Getenv(serversEnv))
	}
	if err != nil {
		return err
	}
	list, err := s.List(ctx)
	if err == nil && len(list) == 0 {
		_, err = s.Add(ctx, as(""), slices.Repeat([]New{{Subject: "a task"}}, historyTasks))
	}
	if err != nil {
		return err
	}
	h := &historian{s: s, now: monotonic, acked: c.of, out: json.NewEncoder(os.Stdout)}
	h.say(historyLine{Client: leads})
	h.run()
	return nil
}

// historyHost is a process that is a host.
type historyHost struct {
	cmd *exec.Cmd

	mu    sync.Mutex
	news  *sync.Cond
	ended bool
	begun int64 // when it led
	open  map[int]*porcupine.Operation
	ops   []porcupine.Operation
	acked []bool // which of ops have changed something
}

func startHistoryHost(t *testing.T, dir, servers string) *historyHost {
	t.Helper()
	h := &historyHost{cmd: child(t.Context(), "host", dir), open: map[int]*porcupine.Operation{}}
	h.news = sync.NewCond(&h.mu)
	h.cmd.Env = append(h.cmd.Env, serversEnv+"="+servers)
	out, err := h.cmd.StdoutPipe()
	ok(t, out, err)
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for in := bufio.NewReader(out); ; {
			text, err := in.ReadBytes('\n')
			h.mu.Lock()
			if h.ended = err != nil; h.ended { // what follows the last newline was cut off
				h.news.Broadcast()
				h.mu.Unlock()
				return
			}
			var l historyLine
			if err := json.Unmarshal(text, &l); err != nil {
				t.Errorf("%s: %v", text, err)
			}
			h.note(l)
			h.news.Broadcast()
			h.mu.Unlock()
		}
	}()
	return h
}

// note notes a line.
func (h *historyHost) note(l historyLine) {
	switch {
	case l.Client == leads:
		h.begun = l.At
	case l.Asked != nil:
		h.open[l.Client] = &porcupine.Operation{ClientId: l.Client, Input: *l.Asked, Call: l.At}
	default:
		op := h.open[l.Client]
		op.Output, op.Return = *l.Told, l.At
		h.ops, h.acked = append(h.ops, *op), append(h.acked, l.Acked)
		delete(h.open, l.Client)
	}
}

// leads waits until the host leads, and returns since when.
func (h *historyHost) leads(t *testing.T) int64 {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.begun == 0 {
		if h.ended {
			t.Fatal("a host has ended before it led")
		}
		h.news.Wait()
	}
	return h.begun
}

// calls waits until the host has answered that many more calls.
func (h *historyHost) calls(t *testing.T, n int) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for n += len(h.ops); len(h.ops) < n; h.news.Wait() {
		if h.ended {
			t.Fatal("a host has ended by itself")
		}
	}
}

// kill kills the host, and waits until it is gone and all its lines are read.
func (h *historyHost) kill() {
	_ = h.cmd.Process.Kill()
	h.mu.Lock()
	defer h.mu.Unlock()
	for !h.ended {
		h.news.Wait()
	}
	_ = h.cmd.Wait()
}

// history returns what callers of this host were told. Once another one led, since over, the copy of this
// one was old, so that answers without a change tell nothing. What was asked for after that, or after the
// host had noticed, may neither have been acknowledged nor have happened.
func (h *historyHost) history(t *testing.T, over int64) (list []porcupine.Operation) {
	t.Helper()
	lost := over
	for _, op := range h.ops {
		if op.Output.(answer).Cut {
			lost = min(lost, op.Return)
		}
	}
	for i, op := range h.ops {
		told := op.Output.(answer)
		switch {
		case op.Call > lost && h.acked[i]:
			t.Errorf("a deposed coordinator acknowledged %+v: %+v", op.Input, told)
		case op.Call > lost:
			continue
		case told.Cut, op.Return > over && !h.acked[i]:
			op.Output, op.Return = answer{Cut: true}, over
		}
		list = append(list, op)
	}
	for _, op := range h.open {
		if op.Call < lost {
			op.Output, op.Return = answer{Cut: true}, over
			list = append(list, *op)
		}
	}
	return list
}

// TestHistoryOfHosts: the history of callers on two hosts that follow each other as coordinators is
// linearizable. The one before is killed, or stopped for a while, or it goes on calling, and nothing that
// it asks for then is acknowledged.
func TestHistoryOfHosts(t *testing.T) {
	trial, err := bus.StartTrial(t.Context(), t.TempDir(), "crew", nil)
	ok(t, trial, err)
	defer trial.Close()
	servers := strings.Join(append([]string{trial.Creds}, trial.URL...), ",")
	dirs := []string{t.TempDir(), t.TempDir()}
	now := startHistoryHost(t, dirs[0], servers)
	now.leads(t)
	var history []porcupine.Operation
	deposed, n := 0, max(3, *rounds/2)
	for i := range n {
		now.calls(t, callsBeforeKill+rand.IntN(120))
		signal := []os.Signal{syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCONT}[i%3]
		if err := now.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		next := startHistoryHost(t, dirs[(i+1)%2], servers)
		over := next.leads(t)
		if signal != syscall.SIGKILL {
			if err := now.cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			now.calls(t, 10*historyClients)
			deposed++
		}
		now.kill()
		history = append(history, now.history(t, over)...)
		now = next
	}
	now.calls(t, callsBeforeKill)
	now.kill()
	s, _, err := takeOver(t.Context(), t.TempDir(), servers)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	over := monotonic()
	history = append(history, now.history(t, over)...)
	judgeHistory(t, s, history, over+1, n+1)
	t.Logf("%d of %d coordinators called on after another one led", deposed, n+1)
}
