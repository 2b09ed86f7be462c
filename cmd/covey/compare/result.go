package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks/actors"
)

// Result is what became of a run.
type Result struct {
	Task     string `json:"task"`
	Arm      string `json:"arm"`
	N        int    `json:"n"`
	Accepted bool   `json:"accepted"`
	Output   string `json:"output,omitempty"` // the end of what the acceptance command printed, if it failed
	Code     int    `json:"exit_code"`        // of the team
	Reason   string `json:"reason"`           // why the team ended
	Used
	// Cut means that covey was killed in the run: it counts for the budget, and is made again.
	Cut bool `json:"cut,omitempty"`
}

// Used is what a run took.
type Used struct {
	CostUSD       float64 `json:"cost_usd"`
	Tokens        int64   `json:"tokens"`
	Least         bool    `json:"tokens_unknown,omitempty"` // tokens is a lower bound
	Seconds       float64 `json:"seconds"`
	Turns         int     `json:"turns"`
	EmptyTurns    int     `json:"empty_turns"`
	Refusals      int     `json:"refusals"`
	Interventions int     `json:"interventions"` // how often a person was, or would have been, asked
}

// UsedIn returns what a journal says about its team.
func UsedIn(s *view.State) (u Used) {
	for _, m := range s.Members {
		u.CostUSD, u.Tokens, u.Least = u.CostUSD+m.Done.CostUSD, u.Tokens+m.Done.Tokens, u.Least || m.Done.TokensUnknown
		u.Turns, u.EmptyTurns = u.Turns+m.Done.Turns, u.EmptyTurns+m.Done.Empty
		u.Refusals, u.Interventions = u.Refusals+m.Done.Refusals, u.Interventions+m.Done.DeniedCalls
	}
	for _, r := range s.Requests {
		if r.To == actors.Operator {
			u.Interventions++
		}
	}
	if len(s.Runs) > 0 {
		u.Seconds = s.Time.Sub(s.Runs[0].Started).Seconds()
	}
	return u
}

// Book keeps the results of a comparison in a folder, so that one that was cut off goes on.
type Book struct {
	dir     string
	Results []Result
}

// plan is what a comparison compares.
type plan struct {
	Format int    `json:"covey-comparison"`
	Digest string `json:"digest"`
}

// begun is a run that has begun.
type begun struct {
	Folder string      `json:"folder"` // its workspace is in it
	Place  state.Place `json:"place"`
}

// OpenBook opens the results in a folder, which it makes. digest stands for what is compared: those of
// something else are an error.
func OpenBook(dir, digest string) (*Book, error) {
	b := &Book{dir: dir}
	if err := os.MkdirAll(b.path("runs"), 0o700); err != nil {
		return nil, err
	}
	var known plan
	switch err := read(b.path("comparison.json"), &known); {
	case errors.Is(err, fs.ErrNotExist):
		if err := write(b.path("comparison.json"), plan{Format, digest}); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case known != plan{Format, digest}:
		return nil, fmt.Errorf("%s has the results of another comparison (other tasks, arms, spec or covey); remove it, or name another --out", dir)
	}
	files, err := filepath.Glob(b.path("runs", "*.result.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		var r Result
		if err := read(file, &r); err != nil {
			return nil, err
		}
		b.Results = append(b.Results, r)
	}
	slices.SortFunc(b.Results, compareResults)
	return b, nil
}

// path returns the path of a file of the book.
func (b *Book) path(names ...string) string {
	return filepath.Join(append([]string{b.dir}, names...)...)
}

// Name returns the name of a run, with which its files begin.
func (r Run) Name() string { return fmt.Sprintf("%s.%s.%d", r.Task.ID, r.Arm, r.N) }

// Has reports whether a run has a result.
func (b *Book) Has(r Run) bool {
	return slices.ContainsFunc(b.Results, func(known Result) bool {
		return !known.Cut && known.Task == r.Task.ID && known.Arm == r.Arm && known.N == r.N
	})
}

// Begin records that a run begins, with its files in a folder.
func (b *Book) Begin(r Run, folder string, place state.Place) error {
	return write(b.path("runs", r.Name()+".begun.json"), begun{folder, place})
}

// Unfinished calls do for each run that has begun and has no result, because covey was killed. What do
// returns is its result.
func (b *Book) Unfinished(runs []Run, do func(folder string, place state.Place) (Used, error)) error {
	for _, r := range runs {
		file := b.path("runs", r.Name()+".begun.json")
		var at begun
		if err := read(file, &at); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		if !b.Has(r) {
			used, err := do(at.Folder, at.Place)
			if err != nil {
				return err
			}
			if err := b.Add(r, Result{Reason: "covey was killed", Used: used, Cut: true}); err != nil {
				return err
			}
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// Add records the result of a run.
func (b *Book) Add(r Run, is Result) error {
	is.Task, is.Arm, is.N = r.Task.ID, r.Arm, r.N
	file := r.Name()
	if is.Cut {
		file += "." + time.Now().UTC().Format("20060102T150405.000000000")
	}
	if err := write(b.path("runs", file+".result.json"), is); err != nil {
		return err
	}
	b.Results = append(b.Results, is)
	slices.SortStableFunc(b.Results, compareResults)
	return nil
}

// End removes the mark of Begin.
func (b *Book) End(r Run) error {
	return os.Remove(b.path("runs", r.Name()+".begun.json"))
}

// Spent returns what all runs took.
func (b *Book) Spent() (u Used) {
	for _, r := range b.Results {
		u.CostUSD, u.Tokens, u.Seconds = u.CostUSD+r.CostUSD, u.Tokens+r.Tokens, u.Seconds+r.Seconds
	}
	return u
}

// read reads a file of JSON.
func read(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s is damaged: %w; remove it, and covey makes that run again", path, err)
	}
	return nil
}

// write writes a file of JSON in one step.
func write(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return state.WriteAtomic(path, append(data, '\n'))
}
