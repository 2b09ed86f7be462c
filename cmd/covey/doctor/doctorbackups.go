package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks/backup"
)

// lateBackup is how far a store may be ahead of its newest backup without a warning.
// A running team makes one every ten minutes.
const lateBackup = 25 * time.Minute

// backups reports the age of the backups: always for the teams of this folder, for
// others only problems. A team that has never run has no store.
func (x *examination) backups() []finding {
	places, err := state.All()
	if err != nil {
		return nil // runs reports the error
	}
	var findings []finding
	for _, p := range places {
		b, err := backup.Inspect(p.Store())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		// A place in the list of all does not always know its workspace, so it is compared
		// with the one that a team of that name would have here.
		mine, broken := state.PlaceOf(p.Team, x.dir)
		here := broken == nil && mine.Dir == p.Dir
		if here {
			p = mine // it has the workspace, even if nothing has run there yet
		}
		f := backupFinding(p, b, time.Now())
		if err != nil {
			f = warn("backups", fmt.Sprintf("team %s: %v", p.Team, err), "see who owns "+p.Dir)
		}
		if f.Verdict != isOK || here {
			findings = append(findings, f)
		}
	}
	return findings
}

// backupFinding judges the backups of one team's store.
func backupFinding(p state.Place, b backup.State, now time.Time) finding {
	const check = "backups"
	about := fmt.Sprintf("team %s in %s: ", p.Team, p.Workspace)
	age := "there is no backup of its store"
	if b.Count > 0 {
		age = fmt.Sprintf("%s of its store, the last one %s old", term.Plural(b.Count, "backup"),
			now.Sub(b.Newest).Round(time.Second))
	}
	logs := "; " + filepath.Join(p.Dir, "covey.log") + " says why"
	switch {
	case b.TooBig:
		return warn(check, fmt.Sprintf("%s%s; with %d MiB the store is too big to be backed up", about, age,
			b.Size>>20),
			"when its work is done, covey up --fresh starts a new one")
	case b.Count == 0 && now.Sub(b.Stored) > time.Minute:
		return warn(check, about+age, "covey up makes one"+logs)
	case b.Count > 0 && b.Stored.Sub(b.Newest) > lateBackup:
		return warn(check, fmt.Sprintf("%s%s, though the store has changed since", about, age),
			"make room for the backups"+logs)
	}
	return ok(check, "%s%s", about, age)
}
