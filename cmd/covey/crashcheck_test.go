//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/tasks"
)

// crashFigures are what a run has seen.
type crashFigures struct {
	acknowledged, unknown, claims, messages, events int
}

func (f *crashFigures) add(more crashFigures) {
	f.acknowledged += more.acknowledged
	f.unknown += more.unknown
	f.claims += more.claims
	f.messages += more.messages
	f.events += more.events
}

func (f crashFigures) String() string {
	return fmt.Sprintf("%d calls answered, %d unknown, %d claims in the history, %d messages shown, %d events in journals",
		f.acknowledged, f.unknown, f.claims, f.messages, f.events)
}

// store opens the team's store while covey does not run, and holds it to its
// invariants.
func (c *crashTeam) store() (*tasks.Store, bool) {
	c.t.Helper()
	// A command that was being started when covey was killed has its files until it is.
	s, err := tasks.Open(c.place.Store(), &tasks.Options{ReadOnly: true, BlobDir: c.place.Blobs(), LockTimeout: scriptPatience})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false // killed before it had a store
	}
	if err != nil {
		c.t.Errorf("seed %d: %v", c.seed, err)
		return nil, false
	}
	if err := s.Check(c.t.Context()); err != nil {
		c.t.Errorf("seed %d: the store is not in order: %v", c.seed, err)
	}
	return s, true
}

// look reads, between two lives, what became of the tasks that are fought for.
func (c *crashTeam) look(round int) {
	c.t.Helper()
	s, ok := c.store()
	if !ok {
		return
	}
	defer s.Close()
	first := crashWork + 1 + round*4%(crashFight-12)
	for id := first; id < first+12; id++ {
		if task, err := s.Task(c.t.Context(), strconv.Itoa(id)); err == nil {
			c.history.read(task.ID, claimState{owner: task.Owner, done: task.Status == tasks.Completed})
		}
	}
}

// check looks at all that the team has left.
func (c *crashTeam) check() crashFigures {
	c.t.Helper()
	f := crashFigures{claims: len(c.history.ops)}
	for _, client := range c.clients {
		f.acknowledged += client.answered
		f.unknown += client.unknown
	}
	c.checkTasks()
	c.checkHistory()
	f.events = c.checkJournal()
	f.messages = c.checkMail()
	return f
}

// doneByWorkers are the completed tasks of those that only workers do.
func doneByWorkers(all []tasks.Task) (ids []string) {
	for _, task := range all {
		if id, err := strconv.Atoi(task.ID); err == nil && id <= crashWork && task.Status == tasks.Completed {
			ids = append(ids, task.ID)
		}
	}
	return ids
}

// checkTasks reads all tasks once more, and looks for those whose making was
// acknowledged.
func (c *crashTeam) checkTasks() {
	c.t.Helper()
	s, ok := c.store()
	if !ok {
		c.t.Fatalf("seed %d: there is no store", c.seed)
	}
	defer s.Close()
	all, err := s.List(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	made := map[string]int{}
	for _, task := range all {
		made[task.Subject]++
		id, _ := strconv.Atoi(task.ID) // the store gives numbers
		if id > crashWork && id <= crashWork+crashFight {
			c.history.read(task.ID, claimState{owner: task.Owner, done: task.Status == tasks.Completed})
		}
	}
	for _, client := range c.clients {
		for _, subject := range client.made {
			if made[subject] != 1 {
				c.t.Errorf("seed %d: %q was acknowledged once and made %d times", c.seed, subject,
					made[subject])
			}
		}
	}
}

// checkHistory has the claims judged, and the same claims with a forged one.
func (c *crashTeam) checkHistory() {
	c.t.Helper()
	if got := c.history.judge(); got != porcupine.Ok {
		c.t.Errorf("seed %d: the history of claims is %s", c.seed, got)
	}
	forged := c.history.forged()
	if !forged.forgedAlready() {
		return // no claim was accepted in so few rounds
	}
	if got := forged.judge(); got != porcupine.Illegal {
		c.t.Errorf("seed %d: a forged second owner is %s: the check finds nothing", c.seed, got)
	}
}

// checkJournal: numbers rise strictly, every event of the store stands there
// exactly once, and so does the completion of each task.
func (c *crashTeam) checkJournal() (happened int) {
	c.t.Helper()
	data, err := os.ReadFile(c.place.Journal())
	if err != nil {
		c.t.Fatal(err)
	}
	seq, stored, completed := uint64(0), map[uint64]int{}, map[string]int{}
	for text := range strings.Lines(string(data)) {
		var l events.Line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			c.t.Errorf("seed %d: a torn line in the journal: %q", c.seed, text)
		}
		if l.Seq <= seq {
			c.t.Errorf("seed %d: line %d of the journal comes after line %d", c.seed, l.Seq, seq)
		}
		seq = l.Seq
		if l.Store > 0 {
			stored[l.Store]++
		}
		if change, ok := l.Event().Data.(events.TaskChanged); ok && change.Op == tasks.TaskCompleted {
			completed[change.Task.ID]++
		}
	}
	for id := uint64(1); id <= uint64(len(stored)); id++ {
		if stored[id] != 1 {
			c.t.Errorf("seed %d: event %d of the store stands in the journal %d times", c.seed, id,
				stored[id])
		}
	}
	for _, id := range c.done {
		if completed[id] != 1 {
			c.t.Errorf("seed %d: task %s was completed %d times", c.seed, id, completed[id])
		}
	}
	return len(stored)
}

// mailKey finds the texts of clients and workers in what a member was shown.
var mailKey = regexp.MustCompile(`mail ([a-z0-9]+-\d+)\.`)

// shown is what a member was shown, in order.
func (c *crashTeam) shown(member string) []string {
	c.t.Helper()
	paths, err := filepath.Glob(filepath.Join(c.place.Transcripts(), member, "*.jsonl"))
	if err != nil || len(paths) != 1 {
		c.t.Errorf("seed %d: %s has the transcripts %v (%v)", c.seed, member, paths, err)
		return nil
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		c.t.Error(err)
	}
	var keys []string
	for text := range strings.Lines(string(data)) {
		var l struct {
			Message struct {
				Role    string
				Content []struct{ Type, Text string }
			}
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			c.t.Errorf("seed %d: a torn line in the transcript of %s: %q", c.seed, member, text)
		}
		for _, b := range l.Message.Content {
			if l.Message.Role == "user" && b.Type == "text" {
				for _, m := range mailKey.FindAllStringSubmatch(b.Text, -1) {
					keys = append(keys, m[1])
				}
			}
		}
	}
	return keys
}

// waiting is what a member's mailbox holds: sent when the team was told to end.
func (c *crashTeam) waiting(member string) (keys []string) {
	c.t.Helper()
	s, ok := c.store()
	if !ok {
		return nil
	}
	defer s.Close()
	list, err := s.Mail().Unread(c.t.Context(), member)
	if err != nil {
		c.t.Error(err)
	}
	for _, m := range list {
		for _, key := range mailKey.FindAllStringSubmatch(m.Text, -1) {
			keys = append(keys, key[1])
		}
	}
	return keys
}

// checkMail: a message that was acknowledged was shown exactly once, or waits; any
// other at most once; and those of one sender in their order.
func (c *crashTeam) checkMail() (messages int) {
	c.t.Helper()
	times, order := map[string]int{}, map[string][]string{}
	for _, hand := range crashHands {
		order[hand] = append(c.shown(hand), c.waiting(hand)...)
		messages += len(order[hand])
		for _, key := range order[hand] {
			times[hand+" "+key]++
		}
	}
	for _, client := range c.clients {
		var want []string
		for _, m := range client.mail {
			n := times[m.to+" "+m.key]
			if n > 1 || m.result == accepted && n != 1 || m.result == refused && n != 0 {
				c.t.Errorf("seed %d: %s was shown mail %s %d times; its result was %d", c.seed, m.to,
					m.key, n, m.result)
			}
			if n > 0 {
				want = append(want, m.to+" "+m.key)
			}
		}
		for _, hand := range crashHands {
			c.checkOrder(hand, client.member, order[hand], want)
		}
	}
	for _, id := range c.done {
		if n := times["h1 work-"+id]; n != 1 {
			c.t.Errorf("seed %d: h1 was shown the message about task %s %d times", c.seed, id, n)
		}
	}
	return messages
}

// checkOrder compares what a hand was shown of one sender with what was sent.
func (c *crashTeam) checkOrder(hand, sender string, shown, sent []string) {
	c.t.Helper()
	var got, want []string
	for _, key := range shown {
		if strings.HasPrefix(key, sender+"-") {
			got = append(got, hand+" "+key)
		}
	}
	for _, key := range sent {
		if strings.HasPrefix(key, hand+" ") {
			want = append(want, key)
		}
	}
	if !slices.Equal(got, want) {
		c.t.Errorf("seed %d: %s was shown, of %s: %v, in the order of sending: %v", c.seed, hand,
			sender, got, want)
	}
}
