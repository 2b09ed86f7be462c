package launch

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/testkit"
)

// loginRig is a login of the user's, and the home of a program that shares it.
type loginRig struct {
	t         *testing.T
	user, own string
	logins    *sharedLogins
}

func newLoginRig(t *testing.T) loginRig {
	t.Helper()
	home := t.TempDir()
	r := loginRig{t, filepath.Join(t.TempDir(), "auth.json"), filepath.Join(home, ".tool", "auth.json"), nil}
	r.logins = &sharedLogins{home: home, files: []sharedLogin{{r.user, ".tool/auth.json"}}}
	return r
}

// write writes a file as of some seconds from now, in its place or by replacing it. 0 means now.
func (r loginRig) write(path, text string, seconds int, replace bool) {
	r.t.Helper()
	at := path
	if replace {
		at += ".new"
	}
	testkit.Must(r.t, os.WriteFile(at, []byte(text), 0o600))
	when := time.Now().Add(time.Duration(seconds) * time.Second)
	if seconds != 0 {
		testkit.Must(r.t, os.Chtimes(at, when, when))
	}
	if replace {
		testkit.Must(r.t, os.Rename(at, path))
	}
}

// want checks both files.
func (r loginRig) want(user, own string) {
	r.t.Helper()
	for path, want := range map[string]string{r.user: user, r.own: own} {
		got, err := os.ReadFile(path)
		if string(got) != want || err != nil && want != "" {
			r.t.Errorf("%s has %q (%v), want %q", path, got, err, want)
		}
	}
}

// TestSharedLogin: the younger of the files of a login replaces the other, unless the program has broken it.
func TestSharedLogin(t *testing.T) {
	sync := func(r loginRig) {
		r.t.Helper()
		if err := r.logins.sync(false); err != nil {
			r.t.Error(err)
		}
	}
	for _, replace := range []bool{false, true} {
		r := newLoginRig(t)
		sync(r)
		r.want("", "")
		r.write(r.user, `{"token":1}`, -100, replace)
		sync(r)
		r.want(`{"token":1}`, `{"token":1}`)
		r.write(r.own, `{"token":2}`, -90, replace) // the program has renewed it
		sync(r)
		r.want(`{"token":2}`, `{"token":2}`)
		r.write(r.user, `{"token":3}`, -80, replace) // another program has
		sync(r)
		r.want(`{"token":3}`, `{"token":3}`)
		for _, broken := range []string{"", `{"tok`, "{}", "null"} {
			r.write(r.own, broken, -70, replace)
			sync(r)
			r.want(`{"token":3}`, broken)
		}
		testkit.Must(t, r.logins.sync(true)) // the program has died meanwhile
		r.want(`{"token":3}`, `{"token":3}`)
		r.write(r.own, `{"token":4}`, +100_000, replace) // by a wrong clock, or on purpose
		sync(r)
		r.want(`{"token":4}`, `{"token":4}`)
		r.write(r.user, `{"token":5}`, +1, replace) // it is no time ahead
		sync(r)
		r.want(`{"token":5}`, `{"token":5}`)
		testkit.Must(t, os.Remove(r.own)) // the program logs out, but not the user
		sync(r)
		r.want(`{"token":5}`, `{"token":5}`)
		testkit.Must(t, os.Remove(r.user))
		sync(r)
		r.want("", "")
	}
}

// TestSharedLoginLinks: a link that the program puts in the place of its file leads nobody to others.
func TestSharedLoginLinks(t *testing.T) {
	r := newLoginRig(t)
	r.write(r.user, `{"token":1}`, -100, false)
	testkit.Must(t, r.logins.sync(false))
	secret := filepath.Join(t.TempDir(), "secret")
	r.write(secret, `{"secret":1}`, -10, false)
	testkit.Must(t, os.Remove(r.own))
	if err := os.Symlink(secret, r.own); err != nil {
		t.Skip("no symbolic links:", err)
	}
	testkit.Must(t, r.logins.sync(false))
	r.want(`{"token":1}`, `{"token":1}`)
	if data, _ := os.ReadFile(secret); string(data) != `{"secret":1}` {
		t.Errorf("behind the link there is %q", data)
	}
	testkit.Must(t, os.RemoveAll(filepath.Dir(r.own)))
	testkit.Must(t, os.Symlink(filepath.Dir(secret), filepath.Dir(r.own)))
	if err := r.logins.sync(false); err == nil {
		t.Error("a folder behind a link was used")
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(secret), "auth.json")); err == nil {
		t.Error("a login was written behind a link")
	}
	// The user may well keep it behind one.
	r = newLoginRig(t)
	kept := filepath.Join(t.TempDir(), "kept.json")
	r.write(kept, `{"token":1}`, -100, false)
	testkit.Must(t, os.Symlink(kept, r.user))
	testkit.Must(t, r.logins.sync(false))
	r.write(r.own, `{"token":2}`, -90, true)
	testkit.Must(t, r.logins.sync(false))
	r.want(`{"token":2}`, `{"token":2}`)
	if info, err := os.Lstat(r.user); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the user's link is gone (%v)", err)
	}
}

// TestSharedLoginsFollow: two programs and their user have one login while they run, whoever renews it.
func TestSharedLoginsFollow(t *testing.T) {
	r := newLoginRig(t)
	other := loginRig{t, r.user, filepath.Join(t.TempDir(), ".tool", "auth.json"), nil}
	other.logins = &sharedLogins{home: filepath.Dir(filepath.Dir(other.own)), files: []sharedLogin{{r.user, ".tool/auth.json"}}}
	r.write(r.user, `{"token":1}`, -100, false)
	failed := func(err error) { t.Error(err) }
	testkit.Must(t, r.logins.Begin(failed))
	testkit.Must(t, other.logins.Begin(failed))
	have := func(path, text string) func() bool {
		return func() bool { data, _ := os.ReadFile(path); return string(data) == text }
	}
	r.write(r.own, `{"token":2}`, -50, true)
	testkit.Eventually(t, "the renewed token with the other program", have(other.own, `{"token":2}`))
	r.want(`{"token":2}`, `{"token":2}`)
	other.write(other.own, `{"token":3}`, 0, false)
	testkit.Eventually(t, "the token that the other program has renewed", have(r.own, `{"token":3}`))
	testkit.Must(t, other.logins.Close())
	testkit.Must(t, r.logins.Close())
	r.write(r.own, `{"token":4}`, +10, false) // its last word
	testkit.Must(t, r.logins.Close())
	r.want(`{"token":4}`, `{"token":4}`)
	testkit.Must(t, (*sharedLogins)(nil).Close())
}
