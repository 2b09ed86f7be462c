package orchestrator

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/tasks"
)

// names lists who can own a task and get mail now, the lead first. Nobody may change
// the list.
func (b *board) names() []string {
	if list := b.enlisted.Load(); list != nil {
		return *list
	}
	return b.members
}

// enlist has other members count, when the spec has changed.
func (b *board) enlist(names []string) { b.enlisted.Store(&names) }

// known refuses owners and recipients that are no members.
func (b *board) known(member string) error {
	if member == "" || slices.Contains(b.names(), member) {
		return nil
	}
	if near := nearestName(member, b.names()); near != "" {
		return wording.Errorf(api.ErrNoMember, "no member is called %q; did you mean %s?", member, near)
	}
	return wording.Errorf(api.ErrNoMember, "no member is called %q; the members are %s", member, strings.Join(b.names(), ", "))
}

// canOwn refuses an owner that is no member, or that has left: nobody would work on the
// task, and whoever gave it away would wait. An operator's force gives it all the same.
// Empty is no owner, and fine.
func (b *board) canOwn(by actor, member string) error {
	if err := b.known(member); err != nil || member == "" || by.force || b.gone == nil {
		return err
	}
	if why := b.gone(member); why != "" {
		return wording.Errorf(tasks.ErrInvalid, "%s takes no more turns (%s), so it gets no task: give it to another member, "+
			"or to %[1]s when the team is next started", member, why)
	}
	return nil
}

// resolve is the member that a name means: its own, an agent id as other hosts
// write them (name@team), or what they call the lead. Other names come back as
// they are, for known to refuse.
func (b *board) resolve(name string) string {
	if slices.Contains(b.names(), name) {
		return name
	}
	name = strings.TrimPrefix(name, "@")
	if short, team, ok := strings.Cut(name, "@"); ok && (b.team == "" || team == b.team) {
		name = short
	}
	if slices.Contains(b.names(), name) {
		return name
	}
	switch name {
	case "main", "lead", "team-lead":
		return b.names()[0]
	}
	return name
}

// nearestName is the name that a misspelt one was meant to be, or "" if none is
// near enough: a third of the letters may differ. A wrong suggestion would send
// a model to the wrong member.
func nearestName(name string, all []string) string {
	if len(name) > 64 { // measuring would only cost time
		return ""
	}
	return wording.Nearest(name, all, len(name)/3)
}
