package teamtools

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/tasks"
)

// memberList is who can own tasks and get mail, by one version of the spec.
type memberList struct {
	names []string               // the lead first
	terms map[string]tasks.Terms // by name
}

// SetMembers has other members count, the lead first: those of a spec that was changed.
func (b *Board) SetMembers(members []configs.Member) {
	list := &memberList{terms: map[string]tasks.Terms{}}
	for _, m := range members {
		has := roster.Skills(&m)
		list.names = append(list.names, m.Name)
		list.terms[m.Name] = tasks.Terms{Max: m.Limits.MaxInProgress, Skills: &has}
	}
	b.list.Store(list)
}

// names lists who can own a task and get mail now, the lead first. Nobody may change
// the list.
func (b *Board) names() []string { return b.list.Load().names }

// TermsOf returns what binds a member that takes a task: how many it may have in progress,
// and what it has of what tasks want. Claims ask for it inside the store's transaction, so
// that whatever the spec says by then counts. Nothing binds a name that is no member's.
func (b *Board) TermsOf(member string) tasks.Terms { return b.list.Load().terms[member] }

// Known refuses owners and recipients that are no members.
func (b *Board) Known(member string) error {
	if member == "" || slices.Contains(b.names(), member) {
		return nil
	}
	if near := nearestName(member, b.names()); near != "" {
		return notation.Errorf(api.ErrNoMember, "no member is called %q; did you mean %s?", member, near)
	}
	return notation.Errorf(api.ErrNoMember, "no member is called %q; the members are %s", member, strings.Join(b.names(), ", "))
}

// canOwn refuses an owner that is no member, or that has left: nobody would work on the
// task, and whoever gave it away would wait. An operator's force gives it all the same.
// Empty is no owner, and fine.
func (b *Board) canOwn(by Actor, member string) error {
	if err := b.Known(member); err != nil || member == "" || by.Force {
		return err
	}
	if _, why := b.ports.Members.Now(member); why != "" {
		return notation.Errorf(tasks.ErrInvalid, "%s takes no more turns (%s), so it gets no task: give it to another member, "+
			"or to %[1]s when the team is next started", member, why)
	}
	return nil
}

// resolve is the member that a name means: its own, an agent id as other hosts
// write them (name@team), or what they call the lead. Other names come back as
// they are, for Known to refuse.
func (b *Board) resolve(name string) string {
	if slices.Contains(b.names(), name) {
		return name
	}
	name = strings.TrimPrefix(name, "@")
	if short, team, ok := strings.Cut(name, "@"); ok && team == b.team {
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
	return notation.Nearest(name, all, len(name)/3)
}
