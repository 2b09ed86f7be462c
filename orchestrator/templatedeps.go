package orchestrator

import (
	"context"

	"github.com/coveyteam/covey/orchestrator/specs"
)

// newTemplates returns the members that the lead has added. Those of an earlier run are in the
// team from now on; notes says for people which are not.
func (o *Orchestrator) newTemplates(ctx context.Context, d specs.TemplateDeps) (t *specs.Templates, notes []string, err error) {
	t = specs.NewTemplates(d)
	if notes, err = t.Prune(ctx, o.team()); err != nil {
		return nil, nil, err
	}
	added, err := specs.ReadSpawned(ctx, d.Store)
	spec := *o.spec.Load()
	spec.team = specs.Grow(spec.team, added)
	o.withSpec(spec)
	return t, notes, err
}
