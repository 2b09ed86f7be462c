package launch

import (
	"context"
	"path/filepath"
	"sync"
)

// firstStarts lets agent programs that share a folder start one after another until one
// of them has opened a session there: two of them that make the folder's databases at
// once can break each other. After that they start side by side. The zero value is
// ready. It knows only the members of one team: another team's first start in the same
// folder may still come at the same time.
type firstStarts struct {
	mu      sync.Mutex
	folders map[string]*firstStart
}

// firstStart is one folder.
type firstStart struct {
	turn chan struct{} // holds one element while a program starts alone
	done chan struct{} // closed once a program has opened a session
}

// enter waits until a program may start in a folder. leave must be called when it has
// opened its session, or has failed to; later calls of it do nothing. The error is ctx's.
func (f *firstStarts) enter(ctx context.Context, folder string) (leave func(opened bool), err error) {
	first := f.of(folder)
	select {
	case first.turn <- struct{}{}:
	case <-first.done:
		return func(bool) {}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-first.done: // both were there to choose from
		<-first.turn
		return func(bool) {}, nil
	default:
	}
	var once sync.Once
	return func(opened bool) {
		once.Do(func() {
			if opened {
				close(first.done)
			}
			<-first.turn
		})
	}, nil
}

// of finds a folder, or notes a new one.
func (f *firstStarts) of(folder string) *firstStart {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.folders == nil {
		f.folders = map[string]*firstStart{}
	}
	first := f.folders[folder]
	if first == nil {
		first = &firstStart{turn: make(chan struct{}, 1), done: make(chan struct{})}
		f.folders[folder] = first
	}
	return first
}

// enter is firstStarts.enter for the member's program; nil: it may start at any time.
func (f *instance) enter(start *offer) func(context.Context) (func(bool), error) {
	p := f.launch.preset
	if !p.firstAlone {
		return nil
	}
	login, _ := p.logins[0].at(start.value)
	return func(ctx context.Context) (func(bool), error) {
		return f.programs.starts.enter(ctx, filepath.Dir(login))
	}
}
