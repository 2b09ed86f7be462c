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
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks/backup"
)

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
func (b *bundle) mask(text string) string { return notation.Mask(text, b.secrets) }

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
