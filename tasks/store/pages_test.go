package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/coveyteam/covey/hooks/testkit"
)

// grown is a closed store of some hundred records, three levels of pages deep.
func grown(t testing.TB) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tasks.db")
	db := openAt(t, path, func(o *Options) { o.Rising = []string{bucketItems} })
	testkit.Must(t, submit(t, db, func(tx *Tx) error {
		for i := range 700 {
			tx.Put(bucketItems, NumKey(uint64(i)), []byte(fmt.Sprint("item ", i, strings.Repeat("d", 900))))
			tx.Mark(bucketValues, NameNumKey(fmt.Sprint("member-", i%7), uint64(i)), true)
		}
		return nil
	}))
	for i := range 50 {
		testkit.Must(t, submit(t, db, func(tx *Tx) error { tx.Delete(bucketItems, NumKey(uint64(3*i))); return nil }))
	}
	testkit.Must(t, db.Close())
	return path
}

// TestImage: a sound file is sound, and its digest is what bbolt reads.
func TestImage(t *testing.T) {
	im, err := ReadImage(grown(t))
	testkit.Must(t, err)
	if im.noted == nil || im.format != strconv.Itoa(Format) || im.txid == 0 || im.digest == 0 {
		t.Errorf("image %x, noted %v, format %q, transaction %d", im.digest, im.noted != nil, im.format, im.txid)
	}
}

// imageOf is an image of bytes in memory.
func imageOf(data []byte) *Image {
	return &Image{file: bytes.NewReader(data), length: int64(len(data))}
}

// TestFlippedBits: a bit that is flipped anywhere is found, or does not matter: then
// the store is what it was (ADVERSARIAL.md 28).
func TestFlippedBits(t *testing.T) {
	path := grown(t)
	sound, err := ReadImage(path)
	testkit.Must(t, err)
	data, err := os.ReadFile(path)
	testkit.Must(t, err)
	rounds, found := 400, 0
	var pages []int
	for page, used := range sound.seen {
		if used {
			pages = append(pages, page)
		}
	}
	for range rounds {
		bit := pages[rand.IntN(len(pages))]*sound.size*8 + rand.IntN(sound.size*8)
		data[bit/8] ^= 1 << (bit % 8)
		im := imageOf(data)
		switch err := im.Check(); {
		case err != nil:
			found++
		case im.digest != sound.digest:
			t.Errorf("bit %d: another content was taken for sound", bit)
		}
		data[bit/8] ^= 1 << (bit % 8)
	}
	if found < rounds/2 {
		t.Errorf("%d of %d flipped bits were found: that proves little", found, rounds)
	}
	t.Logf("%d of %d flipped bits found, the others stood where nothing is", found, rounds)
}

// TestTornFiles: a file that is cut off, or has lost pages, is an error and no panic.
func TestTornFiles(t *testing.T) {
	path := grown(t)
	sound, err := ReadImage(path)
	testkit.Must(t, err)
	whole, err := os.ReadFile(path)
	testkit.Must(t, err)
	for _, size := range []int{1, 100, 4096, 8192, len(whole) / 2, len(whole) - 4096} {
		im := imageOf(whole[:size])
		if err := im.Check(); err == nil && size < len(whole)/2 {
			t.Errorf("%d of %d bytes were taken for the whole", size, len(whole))
		}
	}
	for range 300 {
		data := append([]byte{}, whole...)
		page := rand.IntN(len(data)/4096) * 4096
		clear(data[page : page+4096])
		im := imageOf(data)
		// One of the two meta pages may go: what the other one says was whole, too.
		if err := im.Check(); err == nil && page >= 8192 && im.digest != sound.digest {
			t.Errorf("without page %d another content was taken for sound", page/4096)
		}
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 3000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadImage(path); !errors.Is(err, ErrCorrupt) || !errors.Is(err, ErrNoMeta) {
		t.Errorf("error %v", err)
	}
}

// FuzzImage: whatever a file holds, looking at it neither panics nor hangs.
func FuzzImage(f *testing.F) {
	whole, err := os.ReadFile(grown(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole[:40960], 0, byte(0))
	f.Add(whole, 8192, byte(1))
	f.Fuzz(func(_ *testing.T, data []byte, at int, value byte) {
		if at >= 0 && at < len(data) {
			data[at] = value
		}
		_ = imageOf(data).Check()
	})
}

// TestNoFormat: a tree without the entry that names the store's format is none of ours,
// whatever else is in order: a disk that lost a root page may show a part of an older
// tree in its place, and the digest with it is gone.
func TestNoFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	db, err := bolt.Open(path, 0o600, nil)
	testkit.Must(t, err)
	for i := range 2 {
		err := db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte(bucketItems))
			if err != nil {
				return err
			}
			return b.Put(NumKey(uint64(i+1)), []byte("{}"))
		})
		testkit.Must(t, err)
	}
	testkit.Must(t, db.Close())
	if _, err := ReadImage(path); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "format") {
		t.Errorf("a store without a format: %v", err)
	}
}
