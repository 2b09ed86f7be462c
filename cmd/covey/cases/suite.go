package cases

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/proc"
)

// PrepareAll makes the cases of some files ready that want accepts; nil accepts all. Mistakes are yaml.Errors,
// those of all cases at once. The caller closes what is returned, also with an error.
func (s *Suite) PrepareAll(files []*File, want func(*Case) bool) (list []*Prepared, err error) {
	var mistakes yaml.Errors
	for _, f := range files {
		for i := range f.Cases {
			c := &f.Cases[i]
			if want != nil && !want(c) {
				continue
			}
			p, err := s.Prepare(f, c)
			var found yaml.Errors
			switch {
			case errors.As(err, &found):
				mistakes = append(mistakes, found...)
			case err != nil:
				return list, fmt.Errorf("%s: %s: %w", f.Path, c.Name, err)
			default:
				list = append(list, p)
			}
		}
	}
	if len(mistakes) > 0 {
		return list, yaml.Errors(yaml.SortProblems(mistakes))
	}
	return list, nil
}

// RunAll runs cases at the same time, as many as there are cores, and calls see with each result in the order
// of the cases. Its error is that of ctx.
func RunAll(ctx context.Context, list []*Prepared, see func(Result)) ([]Result, error) {
	results := make([]Result, len(list))
	done := make([]chan struct{}, len(list))
	for i := range done {
		done[i] = make(chan struct{})
	}
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(list)) {
		workers.Go(func() {
			for i := range next {
				results[i] = list[i].Run(ctx)
				close(done[i])
			}
		})
	}
	workers.Go(func() {
		defer close(next)
		for i := range list {
			select {
			case next <- i:
			case <-ctx.Done():
				return
			}
		}
	})
	for i := range list {
		select {
		case <-done[i]:
			if ctx.Err() == nil {
				see(results[i])
			}
		case <-ctx.Done():
		}
	}
	workers.Wait()
	var marks []string
	for _, p := range list {
		marks = append(marks, p.marks...)
	}
	proc.KillMarked(marks...) // what hooks and tools have left in the background; once, because it reads all processes
	return results, ctx.Err()
}
