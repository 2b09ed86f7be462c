package configs

import (
	"github.com/coveyteam/covey/configs/schema"
	"github.com/coveyteam/covey/configs/yaml"
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

// worktreeSpec is the section `worktree`.
type worktreeSpec struct {
	setup   schema.List[schema.Value[string]]
	include schema.List[schema.Value[string]]
	base    schema.Value[string]
	maxDisk schema.Value[int64]
}

// fields are what can be said of working copies.
func (w *worktreeSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "setup", Part: schema.Args(&w.setup),
			Doc: "Commands that a new working copy needs, such as npm ci. /bin/sh runs them in it, in order."},
		{Key: "include", Part: schema.Globs(&w.include),
			Doc: "Globs of files that git ignores and that are copied from the workspace, such as .env.local."},
		{Key: "base", Part: schema.Text(&w.base),
			Doc: "The branch or commit that working copies start from. Default: what the workspace is on."},
		{Key: "max_disk", Part: schema.Size(&w.maxDisk),
			Doc: "Disk space that all working copies of the team may take, such as 5GB. 0: no limit. Default: no limit."},
	}
}

// Git says what the git that covey runs may do.
type Git struct {
	// Filters are names of filters that the repository's own configuration defines and
	// that may run. Those of the user's configuration always do.
	Filters []string
}

// gitSpec is the section `git`.
type gitSpec struct {
	filters schema.List[schema.Value[string]]
}

// fields are what can be allowed to git.
func (g *gitSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "filters", Part: schema.Texts(&g.filters),
			Doc: "Filters, such as lfs, that may run though only the repository's own configuration defines them. Without it " +
				"their files are neither committed nor checked out by covey. Those of your global configuration always run."},
	}
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

// mergeSpec is the section `merge`.
type mergeSpec struct {
	at             *yaml.Node
	into, via, per schema.Value[string]
}

// fields are what can be said of merges.
func (m *mergeSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "into", Part: schema.Text(&m.into),
			Doc: "The branch that finished work goes into. Default: the one that the workspace is on."},
		{Key: "via", Part: schema.OneOf(&m.via, string(ViaBranch), string(ViaPR)),
			Doc: "branch: covey moves the branch. pr: it leaves a branch, a title and the evidence for a pull request. " +
				"Default: branch."},
		{Key: "per", Part: schema.OneOf(&m.per, string(PerTask), string(PerMember)),
			Doc: "What is merged at once: the work on a task, or all of a member's. Default: task."},
	}
}
