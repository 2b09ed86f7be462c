package launch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/coveyteam/covey/hooks/texts"
)

// sharedLogins keep the files of a login the same for the user and for a program with a home of its own:
// what one of them changes, the other gets. A token that a program renews makes the one before invalid, so
// the user's file must get it. The file itself is not shared, because programs replace it by another one,
// or refuse a link in its place. A nil *sharedLogins has none.
type sharedLogins struct {
	home  string
	files []sharedLogin

	mu      sync.Mutex // held while files are compared
	watcher *fsnotify.Watcher
	ended   sync.WaitGroup
}

// sharedLogin is one file of a login.
type sharedLogin struct {
	user string // path of the user's
	own  string // of the program's, in its home
}

// Begin copies the logins, and keeps doing so with what changes until Close. failed is called with
// errors of that.
func (s *sharedLogins) Begin(failed func(error)) error {
	if len(s.files) == 0 {
		return nil
	}
	if err := s.sync(true); err != nil {
		return err
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		failed(err) // Close copies what has changed
		return nil
	}
	for _, f := range s.files {
		for _, dir := range []string{filepath.Dir(f.user), filepath.Dir(filepath.Join(s.home, f.own))} {
			if err := watcher.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed(err)
			}
		}
	}
	s.watcher = watcher
	s.ended.Go(func() {
		for {
			select {
			case _, open := <-watcher.Events:
				if !open {
					return
				}
				if err := s.sync(false); err != nil {
					failed(err)
				}
			case err, open := <-watcher.Errors:
				if !open {
					return
				}
				failed(err)
			}
		}
	})
	return nil
}

// Close ends it, after the program has ended. It may be called twice.
func (s *sharedLogins) Close() error {
	if s == nil {
		return nil
	}
	if s.watcher != nil {
		_ = s.watcher.Close()
		s.ended.Wait()
	}
	return s.sync(false)
}

// sync copies each file that was changed over the other. begins means that no program uses them yet.
func (s *sharedLogins) sync(begins bool) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	root, err := os.OpenRoot(s.home)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range s.files {
		err = errors.Join(err, f.sync(root, begins))
	}
	return err
}

// maxLogin bounds what is read of a login that a member can write to. One that is cut off is a broken one.
const maxLogin = 1 << 20

// sync makes both files the same. The younger one counts, and its time becomes that of both. A file
// that the program has removed or broken does not count; without the user's there is no login.
func (f sharedLogin) sync(home *os.Root, begins bool) error {
	if err := home.MkdirAll(filepath.Dir(f.own), 0o700); err != nil {
		return err
	}
	path, err := filepath.EvalSymlinks(f.user)
	if errors.Is(err, fs.ErrNotExist) {
		if err = home.Remove(f.own); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	if err != nil {
		return err
	}
	users, err := os.Stat(path)
	if err != nil {
		return err
	}
	login, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	own, err := home.Lstat(f.own)
	if err == nil && own.Mode().IsRegular() {
		renewed, err := texts.ReadIn(home.Name(), f.own, maxLogin) // it may be another file by now
		switch later := err == nil && !own.ModTime().Before(users.ModTime()); {
		case err == nil && bytes.Equal(renewed, login):
			return nil
		case later && replaces(login, renewed):
			return f.renew(home, path, users.Mode().Perm(), renewed, own.ModTime())
		case later && !begins:
			return nil // it is being written
		}
	}
	const fresh = ".covey-login"
	name := filepath.Join(filepath.Dir(f.own), fresh)
	return errors.Join(home.RemoveAll(name), home.WriteFile(name, login, 0o600), home.Chtimes(name, users.ModTime(), users.ModTime()),
		home.Rename(name, f.own))
}

// renew replaces the user's file by what the program has made of it.
func (f sharedLogin) renew(home *os.Root, path string, mode fs.FileMode, login []byte, at time.Time) error {
	if now := time.Now(); at.After(now) { // or nothing newer would ever count
		if at = now; home.Chtimes(f.own, at, at) != nil {
			return nil // it has just been replaced
		}
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".covey-login-")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // fails if it has been renamed
	_, err = temp.Write(login)
	return errors.Join(err, temp.Chmod(mode), temp.Sync(), temp.Close(), os.Chtimes(temp.Name(), at, at), os.Rename(temp.Name(), path))
}

// replaces reports whether a file can be a later version of a login: it holds something, and an object if
// the login does.
func replaces(login, later []byte) bool {
	var before, after map[string]json.RawMessage
	if json.Unmarshal(login, &before) != nil {
		return len(later) > 0
	}
	return json.Unmarshal(later, &after) == nil && len(after) > 0
}
