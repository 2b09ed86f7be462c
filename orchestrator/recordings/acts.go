package recordings

import (
	"context"
	"slices"
	"time"
)

// act is something that a member did, and whose result depends on what other members did before: such as the claim
// of a task.
type act struct {
	at   time.Duration
	done bool // of a replay
}

// Act does something whose result depends on what other members did before. A replay does such things in the order
// in which they were done in the recording, as far as the members do them again. Its error is that of ctx, or of do.
func (l *Lane) Act(ctx context.Context, do func() error) error {
	switch {
	case l == nil:
		return do()
	case !l.Replays():
		return l.recordAct(do)
	}
	o := &l.tape.order
	o.mu.Lock()
	at := l.begun
	l.begun++
	o.mu.Unlock()
	if at >= len(l.acts) {
		return do()
	}
	err := o.await(ctx, l, l.acts[at].at, (*Lane).lacksAct)
	if err == nil {
		err = do()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	l.acts[at].done = true
	o.news()
	return err
}

// recordAct does something and records when. One at a time, or nobody knew which came first.
func (l *Lane) recordAct(do func() error) error {
	l.tape.acting.Lock()
	defer l.tape.acting.Unlock()
	err := do()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wrong == nil && !l.over {
		l.wrong = l.file.put(line{Act: true, MS: inMS(time.Since(l.tape.began))})
	}
	return err
}

// Acts reports whether the next act of the member need not wait for other members.
func (l *Lane) Acts() bool {
	if !l.Replays() {
		return true
	}
	l.mu.Lock()
	isFree := l.pace.isFree
	l.mu.Unlock()
	o := &l.tape.order
	o.mu.Lock()
	defer o.mu.Unlock()
	return isFree || l.begun >= len(l.acts) || len(o.without(l, l.acts[l.begun].at, (*Lane).lacksAct)) == 0
}

// lacksAct reports whether the member has not done something that it did before a moment. The order's lock must be held.
func (l *Lane) lacksAct(moment time.Duration) bool {
	return slices.ContainsFunc(l.acts, func(a act) bool { return a.at < moment && !a.done })
}
