package specs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// storeKey is the store key of the members that were added.
const storeKey = "spawned"

// Spawned is a member that the lead has added.
type Spawned struct {
	Name     string `json:"name"`
	Template string `json:"template"`
	Call     string `json:"call"` // the id of the tool call, which a crash may repeat
}

// ReadSpawned reads the members that were added from a team's store.
func ReadSpawned(ctx context.Context, store *tasks.Store) (list []Spawned, err error) {
	return list, tasks.ReadValue(ctx, store, storeKey, &list)
}

// Grow returns the team with the members that were added, after those of the spec. A team in which
// that changes nothing is not copied, because many members are large.
func Grow(team *configs.Team, list []Spawned) *configs.Team {
	added := func(m configs.Member) bool { return m.Template != "" }
	if len(list) == 0 && !slices.ContainsFunc(team.Teammates, added) {
		return team
	}
	grown := *team
	grown.Teammates = slices.DeleteFunc(slices.Clone(team.Teammates), added)
	own := grown.MemberNames()
	for _, s := range list {
		i := slices.IndexFunc(team.Templates, func(t configs.Template) bool { return t.Name == s.Template })
		if i < 0 || slices.Contains(own, s.Name) {
			continue
		}
		m := team.Templates[i].Member
		m.Name, m.Template = s.Name, s.Template
		grown.Teammates = append(grown.Teammates, m)
	}
	return &grown
}

// TemplateDeps are the dependencies of Templates. All must be set.
type TemplateDeps struct {
	Store  *tasks.Store
	Team   func() *configs.Team                      // the team in effect
	Over   <-chan struct{}                           // closed when the team is about to end
	Member func(name string) (*members.Member, bool) // finds a member that takes part in the run
}

// Templates are the members that the lead has added. It is a crew.Part. Any goroutine may call
// its methods.
//
// A member that was added stays until it takes no more turns, for whatever reason. It is in the
// store until then, so that the next run has it, too. The spec takes precedence: a member that it
// names, and one whose template it no longer has, is no longer one that was added.
type Templates struct {
	deps      TemplateDeps
	mu        sync.Mutex             // held while the store is read and changed
	exhausted atomic.Pointer[string] // plan.Scene.Exhausted
	changed   chan chan error        // the list in the store has changed; Serve answers
}

// NewTemplates returns the Templates of a team.
func NewTemplates(d TemplateDeps) *Templates {
	return &Templates{deps: d, changed: make(chan chan error)}
}

// Spawn adds a member of this name to the team. If it is called again by the same tool call, it
// adds nothing. After an error there is no such member.
func (t *Templates) Spawn(ctx context.Context, by actors.Actor, template, name string) error {
	err := t.change(ctx, func(list []Spawned) ([]Spawned, error) {
		s := Spawned{Name: name, Template: template, Call: by.CallID}
		if s.Call != "" && slices.Contains(list, s) {
			return list, nil
		}
		return append(list, s), t.refuse(ctx, list, s)
	})
	if err != nil {
		return err
	}
	err = t.apply(ctx)
	if _, seated := t.deps.Member(name); seated {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("`covey logs %s` says why", name)
	}
	return fmt.Errorf("%s could not be added: %w", name, errors.Join(err, t.remove(ctx, name)))
}

// refuse returns why a member cannot be added; nil if it can.
func (t *Templates) refuse(ctx context.Context, list []Spawned, s Spawned) error {
	team := t.deps.Team()
	i := slices.IndexFunc(team.Templates, func(one configs.Template) bool { return one.Name == s.Template })
	if i < 0 {
		return texts.Errorf(tasks.ErrInvalid, "there is no template %q; the templates are %s", s.Template,
			strings.Join(team.Lead.Spawns, ", "))
	}
	if err := configs.CheckName(s.Name); err != nil {
		return texts.Errorf(tasks.ErrInvalid, "%v", err)
	}
	known, err := t.deps.Store.Members().List(ctx)
	if err != nil {
		return err
	}
	// Messages, tasks and branches of a member that has left keep its name.
	had := slices.ContainsFunc(known, func(m actors.Member) bool { return m.Name == s.Name })
	for m := range team.EachAndTemplates() {
		had = had || m.Name == s.Name
	}
	if had {
		return texts.Errorf(tasks.ErrInvalid, "the name %q is, or was, that of another member or of a template; take a new one", s.Name)
	}
	var living []string
	for _, other := range list {
		if other.Template == s.Template {
			living = append(living, other.Name)
		}
	}
	if most := team.Templates[i].Max; len(living) >= most {
		return texts.Errorf(tasks.ErrInvalid, "the team may have %d teammates of the template %s, and has %s; give one of them "+
			"the work, or send one a shutdown_request first", most, s.Template, strings.Join(living, ", "))
	}
	if spent := t.exhausted.Load(); spent != nil && *spent != "" {
		return texts.Errorf(tasks.ErrInvalid, "nobody can be added: %s", *spent)
	}
	return nil
}

// Describe learns whether the team's budget is used up. It implements crew.Describer.
func (t *Templates) Describe(s *plan.Scene, _ []*members.Member) {
	spent := s.Exhausted // a pointer into the scene would keep all of it
	t.exhausted.Store(&spent)
}

// Retired frees the place of a member that takes no more turns. It implements crew.Retirer.
func (t *Templates) Retired(ctx context.Context, m *members.Member) error {
	if m.Template == "" {
		return nil
	}
	return t.remove(ctx, m.Name)
}

// remove removes a member that was added. If the team is about to end, the next run has it no
// longer.
func (t *Templates) remove(ctx context.Context, name string) error {
	err := t.change(ctx, func(list []Spawned) ([]Spawned, error) {
		return slices.DeleteFunc(list, func(s Spawned) bool { return s.Name == name }), nil
	})
	if err != nil {
		return err
	}
	if err := t.apply(ctx); !errors.Is(err, members.ErrOver) {
		return err
	}
	return nil
}

// Serve calls apply whenever the members in the store have changed, until ctx ends. apply makes the
// spec with these members the team in effect.
func (t *Templates) Serve(ctx context.Context, apply func(context.Context) error) error {
	for {
		select {
		case done := <-t.changed:
			done <- apply(ctx)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// apply has Serve put the members in the store into effect. It fails with members.ErrOver if the
// team is about to end.
func (t *Templates) apply(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case t.changed <- done:
		return <-done
	case <-t.deps.Over:
		return members.ErrOver
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Prune removes the members that a spec does not allow for, and returns what people should know of
// it, and of templates that have more members than their max.
func (t *Templates) Prune(ctx context.Context, spec *configs.Team) (notes []string, err error) {
	grown := map[string]int{}
	err = t.change(ctx, func(list []Spawned) ([]Spawned, error) {
		team := Grow(spec, list)
		return slices.DeleteFunc(list, func(s Spawned) bool {
			stays := slices.ContainsFunc(team.Teammates, func(m configs.Member) bool {
				return m.Name == s.Name && m.Template == s.Template
			})
			if stays {
				grown[s.Template]++
			} else if !slices.Contains(team.MemberNames(), s.Name) {
				notes = append(notes, fmt.Sprintf("%s has left the team: the spec has no template %s any more", s.Name, s.Template))
			}
			return !stays
		}), nil
	})
	for _, one := range spec.Templates {
		if n := grown[one.Name]; n > one.Max {
			notes = append(notes, fmt.Sprintf("the template %s has %d members, more than its max of %d: they stay, and none is added",
				one.Name, n, one.Max))
		}
	}
	return notes, err
}

// change changes the list in the store.
func (t *Templates) change(ctx context.Context, edit func([]Spawned) ([]Spawned, error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	list, err := ReadSpawned(ctx, t.deps.Store)
	if err != nil {
		return err
	}
	next, err := edit(list)
	if err != nil || len(next) == len(list) {
		return err
	}
	return t.deps.Store.Put(ctx, storeKey, texts.Encode(next))
}
