//go:build unix

package replica_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/replica"
	"github.com/coveyteam/covey/tasks/store"
)

// A host is a process, too: it waits until it leads, changes the store as it is asked on its standard
// input, and ends as covey does once it may not lead any more.

// hostConfig is what a host gets.
type hostConfig struct {
	Name, Dir, Creds string
	URL              []string
}

// ask is a request to a host, and tell its answer. A tell without a number is news.
type (
	ask struct {
		N                         uint64
		Do, Subject, Task, Member string
	}
	tell struct {
		N      uint64
		Err    string
		Task   string
		Tasks  []tasks.Task
		Leader string // the server that leads the log, if all are up to date
		Leads  uint64 // the epoch that the host has begun
	}
)

// serveHost is the main function of a host.
func serveHost(config string) {
	var c hostConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		panic(err)
	}
	h := &hostProcess{config: c, out: json.NewEncoder(os.Stdout), asks: make(chan ask)}
	go h.read()
	err := h.run()
	h.tell(tell{Err: err.Error()})
	os.Exit(3)
}

type hostProcess struct {
	config hostConfig
	*tasks.Store
	lead *replica.Lead
	js   jetstream.JetStream
	asks chan ask
	mu   sync.Mutex
	out  *json.Encoder
}

// read reads the requests, and ends the process with the test.
func (h *hostProcess) read() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var a ask
		if err := json.Unmarshal(in.Bytes(), &a); err != nil {
			panic(err)
		}
		h.asks <- a
	}
	os.Exit(0)
}

func (h *hostProcess) tell(t tell) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.out.Encode(t) // who does not hear it sees the process end
}

// run waits until this host leads, and returns why it does not any more.
func (h *hostProcess) run() error {
	c := h.config
	link, err := replica.Connect(replica.Config{Team: "crew", URL: c.URL, Creds: c.Creds, OnError: func(error) {}})
	if err != nil {
		return err
	}
	path := filepath.Join(c.Dir, "tasks.db")
	options := tasks.Options{LockTimeout: time.Minute, Backups: 2}
	ctx := context.Background()
	h.lead, err = link.Lead(ctx, replica.Candidate{
		Holder: c.Name, Host: c.Name, Store: path, Journal: filepath.Join(c.Dir, "journal.jsonl"),
		Prepare: func(r store.Replica) error {
			options.Replica = r
			s, err := tasks.Open(path, &options)
			if err != nil {
				return err
			}
			return s.Close()
		},
	}, true)
	if err != nil {
		return err
	}
	if h.Store, err = tasks.Open(path, &options); err != nil {
		return err
	}
	key, err := nats.NkeyOptionFromSeed(c.Creds)
	if err != nil {
		return err
	}
	nc, err := nats.Connect(c.URL[0], key, nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true), func(o *nats.Options) error {
		o.Servers = c.URL
		return nil
	})
	if err != nil {
		return err
	}
	if h.js, err = jetstream.New(nc); err != nil {
		return err
	}
	h.tell(tell{Leads: h.lead.Status().Epoch})
	go h.serve(ctx)
	return h.lead.Keep(ctx, func(replica.Status) {})
}

// serve answers requests, and ends the host once its store is lost, as a run ends.
func (h *hostProcess) serve(ctx context.Context) {
	go func() {
		<-h.Lost()
		h.tell(tell{Err: h.Cause().Error()})
		os.Exit(3)
	}()
	for a := range h.asks {
		go func() {
			answer, err := h.do(ctx, a)
			answer.N = a.N
			if err != nil {
				answer.Err = err.Error()
			}
			h.tell(answer)
		}()
	}
}

func (h *hostProcess) do(ctx context.Context, a ask) (t tell, err error) {
	switch a.Do {
	case "add":
		made, err := h.Add(ctx, actors.Actor{}, []tasks.New{{Subject: a.Subject}})
		if err != nil {
			return t, err
		}
		return tell{Task: made[0].ID}, nil
	case "claim":
		_, err := h.Claim(ctx, actors.Actor{Name: a.Member}, a.Task, tasks.Claim{})
		return t, err
	case "list":
		if err := h.Check(ctx); err != nil {
			return t, err
		}
		t.Tasks, err = h.List(ctx)
		return t, err
	case "snapshot":
		return t, h.lead.Log.Snapshot(a.Subject, store.State{Transaction: 1 << 40})
	case "servers":
		t.Leader, err = upToDate(ctx, h.js)
		return t, err
	}
	return t, fmt.Errorf("a host cannot %s", a.Do)
}

// upToDate returns the server that leads the log, once all servers have all messages.
func upToDate(ctx context.Context, js jetstream.JetStream) (leader string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	s, err := js.Stream(ctx, "covey_crew")
	if err != nil {
		return "", err
	}
	info := s.CachedInfo().Cluster
	if info == nil || info.Leader == "" || len(info.Replicas) != 2 {
		return "", errors.New("no quorum")
	}
	for _, r := range info.Replicas {
		if !r.Current || r.Offline {
			return "", fmt.Errorf("%s is behind", r.Name)
		}
	}
	return info.Leader, nil
}

// hosted is the test's side of a host.
type hosted struct {
	name  string
	cmd   *exec.Cmd
	send  chan ask      // to its standard input
	gone  chan struct{} // closed when it has ended
	reply func(*hosted, tell)

	mu    sync.Mutex
	epoch uint64 // 0: it waits
}

// leads returns the epoch that the host has begun.
func (h *hosted) leads() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.epoch
}

// startHost starts a host. reply gets all that it says.
func startHost(c hostConfig, program []string, reply func(*hosted, tell)) (*hosted, error) {
	config, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	h := &hosted{name: c.Name, send: make(chan ask), gone: make(chan struct{}), reply: reply}
	h.cmd = exec.Command(program[0], program[1:]...)
	h.cmd.Env = append(os.Environ(), hostVariable+"="+string(config))
	h.cmd.Stderr = os.Stderr
	in, err := h.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		encode := json.NewEncoder(in)
		for {
			select {
			case a := <-h.send:
				_ = encode.Encode(a) // the end of the process says it
			case <-h.gone:
				return
			}
		}
	}()
	go func() {
		for decode := json.NewDecoder(out); ; {
			var t tell
			if err := decode.Decode(&t); err != nil {
				_ = h.cmd.Wait()
				close(h.gone)
				return
			}
			if t.Leads > 0 {
				h.mu.Lock()
				h.epoch = t.Leads
				h.mu.Unlock()
			}
			reply(h, t)
		}
	}()
	return h, nil
}
