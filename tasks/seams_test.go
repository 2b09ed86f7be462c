package tasks

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks/store"

	bolt "go.etcd.io/bbolt"
)

// What the rooms below call their buckets, files and limits: tests break them from outside.
const (
	bucketMeta     = "meta"
	bucketRefs     = "references"
	bucketOutbox   = "outbox"
	bucketMembers  = "members"
	bucketReceipts = "receipts"
	bucketCalls    = "calls"
	bucketMail     = "mail"
	bucketMailID   = "mailid"
	bucketUnread   = "unread"
	bucketNotes    = "notes"
	bucketRequests = "requests"
	bucketOpen     = "open"
	bucketClosed   = "closed"
	bucketAsked    = "asked"
	bucketVerdicts = "verdicts"
	bucketJudged   = "judged"

	keyFormat = "format"
	keyDigest = "digest"
	formatNow = 1
	sealSize  = 4

	backupDirSuffix = ".backups"
	backupSuffix    = ".db"
	logSuffix       = ".log"

	maxReceipts       = 1024
	maxVerdicts       = 1000
	maxOpenRequests   = 1000
	maxClosedRequests = 1000
	maxFaults         = 100
	maxDamaged        = 3
)

// raw is the bbolt file of an open store.
func raw(t testing.TB, s *Store) *bolt.DB {
	t.Helper()
	var db *bolt.DB
	if err := s.db.Read(func(tx *bolt.Tx) error { db = tx.DB(); return nil }); err != nil {
		t.Fatal(err)
	}
	return db
}

// blobDir is the folder of a store's long payloads.
func blobDir(t testing.TB, s *Store) string {
	t.Helper()
	var dir string
	if err := s.db.View(t.Context(), func(r store.Reader) error { dir = r.Blobs().Dir(); return nil }); err != nil {
		t.Fatal(err)
	}
	return dir
}

// seal is how a value is stored.
func seal(bucket string, key, value []byte) []byte {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(0, castagnoli, []byte(bucket))
	sum = crc32.Update(crc32.Update(sum, castagnoli, key), castagnoli, value)
	if bucket == bucketMeta && (string(key) == keyFormat || string(key) == keyDigest) {
		return value
	}
	return binary.BigEndian.AppendUint32(slices.Clone(value), sum)
}

// callKey is the key of a receipt.
func callKey(member, callID, op string) []byte {
	return store.NameKey(member, store.NameKey(callID, []byte(op)...)...)
}

// backupNumbers are those of the backups of the store at path, newest first.
func backupNumbers(t testing.TB, path string) []int { return numbered(t, path, backupSuffix) }

func numbered(t testing.TB, path, suffix string) []int {
	t.Helper()
	list, err := filepath.Glob(path + backupDirSuffix + "/*" + suffix)
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int
	for _, name := range list {
		var n int
		if _, err := fmt.Sscanf(filepath.Base(name), "%06d", &n); err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	slices.Reverse(numbers)
	return numbers
}

func backupPath(path string, n int) string {
	return fmt.Sprintf("%s%s/%06d%s", path, backupDirSuffix, n, backupSuffix)
}

// awaitBackup waits until the newest part of the log follows on a backup, and what that
// makes superfluous is gone.
func awaitBackup(t testing.TB, s *Store) {
	t.Helper()
	path, keep := raw(t, s).Path(), withBackups.Backups
	for ; ; runtime.Gosched() {
		logs, backups := numbered(t, path, logSuffix), backupNumbers(t, path)
		if len(logs) == 0 || len(backups) == 0 || len(backups) > keep || logs[0] != backups[0] {
			continue
		}
		if parts, err := filepath.Glob(path + backupDirSuffix + "/*.part"); err == nil && len(parts) == 0 &&
			logs[len(logs)-1] >= backups[len(backups)-1] {
			return
		}
	}
}

// spoil empties one page of a store's tree.
func spoil(t testing.TB, path string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, PreLoadFreelist: true})
	ok(t, db, err)
	used, size := 0, db.Info().PageSize
	testkit.Must(t, db.View(func(tx *bolt.Tx) error {
		for id := 2; used == 0; id++ {
			page, err := tx.Page(id)
			if err != nil || page == nil {
				return fmt.Errorf("no page is used: %v", err)
			}
			if strings.HasPrefix(page.Type, "leaf") || strings.HasPrefix(page.Type, "branch") {
				used = id
			}
		}
		return nil
	}))
	testkit.Must(t, db.Close())
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	ok(t, f, err)
	defer f.Close()
	_, err = f.WriteAt(make([]byte, size), int64(used*size))
	testkit.Must(t, err)
}

func memberName(c int) string { return fmt.Sprint("member-", c) }
