package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/verdicts"
)

// The verbs about finished work.
var (
	VerbMerge  = forOperator[MergeRequest, MergeReply]("merge")
	VerbReview = forAll[ReviewRequest, ReviewReply]("review")
)

// MergeRequest asks for finished work to be merged: that of a task, of a member with
// all that lies in its working copy, or all that waits.
type MergeRequest struct {
	Task   string `json:"task,omitempty"`
	Member string `json:"member,omitempty"`
	All    bool   `json:"all,omitempty"`
	// Wait has the answer wait until the work is merged, or is not to be for now.
	Wait bool `json:"wait,omitempty"`
}

// String is what is asked for, for people.
func (r MergeRequest) String() string {
	switch {
	case r.Task != "":
		return "task " + r.Task
	case r.Member != "":
		return r.Member
	}
	return "everything that waits"
}

// Wants reports whether a merge is meant.
func (r MergeRequest) Wants(m tasks.Merge) bool {
	switch {
	case r.Task != "":
		return slices.Contains(m.Tasks, r.Task)
	case r.Member != "":
		return m.Member == r.Member
	}
	return r.All
}

// MergeReply answers a MergeRequest: the work as it stands in the queue.
type MergeReply struct {
	Merges []tasks.Merge `json:"merges"`
}

// Review is a piece of finished work with all that is known of it.
type Review struct {
	tasks.Merge
	Changes   []string           `json:"changes"`   // files that it changes in its branch
	Conflicts []string           `json:"conflicts"` // files that cannot be merged as things are
	Outside   []string           `json:"outside"`   // files that its author may not write
	Protected []string           `json:"protected"` // files that nobody may change unasked
	Evidence  []string           `json:"evidence"`  // what members say shows that it is done
	Verdicts  []verdicts.Verdict `json:"verdicts"`  // without their logs, unless these were asked for
	Push      []string           `json:"push,omitempty"`
	Open      []string           `json:"open,omitempty"` // with Push: the commands for its pull request
}

// ReviewRequest asks for reviews; empty fields mean all work that is not over.
type ReviewRequest struct {
	Task   string `json:"task,omitempty"`
	Member string `json:"member,omitempty"`
	Logs   bool   `json:"logs,omitempty"` // with what the gates have printed
}

// ReviewReply answers a ReviewRequest.
type ReviewReply struct {
	Reviews []Review `json:"reviews"`
	// Loose is work that belongs to no task that is done: members with changes in
	// their working copies, and what there is of them.
	Loose []LooseWork `json:"loose"`
}

// LooseWork is what lies in a member's working copy and has not been taken down.
type LooseWork struct {
	Member  string   `json:"member"`
	Branch  string   `json:"branch"`
	Commits int      `json:"commits"` // that no other branch of the team's has
	Changes []string `json:"changes"` // files that are in no commit, as git status has them
}

// String says it for people.
func (l LooseWork) String() string {
	var parts []string
	if l.Commits > 0 {
		parts = append(parts, fmt.Sprintf("%s that no finished task has", counted(l.Commits, "commit")))
	}
	if n := len(l.Changes); n > 0 {
		parts = append(parts, counted(n, "uncommitted change"))
	}
	return fmt.Sprintf("%s has %s on %s", l.Member, strings.Join(parts, " and "), l.Branch)
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Merge asks for finished work to be merged. The reply says what is in the queue for
// it then; Review tells what became of it.
func (c *Client) Merge(ctx context.Context, req MergeRequest) (MergeReply, error) {
	return ask(ctx, c, VerbMerge, req)
}

// Review tells what is known of finished work.
func (c *Client) Review(ctx context.Context, req ReviewRequest) (ReviewReply, error) {
	return ask(ctx, c, VerbReview, req)
}
