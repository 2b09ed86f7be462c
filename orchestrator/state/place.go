package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/store"
)

// ErrFolder: a state folder that cannot be used, because of its place or its mode.
var ErrFolder = errors.New("state folder")

// FolderError returns the error that a file or folder of the state cannot be used, with the way
// out. ExplainFullDisk has the one of a full disk.
func FolderError(err error) error {
	if NoRoom(err) {
		return err
	}
	return fmt.Errorf("%w: %w; mend that, or set COVEY_STATE_HOME to another folder", ErrFolder, err)
}

// Place is the folder of one team's state, outside of the workspace.
type Place struct {
	Dir       string // absolute
	Team      string
	Workspace string // real path; empty if not known
}

// Home returns the folder that holds this Place and others.
func (p Place) Home() string { return filepath.Dir(p.Dir) }

// RunSpec returns the path of the spec that `covey run` writes from its flags.
func (p Place) RunSpec() string { return filepath.Join(p.Dir, runSpec) }

const runSpec = "run.yaml"

// IsRunSpec reports whether a path is a RunSpec. The next `covey run` replaces that file, so what it
// should say is said by flags.
func IsRunSpec(path string) bool {
	return filepath.Base(path) == runSpec && placeName().MatchString(filepath.Base(filepath.Dir(path)))
}

// Store returns the path of the task store.
func (p Place) Store() string { return filepath.Join(p.Dir, "tasks.db") }

// Journal returns the path of the team's journal.
func (p Place) Journal() string { return filepath.Join(p.Dir, "journal.jsonl") }

// RunFile returns the path of the description of the last run; ReadRunFile reads it.
func (p Place) RunFile() string { return filepath.Join(p.Dir, "run.json") }

// Lock returns the path of the lock that `covey up` holds while it runs the team.
func (p Place) Lock() string { return filepath.Join(p.Dir, "lock") }

// Holder returns the path of what identifies this folder among those of other hosts.
func (p Place) Holder() string { return filepath.Join(p.Dir, "holder") }

// Log returns the path of covey's own log.
func (p Place) Log() string { return filepath.Join(p.Dir, "covey.log") }

// Transcripts returns a folder with a folder per member and a file per session.
func (p Place) Transcripts() string { return filepath.Join(p.Dir, "transcripts") }

// Blobs returns the folder of payloads that are too large for the store.
func (p Place) Blobs() string { return filepath.Join(p.Dir, "blobs") }

// Scratch returns the folder of tool output that was too long to show.
func (p Place) Scratch() string { return filepath.Join(p.Dir, "scratch") }

// Mail returns a folder with a folder per member, for messages that were too long to
// show.
func (p Place) Mail() string { return filepath.Join(p.Dir, "mail") }

// Memory returns a folder with a folder per member, for the notes that outlast its sessions.
// Forget does not remove it.
func (p Place) Memory() string { return filepath.Join(p.Dir, "memory") }

// GateSettings returns the folder of copies of the operator's settings for gates.
func (p Place) GateSettings() string { return filepath.Join(p.Dir, "gate-settings") }

// Transcript returns the file of one session of a member.
func (p Place) Transcript(member, session string) string {
	return filepath.Join(p.Transcripts(), member, session+".jsonl")
}

// Worktrees returns the folder of the members' working copies. Forget does not remove
// it, because it may contain uncommitted work.
func (p Place) Worktrees() string { return filepath.Join(p.Dir, "worktrees") }

// Lenders is the file with the folders from which the repository of the workspace borrows objects.
func (p Place) Lenders() string { return filepath.Join(p.Dir, "lenders") }

// GateScripts returns the folder of gate scripts from base commits.
func (p Place) GateScripts() string { return filepath.Join(p.Dir, "gates") }

// Pulls returns the folder of pull request files, with a folder for each merge.
func (p Place) Pulls() string { return filepath.Join(p.Dir, "pulls") }

// Mark returns the environment entry that identifies processes of a team, even if they
// are no longer below it.
func (p Place) Mark() string { return RunVariable + "=" + p.Dir }

// RunVariable names the variable with the folder of the team that a process belongs to.
const RunVariable = "COVEY_RUN"

// OpenStore opens the store of a team that does not run, for reading, after an
// integrity check. It waits shortly for a team that is just ending. The caller closes
// the store.
func (p Place) OpenStore() (*tasks.Store, error) {
	const wait = 5 * time.Second // a team closes its store last
	return tasks.Open(p.Store(), &tasks.Options{
		BlobDir: p.Blobs(), ReadOnly: true, LockTimeout: wait, Backups: 1, Identity: p.Identity(),
	})
}

// Identity returns the identity that the team's store must have; zero if the folder's
// workspace is not known.
func (p Place) Identity() store.Identity {
	if p.Workspace == "" {
		return store.Identity{}
	}
	return store.Identity{Team: p.Team, Workspace: p.Workspace}
}

// teamName matches valid names of teams; they are part of paths and subjects.
var teamName = texts.Pattern(`^[a-z0-9][a-z0-9-]{0,31}$`)

// IsTeamName reports whether a team may have a name.
func IsTeamName(name string) bool { return teamName().MatchString(name) }

// placeName matches a team's name, a dash, and 8 hex digits of its workspace.
var placeName = texts.Pattern(`^([a-z0-9][a-z0-9-]{0,31})-[0-9a-f]{8}$`)

// StateHome returns the folder that holds all Places of this user: $COVEY_STATE_HOME,
// else $XDG_STATE_HOME/covey, else ~/.local/state/covey. It need not exist. StateHome
// fails if a variable holds a relative path.
func StateHome() (string, error) {
	if dir := os.Getenv("COVEY_STATE_HOME"); dir != "" {
		return absoluteEnv("COVEY_STATE_HOME", dir)
	}
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		dir, err := absoluteEnv("XDG_STATE_HOME", dir)
		return filepath.Join(dir, "covey"), err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", FolderError(err)
	}
	return filepath.Join(home, ".local", "state", "covey"), nil
}

// absoluteEnv refuses a relative path, which would depend on the folder in which a
// command starts.
func absoluteEnv(name, dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%w: %s is %q; it must be an absolute path", ErrFolder, name, dir)
	}
	return filepath.Clean(dir), nil
}

// PlaceOf returns the Place of the team of this name that works in this folder. It
// depends on the folder's real path, so that links to it lead to one Place, and two
// folders never share one. It creates nothing on disk; Create does.
func PlaceOf(team, workspace string) (Place, error) { return PlaceIn("", team, workspace) }

// PlaceIn is PlaceOf with another state home; empty: StateHome.
func PlaceIn(home, team, workspace string) (Place, error) {
	if !IsTeamName(team) {
		return Place{}, fmt.Errorf("%q is no team name; use 1 to 32 of a-z, 0-9 and -, and no dash first", team)
	}
	dir, err := RealPath(workspace)
	if err != nil {
		return Place{}, fmt.Errorf("workspace: %w", err)
	}
	if home == "" {
		if home, err = StateHome(); err != nil {
			return Place{}, err
		}
	}
	return Place{Dir: filepath.Join(home, FolderOf(team, dir)), Team: team, Workspace: dir}, nil
}

// FolderOf returns the name of a Place's folder. dir is the workspace's real path.
func FolderOf(team, dir string) string {
	return team + "-" + texts.Digest(dir)[:8]
}

// RealPath returns the absolute path without symbolic links.
func RealPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// folders returns the folders of a Place that Create makes.
func (p Place) folders() []string { return []string{p.Transcripts(), p.Blobs(), p.Scratch(), p.Mail()} }

// Create creates the Place's folders, private to this user. It fails if the Place
// exists and others can read it.
func (p Place) Create() error {
	for _, dir := range append([]string{p.Dir}, p.folders()...) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return FolderError(err)
		}
	}
	return checkPrivate(p.Dir)
}

// Forget removes what earlier runs of the team left, and creates the folders again. The
// caller holds the team's lock, which stays.
func (p Place) Forget() error {
	for _, path := range append(p.folders(), p.Store(), p.Journal(), p.RunFile(), p.Log()) {
		if err := os.RemoveAll(path); err != nil {
			return FolderError(err)
		}
	}
	return p.Create()
}

// All returns the Places of this user, sorted by name.
func All() ([]Place, error) {
	found, err := surveys()
	if err != nil {
		return nil, err
	}
	all := make([]Place, len(found))
	for i, f := range found {
		all[i] = f.Place
	}
	return all, nil
}

// survey is a Place and the content of its run.json.
type survey struct {
	Place
	specDir string // folder of the spec; empty: not known
	damaged bool   // run.json cannot be read, so only the digits identify the workspace
}

// surveys reads all Places of this user, each once.
func surveys() ([]survey, error) {
	home, err := StateHome()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, FolderError(err)
	}
	var all []survey
	for _, e := range entries {
		m := placeName().FindStringSubmatch(e.Name())
		if m == nil || !e.IsDir() {
			continue
		}
		s := survey{Place: Place{Dir: filepath.Join(home, e.Name()), Team: m[1]}}
		run, err := ReadRunFile(s.Place)
		// A team of a newer covey is found like any other, so that commands can say that it is
		// one.
		newer := errors.Is(err, ErrNewer)
		s.damaged = err != nil && !newer && !errors.Is(err, fs.ErrNotExist)
		if err == nil || newer {
			s.Workspace = run.Workspace
			if run.Spec != "" {
				s.specDir = filepath.Dir(run.Spec)
			}
		}
		all = append(all, s)
	}
	return all, nil
}
