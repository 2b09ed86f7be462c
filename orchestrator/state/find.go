package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNoTeam is returned by Find when no team matches.
var ErrNoTeam = errors.New("no team")

// Find returns the Place of the team that a command in folder dir refers to: the one
// that works in dir or has its spec there, else in the nearest folder above. Of several
// teams, it is the one that runs. A team name restricts the search, and also finds a
// team elsewhere if it is the only one of that name. Find fails with ErrNoTeam, or with
// an *AmbiguousError that lists the candidates.
func Find(dir, team string) (Place, error) {
	if team != "" && !IsTeamName(team) {
		return Place{}, fmt.Errorf("%q is no team name: %w", team, ErrNoTeam)
	}
	here, err := RealPath(dir)
	if err != nil {
		return Place{}, err
	}
	own, _, inside := Inside()
	inside = inside && (team == "" || team == own.Team)
	all, err := surveys()
	if err != nil && !inside {
		return Place{}, err
	}
	if team != "" {
		all = slices.DeleteFunc(all, func(s survey) bool { return s.Team != team })
	}
	if found := nearest(all, here); len(found) > 0 {
		return choose(found)
	}
	// If a hook created it, a member's working copy may be anywhere. Its processes have
	// this variable.
	if i := slices.IndexFunc(all, func(s survey) bool { return s.Dir == os.Getenv(RunVariable) }); i >= 0 {
		return all[i].Place, nil
	}
	if inside { // in a sandbox, where the teams' files cannot be read
		return own, nil
	}
	switch {
	case team == "":
		return Place{}, fmt.Errorf("%w from %s upwards; start one with `covey up`, or name one with --team "+
			"(`covey ps --all` lists them)", ErrNoTeam, here)
	case len(all) == 0:
		return Place{}, fmt.Errorf("%w called %s; `covey ps --all` lists those there are", ErrNoTeam, team)
	}
	var named []Place
	for _, s := range all {
		named = append(named, s.Place)
	}
	return choose(named)
}

// nearest returns the teams of dir, or of the first folder above it that has any.
func nearest(all []survey, dir string) []Place {
	for {
		if found := belonging(all, dir); len(found) > 0 {
			return found
		}
		above := filepath.Dir(dir)
		if above == dir {
			return nil
		}
		dir = above
	}
}

// belonging returns the teams that work in a folder or have their spec there.
func belonging(all []survey, dir string) []Place {
	var out []Place
	for _, s := range all {
		if s.damaged && filepath.Base(s.Dir) == FolderOf(s.Team, dir) {
			s.Workspace = dir // reading its run.json then reports what is wrong with it
		}
		if s.Workspace == dir || s.specDir == dir || filepath.Base(dir) == "worktrees" &&
			sameDir(s.Worktrees(), dir) {
			out = append(out, s.Place)
		}
	}
	return out
}

// sameDir reports whether a path leads to dir, which contains no symlinks.
func sameDir(path, dir string) bool {
	real, err := RealPath(path)
	return err == nil && real == dir
}

// FindRunning returns the Place of the team that runs with a spec file, whatever name
// and workspace the file has now. ok is false if there is none. Links to the file from
// other folders are other specs, because relative paths in them have other targets.
func FindRunning(spec string) (p Place, ok bool, err error) {
	dir, err := RealPath(filepath.Dir(spec))
	if err != nil {
		return Place{}, false, err
	}
	all, err := surveys()
	if err != nil {
		return Place{}, false, err
	}
	for _, s := range all {
		if s.specDir == "" || !sameDir(s.specDir, dir) {
			continue
		}
		run, up := Running(s.Place)
		if up && filepath.Base(run.Spec) == filepath.Base(spec) {
			return s.Place, true, nil
		}
	}
	return Place{}, false, nil
}

// choose returns the only place, or the only one that runs.
func choose(found []Place) (Place, error) {
	if len(found) == 1 {
		return found[0], nil
	}
	up := slices.DeleteFunc(slices.Clone(found), func(p Place) bool { _, ok := Running(p); return !ok })
	if len(up) == 1 {
		return up[0], nil
	}
	return Place{}, &AmbiguousError{Places: found}
}

// AmbiguousError reports that a command could refer to several teams.
type AmbiguousError struct{ Places []Place }

// Error lists the candidates with their --team and -C values.
func (e *AmbiguousError) Error() string {
	var b strings.Builder
	b.WriteString("several teams match; name one with --team, or its folder with -C:")
	for _, p := range e.Places {
		fmt.Fprintf(&b, "\n  %s in %s", p.Team, p.Workspace)
	}
	return b.String()
}
