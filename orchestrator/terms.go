package orchestrator

import (
	"strings"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/tasks"
)

// memberTerms are what binds each member that takes a task: how many it may have in
// progress, and what it has of what tasks want. Claims ask for them inside the
// store's transaction, so that whatever the spec says by then counts.
type memberTerms struct {
	mu     sync.RWMutex
	byName map[string]tasks.Terms
}

// set takes in what the spec says of a member.
func (m *memberTerms) set(member configs.Member) {
	has := skillsOf(member)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byName == nil {
		m.byName = map[string]tasks.Terms{}
	}
	m.byName[member.Name] = tasks.Terms{Max: member.Limits.MaxInProgress, Skills: &has}
}

// of gives a member's terms; nothing binds a name that is no member's.
func (m *memberTerms) of(member string) tasks.Terms {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.byName[member]
}

// skillsOf is what a member has of what tasks may want.
func skillsOf(m configs.Member) tasks.Skills {
	return tasks.Skills{Role: m.Role, Labels: m.Labels, Tools: m.Tools}
}

// suits reports whether a member has what a task wants.
func suits(t tasks.Task, has tasks.Skills) bool { return len(t.Wants.Lacking(has)) == 0 }

// untaken says why a task that is ready stays where it is. If wishes are the
// reason, it names what whom lacks: a lead can only then see whom to give it to.
func untaken(s scene, t tasks.Task) string {
	var lacks []string
	for _, seat := range s.Seats {
		if seat.Gone || !seat.SelfClaim {
			continue
		}
		missing := t.Wants.Lacking(seat.Skills)
		if len(missing) == 0 {
			lacks = nil
			break // wishes are not what keeps it
		}
		lacks = append(lacks, seat.Name+" lacks "+strings.Join(missing, ", "))
	}
	if len(lacks) == 0 && len(couldHave(s, t)) > 0 {
		return "nobody is left who takes it by itself"
	}
	if len(lacks) == 0 {
		return "no idle member takes it by itself"
	}
	return "nobody suits it (" + strings.Join(lacks, "; ") + "); somebody has to give it to a member"
}

// couldHave are the members who would have taken a task, had they not left.
func couldHave(s scene, t tasks.Task) []seatView {
	var gone []seatView
	for _, seat := range s.Seats {
		if seat.Gone && seat.GoneFor != "" && !seat.Lead && suits(t, seat.Skills) {
			gone = append(gone, seat)
		}
	}
	return gone
}

// missed names the members who would have taken an open task that nobody takes, and why
// they take no more turns: what they failed of is why the team does not go on.
func missed(s scene, open []tasks.Task) string {
	var text strings.Builder
	told := map[string]bool{}
	for _, t := range open {
		if t.Owner != "" || len(openBlockers(t, s.Tasks)) > 0 {
			continue
		}
		for _, seat := range couldHave(s, t) {
			if !told[seat.Name] {
				told[seat.Name] = true
				text.WriteString("; " + seat.Name + " takes no more turns: " + seat.GoneFor)
			}
		}
	}
	return text.String()
}
