package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/tasks/backup"
)

// checkWithin is how long a program may take to print its version.
const checkWithin = 5 * time.Second

// Less than littleSpace bytes on the disk give a warning; with less than noSpace a
// team would soon stop.
const (
	littleSpace = 1 << 30
	noSpace     = 64 << 20
)

// examination is one run of `covey doctor`. Its checks change nothing: they remove
// what they create for a try.
type examination struct {
	dir  string // the folder that commands work in
	spec string // path of the spec
	// named means that the operator named the spec.
	named bool
	// managed are the folders of an administrator's settings, which bind every team.
	managed []string
	version string // of this covey
}

// all runs all checks, in the order in which they are shown. It does not stop at a
// failure: a later one may be its cause.
func (x *examination) all(ctx context.Context) []finding {
	findings := []finding{x.path(), x.state(), x.space(), x.socket(), x.git(ctx), x.shell(ctx), sandboxFinding(sandbox.Probe()), x.prices()}
	findings = append(findings, x.specAndHooks(ctx)...)
	return append(append(findings, x.runs()...), x.backups()...)
}

// state checks that the state home can be created and written. Only trying is
// reliable, because rights, mounts and quotas all matter.
func (x *examination) state() finding {
	home, err := state.StateHome()
	if err != nil {
		return fail("state", err.Error(), "set COVEY_STATE_HOME to an absolute path that you can write to")
	}
	probe, err := tryWrite(home)
	if err != nil {
		return fail("state", fmt.Sprintf("%s cannot be written: %v", home, err),
			"set COVEY_STATE_HOME to a folder that you can write to, or change who owns this one")
	}
	if probe == home {
		return ok("state", "%s can be written", home)
	}
	return ok("state", "%s is not there yet and can be made", home)
}

// existing returns a folder or, if it does not exist, its nearest parent that does. A folder that exists
// but cannot be read counts, since what is tried with it is the finding.
func existing(dir string) string {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		return existing(filepath.Dir(dir))
	}
	return dir
}

// tryWrite creates and removes a file in what exists of a folder, and returns where.
func tryWrite(dir string) (string, error) {
	dir = existing(dir)
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return dir, err
	}
	_, err = f.WriteString("x")
	return dir, errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// space checks the free space on the state's disk.
func (x *examination) space() finding {
	home, err := state.StateHome()
	if err != nil {
		return fail("disk", "there is no folder for state", "see the check of the state")
	}
	free, err := diskFree(existing(home))
	switch {
	case err != nil:
		return warn("disk", fmt.Sprintf("the free space for %s is unknown: %v", home, err), "look with df")
	case free < noSpace:
		return fail("disk", fmt.Sprintf("only %d MiB are left for %s", free>>20, home),
			"make room, or set COVEY_STATE_HOME to another disk; a team stops when its disk is full")
	case free < littleSpace:
		return warn("disk", fmt.Sprintf("%d MiB are left for %s", free>>20, home),
			"journals and transcripts of a long run may need more; make room")
	}
	return ok("disk", "%d GiB are free for %s", free>>30, home)
}

// socket checks that a socket can be created where the team's would be. The place
// depends on the length of the path, so the team's own rule is used.
func (x *examination) socket() finding {
	place, err := state.PlaceOf("doctor", x.dir)
	if err != nil {
		return fail("socket", err.Error(), "see the check of the state")
	}
	dir := filepath.Dir(place.Socket())
	made, err := makeFolders(dir)
	if err == nil {
		err = tryListen(filepath.Join(dir, "doctor"))
	}
	// The folders are removed even after an error, since the doctor changes nothing.
	for _, folder := range made {
		_ = os.Remove(folder) // fails if it is in use by now
	}
	if err != nil {
		return fail("socket", fmt.Sprintf("no socket can be made in %s: %v", dir, err),
			"set XDG_RUNTIME_DIR to a folder of yours with a short path, such as /run/user/$(id -u)")
	}
	return ok("socket", "%s can hold sockets", existing(dir))
}

// makeFolders creates a folder with its missing parents, and returns those that it
// created, the deepest first. It returns them with an error, too, so that the caller
// can clean up.
func makeFolders(dir string) (made []string, err error) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, at)
	}
	return made, os.MkdirAll(dir, 0o700)
}

// tryListen creates and removes a socket.
func tryListen(path string) error {
	_ = os.Remove(path) // left by a doctor that was killed
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	return l.Close()
}

// sandboxFinding tells what this system can hold of sandboxes.
func sandboxFinding(s sandbox.Support) finding {
	level := s.Level()
	if level == sandbox.Mounts {
		return ok("sandbox", "levels 1 and 2 (landlock %d)", s.Landlock)
	}
	why, cure := make([]string, len(s.Missing)), ""
	for i, m := range s.Missing {
		if why[i] = m.Why; cure == "" {
			cure = m.Cure
		}
	}
	can := "nothing"
	if level == sandbox.Files {
		can = fmt.Sprintf("level 1 (landlock %d)", s.Landlock)
	}
	return warn("sandbox", "this system can hold "+can+": "+strings.Join(why, "; "), cure)
}

// git checks that git is installed. A team can run without it if no member needs a
// repository.
func (x *examination) git(ctx context.Context) finding {
	text, err := firstLine(ctx, "git", "--version")
	if err != nil {
		return warn("git", fmt.Sprintf("git does not run: %v", err),
			"install git: members that work in a repository, and the policy work-committed, need it")
	}
	return ok("git", "%s", text)
}

// shell checks the shell that hooks and the Bash tool need.
func (x *examination) shell(ctx context.Context) finding {
	if _, err := firstLine(ctx, "/bin/sh", "-c", ":"); err != nil {
		return fail("shell", fmt.Sprintf("/bin/sh does not run: %v", err), "hooks and gates need a POSIX shell there")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		return warn("shell", "/bin/sh runs; there is no bash",
			"install bash if hooks of yours begin with #!/bin/bash")
	}
	return ok("shell", "/bin/sh runs, and there is a bash")
}

// firstLine returns the first line of a program's output. It fails if the program
// does not start, exits with an error, or takes longer than checkWithin; the output
// until then is returned as well.
func firstLine(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).Output()
	line, _, _ := strings.Cut(string(out), "\n")
	return line, err
}

// specAndHooks checks the spec and, if it has no mistakes, its programs, models, hooks and trust.
//
// Without a spec there is only a warning, unless one was named: the doctor is also for a machine on
// which nothing has been set up. After a mistake in the spec nothing else of it is examined, because most
// findings would follow from that mistake.
func (x *examination) specAndHooks(ctx context.Context) []finding {
	team, err := configs.LoadWith(x.spec, configs.Options{Version: x.version, Managed: x.managed})
	if errors.Is(err, fs.ErrNotExist) && x.named {
		return []finding{fail("spec", "there is no "+x.spec, "name another")}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return []finding{warn("spec", "there is no "+x.spec, "covey init writes a spec that runs")}
	}
	var mistakes configs.Errors
	if errors.As(err, &mistakes) {
		return specFindings(mistakes)
	}
	if err != nil {
		return []finding{fail("spec", err.Error(), "covey validate tells more")}
	}
	missing, err := orchestrator.Check(team, x.managed)
	if err == nil && len(missing) == 0 { // New checks more, but nothing of it if something is missing
		_, err = orchestrator.New(team, orchestrator.Options{ManagedFolders: x.managed})
	}
	if err != nil {
		return []finding{fail("spec", err.Error(), "covey validate tells more")}
	}
	spec := ok("spec", "%s: team %s, %s", x.spec, team.Name, texts.Plural(len(team.Members()), "member"))
	if team.Unchecked != "" {
		spec.Text += fmt.Sprintf("; requires %q was not checked: this covey is no release", team.Unchecked)
	}
	if n := len(team.Warnings); n > 0 {
		spec = warn("spec", x.spec+": "+texts.Plural(n, "warning"), "covey validate lists them")
	}
	findings := []finding{spec}
	for _, gone := range missing {
		switch {
		case errors.Is(gone, launch.ErrNoKey): // the check of models says more
		case errors.Is(gone, launch.ErrNoAgentKey):
			findings = append(findings, fail("spec", gone.Error(), "set the variable, or change auth in the spec"))
		case errors.Is(gone, sandbox.ErrRefused):
			findings = append(findings, fail("spec", gone.Error(), "see the check of the sandbox"))
		default:
			findings = append(findings, fail("spec", gone.Error(), "covey agents shows what is installed"))
		}
	}
	if team.Sandbox.Level == "" {
		findings = append(findings, warn("spec", "has no sandbox: commands of its members have all rights of yours",
			"write sandbox: {level: best}"))
	}
	findings = append(append(findings, agentFindings(ctx, team)...), x.models(ctx, team)...)
	findings = append(append(findings, busFindings(ctx, team)...), noticeFindings(team)...)
	findings = append(findings, worktreeFindings(workcopies.OutlookOf(ctx, team))...)
	return append(findings, x.hooks(ctx, team)...)
}

// runs finds runs that were cut off. They are harmless, but somebody may believe that
// they still run.
func (x *examination) runs() []finding {
	places, err := state.All()
	if err != nil {
		return []finding{fail("runs", err.Error(), "see the check of the state")}
	}
	var findings []finding
	running := 0
	for _, p := range places {
		switch info := cli.InfoOf(p); info.State {
		case cli.TeamRunning:
			running++
		case cli.TeamCutOff:
			findings = append(findings, warn("runs", fmt.Sprintf("team %s in %s was cut off", p.Team, p.Workspace),
				"covey up there resumes it; covey up --fresh starts over"))
		}
	}
	if len(findings) == 0 {
		return []finding{ok("runs", "%d of %d teams run, none was cut off", running, len(places))}
	}
	return findings
}

// path checks which covey a shell starts. After a second way of installing there may be
// two, and an upgrade of the later one has no effect.
func (x *examination) path() finding {
	self, err := os.Executable()
	if err != nil {
		return warn("path", fmt.Sprintf("the place of this covey is unknown: %v", err), "look with command -v covey")
	}
	return pathFinding(self, onPath("covey"))
}

// pathFinding is the finding for this program and those that are called covey on the
// PATH, in its order.
func pathFinding(self string, found []string) finding {
	switch {
	case len(found) == 0:
		return ok("path", "%s runs; no covey is on the PATH", self)
	case len(found) > 1:
		return warn("path", fmt.Sprintf("a shell starts %s; another covey is on the PATH: %s", found[0],
			strings.Join(found[1:], ", ")), "delete the one that you do not want, or change the order of the PATH")
	case !cli.SameFile(self, found[0]):
		return warn("path", fmt.Sprintf("a shell starts %s, and this is %s", found[0], self),
			"delete the one that you do not want, or put the other's folder first in the PATH")
	}
	return ok("path", "%s is the only covey on the PATH", found[0])
}

// onPath returns the programs of a name in the folders of the PATH, each file once: links
// to one program are not two.
func onPath(name string) []string {
	var found []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue // means another folder wherever a shell is
		}
		path, err := exec.LookPath(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		if !slices.ContainsFunc(found, func(other string) bool { return cli.SameFile(other, path) }) {
			found = append(found, path)
		}
	}
	return found
}

// prices checks the age of the prices for costs in dollars. A spec with mistakes has
// a finding of its own; then only covey's own prices are checked.
func (x *examination) prices() finding {
	team, err := configs.Load(x.spec)
	if err != nil {
		team = &configs.Team{}
	}
	files, err := accounts.LoadPrices(team.Budget)
	if err != nil {
		return fail("prices", err.Error(), "correct the file that budget.prices names, or leave the key out")
	}
	now := time.Now()
	var texts []string
	old := false
	for _, f := range files {
		texts = append(texts, PriceAge(f, now))
		old = old || f.Old(now)
	}
	text := strings.Join(texts, "; ")
	if old {
		return warn("prices", text, "name a file with current prices in budget.prices, if the team has a budget in dollars")
	}
	return ok("prices", "%s", text)
}

// PriceAge describes whose prices a file has, and from which day.
func PriceAge(f accounts.PriceFile, now time.Time) string {
	whose := "covey's prices"
	if f.File != "" {
		whose = "the prices in " + f.File
	}
	return fmt.Sprintf("%s of %d kinds of models are of %s, %d days old", whose, f.Models, f.Date.Format(time.DateOnly),
		max(int(now.Sub(f.Date)/(24*time.Hour)), 0))
}

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
		age = fmt.Sprintf("%s of its store, the last one %s old", texts.Plural(b.Count, "backup"),
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
