package state

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/coveyteam/covey/events"
)

// pollEvery is the interval at which FollowJournal reads a journal without a wake
// channel.
const pollEvery = 250 * time.Millisecond

// FollowJournal is like ReadJournal, but waits for more lines at the end. wake receives a value
// when the journal has grown (Client.JournalWake); when it is closed, FollowJournal
// yields the remaining lines and ends. If wake is nil, FollowJournal polls the file.
// When ctx ends, its error is yielded last.
func FollowJournal(
	ctx context.Context, path string, after uint64, wake <-chan struct{},
) iter.Seq2[events.Line, error] {
	return func(yield func(events.Line, error) bool) {
		r, err := openLines(path, after)
		if err != nil {
			yield(events.Line{}, err)
			return
		}
		defer r.close()
		for more := true; ; {
			if !r.each(yield) || !more {
				return
			}
			if more, err = grown(ctx, wake); err == nil {
				err = r.rewind()
			}
			if err != nil {
				yield(events.Line{}, fmt.Errorf("journal %s: %w", path, err))
				return
			}
		}
	}
}

// grown waits until the journal may have grown. more is false if it will not grow
// after that.
func grown(ctx context.Context, wake <-chan struct{}) (more bool, err error) {
	if wake == nil {
		poll := time.NewTimer(pollEvery)
		defer poll.Stop()
		select {
		case <-poll.C:
			return true, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	select {
	case _, open := <-wake:
		return open, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
