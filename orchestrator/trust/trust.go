// Package trust decides whether what a spec and its workspace would run is trusted by
// the user. It lists what a team would run, reads and writes trust.json, compares the two,
// and keeps other processes from changing trust.json while a team runs. It is internal to
// covey: other programs must not rely on it.
//
// The list of what would run must be complete, and the same for the same files, because
// the user's trust in a workspace depends on it.
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
	"slices"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
)

// maxKeptText bounds the text of a file that is kept to show a difference later. Of
// longer files only the hash is kept.
const maxKeptText = 64 << 10

// Item is one thing that a team would run, with its content.
type Item struct {
	Run
	Hash string `json:"hash"`           // of the file, or of the command line; empty: Path does not exist
	Text string `json:"text,omitempty"` // only of short text files
	// Files are the files of a folder that is trusted as a whole (Plugin,
	// Folder).
	Files []File `json:"files,omitempty"`
}

// same reports whether two items are the same thing, whatever its content.
func (i Item) same(o Item) bool { return i.Run == o.Run }

// ChangeKind describes how an item differs from what was trusted.
type ChangeKind string

// The kinds of changes.
const (
	ItemNew     ChangeKind = "new"
	ItemChanged ChangeKind = "changed"
	ItemRemoved ChangeKind = "removed"
)

// Change is one difference between what was trusted and what would run now.
type Change struct {
	Kind ChangeKind `json:"kind"`
	Run  Run        `json:"run"`
	// Diff is a unified diff of both texts, where both are known.
	Diff string `json:"diff,omitempty"`
}

// Report describes whether what a team would run is trusted. It describes the state on disk
// when it was made.
type Report struct {
	Trusted bool `json:"trusted"`
	Known   bool `json:"known"` // something was trusted here before
	// Since is when that was trusted.
	Since   time.Time `json:"since,omitzero"`
	Items   []Item    `json:"items"`   // all that would run
	Changes []Change  `json:"changes"` // compared with what was trusted; if nothing was, all items are new
}

// Digest identifies all that a team would run, by content.
//
// It covers contents as well as names: a script that is edited between the review and
// the answer changes the digest (ADVERSARIAL 30). A different order of items changes it
// too, which costs a question but no safety.
func (r Report) Digest() string {
	sum := sha256.New()
	for _, i := range r.Items {
		fmt.Fprintf(sum, "%q %q %q %q %s\n", i.Kind, i.Event, i.Command, i.Path, i.Hash)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// DigestOf returns the Digest of the report on what a team would run. It fails if
// trust.json cannot be read.
func DigestOf(team *configs.Team) (string, error) {
	if _, err := readTrust(); err != nil {
		return "", err
	}
	items, err := itemsOf(team)
	return Report{Items: items}.Digest(), err
}

// Check compares what a team would run with what this user has trusted for its spec and
// workspace. Both are identified by their real paths, and nothing in the workspace,
// such as its .git, influences the result. Entries of trust.json that a team running in
// the workspace does not count, because no operator announced them, do not count here
// either.
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
	r := Report{Known: known, Since: before.Since, Items: items, Changes: changes(before.Items, items)}
	r.Trusted = known && len(r.Changes) == 0
	return r, nil
}

// Remember trusts what the report describes, whatever is on disk now. It first
// announces the change to teams that run in the workspace, and fails with ErrDenied if
// one of them does not accept the caller as the operator.
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

// Forget withdraws the trust in the team's spec, if there is any. It announces the
// change like Remember.
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

// trustKey identifies what is trusted: a spec that works in a folder.
type trustKey struct {
	Workspace string `json:"workspace"` // real path
	Spec      string `json:"spec"`      // real path
}

// notice returns the request to running teams about an entry.
func (k trustKey) notice(digest string) api.TrustNotice {
	return api.TrustNotice{Workspace: k.Workspace, Spec: k.Spec, Digest: digest}
}

// keyOf returns the key of a team. It uses real paths, so that a link to a trusted
// folder counts as the folder, and a folder of the same name elsewhere does not.
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
			item.Hash = texts.Digest(run.Command)
		} else if err := item.read(); err != nil {
			return nil, fmt.Errorf("cannot read what would run: %w", err)
		}
		items = append(items, item)
	}
	return items, nil
}

// read reads the item's file. A missing file has no hash, so that the item changes when
// the file appears.
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

// changes lists how now differs from before: first new and changed items in the order
// of now, then removed ones.
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

// findItem finds the item of the same kind and name.
func findItem(list []Item, item Item) (Item, bool) {
	for _, i := range list {
		if i.same(item) {
			return i, true
		}
	}
	return Item{}, false
}

// textDiff returns the difference between two states of a file, if both texts are
// known.
func textDiff(before, now Item) string {
	if now.Kind == Plugin || now.Kind == Folder {
		return folderDiff(before, now)
	}
	if before.Text == "" || now.Text == "" {
		return ""
	}
	return unified(now.Path, before.Text, now.Text)
}

// unified returns a unified diff of two texts of a file.
func unified(name, before, now string) string {
	return string(diff.Diff("trusted "+name, []byte(before), "now "+name, []byte(now)))
}

// Covers reports whether an operator has trusted a file of the team with this content.
// counts says which entries of trust.json count.
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
	if !settings.MayHook(path, data) { // such files are in no list of items
		return known && !slices.ContainsFunc(entry.Items, func(i Item) bool { return i.Path == path })
	}
	hash := texts.Digest(data)
	return known && slices.ContainsFunc(entry.Items, func(i Item) bool {
		if i.Kind != Plugin && i.Kind != Folder {
			return i.Path == path && i.Hash == hash
		}
		rel, ok := texts.Below(i.Path, path)
		return ok && slices.ContainsFunc(i.Files, func(f File) bool {
			return f.Name == rel && f.Hash == hash
		})
	})
}
