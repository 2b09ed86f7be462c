//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/tasks/requests"
)

// checkMain: whatever main has ever pointed to was tested as it stands. The user's first
// commit is the one that nobody tests.
func (c *branchCrash) checkMain() {
	c.t.Helper()
	tested, err := os.ReadFile(c.tested)
	if err != nil && !os.IsNotExist(err) {
		c.t.Fatal(err)
	}
	trees := strings.Fields(c.git("log --first-parent --format=%T main"))
	for _, tree := range trees[:len(trees)-1] {
		if !strings.Contains(string(tested), tree) {
			c.t.Errorf("seed %d: main has held the tree %s, which no gate has agreed to", c.seed, tree)
		}
	}
}

// check looks at all that the team has left.
func (c *branchCrash) check() {
	c.t.Helper()
	c.checkMain()
	all := branchWork + branchAsks + 1
	for id := 1; id <= all; id++ {
		c.done = append(c.done, fmt.Sprint(id)) // each is to be completed once
		if got := c.git(fmt.Sprintf("show main:f%d.txt", id)); got != fmt.Sprint(id) {
			c.t.Errorf("seed %d: f%d.txt holds %q on main", c.seed, id, got)
		}
		if id > branchWork {
			continue
		}
		if n := c.git(fmt.Sprintf("rev-list --count --grep '^work-%d$' main", id)); n != "1" {
			c.t.Errorf("seed %d: the commit of task %d is on main %s times", c.seed, id, n)
		}
	}
	if got := c.git("status --porcelain"); got != "M mine.txt" {
		c.t.Errorf("seed %d: the user's files are left as %q", c.seed, got)
	}
	if mine, err := os.ReadFile(filepath.Join(c.dir, "mine.txt")); err != nil ||
		string(mine) != "not committed\n" {
		c.t.Errorf("seed %d: the user's own change became %q (%v)", c.seed, mine, err)
	}
	c.checkJournal()
	c.checkRequests()
}

// checkRequests: each question stands in the journal once when it is asked and once when
// it is answered, a person's answer was taken once, and no moment of the schedule came twice.
func (c *branchCrash) checkRequests() {
	c.t.Helper()
	data, err := os.ReadFile(c.place.Journal())
	if err != nil {
		c.t.Fatal(err)
	}
	asked, closed, ticks, plans := map[string]int{}, map[string]string{}, 0, 0
	for text := range strings.Lines(string(data)) {
		l, err := events.Decode([]byte(text))
		if err != nil {
			continue // checkJournal has said so
		}
		switch d := l.Event().Data.(type) {
		case events.RequestChanged:
			if was := closed[d.ID]; was != "" && !d.Open() {
				c.t.Errorf("seed %d: request %s was closed twice: %s and %s", c.seed, d.ID, was, d.State)
			}
			if !d.Open() {
				closed[d.ID] = string(d.State)
				continue
			}
			asked[d.ID]++
			if d.Kind == requests.AskPlan {
				plans++
			}
		case events.MessageSent:
			if strings.HasSuffix(d.Text, "tick") {
				ticks++
			}
		}
	}
	for id, n := range asked {
		if n != 1 || closed[id] == "" {
			c.t.Errorf("seed %d: request %s was asked %d times and closed as %q", c.seed, id, n, closed[id])
		}
	}
	for id, n := range c.accepted {
		if n != 1 || closed[id] != string(requests.Approved) {
			c.t.Errorf("seed %d: the answer to %s was taken %d times, and it is %q", c.seed, id, n,
				closed[id])
		}
	}
	if plans != 1 || len(c.accepted) < branchAsks {
		c.t.Errorf("seed %d: %d plans, and %d answers of a person", c.seed, plans, len(c.accepted))
	}
	// A life may have ended before its moment came, and the real minute may have turned.
	if ticks == 0 || ticks > c.moments+2 {
		c.t.Errorf("seed %d: the schedule came %d times at %d moments", c.seed, ticks, c.moments)
	}
}
