package tasks

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/backup"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"

	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"
)

// content is every entry of a store, and the number of its last commit.
func content(t testing.TB, s *Store) (entries map[string]string, transaction int) {
	t.Helper()
	entries = map[string]string{}
	err := raw(t, s).View(func(tx *bolt.Tx) error {
		transaction = tx.ID()
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			return b.ForEach(func(k, v []byte) error {
				entries[string(name)+"/"+string(k)] = string(v)
				return nil
			})
		})
	})
	ok(t, entries, err)
	return entries, transaction
}

// leave copies all files of a store as they are now: what a kill -9 leaves.
func leave(t testing.TB, s *Store) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tasks.db")
	err := raw(t, s).View(func(tx *bolt.Tx) error { return tx.CopyFile(path, 0o600) })
	ok(t, path, err)
	for _, dir := range []string{".blobs", backupDirSuffix} {
		from := raw(t, s).Path() + dir
		if _, err := os.Stat(from); err != nil {
			continue
		}
		if err := os.CopyFS(path+dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// logsOf are the parts of a store's log, oldest first.
func logsOf(t testing.TB, path string) []string {
	t.Helper()
	list, err := filepath.Glob(path + backupDirSuffix + "/*" + logSuffix)
	return ok(t, list, err)
}

// workAll makes one change of each kind that no event tells of, and some that one does.
func workAll(t testing.TB, s *Store) {
	t.Helper()
	ctx, long := t.Context(), strings.Repeat("long ", 20_000)
	add(t, s, New{Subject: "one", Description: long})
	add(t, s, New{Subject: "two"})
	_, err := s.Claim(ctx, actors.Actor{Name: "ann", CallID: "call-1"}, "2", Claim{})
	testkit.Must(t, err)
	testkit.Must(t, s.Put(ctx, "goal", []byte(`"ship it"`)))
	testkit.Must(t, s.Put(ctx, "gone", []byte(`1`)))
	testkit.Must(t, s.Put(ctx, "gone", nil))
	testkit.Must(t, s.verdicts.Add(ctx, requests.Verdict{
		VerdictKey: requests.VerdictKey{Tree: "t", Gate: "g", Subject: "2"}, Log: long, Pass: true,
	}))
	_, err = s.requests.Ask(ctx, as("ann"), requests.New{Kind: requests.AskPlan, Member: "ann", To: actors.Operator, Text: "a plan", Key: "plan"})
	testkit.Must(t, err)
	_, err = s.Merges().Propose(ctx, actors.Actor{}, Merge{
		Branch: "ann", Member: "ann", Commit: "c", Into: "main", State: MergeWaiting, Title: "work",
	})
	testkit.Must(t, err)
	_, err = s.members.Attach(ctx, "ann", func() string { return "a-session" })
	testkit.Must(t, err)
	testkit.Must(t, s.mail.PutNote(ctx, "lead", mail.Note{IdleNote: mail.IdleNote{From: "ann", Summary: "rests"}}))
	_, err = s.Delete(ctx, actors.Actor{}, "1", nil) // its payload was made and dropped since the backup
	testkit.Must(t, err)
}

// TestLogGivesBackAll: all that was committed since the backup comes back, entry by
// entry, and a call that was answered before is answered from its receipt again.
func TestLogGivesBackAll(t *testing.T) {
	s := openSafe(t, filepath.Join(t.TempDir(), "tasks.db"))
	testkit.Must(t, s.Backup(t.Context()))
	before := len(ok1(t)(s.List(t.Context())))
	workAll(t, s)
	want, last := content(t, s)
	path := leave(t, s)
	spoil(t, path)
	for life := range 3 { // what was restored is logged and restored again
		s = openSafe(t, path)
		have, at := content(t, s)
		r := s.Restored()
		if r == nil || !r.Whole() || r.Commits == 0 || !errors.Is(r.Damage, ErrCorrupt) || at != last {
			t.Fatalf("life %d: restored %+v to commit %d of %d", life, r, at, last)
		}
		if !maps.Equal(have, want) {
			t.Fatalf("life %d: %d entries are not the %d that were", life, len(have), len(want))
		}
		task, err := s.Claim(t.Context(), actors.Actor{Name: "ann", CallID: "call-1"}, "2", Claim{})
		if ok(t, task, err); task.Epoch != 1 {
			t.Errorf("a call that was cut off was made twice: %+v", task)
		}
		testkit.Must(t, s.Backup(t.Context()))
		testkit.Must(t, s.Put(t.Context(), "life", []byte(fmt.Sprint(life))))
		want, last = content(t, s)
		path = leave(t, s)
		spoil(t, path)
	}
	if before != 0 {
		t.Error("the backup was not of an empty store")
	}
}

// TestTornLog: of a log that a power cut has shortened what is whole counts, and how much
// is missing is said. Later work goes on from there.
func TestTornLog(t *testing.T) {
	s := openSafe(t, filepath.Join(t.TempDir(), "tasks.db"))
	testkit.Must(t, s.Backup(t.Context()))
	long := `"` + strings.Repeat("long ", 20_000) + `"`
	testkit.Must(t, s.Put(t.Context(), "long", []byte(long)))
	for i := range 3 {
		testkit.Must(t, s.Put(t.Context(), "n", []byte(fmt.Sprint(i))))
	}
	testkit.Must(t, s.Put(t.Context(), "long", nil)) // and its payload goes
	path := leave(t, s)
	spoil(t, path)
	logs := logsOf(t, path)
	part := logs[len(logs)-1]
	info, err := os.Stat(part)
	testkit.Must(t, err)
	testkit.Must(t, os.Truncate(part, info.Size()-1)) // the last one is torn
	s = openSafe(t, path)
	r := s.Restored()
	if r == nil || r.Whole() || r.Missing != 1 || r.Texts != 1 || r.Commits != 4 {
		t.Fatalf("restored %+v", r)
	}
	value, _, err := s.Value(t.Context(), "n")
	if ok(t, value, err); string(value) != "2" {
		t.Errorf("value %s", value)
	}
	value, _, err = s.Value(t.Context(), "long")
	if said := unmarshal[string](t, ok(t, value, err)); !strings.Contains(said, "this text was lost") {
		t.Errorf("value %.80q", said)
	}
	testkit.Must(t, s.Put(t.Context(), "n", []byte("9"))) // with the number of what is missing
	testkit.Must(t, s.Backup(t.Context()))
	testkit.Must(t, s.Put(t.Context(), "n", []byte("10")))
	path = leave(t, s)
	spoil(t, path)
	// The part that is torn says what followed on the lost commit; that must not be made again.
	testkit.Must(t, os.Remove(path+backupDirSuffix+"/"+filepath.Base(newestBackup(t, path))))
	s = openSafe(t, path)
	if value, _, err := s.Value(t.Context(), "n"); err != nil || string(value) != "10" {
		t.Errorf("value %s, %v, restored %+v", value, err, s.Restored())
	}
}

func newestBackup(t testing.TB, path string) string {
	t.Helper()
	list, err := filepath.Glob(path + backupDirSuffix + "/*" + backupSuffix)
	return ok(t, list, err)[len(list)-1]
}

// TestGapInTheLog: commits that were not noted end what the log gives back; what follows
// on them is never applied to a store without them.
func TestGapInTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := openSafe(t, path)
	testkit.Must(t, s.Put(t.Context(), "n", []byte("1")))
	path = leave(t, s)
	bare := openAt(t, path, nil) // notes nothing
	testkit.Must(t, bare.Put(t.Context(), "m", []byte("2")))
	closed(t, bare)
	backup := newestBackup(t, path)
	s = openSafe(t, path)
	testkit.Must(t, s.Backup(t.Context()))
	testkit.Must(t, s.Put(t.Context(), "n", []byte("3")))
	path = leave(t, s)
	testkit.Must(t, os.Remove(newestBackup(t, path))) // so that only the one before the gap is left
	if newestBackup(t, path) != path+backupDirSuffix+"/"+filepath.Base(backup) {
		t.Fatalf("left %s, want %s", newestBackup(t, path), backup)
	}
	spoil(t, path)
	s = openSafe(t, path)
	value, _, err := s.Value(t.Context(), "n")
	if r := s.Restored(); r == nil || r.Missing != 2 || string(ok(t, value, err)) != "1" {
		t.Errorf("value %s, restored %+v", value, r)
	}
}

// TestOlderCopy: a sound file that is older than the log is brought up to it.
func TestOlderCopy(t *testing.T) {
	s := openSafe(t, filepath.Join(t.TempDir(), "tasks.db"))
	testkit.Must(t, s.Put(t.Context(), "n", []byte("1")))
	old, err := os.ReadFile(leave(t, s))
	ok(t, old, err)
	testkit.Must(t, s.Backup(t.Context()))
	testkit.Must(t, s.Put(t.Context(), "n", []byte("2")))
	want, _ := content(t, s)
	path := leave(t, s)
	testkit.Must(t, os.WriteFile(path, old, 0o600))
	_, err = Open(path, &Options{ReadOnly: true, Backups: 1})
	wantError(t, err, ErrCorrupt, "lacks commits that its log has, 1 of them", "open it for writing")
	s = openSafe(t, path)
	have, _ := content(t, s)
	if r := s.Restored(); r == nil || r.Commits != 1 || !r.Whole() || !maps.Equal(have, want) {
		t.Errorf("restored %+v; the same: %v", r, maps.Equal(have, want))
	}
}

// TestLogOfAnotherStore: what was committed to another store is never applied, though the
// numbers fit.
func TestLogOfAnotherStore(t *testing.T) {
	one, other := openSafe(t, filepath.Join(t.TempDir(), "tasks.db")), openSafe(t, filepath.Join(t.TempDir(), "tasks.db"))
	testkit.Must(t, one.Put(t.Context(), "n", []byte("1")))
	testkit.Must(t, other.Put(t.Context(), "n", []byte("5")))
	path := leave(t, one)
	testkit.Must(t, other.Put(t.Context(), "n", []byte("6")))
	log := logsOf(t, leave(t, other))
	foreign, err := os.ReadFile(log[len(log)-1])
	ok(t, foreign, err)
	testkit.Must(t, os.WriteFile(path+backupDirSuffix+"/000009.log", foreign, 0o600))
	s := openSafe(t, path)
	if value, _, err := s.Value(t.Context(), "n"); err != nil || string(value) != "1" || s.Restored() != nil {
		t.Errorf("value %s, %v, restored %+v", value, err, s.Restored())
	}
}

// TestLogProperty: wherever a log is cut and whatever happened before, a damaged store
// becomes again what it was after one of its commits, and says how far back that is.
func TestLogProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := openSafe(t, filepath.Join(t.TempDir(), "tasks.db"))
		testkit.Must(t, s.Backup(t.Context()))
		was := map[int]map[string]string{}
		note := func() int {
			entries, at := content(t, s)
			was[at] = entries
			return at
		}
		last := note()
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.IntRange(0, 9).Draw(rt, "step") {
			case 0:
				testkit.Must(t, s.Backup(t.Context()))
			case 1:
				path := raw(t, s).Path()
				closed(t, s)
				s = openSafe(t, path)
			default:
				change(t, rt, s)
			}
			last = note()
		}
		path := leave(t, s)
		closed(t, s)
		logs := logsOf(t, path)
		part := logs[rapid.IntRange(0, len(logs)-1).Draw(rt, "part")]
		hurt(t, rt, part)
		for _, backup := range backupNumbers(t, path)[1:] {
			if rapid.Bool().Draw(rt, "older") { // restore from an older one
				_ = os.Remove(backupPath(path, backup+1))
			}
		}
		spoil(t, path)
		s = openSafe(t, path)
		have, at := content(t, s)
		r := s.Restored()
		if same := maps.Equal(have, was[at]); r == nil || r.Missing != last-at || was[at] != nil && !same {
			rt.Fatalf("restored %+v to commit %d of %d; as it was then: %v", r, at, last, maps.Equal(have, was[at]))
		}
		if err := s.Check(t.Context()); err != nil {
			rt.Fatal(err)
		}
		closed(t, s)
	})
}

// hurt shortens a file, or flips a bit in it, somewhere.
func hurt(t *testing.T, rt *rapid.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if ok(t, data, err); len(data) == 0 {
		return
	}
	at := rapid.IntRange(0, len(data)-1).Draw(rt, "at")
	if rapid.Bool().Draw(rt, "cut") {
		data = data[:at]
	} else {
		data[at] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
	}
	testkit.Must(t, os.WriteFile(path, data, 0o600))
}

// TestBackupNews: that backups fail is told once, and that they are made again as well.
func TestBackupNews(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := openSafe(t, path)
	testkit.Must(t, s.Backup(t.Context()))
	testkit.Must(t, os.RemoveAll(path+backupDirSuffix))
	testkit.Must(t, os.WriteFile(path+backupDirSuffix, nil, 0o600)) // no folder can be made there
	for i := range 3 {
		testkit.Must(t, s.Put(t.Context(), "n", []byte(fmt.Sprint(i))))
		if err := s.Backup(t.Context()); err == nil || s.backups.Trouble() == nil {
			t.Fatalf("backup: %v, trouble: %v", err, s.backups.Trouble())
		}
		select {
		case <-s.backups.News():
			if i > 0 {
				t.Error("told again")
			}
		default:
			if i == 0 {
				t.Error("nobody was told")
			}
		}
	}
	testkit.Must(t, os.Remove(path+backupDirSuffix))
	testkit.Must(t, s.Backup(t.Context()))
	<-s.backups.News()
	if err := s.backups.Trouble(); err != nil {
		t.Error(err)
	}
}

// TestTooBig: a store that is too big for backups opens and works, says so, and keeps no
// log that would follow on nothing.
func TestTooBig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := openSafe(t, path)
	add(t, s, New{Subject: "the one task"})
	closed(t, s)
	harm(t, path, "the one task")
	s, err := Open(path, &Options{Backups: 2, BackupEvery: time.Hour, most: 8192})
	ok(t, s, err)
	if s.Restored() != nil {
		t.Error("it was looked through")
	}
	wantError(t, s.Backup(t.Context()), backup.ErrTooBig, "covey up --fresh")
	wantError(t, s.backups.Trouble(), backup.ErrTooBig)
	testkit.Must(t, s.Put(t.Context(), "n", []byte("1")))
	for _, log := range logsOf(t, path) {
		if info, err := os.Stat(log); err != nil || info.Size() > 0 && log == logsOf(t, path)[len(logsOf(t, path))-1] {
			t.Errorf("%s: %v is logged", log, info)
		}
	}
	wantError(t, s.Close(), backup.ErrTooBig)
}

// TestReadBackups: what a doctor can see from outside.
func TestReadBackups(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	_, err := backup.Inspect(path)
	wantError(t, err, os.ErrNotExist)
	bare := openAt(t, path, nil)
	if b, err := backup.Inspect(path); err != nil || b.Count != 0 || !b.Newest.IsZero() || b.Size == 0 {
		t.Errorf("%+v, %v", b, err)
	}
	closed(t, bare)
	s := openSafe(t, path)
	testkit.Must(t, s.Backup(t.Context()))
	b, err := backup.Inspect(path)
	if err != nil || b.Count != 1 || time.Since(b.Newest) > time.Minute || b.TooBig {
		t.Errorf("%+v, %v", b, err)
	}
}
