package orchestrator

import (
	"context"

	"github.com/coveyteam/covey/orchestrator/templates"
)

// newTemplates returns the members that the lead has added. Those of an earlier run are in the
// team from now on; notes says for people which are not.
func (o *Orchestrator) newTemplates(ctx context.Context, d templates.Deps) (t *templates.Templates, notes []string, err error) {
	t = templates.New(d)
	if notes, err = t.Prune(ctx, o.team()); err != nil {
		return nil, nil, err
	}
	added, err := templates.Read(ctx, d.Store)
	spec := *o.spec.Load()
	spec.team = templates.Grow(spec.team, added)
	o.withSpec(spec)
	return t, notes, err
}
