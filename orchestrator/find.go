package orchestrator

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Find is the Place of the team that a command in folder dir means: the one
// that works in dir or has its spec there, else in the nearest folder above.
// Of several, the one that runs is meant. A team name narrows the search, and
// finds a team elsewhere if it is the only one of that name. It fails with
// ErrNoTeam, or with an *AmbiguousError that lists who could be meant.
func Find(dir, team string) (Place, error) {
	if team != "" && !teamName.MatchString(team) {
		return Place{}, fmt.Errorf("%q is no team name: %w", team, ErrNoTeam)
	}
	here, err := realPath(dir)
	if err != nil {
		return Place{}, err
	}
	all, err := All()
	if err != nil {
		return Place{}, err
	}
	if team != "" {
		all = placesWhere(all, func(p Place) bool { return p.Team == team })
	}
	for at := here; ; at = filepath.Dir(at) {
		if found := placesWhere(all, func(p Place) bool { return belongs(p, at) }); len(found) > 0 {
			return choose(found)
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if team == "" {
		return Place{}, fmt.Errorf("%w from %s upwards; start one with `covey up`, or name one with --team "+
			"(`covey ps --all` lists them)", ErrNoTeam, here)
	}
	if len(all) == 0 {
		return Place{}, fmt.Errorf("%w called %s; `covey ps --all` lists those there are", ErrNoTeam, team)
	}
	return choose(all)
}

// belongs says whether a team works in this folder or has its spec there.
func belongs(p Place, dir string) bool {
	if p.Workspace == dir {
		return true
	}
	run, err := ReadRunFile(p)
	return err == nil && run.Spec != "" && filepath.Dir(run.Spec) == dir
}

// choose takes the only place, or the only one that runs.
func choose(found []Place) (Place, error) {
	if len(found) == 1 {
		return found[0], nil
	}
	up := placesWhere(found, func(p Place) bool { _, ok := Running(p); return ok })
	if len(up) == 1 {
		return up[0], nil
	}
	return Place{}, &AmbiguousError{Places: found}
}

func placesWhere(all []Place, ok func(Place) bool) []Place {
	var out []Place
	for _, p := range all {
		if ok(p) {
			out = append(out, p)
		}
	}
	return out
}

// AmbiguousError tells that a command could mean several teams.
type AmbiguousError struct{ Places []Place }

func (e *AmbiguousError) Error() string {
	var b strings.Builder
	b.WriteString("several teams could be meant; name one with --team, or its folder with -C:")
	for _, p := range e.Places {
		fmt.Fprintf(&b, "\n  %s in %s", p.Team, p.Workspace)
	}
	return b.String()
}
