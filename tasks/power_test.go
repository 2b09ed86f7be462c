package tasks

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/coveyteam/covey/tasks/store"
)

// images is how many states of the disk TestPowerLoss looks at; the proof of
// docs/reliability.md is
//
//	go test ./tasks -run TestPowerLoss -images 5000
var images = flag.Int("images", 40, "how many images of a power loss TestPowerLoss opens")

// A commit of bbolt writes the pages that are new, syncs them, writes one meta page, and
// syncs that. What the power leaves of it is what was synced before, and any part of the
// writes that were under way: all pages or none, in any order, each cut at any sector. The
// pages that a commit has written are those that differ from the file before it.

// commitWrites is one commit as the disk saw it.
type commitWrites struct {
	before []byte // the file, synced
	after  []byte // likewise, when the commit was acknowledged
	data   []int  // offsets of the pages that it wrote before its first sync
	meta   int    // offset of the meta page that it wrote after that
	was    uint64 // digest of the store before
	now    uint64 // and after
}

const (
	testPage   = 4096
	testSector = 512
)

// recordCommits makes commits and keeps the file before and after each. None is recorded
// that changes nothing.
func recordCommits(t *testing.T, n int) []commitWrites {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tasks.db")
	var list []commitWrites
	file := func() []byte {
		data, err := os.ReadFile(path)
		return ok(t, data, err)
	}
	var before []byte
	s := openAt(t, path, &Options{commit: func(tx *bolt.Tx) error {
		err := tx.Commit()
		if err == nil {
			after := file()
			list = append(list, commitOf(t, before, after))
			before = after
		}
		return err
	}})
	before = file()
	for i := range n {
		member := memberName(i % 5)
		add(t, s, New{Subject: fmt.Sprint("task ", i), Description: strings.Repeat("d", rand.IntN(6000)), Owner: member})
		_, err := s.Claim(t.Context(), as(member), fmt.Sprint(i+1), Claim{})
		ok(t, 0, err)
		if i%3 == 0 {
			setStatus(t, s, fmt.Sprint(i+1), Completed)
		}
		if i%7 == 0 {
			drain(t, s) // frees pages, which later commits write over
		}
	}
	closed(t, s)
	return list
}

// imageOf is an image of bytes in memory.
func imageOf(data []byte) *store.Image {
	return store.NewImage(bytes.NewReader(data), int64(len(data)))
}

func digestOf(im *store.Image) uint64 {
	at, _ := im.State()
	return at.Sum
}

// commitOf compares the file before and after a commit.
func commitOf(t *testing.T, before, after []byte) commitWrites {
	t.Helper()
	grown := make([]byte, len(after))
	copy(grown, before) // bbolt grows its file and syncs that before it writes
	c := commitWrites{before: grown, after: after, meta: -1}
	for at := 0; at < len(after); at += testPage {
		switch changed := !bytes.Equal(grown[at:at+testPage], after[at:at+testPage]); {
		case changed && at < 2*testPage:
			c.meta = at
		case changed:
			c.data = append(c.data, at)
		}
	}
	old, now := imageOf(before), imageOf(after)
	if err := errors.Join(old.Check(), now.Check()); err != nil || c.meta < 0 || os.Getpagesize() != testPage {
		t.Fatalf("no commit: %v, meta page at %d, pages of %d", err, c.meta, os.Getpagesize())
	}
	c.was, c.now = digestOf(old), digestOf(now)
	return c
}

// write puts a page of the commit into an image: whole, or as far as the power lasted.
func (c *commitWrites) write(image []byte, at int) {
	if rand.IntN(3) > 0 {
		copy(image[at:at+testPage], c.after[at:])
		return
	}
	for sector := at; sector < at+testPage; sector += testSector {
		if rand.IntN(2) == 0 {
			copy(image[sector:sector+testSector], c.after[sector:])
		}
	}
}

// lost gives an image of a disk that lost power during the commit: while it wrote data,
// while it wrote the meta page, or afterwards. acked says that the commit was answered.
func (c *commitWrites) lost() (image []byte, acked bool) {
	image = bytes.Clone(c.before)
	phase := rand.IntN(5)
	if phase == 4 {
		return bytes.Clone(c.after), true
	}
	for _, at := range c.data {
		switch {
		case phase >= 2:
			copy(image[at:at+testPage], c.after[at:])
		case rand.IntN(2) == 0:
			c.write(image, at)
		}
	}
	if phase == 3 {
		c.write(image, c.meta)
	}
	return image, false
}

// lied gives an image of a disk that said it had synced and had not: the meta page is
// there, and of the pages that it leads to only some.
func (c *commitWrites) lied() []byte {
	image := bytes.Clone(c.before)
	copy(image[c.meta:c.meta+testPage], c.after[c.meta:])
	for _, at := range c.data {
		if rand.IntN(2) == 0 {
			copy(image[at:at+testPage], c.after[at:])
		}
	}
	return image
}

// TestPowerLoss: whatever the power leaves, the store opens, is in order, and holds all
// that was acknowledged and nothing by halves (ADVERSARIAL.md 18).
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	commits := recordCommits(t, 60)
	n := *images
	if testing.Short() {
		n = min(n, 60)
	}
	dir, before, after := t.TempDir(), 0, 0
	for i := range n {
		c := &commits[rand.IntN(len(commits))]
		data, acked := c.lost()
		im := imageOf(data)
		if err := im.Check(); err != nil {
			t.Fatalf("image %d: %v", i, err)
		}
		switch digestOf(im) {
		case c.now:
			after++
		case c.was:
			if before++; acked {
				t.Fatalf("image %d: an acknowledged commit is lost", i)
			}
		default:
			t.Fatalf("image %d holds a commit by halves", i)
		}
		path := filepath.Join(dir, "tasks.db")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path, nil)
		ok(t, s, err)
		if err := s.Check(t.Context()); err != nil {
			t.Fatalf("image %d: %v", i, err)
		}
		if i%10 == 0 {
			add(t, s, New{Subject: "work goes on"})
		}
		closed(t, s)
	}
	t.Logf("%d images of %d commits: %d as before the commit, %d as after it", n, len(commits), before, after)
	if before < n/10 || after < n/10 {
		t.Errorf("that proves little")
	}
}

// TestLyingDisk is the control of TestPowerLoss: a disk that forgets what it has synced
// loses what was acknowledged, the test sees that, and a store with backups goes on with
// the last of them.
func TestLyingDisk(t *testing.T) {
	commits := recordCommits(t, 30)
	caught, restored := 0, 0
	for range 200 {
		c := &commits[rand.IntN(len(commits))]
		data := c.lied()
		im := imageOf(data)
		err := im.Check()
		switch {
		case err == nil && digestOf(im) != c.now:
			t.Fatal("a store that lost an acknowledged commit was taken for sound")
		case err == nil:
			continue // all of its pages happened to be there
		}
		if caught++; restored < 10 {
			restored++
			restoreLied(t, c, data)
		}
	}
	if caught < 50 {
		t.Errorf("%d of 200 lies were caught: that proves little", caught)
	}
	t.Logf("%d of 200 lies caught", caught)
}

// restoreLied opens what a lying disk has left, beside a backup of the commit before.
func restoreLied(t *testing.T, c *commitWrites, data []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tasks.db")
	if err := os.MkdirAll(path+backupDirSuffix, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{path: data, path + backupDirSuffix + "/000001.db": c.before} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := openSafe(t, path)
	if s.Restored() == nil || !slices.Contains(dirNames(t, filepath.Dir(path)), filepath.Base(s.Restored().Kept)) {
		t.Errorf("restored %+v", s.Restored())
	}
	closed(t, s)
}

// TestFirstCommitsOfALyingDisk: what a new store's first commits leave behind in pages
// that are free again is no store without a digest, nor an empty one, though each was one
// for a moment.
func TestFirstCommitsOfALyingDisk(t *testing.T) {
	early := 0
	for range max(*images/10, 1) {
		for _, c := range recordCommits(t, 2) {
			if early++; bytes.Equal(c.before, c.after) {
				t.Fatal("no commit")
			}
			for keep := range 1 << min(len(c.data), 8) { // every choice of the pages that got there
				data := bytes.Clone(c.before)
				copy(data[c.meta:c.meta+testPage], c.after[c.meta:])
				for i, at := range c.data {
					if keep&(1<<i) != 0 {
						copy(data[at:at+testPage], c.after[at:])
					}
				}
				if im := imageOf(data); im.Check() == nil && digestOf(im) != c.now {
					t.Fatalf("pages %b of %v: a store that lost a commit was taken for sound", keep, c.data)
				}
			}
		}
	}
	t.Logf("%d commits", early)
}
