package acp

import (
	"context"
	"time"

	"github.com/coveyteam/covey/teammate/program"
)

// replayQuiet is how long a program that has loaded a session must be silent
// before its replay counts as over.
const replayQuiet = 300 * time.Millisecond

// replayed waits until a loaded session has been replayed. The protocol has the
// answer to a load behind the replay, but gemini answers first and replays then:
// the old texts and calls would become news of the next prompt. Nothing in a
// replay says that it is over, so silence must.
func (l *live) replayed(ctx context.Context) error {
	for heard := int64(-1); heard != l.conn.heard.Load(); {
		heard = l.conn.heard.Load()
		if err := program.Sleep(ctx, replayQuiet); err != nil {
			return err
		}
	}
	return nil
}
