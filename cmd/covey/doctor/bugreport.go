package doctor

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks/backup"
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
			texts.Cause(err))
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

// A report of a bug leaves the machine, so it is made of what covey knows to be its own:
// files that it wrote itself, and the spec. It reads no other file of the workspace, no key
// file and no environment, and each text passes through the masks of covey report on its way
// into the archive. What was said in the team is private even without a secret in it, and
// seldom needed: by default only its length is there.
//
// Masking finds values that it knows (variables and key files that the spec names) and
// shapes of well-known tokens. It cannot know others, such as a password that a tool has
// printed; that is why a person is asked to look first.

// maxPiece is how much of the end of a file a report has. It bounds the report and the time
// to mask it; what led to a bug is mostly in the last thousands of lines.
const maxPiece = 1 << 20

// piece is one file of a report, masked.
type piece struct{ name, text string }

// bundle is what a report of a bug has.
type bundle struct {
	place       state.Place // empty: there is no team
	spec        string      // of the team; empty: unknown
	mistakes    bool        // the spec has some, so that its secrets are not known
	secrets     []string
	transcripts bool
	pieces      []piece
}

// newBundle returns an empty report. The secrets are those that the team would have if it
// ran here.
func newBundle(env *cli.Env, place state.Place, transcripts bool) *bundle {
	b := &bundle{place: place, transcripts: transcripts}
	var team *configs.Team
	if place.Dir != "" {
		b.spec = cli.SpecOf(place)
	}
	if b.spec != "" {
		var err error
		if team, err = configs.LoadWith(b.spec, configs.Options{Version: env.Version}); err != nil {
			team, b.mistakes = nil, true
		}
	}
	b.secrets = launch.Secrets(team, os.Environ())
	return b
}

// mask masks secrets in a text.
func (b *bundle) mask(text string) string { return texts.Mask(text, b.secrets) }

// add adds a text.
func (b *bundle) add(name, text string) {
	b.pieces = append(b.pieces, piece{name, b.mask(text)})
}

// addEnd adds the end of a file, each line changed by a function. A file that does not exist
// is left out; an error stands in place of the text, because it may be part of the bug.
func (b *bundle) addEnd(name, path string, line func(*bundle, string) string) {
	text, err := endOf(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		b.add(name, "covey bug-report cannot read it: "+err.Error()+"\n")
		return
	}
	var out strings.Builder
	for l := range strings.Lines(text) {
		out.WriteString(line(b, strings.TrimSuffix(l, "\n")) + "\n")
	}
	b.add(name, out.String())
}

// endOf returns the whole lines in the last maxPiece bytes of a regular file. It follows no
// link: a member with a shell could have put one to a key file in place of a log. A line that
// is cut at the beginning is left out, since half a secret is not masked.
func endOf(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	from := max(0, info.Size()-maxPiece)
	data, err := io.ReadAll(io.NewSectionReader(f, from, maxPiece))
	text := string(data)
	if from > 0 {
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.ToValidUTF8(text, "\ufffd"), err
}

// addTeam adds what is known of the team.
func (b *bundle) addTeam(ctx context.Context) {
	if over := yaml.OverridePath(b.spec); b.spec != "" && !b.mistakes {
		b.addEnd("spec/"+filepath.Base(b.spec), b.spec, asText)
		b.addEnd("spec/"+filepath.Base(over), over, asText)
	} else if b.mistakes {
		b.add("spec/left-out.txt", "The spec cannot be read, so covey cannot tell which values in it are secret. "+
			"doctor.txt says what is wrong with it.\n")
	}
	// Lines of JSON are masked value by value; run.json is one document over several lines,
	// so it is masked as text.
	b.addEnd("run.json", b.place.RunFile(), asText)
	b.addEnd("journal.jsonl", b.place.Journal(), asLine)
	b.addEnd("covey.log", b.place.Log(), asLine)
	b.addEnd("up.log", filepath.Join(b.place.Dir, "up.log"), asText)
	b.add("store.txt", storeFacts(ctx, b.place))
	if !b.transcripts {
		return
	}
	files, _ := filepath.Glob(filepath.Join(b.place.Transcripts(), "*", "*.jsonl")) // the pattern is valid
	for _, path := range files {
		name, err := filepath.Rel(b.place.Dir, path)
		if err == nil {
			b.addEnd(filepath.ToSlash(name), path, asLine)
		}
	}
}

// storeFacts returns numbers about the store. Its records are left out, because they are the
// texts of tasks and messages; what has happened to them is in the journal. An error is part
// of the facts: a store that cannot be read may be the bug.
func storeFacts(ctx context.Context, place state.Place) string {
	var out strings.Builder
	backups, err := backup.Inspect(place.Store())
	fmt.Fprintf(&out, "%d bytes, last written %s; %d backups, the newest of %s\n",
		backups.Size, when(backups.Stored), backups.Count, when(backups.Newest))
	if err != nil {
		fmt.Fprintf(&out, "inspect it: %v\n", err)
	}
	list, err := cli.ReadOutline(ctx, place)
	if err != nil {
		fmt.Fprintf(&out, "read its tasks: %v\n", err)
	}
	counts := map[string]int{}
	for _, t := range list {
		counts[string(t.Status)]++
	}
	fmt.Fprintf(&out, "%d tasks: %v\n", len(list), counts)
	return out.String()
}

// when formats a time.
func when(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}

// asText leaves a line as it is.
func asText(_ *bundle, line string) string { return line }

// conversation are the types of journal lines that hold what members, models and tools said.
// Lines of other types, such as refusals and warnings, keep their texts: they say what covey
// did.
var conversation = map[string]bool{
	events.TextSaid{}.Type(): true, events.ToolCalled{}.Type(): true, events.ToolReturned{}.Type(): true,
	events.TurnStarted{}.Type(): true, events.MessageSent{}.Type(): true,
}

// asLine masks a line of JSON value by value, since a secret is escaped there. What members
// said is replaced by its length, unless the report has the transcripts.
func asLine(b *bundle, line string) string {
	var entry map[string]any
	if json.Unmarshal([]byte(line), &entry) != nil {
		return line // masked as text
	}
	kind, _ := entry["type"].(string)
	said := conversation[kind] && !b.transcripts
	for key, v := range entry {
		entry[key] = b.value(v, said && key == "data")
	}
	text, err := term.CompactJSON(entry)
	if err != nil {
		return fmt.Sprintf("a line that cannot be shown: %v", err)
	}
	return strings.TrimSuffix(string(text), "\n")
}

// value masks the texts in a value, or replaces them by their lengths. Ids and names of
// tools stay, because a bug is traced by them.
func (b *bundle) value(v any, said bool) any {
	switch v := v.(type) {
	case string:
		if said {
			return fmt.Sprintf("(%d bytes)", len(v))
		}
		return b.mask(v)
	case []any:
		for i := range v {
			v[i] = b.value(v[i], said)
		}
	case map[string]any:
		for key, inner := range v {
			v[key] = b.value(inner, said && key != "id" && key != "name" && key != "cause")
		}
	}
	return v
}

// packed returns the report as a compressed archive. It is made in memory, which is bounded
// by the number of pieces, so that a full disk leaves no half of it.
func (b *bundle) packed() ([]byte, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for _, p := range b.pieces {
		head := &tar.Header{
			Name: "covey-bug-report/" + p.name, Mode: 0o600, Size: int64(len(p.text)), ModTime: time.Now(),
		}
		if err := w.WriteHeader(head); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		if _, err := io.WriteString(w, p.text); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	err := errors.Join(w.Close(), zipped.Close())
	return out.Bytes(), err
}
