package orchestrator

import (
	"context"

	"github.com/coveyteam/covey/orchestrator/templates"
)

// newTemplates returns the members that the lead has added. Those of an earlier run are in the
// team from now on.
func newTemplates(ctx context.Context, o *Orchestrator, r *rooms) (*templates.Templates, error) {
	t := templates.New(templates.Deps{
		Store: r.store, Team: o.team, Member: r.seats.Member,
		Apply: func(ctx context.Context) error { return o.grow(ctx, r) },
	})
	notes, err := t.Prune(ctx, o.team())
	if err != nil {
		return nil, err
	}
	o.repairs = append(o.repairs, notes...)
	added, err := templates.Read(ctx, r.store)
	spec := *o.spec.Load()
	spec.team = templates.Grow(spec.team, added)
	o.withSpec(spec)
	return t, err
}
