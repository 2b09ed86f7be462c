//go:build unix

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
)

// keepFiles writes testdata/upgrade again.
var keepFiles = flag.Bool("keep", false, "with -upgrades: keep what former versions wrote in testdata/upgrade")

// oldVariable names a folder with programs of former versions, covey-COMMIT each; without it
// they are built and kept in the user's cache.
const oldVariable = "COVEY_OLD_DIR"

// program returns the program of a former version, built from the history of this
// repository. A clone without that history skips the test.
func (f former) program(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(oldVariable)
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.Join(cache, "covey-former-versions")
	}
	bin := filepath.Join(dir, "covey-"+f.commit)
	if _, err := os.Stat(bin); err == nil {
		return bin
	}
	src := t.TempDir()
	archive := exec.Command("git", "archive", "--format=tar", "-o", filepath.Join(src, "src.tar"), f.commit)
	archive.Dir = filepath.Join("..", "..")
	if out, err := archive.CombinedOutput(); err != nil {
		t.Skipf("this clone lacks commit %s, so its program cannot be built; fetch the whole history: %s", f.commit, out)
	}
	for _, args := range [][]string{{"tar", "-xf", "src.tar"}, {"go", "build", "-o", bin + ".part", "./cmd/covey"}} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = src
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	if err := os.Rename(bin+".part", bin); err != nil {
		t.Fatal(err)
	}
	return bin
}

// begin runs a team until it waits in its second task.
func (u *upgradeTeam) begin(program string) *exec.Cmd {
	u.t.Helper()
	cmd := u.command(program, "up", "--trust")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log, err := os.Create(filepath.Join(u.dir, "up.log"))
	if err != nil {
		u.t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	u.await(func() bool {
		data, _ := os.ReadFile(u.place.Journal())
		return strings.Contains(string(data), "until test -e")
	})
	return cmd
}

// await waits until something has happened.
func (u *upgradeTeam) await(happened func() bool) {
	u.t.Helper()
	for end := time.Now().Add(time.Minute); !happened(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			log, _ := os.ReadFile(filepath.Join(u.dir, "up.log"))
			u.t.Fatalf("it never happened:\n%s", log)
		}
	}
}

// TestUpgrade replaces the program of a running team: by covey down, and by kill -9. The
// next run, which is killed as well, goes on with nothing lost.
func TestUpgrade(t *testing.T) {
	if !*upgrades {
		t.Skip("it builds the programs of former versions; -upgrades runs it")
	}
	for _, f := range formers {
		t.Run(f.commit[:8], func(t *testing.T) {
			old := f.program(t)
			t.Run("asked", func(t *testing.T) { asksOther(t, old) })
			t.Run("down", func(t *testing.T) { upgradeInOrder(t, f, old) })
			t.Run("killed", func(t *testing.T) { upgradeKilled(t, old) })
		})
	}
}

// asksOther asks a running team of a former version by all commands.
func asksOther(t *testing.T, old string) {
	u := newUpgradeTeam(t)
	up := u.begin(old)
	u.answersInTime()
	if out, errOut, code := u.run("covey", "down"); code != 0 && !strings.Contains(errOut, "not running") {
		t.Errorf("down: code %d\n%s%s", code, out, errOut)
	}
	_ = up.Wait() // how it ends is the next test
}

// upgradeInOrder ends the team of a former version with our covey down.
func upgradeInOrder(t *testing.T, f former, old string) {
	u := newUpgradeTeam(t)
	up := u.begin(old)
	if out, errOut, code := u.run("covey", "down"); code != 0 {
		t.Fatalf("down: code %d\n%s%s", code, out, errOut)
	}
	var exit *exec.ExitError
	if err := up.Wait(); err != nil && !errors.As(err, &exit) || up.ProcessState.ExitCode() < 0 {
		t.Errorf("it did not end in order: %v", up.ProcessState)
	}
	if *keepFiles {
		u.pack(f)
	}
	u.looksAtStopped("covey")
	u.upAndKill()
	u.finishes("covey")
	u.refuses(old)
	u.goesBack(old)
}

// upgradeKilled kills the team of a former version.
func upgradeKilled(t *testing.T, old string) {
	u := newUpgradeTeam(t)
	up := u.begin(old)
	if err := syscall.Kill(-up.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = up.Wait() // it was killed
	u.looksAtStopped("covey")
	u.upAndKill()
	u.finishes("covey")
}

// upAndKill kills our covey a few times while it takes the team over.
func (u *upgradeTeam) upAndKill() {
	u.t.Helper()
	for range 4 {
		cmd := u.command("covey", "up", "--trust")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			u.t.Fatal(err)
		}
		select {
		case <-time.After(time.Duration(rand.IntN(600)) * time.Millisecond):
		case <-u.t.Context().Done():
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // it was killed
	}
}

// refuses looks how a former version takes a store that was migrated.
func (u *upgradeTeam) refuses(old string) {
	u.t.Helper()
	if _, err := os.Stat(u.place.Store() + ".v2.bak"); err != nil {
		return // it has the same format
	}
	before := u.files()
	out, errOut, code := u.run(old, "up", "--trust", "team.yaml", "another goal")
	if code != 1 || strings.Count(errOut, "\n") != 1 || !strings.Contains(errOut, "use a newer covey") {
		u.t.Errorf("code %d\n%s%s", code, out, errOut)
	}
	if string(u.files()[u.place.Store()]) != string(before[u.place.Store()]) {
		u.t.Error("it changed the store")
	}
}

// goesBack puts the store from before the migration back, as the docs say: the former version
// takes from the journal what has happened since.
func (u *upgradeTeam) goesBack(old string) {
	u.t.Helper()
	if err := os.Rename(u.place.Store()+".v2.bak", u.place.Store()); errors.Is(err, fs.ErrNotExist) {
		return // it has the same format
	}
	if err := os.RemoveAll(u.place.Store() + ".backups"); err != nil {
		u.t.Fatal(err)
	}
	u.finishes(old)
}

// answersInTime runs every command against the running team of another version: each answers
// at once, and one that cannot says so in one line.
func (u *upgradeTeam) answersInTime() {
	u.t.Helper()
	for _, args := range commandLines(rootCommand(cli.New(nil, os.Stdout, os.Stderr, "devel"))) {
		ctx, cancel := context.WithTimeout(u.t.Context(), commandPatience)
		cmd := u.command("covey", args...)
		timed := exec.CommandContext(ctx, cmd.Path, args...)
		timed.Dir, timed.Env = cmd.Dir, cmd.Env
		var errOut strings.Builder
		timed.Stderr = &errOut
		begun := time.Now()
		err := timed.Run()
		u.t.Logf("%-24s %4d ms %v %s", strings.Join(args, " "), time.Since(begun).Milliseconds(), err, firstLine(errOut.String()))
		if ctx.Err() != nil {
			u.t.Errorf("covey %v has not answered after %v", args, time.Since(begun))
		}
		if err != nil && strings.Contains(errOut.String(), " version") && (strings.Count(errOut.String(), "\n") != 1 ||
			!strings.Contains(errOut.String(), "running with another version of covey; covey down, then covey up")) {
			u.t.Errorf("covey %v: %v\n%s", args, err, &errOut)
		}
		cancel()
	}
}

// commandPatience is for a command that hangs: two seconds are meant, and a busy machine may
// add to them.
const commandPatience = 2 * time.Minute

// commandLines returns a call of each command that asks or tells a team something, with
// arguments, those that change its course last. Those that end the team, wait for it or
// serve are left out.
func commandLines(root *cobra.Command) (lines [][]string) {
	arguments := map[string]string{
		"covey send": "dev hello", "covey interrupt": "dev", "covey hold": "dev", "covey resume": "dev",
		"covey tasks show": "1", "covey tasks create": "another", "covey tasks update": "2 --subject x",
		"covey tasks claim": "2 --as dev", "covey inbox approve": "r1", "covey inbox deny": "r1", "covey merge": "--all",
		"covey model serve": "", "covey hooks run": "Stop", "covey report": "--md", "covey completion": "bash",
		"covey review": "1 --return again", "covey init": "--help", "covey run": "--help",
		"covey inbox show": "r1", "covey plan": "a plan", "covey up": "--trust", "covey bug-report": "--yes",
	}
	left := []string{"covey", "covey down", "covey attach", "covey web", "covey mcp", "covey model serve", "covey help"}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if path := cmd.CommandPath(); cmd.Runnable() && !slices.Contains(left, path) {
			lines = append(lines, append(strings.Fields(path)[1:], strings.Fields(arguments[path])...))
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	slices.SortStableFunc(lines, func(a, b []string) int { return cmp.Compare(acts(a), acts(b)) })
	return lines
}

// firstLine returns the beginning of a text.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// acts is 1 for a command after which a waiting team goes on.
func acts(line []string) int {
	if slices.Contains([]string{"interrupt", "hold", "resume", "tasks"}, line[0]) {
		return 1
	}
	return 0
}
