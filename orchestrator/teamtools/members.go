package teamtools

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks"
)

// memberList is the members of one version of the spec: who can own tasks and get
// mail.
type memberList struct {
	names      []string               // the lead first
	terms      map[string]tasks.Terms // by name
	readOthers bool                   // configs.Team.ReadOthersTasks
}

// SetTeam takes up the members of a spec that has changed.
func (b *TaskAPI) SetTeam(team *configs.Team) {
	list := &memberList{terms: map[string]tasks.Terms{}, readOthers: team.ReadOthersTasks}
	for _, m := range team.Members() {
		has := members.Skills(&m)
		list.names = append(list.names, m.Name)
		list.terms[m.Name] = tasks.Terms{Max: m.Limits.MaxInProgress, Skills: &has}
	}
	b.list.Store(list)
}

// names lists the members, the lead first. The caller must not change the list.
func (b *TaskAPI) names() []string { return b.list.Load().names }

// TermsOf returns the terms on which a member may claim tasks: how many it may
// have in progress, and its skills. Claims call it inside the store's
// transaction, so that the current spec counts. A name that is not a member's has
// the zero Terms, which allow all.
func (b *TaskAPI) TermsOf(member string) tasks.Terms { return b.list.Load().terms[member] }

// Known returns an error for an owner or recipient that is not a member. The empty name
// is nobody's and no error.
func (b *TaskAPI) Known(member string) error {
	if member == "" || slices.Contains(b.names(), member) {
		return nil
	}
	return b.unknown(member)
}

// NoSeat returns the error for a member without a seat: it does not exist, is still being
// seated, or could not be. Unlike Known it never returns nil.
func (b *TaskAPI) NoSeat(member string) error {
	if slices.Contains(b.names(), member) {
		return texts.Errorf(api.ErrNoMember, "%s has no place in the team yet; if it could not be started, "+
			"`covey logs %[1]s` says why", member)
	}
	return b.unknown(member)
}

// unknown returns the error for a name that is not a member's.
func (b *TaskAPI) unknown(member string) error {
	if near := nearestName(member, b.names()); near != "" {
		return texts.Errorf(api.ErrNoMember, "no member is called %q; did you mean %s?", member, near)
	}
	return texts.Errorf(api.ErrNoMember, "no member is called %q; the members are %s", member, strings.Join(b.names(), ", "))
}

// canOwn returns an error for an owner that is not a member, or that takes no
// more turns: nobody would work on the task. Force skips the second check. An
// empty owner is valid.
func (b *TaskAPI) canOwn(by Actor, member string) error {
	if err := b.Known(member); err != nil || member == "" || by.Force {
		return err
	}
	if _, why := b.deps.Members.Now(member); why != "" {
		return texts.Errorf(tasks.ErrInvalid, "%s takes no more turns (%s), so it gets no task: give it to another member, "+
			"or to %[1]s when the team is next started", member, why)
	}
	return nil
}

// resolve returns the member that a name stands for: a member's name, an agent id
// of other hosts (name@team), or their names for the lead. It returns other names
// unchanged; Known refuses them.
func (b *TaskAPI) resolve(name string) string {
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

// nearestName returns the name that is nearest to a misspelt one, or "" if more
// than a third of the letters differ. A wrong suggestion would send a model to
// the wrong member.
func nearestName(name string, all []string) string {
	if len(name) > 64 { // no member has such a name, and comparing costs time
		return ""
	}
	return texts.Nearest(name, all, len(name)/3)
}
