package launch

import (
	"context"
	"path/filepath"
	"sync"
)

// firstStarts lets agent programs that share a folder start one after another until one
// of them has opened a session: two programs that create the databases of the folder at
// the same time can corrupt them. After that they start concurrently. The zero value is
// ready to use. It covers one team only: another team may still start a program in the
// same folder at the same time.
type firstStarts struct {
	mu      sync.Mutex
	folders map[string]*firstStart
}

// firstStart is the state of one folder.
type firstStart struct {
	turn chan struct{} // holds one element while a program starts alone
	done chan struct{} // closed once a program has opened a session
}

// enter waits until a program may start in a folder. Call leave when it has opened its
// session or failed; later calls of leave do nothing. The error is that of ctx.
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
	case <-first.done: // select picks randomly if both are ready
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

// of returns the state of a folder, creating it if needed.
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

// enter is firstStarts.enter for the member's program; nil if it may start at any time.
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
