package tasks

import (
	"path/filepath"
	"testing"
	"time"
)

// TestOpenWaitsForReaders: somebody reads the store all the time, a moment each, and the
// team that wants it gets it, damaged or not.
func TestOpenWaitsForReaders(t *testing.T) {
	for _, damaged := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "tasks.db")
		s := openSafe(t, path)
		add(t, s, New{Subject: "as it was written"})
		closed(t, s)
		reader, err := Open(path, &Options{ReadOnly: true})
		ok(t, reader, err)
		if damaged {
			harm(t, path, "as it was written")
		}
		wantError(t, tryOpen(path, 0), ErrLocked)
		began := make(chan struct{})
		go func() {
			<-began
			time.Sleep(100 * time.Millisecond) // the other one waits by then, most times
			_ = reader.Close()
		}()
		close(began)
		opts := withBackups
		opts.LockTimeout = time.Minute
		s, err = Open(path, &opts)
		ok(t, s, err)
		if (s.Restored() != nil) != damaged || get(t, s, "1").Subject != "as it was written" {
			t.Errorf("damaged %v: restored %+v", damaged, s.Restored())
		}
		closed(t, s)
	}
}

// tryOpen is what Open says that waits so long.
func tryOpen(path string, wait time.Duration) error {
	opts := withBackups
	opts.LockTimeout = wait
	s, err := Open(path, &opts)
	if err == nil {
		_ = s.Close()
	}
	return err
}
