package state

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/kv"
)

// Place is where the state of one team is: a folder of its own, outside of the
// workspace, where agents write.
type Place struct {
	Dir       string // absolute
	Team      string
	Workspace string // real path; empty if the folder does not say
}

// Home is the folder that holds this Place and others.
func (p Place) Home() string { return filepath.Dir(p.Dir) }

// Store is the task store.
func (p Place) Store() string { return filepath.Join(p.Dir, "tasks.db") }

// Journal is the team's journal.
func (p Place) Journal() string { return filepath.Join(p.Dir, "journal.jsonl") }

// RunFile tells of the last run; ReadRunFile reads it.
func (p Place) RunFile() string { return filepath.Join(p.Dir, "run.json") }

// Lock is held by the `covey up` that runs the team.
func (p Place) Lock() string { return filepath.Join(p.Dir, "lock") }

// Log takes covey's own troubles.
func (p Place) Log() string { return filepath.Join(p.Dir, "covey.log") }

// Transcripts holds a folder per member, with a file per session.
func (p Place) Transcripts() string { return filepath.Join(p.Dir, "transcripts") }

// Blobs holds payloads that are too large for the store.
func (p Place) Blobs() string { return filepath.Join(p.Dir, "blobs") }

// Scratch holds tool output that was too long to show.
func (p Place) Scratch() string { return filepath.Join(p.Dir, "scratch") }

// Mail holds a folder per member, with messages that were too long to show.
func (p Place) Mail() string { return filepath.Join(p.Dir, "mail") }

// GateSettings holds copies of settings of the operator's that gates go by.
func (p Place) GateSettings() string { return filepath.Join(p.Dir, "gate-settings") }

// Transcript is the file of one session of a member.
func (p Place) Transcript(member, session string) string {
	return filepath.Join(p.Transcripts(), member, session+".jsonl")
}

// Socket is where the team listens while it runs. Its run.json says so too,
// and is right when the environment has changed meanwhile.
func (p Place) Socket() string { return bus.SocketPath(p.Dir) }

// Worktrees holds the members' working copies, a folder each. Forget leaves it
// alone: what lies there may be in no commit yet.
func (p Place) Worktrees() string { return filepath.Join(p.Dir, "worktrees") }

// GateScripts holds scripts of gates in the state of the commit that work began from.
func (p Place) GateScripts() string { return filepath.Join(p.Dir, "gates") }

// Pulls holds what pull requests are opened with, in a folder for each merge.
func (p Place) Pulls() string { return filepath.Join(p.Dir, "pulls") }

// Mark is the environment entry by which the processes of a team are known even when they
// are not below it any more.
func (p Place) Mark() string { return RunVariable + "=" + p.Dir }

// RunVariable holds the folder of the team that a process belongs to.
const RunVariable = "COVEY_RUN"

// OpenStore opens the store of a team that does not run, for reading and looked through.
// It waits a moment for a team that ends just now. The caller closes it.
func (p Place) OpenStore() (*tasks.Store, error) {
	const wait = 5 * time.Second // a team lets go of its store last
	return tasks.Open(p.Store(), &tasks.Options{
		BlobDir: p.Blobs(), ReadOnly: true, LockTimeout: wait, Backups: 1, Identity: p.Identity(),
	})
}

// Identity is what the team's store must bear; the zero value if the folder does not
// say what its workspace is.
func (p Place) Identity() kv.Identity {
	if p.Workspace == "" {
		return kv.Identity{}
	}
	return kv.Identity{Team: p.Team, Workspace: p.Workspace}
}

// TeamName is what a team may be called; it is part of paths and subjects.
var TeamName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// placeName is a team's name, a dash, and 8 hex digits of its workspace.
var placeName = regexp.MustCompile(`^([a-z0-9][a-z0-9-]{0,31})-[0-9a-f]{8}$`)

// StateHome is the folder that holds all Places of this user:
// $COVEY_STATE_HOME, else $XDG_STATE_HOME/covey, else ~/.local/state/covey. It
// need not exist. It fails if a variable holds a relative path.
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
		return "", fmt.Errorf("no folder for state: %w; set COVEY_STATE_HOME", err)
	}
	return filepath.Join(home, ".local", "state", "covey"), nil
}

// absoluteEnv refuses a relative path: it would lead each command to another
// place, by the folder that it was started in.
func absoluteEnv(name, dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%s is %q; it must be an absolute path", name, dir)
	}
	return filepath.Clean(dir), nil
}

// PlaceOf is the Place of the team of this name that works in this folder. It
// depends on the folder's real path, so that links to it lead to one Place, and
// two folders never share one. Nothing is made on disk; Create does that.
func PlaceOf(team, workspace string) (Place, error) { return PlaceIn("", team, workspace) }

// PlaceIn is PlaceOf with another state home; empty: StateHome.
func PlaceIn(home, team, workspace string) (Place, error) {
	if !TeamName.MatchString(team) {
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

// FolderOf is the name of a Place's folder. dir is the workspace's real path.
func FolderOf(team, dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return team + "-" + hex.EncodeToString(sum[:4])
}

// RealPath is the absolute path without symbolic links.
func RealPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// folders lists the folders in a Place.
func (p Place) folders() []string { return []string{p.Transcripts(), p.Blobs(), p.Scratch(), p.Mail()} }

// Create makes the Place's folders, private to this user. It fails if the Place
// exists and others can read it.
func (p Place) Create() error {
	for _, dir := range append([]string{p.Dir}, p.folders()...) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("state folder: %w", err)
		}
	}
	return checkPrivate(p.Dir)
}

// Forget removes what earlier runs of the team left, and makes the folders
// anew. The caller holds the team's lock, which stays.
func (p Place) Forget() error {
	for _, path := range append(p.folders(), p.Store(), p.Journal(), p.RunFile(), p.Log()) {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("state folder: %w", err)
		}
	}
	return p.Create()
}

// All lists the Places of this user, by name.
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

// survey is a Place and what its run.json says of it.
type survey struct {
	Place
	specDir string // folder of the spec; empty: not known
	damaged bool   // its run.json cannot be read, so its workspace is only known by its digits
}

// surveys looks at all Places of this user, and once at each.
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
		return nil, fmt.Errorf("state folder: %w", err)
	}
	var all []survey
	for _, e := range entries {
		m := placeName.FindStringSubmatch(e.Name())
		if m == nil || !e.IsDir() {
			continue
		}
		s := survey{Place: Place{Dir: filepath.Join(home, e.Name()), Team: m[1]}}
		run, err := ReadRunFile(s.Place)
		s.damaged = err != nil && !errors.Is(err, fs.ErrNotExist)
		if err == nil {
			s.Workspace = run.Workspace
			if run.Spec != "" {
				s.specDir = filepath.Dir(run.Spec)
			}
		}
		all = append(all, s)
	}
	return all, nil
}
