// Package compare compares teams: it knows the tasks that they get, the arms that get them, what became of
// each run, and what the runs of an arm have in common. It starts nothing.
package compare

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// Format is the version of the form of task files. Keys may be added under the same number.
const Format = 1

// Task is what each arm gets.
type Task struct {
	ID         string // the name of its file
	Repository string // an absolute path, or a URL
	Commit     string // the state that a run begins with
	Goal       string
	Accept     string // a shell command that succeeds if the result is good; no member sees it
	Dir        string // where Accept finds its files
}

// ReadTasks reads the task files of a folder, in the order of their names. Mistakes are yaml.Errors, those
// of all files at once.
func ReadTasks(dir string) (list []Task, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var mistakes yaml.Errors
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if e.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, ext) {
			continue
		}
		t, wrong, err := readTask(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		t.ID = strings.TrimSuffix(e.Name(), ext)
		mistakes, list = append(mistakes, wrong...), append(list, t)
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	if len(list) == 0 {
		return nil, errors.New("it has no task file, such as mend.yaml with covey-task: 1, repository, commit, goal and accept")
	}
	return list, nil
}

// readTask reads a task file.
func readTask(path string) (t Task, mistakes yaml.Errors, err error) {
	data, err := yaml.ReadFile(path)
	if err != nil {
		return t, nil, err
	}
	d := &yaml.Decoder{Document: yaml.ParseAs(yaml.Form{
		Name: "task file", MaxSize: yaml.MaxSize, MaxKeys: 100, MaxDepth: 8,
		IfEmpty: "write covey-task: 1, repository, commit, goal and accept", IfLarge: "shorten the goal", InsteadOfMerge: "write the keys out",
	}, path, data)}
	var version yaml.Value[int64]
	var repository, commit, goal, accept yaml.Value[string]
	if d.Root != nil {
		d.Object(&yaml.Node{Kind: yaml.TextKind, Text: "the task file", At: d.Root.At}, d.Root, []yaml.Field{
			{Key: "covey-task", Need: true, Part: yaml.WholeFrom[int64](Format, Format)(&version)},
			{Key: "repository", Need: true, Part: yaml.Text(&repository)},
			{Key: "commit", Need: true, Part: yaml.Text(&commit)},
			{Key: "goal", Need: true, Part: yaml.Text(&goal)},
			{Key: "accept", Need: true, Part: yaml.Text(&accept)},
		})
	}
	if strings.HasPrefix(commit.V, "-") || strings.HasPrefix(repository.V, "-") {
		d.Fail(d.Root.At, "a repository or commit does not begin with a dash")
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return t, nil, err
	}
	t = Task{Repository: repository.V, Commit: commit.V, Goal: goal.V, Accept: accept.V, Dir: dir}
	if !IsURL(t.Repository) && !filepath.IsAbs(t.Repository) {
		t.Repository = filepath.Join(dir, t.Repository)
	}
	return t, yaml.Errors(yaml.SortProblems(d.Problems)), nil
}

// IsURL reports whether a repository is on another machine: a URL, or host:path.
func IsURL(repository string) bool {
	before, _, ok := strings.Cut(repository, ":")
	return ok && !strings.ContainsAny(before, `/\`) && len(before) > 1
}

// Run is one run of one arm on one task.
type Run struct {
	Task Task
	Arm  string
	N    int // 1, 2, …
}

// Runs lists the runs of a comparison, in their order: each round has all arms of all tasks, so that a
// comparison that stops early has as many runs of each.
func Runs(tasks []Task, arms []string, rounds int) (list []Run) {
	for n := range rounds {
		for _, t := range tasks {
			for _, arm := range arms {
				list = append(list, Run{t, arm, n + 1})
			}
		}
	}
	return list
}

// compareResults orders results by task, arm and number.
func compareResults(a, b Result) int {
	return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.N, b.N))
}
