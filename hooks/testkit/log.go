package testkit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Log gathers values, such as the lines of a journal, and lets a test wait for them. The
// zero value is empty.
type Log[T any] struct {
	mu   sync.Mutex
	all  []T
	more chan struct{} // closed by the next Add; nil: nobody waits
}

// Add adds a value.
func (l *Log[T]) Add(v T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, v)
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
}

// All returns the values so far.
func (l *Log[T]) All() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// Until waits until ok holds of all values so far, or ctx ends.
func (l *Log[T]) Until(ctx context.Context, ok func(all []T) bool) error {
	for {
		l.mu.Lock()
		if ok(l.all) {
			l.mu.Unlock()
			return nil
		}
		if l.more == nil {
			l.more = make(chan struct{})
		}
		more := l.more
		l.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Nth returns the n-th value that matches, as soon as there is one.
func (l *Log[T]) Nth(ctx context.Context, n int, match func(T) bool) (found T, err error) {
	seen, matches := 0, 0
	err = l.Until(ctx, func(all []T) bool {
		for _, v := range all[seen:] {
			seen++
			if !match(v) {
				continue
			}
			if matches++; matches == n {
				found = v
				return true
			}
		}
		return false
	})
	return found, err
}

// Wait returns the first value that matches, as soon as there is one.
func (l *Log[T]) Wait(t testing.TB, what string, match func(T) bool) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	v, err := l.Nth(ctx, 1, match)
	if err != nil {
		t.Fatalf("%s: did not come; there are:\n%s", what, l)
	}
	return v
}

// String returns the values as lines of JSON, for a failure message.
func (l *Log[T]) String() string {
	var b strings.Builder
	for _, v := range l.All() {
		text, err := json.Marshal(v)
		if err != nil {
			text = fmt.Append(nil, v)
		}
		fmt.Fprintf(&b, "%s\n", text)
	}
	return b.String()
}
