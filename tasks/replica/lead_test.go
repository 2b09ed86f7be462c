package replica_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/replica"
	"github.com/coveyteam/covey/tasks/store"
)

// startServers starts three servers.
func startServers(t *testing.T) *bus.Trial {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	trial, err := bus.StartTrial(ctx, t.TempDir(), "crew", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(trial.Close)
	return trial
}

// host is a host on which a team may run.
type host struct {
	t    *testing.T
	dir  string
	link *replica.Link
	lead *replica.Lead
	*tasks.Store
}

func (h *host) path() string { return filepath.Join(h.dir, "tasks.db") }

func newHost(t *testing.T, trial *bus.Trial) *host {
	t.Helper()
	link, err := replica.Connect(replica.Config{Team: "crew", URL: trial.URL, Creds: trial.Creds, OnError: func(err error) { t.Log("servers:", err) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	return &host{t: t, dir: t.TempDir(), link: link}
}

func (h *host) options(r store.Replica) *tasks.Options {
	return &tasks.Options{Replica: r, LockTimeout: time.Minute}
}

// takeOver makes the host the coordinator, as if the other one were silent.
func (h *host) takeOver(fresh bool) error { return h.begin(replica.Candidate{Fresh: fresh}) }

func (h *host) begin(c replica.Candidate) error {
	lead, err := h.link.Lead(h.t.Context(), replica.Candidate{
		Holder: "same", // so that nobody waits for the end of a lease
		Host:   filepath.Base(h.dir), Store: h.path(), Journal: filepath.Join(h.dir, "journal.jsonl"), Fresh: c.Fresh, Repair: c.Repair, Repository: c.Repository,
		Prepare: func(r store.Replica) error {
			s, err := tasks.Open(h.path(), h.options(r))
			if err != nil {
				return err
			}
			return s.Close()
		},
	}, false)
	if err != nil {
		return err
	}
	h.lead = lead
	o := h.options(lead.Log)
	o.Backups = 2
	h.Store, err = tasks.Open(h.path(), o)
	return err
}

func (h *host) up(fresh bool) {
	h.t.Helper()
	if err := h.takeOver(fresh); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) add(subject, description string) error {
	_, err := h.Add(h.t.Context(), actors.Actor{}, []tasks.New{{Subject: subject, Description: description}})
	return err
}

func (h *host) subjects() (list []string) {
	h.t.Helper()
	all, err := h.List(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	for _, task := range all {
		list = append(list, task.Subject)
	}
	return list
}

// TestTakeover: what one host has committed, another one has, with its long texts; the first one then
// gets nothing acknowledged, and its store says why.
func TestTakeover(t *testing.T) {
	trial := startServers(t)
	a, b := newHost(t, trial), newHost(t, trial)
	a.up(false)
	long := strings.Repeat("a long text. ", 200_000) // its record would need several messages
	for i := range 5 {
		if err := a.add(fmt.Sprint("task ", i), long[:i*len(long)/4]); err != nil {
			t.Fatal(err)
		}
	}
	if s := a.lead.Status(); s.Epoch != 1 || !s.Quorum || s.Unsafe != "" {
		t.Errorf("the status is %+v", s)
	}
	b.up(false)
	if have := b.subjects(); len(have) != 5 {
		t.Fatalf("the other host has %q", have)
	}
	all, err := b.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if all[4].Description != long {
		t.Errorf("a text of %d bytes became one of %d", len(long), len(all[4].Description))
	}
	if err := b.Check(t.Context()); err != nil {
		t.Error(err)
	}
	err = a.add("too late", "")
	if !errors.Is(err, replica.ErrFenced) || !errors.Is(err, tasks.ErrReplica) {
		t.Errorf("a change after the takeover: %v", err)
	}
	<-a.Lost()
	if err := a.Cause(); !errors.Is(err, replica.ErrFenced) {
		t.Errorf("the store is lost because of %v", err)
	}
	if err := b.add("in time", ""); err != nil {
		t.Error(err)
	}
	if have := b.subjects(); len(have) != 6 || have[5] != "in time" {
		t.Errorf("the other host has %q", have)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	// The next one begins from the snapshot that b has made, and from an empty folder.
	c := newHost(t, trial)
	c.up(false)
	if have := c.subjects(); len(have) != 6 {
		t.Errorf("a third host has %q", have)
	}
	// Fresh forgets.
	if err := errors.Join(c.Close(), os.RemoveAll(c.path()+".backups"), os.RemoveAll(c.path()+".blobs"), os.Remove(c.path())); err != nil {
		t.Fatal(err)
	}
	c.up(true)
	if have := c.subjects(); len(have) != 0 {
		t.Errorf("a fresh store has %q", have)
	}
	if err := c.add("new", ""); err != nil {
		t.Error(err)
	}
	d := newHost(t, trial)
	d.up(false)
	if have := d.subjects(); len(have) != 1 {
		t.Errorf("after a fresh begin there is %q", have)
	}
}

// TestLargeCommits: a commit that needs several messages is one change on another host, too. One for which
// the stream has no room has not happened, and the store goes on; snapshots make room.
func TestLargeCommits(t *testing.T) {
	trial := startServers(t)
	a, b := newHost(t, trial), newHost(t, trial)
	a.up(false)
	text := strings.Repeat("a description. ", 4000)
	large := func(h *host, n int) error {
		list := make([]tasks.New, n)
		for i := range list {
			list[i] = tasks.New{Subject: "large", Description: text}
		}
		_, err := h.Add(t.Context(), actors.Actor{}, list)
		return err
	}
	js, err := jetstream.New(a.link.Conn())
	if err != nil {
		t.Fatal(err)
	}
	info := func() *jetstream.StreamInfo {
		s, err := js.Stream(t.Context(), "covey_crew")
		if err != nil {
			t.Fatal(err)
		}
		return s.CachedInfo()
	}
	before := info().State
	if err := large(a, 30); err != nil {
		t.Fatal(err)
	}
	after := info().State
	if n := after.LastSeq - before.LastSeq; n < 2 {
		t.Errorf("a commit of %d bytes took %d messages", 30*len(text), n)
	}
	each := int64(after.Bytes-before.Bytes) / 30
	b.up(false)
	all, err := b.List(t.Context())
	if err != nil || len(all) != 30 || all[29].Description != text {
		t.Fatalf("the other host has %d tasks, %v", len(all), err)
	}

	now := info()
	now.Config.MaxBytes = int64(now.State.Bytes) + 3*each + each/2
	if _, err := js.UpdateStream(t.Context(), now.Config); err != nil {
		t.Fatal(err)
	}
	refused := func(n int) {
		t.Helper()
		if err := large(b, n); !errors.Is(err, tasks.ErrDisk) || !errors.Is(err, store.ErrRefused) {
			t.Errorf("%d large tasks in a full stream: %v", n, err)
		}
	}
	refused(30)
	for range 3 {
		if err := large(b, 1); err != nil {
			t.Fatal(err)
		}
	}
	refused(1)
	if err := b.Cause(); err != nil {
		t.Errorf("a full stream has ended the store: %v", err)
	}
	for range 2 {
		if err := errors.Join(b.add("small", ""), b.Close()); err != nil { // Close stores a snapshot
			t.Fatal(err)
		}
		b.up(false)
	}
	if err := large(b, 1); err != nil {
		t.Errorf("after two snapshots: %v", err)
	}
	if have := b.subjects(); len(have) != 36 {
		t.Errorf("there are %d tasks", len(have))
	}
}

// TestRepair: servers that have lost records are noticed, whatever host begins, and the copy of the
// host that had them makes the streams whole.
func TestRepair(t *testing.T) {
	trial := startServers(t)
	a, b := newHost(t, trial), newHost(t, trial)
	a.up(false)
	for i := range 5 {
		if err := a.add(fmt.Sprint("task ", i), ""); err != nil {
			t.Fatal(err)
		}
	}
	key, err := nats.NkeyOptionFromSeed(trial.Creds)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(trial.URL[0], key)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	// What a server has lost is not there any more, and it still counts from where it was.
	if _, err := nc.Request("$JS.API.STREAM.PURGE.covey_crew", []byte(`{"filter":"covey.crew.log","keep":2}`), time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := b.takeOver(false); !errors.Is(err, replica.ErrGap) {
		t.Fatalf("another host began with lost records: %v", err)
	}
	if err := a.Close(); err != nil && !errors.Is(err, replica.ErrFenced) {
		t.Fatal(err)
	}
	if err := a.begin(replica.Candidate{Repair: true}); err != nil {
		t.Fatal(err)
	}
	if err := a.add("more", ""); err != nil {
		t.Fatal(err)
	}
	b.up(false)
	if have := b.subjects(); len(have) != 6 {
		t.Errorf("after the repair there is %q", have)
	}
}
