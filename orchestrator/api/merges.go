package api

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// The verbs about finished work.
var (
	VerbMerge  = forOperator[MergeRequest, MergeReply]("merge")
	VerbReview = forAll[ReviewRequest, ReviewReply]("review")
	VerbReturn = forOperator[ReturnRequest, ReturnReply]("return")
)

// MergeRequest asks to merge finished work: of a task, of a member with
// everything in its working copy, or all work that waits.
type MergeRequest struct {
	Task   string `json:"task,omitempty"`
	Member string `json:"member,omitempty"`
	All    bool   `json:"all,omitempty"`
	// Unmarked is all that waits, was looked at, and has no marks.
	Unmarked bool `json:"unmarked,omitempty"`
	// Force merges without asking the gates. All must not be set.
	Force bool `json:"force,omitempty"`
	// Wait delays the reply until the work is merged, or cannot be merged for
	// now.
	Wait bool `json:"wait,omitempty"`
}

// String names the requested work for people.
func (r MergeRequest) String() string {
	switch {
	case r.Task != "":
		return "task " + r.Task
	case r.Member != "":
		return r.Member
	case r.Unmarked:
		return "what waits without marks"
	}
	return "everything that waits"
}

// Wants reports whether the request includes a merge. Work that is back with its author is
// included only if its task is named.
func (r MergeRequest) Wants(m tasks.Merge) bool {
	switch {
	case r.Task != "":
		return slices.Contains(m.Tasks, r.Task)
	case m.State == tasks.MergeReturned, r.Unmarked && m.State != tasks.MergeWaiting:
		return false
	case r.Member != "":
		return m.Member == r.Member
	}
	return r.All || r.Unmarked
}

// MergeReply is the reply to a MergeRequest: the state of the work in the queue.
type MergeReply struct {
	Merges []tasks.Merge `json:"merges"`
}

// Review is a piece of finished work with all information about it.
type Review struct {
	tasks.Merge
	Begins    string             `json:"begins"`            // the commit where the changes begin that its merge brings
	Revises   string             `json:"revises,omitempty"` // the commit that was sent back and that it revises
	Brings    []Brought          `json:"brings"`            // other pieces of work whose changes are among these
	Changes   []string           `json:"changes"`           // files that its merge changes
	Conflicts []string           `json:"conflicts"`         // files with merge conflicts now
	Outside   []string           `json:"outside"`           // files that its author may not write
	Protected []string           `json:"protected"`         // files that members may change only with approval
	Evidence  []string           `json:"evidence"`          // the members' evidence that it is done
	Verdicts  []requests.Verdict `json:"verdicts"`          // with their logs only if requested
	Hints     []hints.Hint       `json:"hints"`             // what a reviewer should look at first, marks first
	Size      hints.Size         `json:"size"`              // of what its merge brings
	Tree      string             `json:"tree"`              // git tree of Commit; empty if the commit is gone
	Push      []string           `json:"push,omitempty"`
	Open      []string           `json:"open,omitempty"` // with Push: the commands for its pull request
}

// Brought is a piece of work that the merge of another one brings, because its author built on it.
type Brought struct {
	tasks.Merge
	Changes   []string `json:"changes"`           // files that it changes itself
	Protected []string `json:"protected"`         // those that members may change only with approval
	Request   string   `json:"request,omitempty"` // the open question about it
}

// InQueue compares two pieces of work for a review queue by their hints and their first tasks: those that lead come first,
// else the order is that of tasks, so that each keeps its place while others are decided.
func InQueue(a, b []hints.Hint, aTask, bTask string) int {
	rank := map[bool]int{true: 0, false: 1}
	return cmp.Or(rank[hints.Lead(a)]-rank[hints.Lead(b)], tasks.CompareIDs(aTask, bTask))
}

// ReviewRequest asks for reviews. Without a task and a member it asks for all
// work that is not merged.
type ReviewRequest struct {
	Task   string `json:"task,omitempty"`
	Member string `json:"member,omitempty"`
	Logs   bool   `json:"logs,omitempty"` // include the output of the gates
}

// ReviewReply is the reply to a ReviewRequest.
type ReviewReply struct {
	Reviews []Review `json:"reviews"`
	// Loose is work in members' working copies that belongs to no completed task.
	Loose []LooseWork `json:"loose"`
}

// LooseWork is work in a member's working copy that belongs to no completed task.
type LooseWork struct {
	Member  string   `json:"member"`
	Branch  string   `json:"branch"`
	Commits int      `json:"commits"` // commits that are on no other branch of the team
	Changes []string `json:"changes"` // uncommitted files, as git status shows them
}

// String describes the work for people.
func (l LooseWork) String() string {
	var parts []string
	if l.Commits > 0 {
		parts = append(parts, fmt.Sprintf("%s that no finished task has", texts.Plural(l.Commits, "commit")))
	}
	if n := len(l.Changes); n > 0 {
		parts = append(parts, texts.Plural(n, "uncommitted change"))
	}
	return fmt.Sprintf("%s has %s on %s", l.Member, strings.Join(parts, " and "), l.Branch)
}

// ReturnRequest asks to send finished work back to its author.
type ReturnRequest struct {
	Task string `json:"task"`
	Text string `json:"text"` // what is to be changed
}

// ReturnReply is the reply to a ReturnRequest.
type ReturnReply struct {
	How    Returned `json:"how"`
	Task   string   `json:"task"`   // with which its author goes on; of ReturnedDenied, the task itself
	Member string   `json:"member"` // who has Task; empty: anybody may take it
}

// Returned describes how work went back to its author.
type Returned string

// The ways back.
const (
	ReturnedDenied  Returned = "denied"  // an open question about it was denied
	ReturnedStopped Returned = "stopped" // it left the merge queue, and its author has a new task
	ReturnedMerged  Returned = "merged"  // it stays merged, and its author has a new task
	ReturnedOpen    Returned = "open"    // its task is pending again
)

// String returns for people what became of the work.
func (r ReturnReply) String() string {
	who := r.Member
	if who == "" {
		who = "whoever takes it"
	}
	switch r.How {
	case ReturnedDenied:
		return "denied: " + who + " goes on with it"
	case ReturnedStopped:
		return "it is not merged; " + who + " goes on with task " + r.Task
	case ReturnedMerged:
		return "it stays merged; " + who + " revises it with task " + r.Task
	}
	return "task " + r.Task + " is open again for " + who
}

// Merge asks to merge finished work. The reply holds its merges in the queue;
// Review returns their results.
func (c *Client) Merge(ctx context.Context, req MergeRequest) (MergeReply, error) {
	return ask(ctx, c, VerbMerge, req)
}

// Review returns the information about finished work.
func (c *Client) Review(ctx context.Context, req ReviewRequest) (ReviewReply, error) {
	return ask(ctx, c, VerbReview, req)
}

// Return sends finished work back to its author.
func (c *Client) Return(ctx context.Context, req ReturnRequest) (ReturnReply, error) {
	return ask(ctx, c, VerbReturn, req)
}
