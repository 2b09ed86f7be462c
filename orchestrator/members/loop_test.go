package members

import (
	"context"
	"errors"
	"testing"
)

// TestToTheEnd: a change of the team that was begun outlives its request, and ends with
// the team.
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
