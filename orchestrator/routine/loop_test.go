package routine

import (
	"context"
	"errors"
	"testing"
)

// What has begun to change a team goes on when who asked for it has gone, and ends with the team.
func TestToTheEnd(t *testing.T) {
	loop := NewLoop(nil)
	asked, cancel := context.WithCancel(t.Context())
	ctx, done := loop.UntilOver(asked)
	defer done()
	cancel()
	if err := ctx.Err(); err != nil {
		t.Errorf("it ends with who asked: %v", err)
	}
	loop.Close()
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, ErrOver) {
		t.Errorf("it ends with %v", err)
	}
}
