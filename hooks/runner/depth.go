package runner

import "context"

// depthKey is the context key of how many hooks enclose the current operation.
type depthKey struct{}

// Inside returns a context for something that a hook asks of its host. depth is how many
// hooks enclose it, that hook included. It bounds the nesting of the host's own hooks: a
// hook that runs on a change and makes such a change itself would otherwise never end.
func Inside(ctx context.Context, depth int) context.Context {
	return context.WithValue(ctx, depthKey{}, depth)
}

// depthOf returns how many hooks of this program enclose what the context is for.
func depthOf(ctx context.Context) int {
	n, _ := ctx.Value(depthKey{}).(int)
	return n
}
