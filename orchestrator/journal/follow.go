package journal

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// pollEvery is how often a journal is looked at when nobody says that it grew.
const pollEvery = 250 * time.Millisecond

// Follow yields like ReadJournal, and at the end of the whole lines
// waits for more. wake tells that the journal grew (Client.JournalWake); when
// it is closed, what is there is yielded and the loop ends. A nil wake has the
// file looked at four times a second. When ctx ends, its error is yielded last.
func Follow(
	ctx context.Context, path string, after uint64, wake <-chan struct{},
) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		r, err := openLines(path, after)
		if err != nil {
			yield(Line{}, err)
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
				yield(Line{}, fmt.Errorf("journal %s: %w", path, err))
				return
			}
		}
	}
}

// grown waits until the journal may have grown; more is false if it will not
// grow any more after that.
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
