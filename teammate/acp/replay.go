package acp

import (
	"context"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

// replayQuiet is how long a program must be silent after loading a session until its replay
// counts as finished.
const replayQuiet = 300 * time.Millisecond

// replayed waits until a loaded session has been replayed. By the protocol the answer to a
// load comes after the replay, but gemini answers first: the old texts and calls would then
// belong to the next prompt. Nothing marks the end of a replay, so replayed waits for
// silence.
func (l *live) replayed(ctx context.Context) error {
	for heard := int64(-1); heard != l.conn.heard.Load(); {
		heard = l.conn.heard.Load()
		if err := agent.Sleep(ctx, replayQuiet); err != nil {
			return err
		}
	}
	return nil
}
