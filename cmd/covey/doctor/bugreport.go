package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/state"
)

// reportFlags are the flags of `covey bug-report`.
type reportFlags struct {
	out              string
	yes, transcripts bool
}

// BugReport returns `covey bug-report`. version describes the program in full.
func BugReport(env *cli.Env, version string) *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "bug-report [TEAM]",
		Short: "Pack what a report of a bug needs, with secrets masked",
		Long: `Write an archive for a report of a bug: the version, what covey doctor says, stacks of
crashes and, of the team of this folder or TEAM, the spec, the end of the journal and
of the logs, and numbers about the store. Nothing is sent anywhere.

What is in it is listed first, with sizes, and covey asks; elsewhere than on a
terminal, --yes agrees. Values that look like secrets are masked, as in covey report.
What members and models said, and what tools returned, is replaced by its length
unless --with-transcripts is given, which also adds the transcripts. Key files and
.env files are never read into it. Look at the archive before you publish it.`,
		Example: `  covey bug-report
  covey bug-report crew --out /tmp/report.tar.gz --yes`,
		Args: cli.ArgCount(0, 1, "at most one team"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.NotFromInside("covey bug-report"); err != nil {
				return err
			}
			if len(args) > 0 {
				env.Team = args[0]
			}
			b, err := collect(cmd.Context(), env, version, f.transcripts)
			if err != nil {
				return err
			}
			return f.write(env, b)
		},
		ValidArgsFunction: cli.CompleteTeam,
	}
	cmd.Flags().StringVar(&f.out, "out", "", "write into `FILE`, which must not exist")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&f.transcripts, "with-transcripts", false, "also what members, models and tools said")
	return cmd
}

// collect makes the report of a team, or of the machine alone if there is no team: covey may
// have failed before it had one. A team that was named must exist, or the report would be
// about something else than its author believes.
func collect(ctx context.Context, env *cli.Env, version string, transcripts bool) (*bundle, error) {
	place, err := env.Find()
	some := !errors.Is(err, state.ErrNoTeam)
	if err != nil && (some || env.Team != "") {
		return nil, fmt.Errorf("which team: %w", err)
	}
	b := newBundle(env, place, transcripts)
	b.add("version.txt", version+"\n")
	b.add("doctor.txt", examined(ctx, env, b.spec))
	for _, path := range cli.Crashes() {
		b.addEnd("crashes/"+filepath.Base(path), path, asText)
	}
	if some {
		b.addTeam(ctx)
	}
	return b, nil
}

// examined returns what covey doctor says about the machine and the team's spec, or the spec
// of the folder. Gates are not tried, because a report must not run anything.
func examined(ctx context.Context, env *cli.Env, spec string) string {
	dir, err := env.Folder()
	if err == nil && spec == "" {
		spec, err = env.SpecPath(nil)
	}
	if err != nil {
		return err.Error() + "\n"
	}
	d := &examination{
		dir: dir, spec: spec, managed: env.Managed, version: env.Version,
	}
	var out bytes.Buffer
	printFindings(&term.Screen{Writer: &out}, d.all(ctx))
	return out.String()
}

// write shows what is in a report, asks, and writes it. The list goes to standard error and
// the path to standard output, so that a script gets the path alone.
func (f reportFlags) write(env *cli.Env, b *bundle) error {
	name := f.out
	if name == "" {
		parts := []string{"covey-bug-report", b.place.Team, time.Now().UTC().Format("20060102T150405Z.tar.gz")}
		name = strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "-")
	}
	path, err := filepath.Abs(env.Path(name))
	if err != nil {
		return fmt.Errorf("where the report goes: %w", err)
	}
	env.Err.Printf("%s would hold, with secrets masked:\n", term.PlainLine(path))
	for _, p := range b.pieces {
		env.Err.Printf("  %8d bytes  %s\n", len(p.text), term.PlainLine(p.name))
	}
	// The list is shown before either check, so that a script's log has it, too.
	if !f.yes && !env.Interactive() {
		return cli.Usagef("covey bug-report asks before it writes; without a terminal, --yes agrees")
	}
	if !f.yes && !env.Agreed("Write it?") {
		return &cli.EndError{Code: cli.ExitFailed, Err: errors.New("nothing was written")}
	}
	data, err := b.packed()
	if err != nil {
		return fmt.Errorf("pack the report: %w", err)
	}
	if err := writeNew(path, data); err != nil {
		return fmt.Errorf("the report cannot be written to %s: %s; name another file with --out", path,
			notation.Cause(err))
	}
	env.Out.Printf("%s\n", term.PlainLine(path))
	return nil
}

// writeNew writes a file that must not exist, so that neither a link nor a file of the
// workspace is overwritten. A file that is only half written is removed.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
