package trust

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/hookfiles"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
)

// maxKeptText is how much of a file's text is remembered, to show a difference
// later. Of longer files only the hash is kept.
const maxKeptText = 64 << 10

// Item is one thing that a team would run, with its content.
type Item struct {
	Run
	Hash string `json:"hash"`           // of the file, or of the command line; empty: Path is not there
	Text string `json:"text,omitempty"` // of a file that is short and text
	// Files are those of a folder that is trusted as a whole (Plugin, Folder).
	Files []File `json:"files,omitempty"`
}

// same says whether two items are about the same thing, whatever its content.
func (i Item) same(o Item) bool { return i.Run == o.Run }

// ChangeKind says how an item differs from what was trusted.
type ChangeKind string

// The kinds of changes.
const (
	ItemNew     ChangeKind = "new"
	ItemChanged ChangeKind = "changed"
	ItemRemoved ChangeKind = "removed"
)

// Change is one difference between what was trusted and what there is.
type Change struct {
	Kind ChangeKind `json:"kind"`
	Run  Run        `json:"run"`
	// Diff holds both texts in the unified format, where both are known.
	Diff string `json:"diff,omitempty"`
}

// Report says whether what a team would run is trusted. It describes what
// was on disk when it was made.
type Report struct {
	Trusted bool     `json:"trusted"`
	Known   bool     `json:"known"`   // something was trusted here before
	Items   []Item   `json:"items"`   // all that would run
	Changes []Change `json:"changes"` // from what was trusted; if nothing was, all of it is new
}

// Digest tells apart all that a team would run, by its content.
//
// It covers contents and not only names: a script that is edited between the look and
// the yes gives another digest (ADVERSARIAL 30). The same items in another order do so too,
// which costs a question and no safety.
func (r Report) Digest() string {
	sum := sha256.New()
	for _, i := range r.Items {
		fmt.Fprintf(sum, "%q %q %q %q %s\n", i.Kind, i.Event, i.Command, i.Path, i.Hash)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// DigestOf is the Digest of a report on what a team would run. It fails if trust.json
// cannot be read: nobody knows then what is trusted.
func DigestOf(team *configs.Team) (string, error) {
	if _, err := readTrust(); err != nil {
		return "", err
	}
	items, err := itemsOf(team)
	return Report{Items: items}.Digest(), err
}

// Check compares what a team would run with what this user has trusted
// for its spec and workspace. Both are known by their real paths, and nothing
// in the workspace, such as its .git, has a say in it. An entry of trust.json that a team
// that runs in the workspace does not count, because its operator has not announced it, does not
// count here either.
func Check(ctx context.Context, team *configs.Team) (Report, error) {
	key, err := keyOf(team)
	if err != nil {
		return Report{}, err
	}
	items, err := itemsOf(team)
	if err != nil {
		return Report{}, err
	}
	all, err := readTrust()
	if err != nil {
		return Report{}, err
	}
	before, known := all.find(key)
	if known {
		if known, err = api.TrustCounts(ctx, key.notice(before.digest())); err != nil {
			return Report{}, err
		}
		if !known {
			before = trustEntry{}
		}
	}
	r := Report{Known: known, Items: items, Changes: changes(before.Items, items)}
	r.Trusted = known && len(r.Changes) == 0
	return r, nil
}

// Remember trusts what the report describes, whatever is on disk by now. Teams that run in
// the workspace are told first; it fails with ErrDenied if one of them does not take the
// caller for the operator.
func Remember(ctx context.Context, team *configs.Team, r Report) error {
	key, err := keyOf(team)
	if err != nil {
		return err
	}
	if err := api.AnnounceTrust(ctx, key.notice(trustEntry{Items: r.Items}.digest())); err != nil {
		return err
	}
	return updateTrust(func(all *trustFile) { all.put(key, r.Items) })
}

// Forget withdraws the trust in the team's spec. Forgetting what was not trusted
// is no error. Teams that run are told as by Remember.
func Forget(ctx context.Context, team *configs.Team) error {
	key, err := keyOf(team)
	if err != nil {
		return err
	}
	if err := api.AnnounceTrust(ctx, key.notice("")); err != nil {
		return err
	}
	return updateTrust(func(all *trustFile) { all.remove(key) })
}

// trustKey is what trust is given to: a spec that works in a folder.
type trustKey struct {
	Workspace string `json:"workspace"` // real path
	Spec      string `json:"spec"`      // real path
}

// notice is what teams that run are told or asked of an entry.
func (k trustKey) notice(digest string) api.TrustNotice {
	return api.TrustNotice{Workspace: k.Workspace, Spec: k.Spec, Digest: digest}
}

// keyOf is what trust is remembered under: real paths, so that a link to a trusted
// folder is the folder, and a folder of the same name elsewhere is not.
func keyOf(team *configs.Team) (trustKey, error) {
	workspace, err := state.RealPath(team.Workspace)
	if err != nil {
		return trustKey{}, fmt.Errorf("workspace: %w", err)
	}
	spec, err := state.RealPath(team.File)
	if err != nil {
		return trustKey{}, fmt.Errorf("spec: %w", err)
	}
	return trustKey{Workspace: workspace, Spec: spec}, nil
}

// itemsOf reads all that a team would run.
func itemsOf(team *configs.Team) ([]Item, error) {
	var items []Item
	for _, run := range append(RunsOf(team), filterRuns(team)...) {
		item := Item{Run: run}
		if run.Path == "" {
			sum := sha256.Sum256([]byte(run.Command))
			item.Hash = hex.EncodeToString(sum[:])
		} else if err := item.read(); err != nil {
			return nil, fmt.Errorf("cannot read what would run: %w", err)
		}
		items = append(items, item)
	}
	return items, nil
}

// read takes in the item's file. A file that is not there has no hash: when it
// appears, the item has changed.
func (i *Item) read() error {
	info, err := os.Stat(i.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if (i.Kind == Plugin || i.Kind == Folder) && info.IsDir() {
		if err := i.readFolder(); err != nil {
			return fmt.Errorf("%s %s: %w", i.Kind, i.Path, err)
		}
		return nil
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", i.Path)
	}
	f, err := os.Open(i.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	head, err := io.ReadAll(io.TeeReader(io.LimitReader(f, maxKeptText+1), sum))
	if err != nil {
		return err
	}
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	i.Hash = hex.EncodeToString(sum.Sum(nil))
	if len(head) <= maxKeptText && utf8.Valid(head) {
		i.Text = string(head)
	}
	return nil
}

// changes lists how now differs from before: what is new or changed in the
// order of now, then what was removed.
func changes(before, now []Item) []Change {
	var out []Change
	for _, n := range now {
		b, ok := findItem(before, n)
		switch {
		case !ok:
			out = append(out, Change{Kind: ItemNew, Run: n.Run})
		case b.Hash != n.Hash:
			out = append(out, Change{Kind: ItemChanged, Run: n.Run, Diff: textDiff(b, n)})
		}
	}
	for _, b := range before {
		if _, ok := findItem(now, b); !ok {
			out = append(out, Change{Kind: ItemRemoved, Run: b.Run})
		}
	}
	return out
}

// findItem finds the item of the same kind and name, to compare what it holds.
func findItem(list []Item, item Item) (Item, bool) {
	for _, i := range list {
		if i.same(item) {
			return i, true
		}
	}
	return Item{}, false
}

// textDiff shows the difference between two states of a file, if both are
// known as text.
func textDiff(before, now Item) string {
	if now.Kind == Plugin || now.Kind == Folder {
		return folderDiff(before, now)
	}
	if before.Text == "" || now.Text == "" {
		return ""
	}
	return unified(now.Path, before.Text, now.Text)
}

// unified is the difference between two texts of a file.
func unified(name, before, now string) string {
	return string(diff.Diff("trusted "+name, []byte(before), "now "+name, []byte(now)))
}

// Covers reports whether an operator has trusted a file of the team with
// this content. counts says which entries of trust.json count.
func Covers(team *configs.Team, path string, data []byte, counts func(api.TrustNotice) bool) bool {
	key, err := keyOf(team)
	if err != nil {
		return false
	}
	all, err := readTrust()
	if err != nil {
		return false
	}
	entry, known := all.find(key)
	known = known && counts(key.notice(entry.digest()))
	if !hookfiles.MayHook(path, data) { // such files are in no list
		return known && !slices.ContainsFunc(entry.Items, func(i Item) bool { return i.Path == path })
	}
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	return known && slices.ContainsFunc(entry.Items, func(i Item) bool {
		if i.Kind != Plugin && i.Kind != Folder {
			return i.Path == path && i.Hash == hash
		}
		rel, err := filepath.Rel(i.Path, path)
		return err == nil && filepath.IsLocal(rel) && slices.ContainsFunc(i.Files, func(f File) bool {
			return f.Name == filepath.ToSlash(rel) && f.Hash == hash
		})
	})
}
