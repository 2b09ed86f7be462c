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
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trees"
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
	// named says that the operator named the spec.
	named bool
	// managed are the folders of an administrator's settings, which bind every team.
	managed []string
	version string // of this covey
}

// all runs all checks, in the order in which they are shown. It does not stop at a
// failure: a later one may be its cause.
func (x *examination) all(ctx context.Context) []finding {
	findings := []finding{x.path(), x.state(), x.space(), x.socket(), x.git(ctx), x.shell(ctx), x.prices()}
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

// tryWrite creates and removes a file in dir or, if that does not exist, in the
// nearest existing parent, and returns the folder. A folder that exists but cannot be
// read is tried all the same, and its error is the finding.
func tryWrite(dir string) (string, error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		return tryWrite(filepath.Dir(dir))
	}
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
	free, err := freeSpace(home)
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

// freeSpace returns the free space on the disk of dir or of its nearest existing
// parent.
func freeSpace(dir string) (int64, error) {
	free, err := diskFree(dir)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		return freeSpace(filepath.Dir(dir))
	}
	return free, err
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
	return ok("socket", "%s can hold sockets", filepath.Dir(dir))
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
	team, err := configs.LoadWith(x.spec, configs.Options{Version: x.version})
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
	spec := ok("spec", "%s: team %s, %s", x.spec, team.Name, term.Plural(len(team.Members()), "member"))
	if team.Unchecked != "" {
		spec.Text += fmt.Sprintf("; requires %q was not checked: this covey is no release", team.Unchecked)
	}
	if n := len(team.Warnings); n > 0 {
		spec = warn("spec", x.spec+": "+term.Plural(n, "warning"), "covey validate lists them")
	}
	findings := []finding{spec}
	for _, gone := range missing {
		switch {
		case errors.Is(gone, launch.ErrNoKey): // the check of models says more
		case errors.Is(gone, launch.ErrNoAgentKey):
			findings = append(findings, fail("spec", gone.Error(), "set the variable, or change auth in the spec"))
		default:
			findings = append(findings, fail("spec", gone.Error(), "covey agents shows what is installed"))
		}
	}
	findings = append(append(findings, agentFindings(ctx, team)...), x.models(ctx, team)...)
	findings = append(findings, noticeFindings(team)...)
	findings = append(findings, worktreeFindings(trees.OutlookOf(ctx, team))...)
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
