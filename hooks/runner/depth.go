package runner

import "context"

// aroundKey is under what a context has how many hooks stand around what it is for.
type aroundKey struct{}

// Inside is a context for what a hook has asked its host for, with so many hooks around it, that
// one included. What the host's own hooks do then is bounded in depth: a hook of a change that
// makes such a change itself would begin another one without end.
func Inside(ctx context.Context, depth int) context.Context {
	return context.WithValue(ctx, aroundKey{}, depth)
}

// around is how many hooks of this program stand around what a context is for.
func around(ctx context.Context) int {
	n, _ := ctx.Value(aroundKey{}).(int)
	return n
}
