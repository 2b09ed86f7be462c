package configs

import (
	"time"

	"github.com/coveyteam/covey/hooks"
)

// Worktree says how the working copies of members are made whose Isolation is
// InWorktree.
type Worktree struct {
	Setup   []string // shell commands that a new working copy needs, run in it in order
	Include []string // globs of ignored files that are copied from the workspace
	Base    string   // branch or commit that working copies start from; empty: the workspace's HEAD
	MaxDisk int64    // bytes that all working copies of the team may take; 0: no limit
}

// MergeVia says how finished work comes into the branch that it is for.
type MergeVia string

// The ways to merge.
const (
	ViaBranch MergeVia = "branch" // covey moves the branch
	ViaPR     MergeVia = "pr"     // a branch, a title and the evidence are left for a pull request
)

// MergePer says what is merged at once.
type MergePer string

// What is merged at once.
const (
	PerTask   MergePer = "task"
	PerMember MergePer = "member"
)

// Merge says where finished work goes. The zero value of a spec without the
// key has Into empty: the branch that the workspace is on.
type Merge struct {
	Into string
	Via  MergeVia // never empty
	Per  MergePer // never empty
	// Given: the spec has the key, so that finished work is merged without being asked for.
	Given bool
	// Gates must agree to the merged state before it counts; each has Gate set.
	Gates []hooks.Handler
}

// Git says what the git that covey runs may do.
type Git struct {
	// Filters are names of filters that the repository's own configuration defines and
	// that may run. Those of the user's configuration always do.
	Filters []string
}

// OnLimit says what happens when a limit of the vendor behind an agent is hit.
type OnLimit string

// What happens at a vendor's limit.
const (
	WaitForLimit OnLimit = "wait"     // the member goes on when the limit is over
	FallBack     OnLimit = "fallback" // it goes on at once with its agent's Fallback
	StopAtLimit  OnLimit = "stop"     // the team ends
)

// Budget bounds what the whole team may use. Zero means no limit.
type Budget struct {
	Tokens  int64
	USD     float64       // where prices are known, in US dollars
	Time    time.Duration // that the team is up, over all its runs
	OnLimit OnLimit       // never empty
	Prices  string        // absolute path of a file whose prices come before covey's own; empty: none
}

// Schedule is a task or a message that comes again and again.
type Schedule struct {
	Name string // unique in the spec
	Cron string // five fields, or @hourly, @daily and the like; checked
	Zone string // IANA name of the time zone; empty: the machine's
	Task *Task  // to be made each time; its ID is the schedule's name; nil for a message
	To   string // a member; empty for a task
	Text string // for To
}

// Restart says how often a member whose agent fails is started again.
type Restart struct {
	Max    int           // starts in Within; 0: none
	Within time.Duration // never 0 in a resolved spec
	// Given: the spec says so for the member, or under defaults. Then turns that fail count, too.
	Given bool
}

// OnAsk says what becomes of a question to a person while nobody is attached.
type OnAsk string

// What becomes of questions.
const (
	DenyAsk OnAsk = "deny" // no is the answer, at once
	WaitAsk OnAsk = "wait" // it waits in the inbox, for as long as questions may
)
