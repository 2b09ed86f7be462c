package configs

import (
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks"
)

// Worktree configures the working copies of members whose Isolation is InWorktree.
type Worktree struct {
	Setup   []string // shell commands that are run in a new working copy, in order
	Include []string // globs of ignored files that are copied from the workspace
	Base    string   // branch or commit that working copies start from; empty means the workspace's HEAD
	MaxDisk int64    // bytes that all working copies of the team may take; 0 means no limit
	Ports   int      // how many network ports each working copy gets; 0 means none
}

// worktreeSpec is the section `worktree`.
type worktreeSpec struct {
	setup   yaml.List[yaml.Value[string]]
	include yaml.List[yaml.Value[string]]
	base    yaml.Value[string]
	maxDisk yaml.Value[int64]
	ports   yaml.Value[int64]
}

// fields returns the keys about working copies.
func (w *worktreeSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "setup", Part: yaml.Args(&w.setup),
			Doc: "Commands that prepare a new working copy, such as npm ci. /bin/sh runs them in it, in order."},
		{Key: "include", Part: yaml.Globs(&w.include),
			Doc: "Globs of files that git ignores and that are copied from the workspace, such as .env.local."},
		{Key: "base", Part: yaml.Text(&w.base),
			Doc: "The branch or commit that working copies start from. Default: the workspace's HEAD."},
		{Key: "max_disk", Part: yaml.Size(&w.maxDisk),
			Doc: "Disk space that all working copies of the team may take, such as 5GB. 0: no limit. Default: no limit."},
		{Key: "ports", Part: yaml.WholeFrom(1, 100, &w.ports),
			Doc: "How many network ports each working copy gets for its own. COVEY_PORT_0, COVEY_PORT_1 and so on name them " +
				"to the member, its setup and its gates. Default: none."},
	}
}

// Git says what the git that covey runs may do.
type Git struct {
	// Filters are names of filters that may run although only the repository's own
	// configuration defines them. Those of the user's configuration always run.
	Filters []string
}

// gitSpec is the section `git`.
type gitSpec struct {
	filters yaml.List[yaml.Value[string]]
}

// fields returns the keys about git.
func (g *gitSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "filters", Part: yaml.Texts(&g.filters),
			Doc: "Filters, such as lfs, that may run although only the repository's own configuration defines them. Filters of " +
				"your global configuration always run."},
	}
}

// MergeVia says how finished work gets into the branch it is for.
type MergeVia string

// The ways to merge.
const (
	ViaBranch MergeVia = "branch" // covey moves the branch
	ViaPR     MergeVia = "pr"     // a branch, a title and the evidence are left for a pull request
)

// MergePer is the unit that is merged at once.
type MergePer string

// The units of a merge.
const (
	PerTask   MergePer = "task"
	PerMember MergePer = "member"
)

// Merge says where finished work goes. Into is empty in a spec without the key, which means
// the branch that the workspace is on.
type Merge struct {
	Into string
	Via  MergeVia // never empty
	Per  MergePer // never empty
	// Given says that the spec has the key, so that finished work is merged unasked.
	Given bool
	// Gates must agree to the merged state before it counts; each has Gate set.
	Gates []hooks.Handler
}

// mergeSpec is the section `merge`.
type mergeSpec struct {
	at             *yaml.Node
	into, via, per yaml.Value[string]
}

// fields returns the keys about merges.
func (m *mergeSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "into", Part: yaml.Text(&m.into),
			Doc: "The branch that finished work goes into. Default: the one that the workspace is on."},
		{Key: "via", Part: yaml.OneOf(&m.via, string(ViaBranch), string(ViaPR)),
			Doc: "branch: covey moves the branch. pr: it leaves a branch, a title and the evidence for a pull request. " +
				"Default: branch."},
		{Key: "per", Part: yaml.OneOf(&m.per, string(PerTask), string(PerMember)),
			Doc: "What is merged at once: the work on a task, or all work of a member. Default: task."},
	}
}
