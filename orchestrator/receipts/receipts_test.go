package receipts

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nkeys"

	"github.com/coveyteam/covey/hooks/testkit"
)

// merge is a merge with all that a receipt can have.
func merge() Merge {
	return Merge{
		Covey: "1.0.0", Team: "crew", Target: "main", Commit: "c1", Tree: "t1", Base: "b1", Work: "w1", Author: "ana",
		Tasks: []Task{{ID: "1"}}, Gates: []Gate{{Gate: "go test ./...", Verdict: Agreed, Tree: "t1"}},
		Policies: []Policy{{Where: "org.yaml", SHA256: "aa", Version: 2}},
	}
}

func newKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	key, err := OperatorKey(t.TempDir())
	testkit.Must(t, err)
	return key
}

func sign(t *testing.T, m Merge, key ed25519.PrivateKey) []byte {
	t.Helper()
	payload, err := m.Payload()
	testkit.Must(t, err)
	data, err := Sign(payload, key)
	testkit.Must(t, err)
	return data
}

// TestEncoding: what is signed is that of the DSSE specification's example.
func TestEncoding(t *testing.T) {
	got := string(signed("http://example.com/HelloWorld", []byte("hello world")))
	if want := "DSSEv1 29 http://example.com/HelloWorld 11 hello world"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOpen(t *testing.T) {
	mine, other := newKey(t), newKey(t)
	known := []ed25519.PublicKey{other.Public().(ed25519.PublicKey), mine.Public().(ed25519.PublicKey)}
	receipt := sign(t, merge(), mine)
	m, id, err := Open(receipt, known)
	if err != nil || m.Commit != "c1" || id != KeyID(known[1]) {
		t.Errorf("got %+v, %s, %v", m, id, err)
	}
	forged, err := (Merge{Commit: "c2"}).Payload()
	testkit.Must(t, err)
	var e envelope
	testkit.Must(t, json.Unmarshal(receipt, &e))
	e.Payload = forged
	for _, c := range []struct {
		name    string
		receipt []byte
		keys    []ed25519.PublicKey
		want    error
	}{
		{"unknown", receipt, known[:1], ErrUnknownKey},
		{"no key", receipt, nil, ErrUnknownKey},
		{"altered", encode(t, e), known, ErrAltered},
		{"another key's id", encode(t, envelope{e.PayloadType, e.Payload, []signature{{KeyID(known[0]), e.Signatures[0].Sig}}}), known, ErrAltered},
		{"another type", encode(t, envelope{"text/plain", e.Payload, e.Signatures}), known, ErrDamaged},
		{"unsigned", encode(t, envelope{e.PayloadType, e.Payload, nil}), known, ErrDamaged},
		{"no envelope", []byte("{"), known, ErrDamaged},
		{"nothing", nil, known, ErrDamaged},
		{"another predicate", signPayload(t, `{"_type":"`+statementType+`","predicateType":"x"}`, mine), known, ErrDamaged},
		{"another subject", signPayload(t, `{"_type":"`+statementType+`","predicateType":"`+predicateType+
			`","subject":[{"digest":{"gitCommit":"x"}}],"predicate":{"commit":"c1"}}`, mine), known, ErrDamaged},
	} {
		if _, _, err := Open(c.receipt, c.keys); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	good := Facts{Commit: "c1", Tree: "t1", Parents: []string{"b1", "w1"}, Policy: "aa"}
	newer := merge()
	newer.Commit, newer.Policies = "c0", []Policy{{Where: "org.yaml", Version: 3}}
	for _, c := range []struct {
		name   string
		change func(*Merge, *Facts)
		want   error
	}{
		{"good", func(*Merge, *Facts) {}, nil},
		{"good, boxed", func(_ *Merge, f *Facts) { f.Boxed = true }, nil},
		{"other commit", func(_ *Merge, f *Facts) { f.Commit = "c2" }, ErrOther},
		{"other tree", func(_ *Merge, f *Facts) { f.Tree = "t2" }, ErrTree},
		{"other parents", func(_ *Merge, f *Facts) { f.Parents = []string{"b1"} }, ErrTree},
		{"forced", func(m *Merge, _ *Facts) { m.Forced = true }, ErrForced},
		{"refused", func(m *Merge, _ *Facts) { m.Gates[0].Verdict = "refused" }, ErrGate},
		{"another tree judged", func(m *Merge, _ *Facts) { m.Gates[0].Tree = "t2" }, ErrGate},
		{"no policy", func(m *Merge, _ *Facts) { m.Policies = nil }, ErrPolicy},
		{"another policy", func(_ *Merge, f *Facts) { f.Policy = "bb" }, ErrPolicy},
		{"older policy", func(_ *Merge, f *Facts) { f.Earlier = []Merge{newer} }, ErrPolicy},
		{"proposed", func(m *Merge, f *Facts) { m.Proposed, f.Commit, f.Tree = true, "w1", "t2" }, nil},
		{"proposed and merged by its host", func(m *Merge, f *Facts) { m.Proposed, f.Commit = true, "h1" }, nil},
		{"proposed, other files", func(m *Merge, f *Facts) { m.Proposed, f.Commit, f.Tree = true, "h1", "t2" }, ErrTree},
		{"proposed, forced", func(m *Merge, f *Facts) { m.Proposed, m.Forced, f.Commit = true, true, "w1" }, ErrForced},
		{"no box", func(m *Merge, f *Facts) { m.Box.Open, f.Boxed = []string{"ana"}, true }, ErrOpen},
	} {
		m, f := merge(), good
		c.change(&m, &f)
		if err := m.Check(f); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

// TestOneKey: teams that need the operator's key at the same time get the same one, and it stays.
func TestOneKey(t *testing.T) {
	home := t.TempDir()
	if keys, err := PublicKeys(home); keys != nil || err != nil {
		t.Fatalf("there is a key: %v, %v", keys, err)
	}
	keys := make([]ed25519.PrivateKey, 8)
	var wait sync.WaitGroup
	for i := range keys {
		wait.Go(func() {
			var err error
			if keys[i], err = OperatorKey(home); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, key := range keys {
		if !bytes.Equal(key, keys[0]) {
			t.Error("two teams have different keys")
		}
	}
	if names, err := os.ReadDir(home); err != nil || len(names) != 1 {
		t.Errorf("left in the folder: %v, %v", names, err)
	}
	testkit.Must(t, os.WriteFile(KeyPath(home), []byte("torn"), 0o600))
	if _, err := OperatorKey(home); err == nil || !strings.Contains(err.Error(), filepath.Base(KeyPath(home))) {
		t.Errorf("a damaged key: %v", err)
	}
}

// TestTeamKey: hosts that share the key of a team's servers sign with one key, which is not that one and
// not that of another team, and each of them knows it afterwards.
func TestTeamKey(t *testing.T) {
	pair, err := nkeys.CreateUser()
	testkit.Must(t, err)
	seed, err := pair.Seed()
	testkit.Must(t, err)
	creds := filepath.Join(t.TempDir(), "crew.nk")
	testkit.Must(t, os.WriteFile(creds, append(seed, '\n'), 0o600))
	one, two := t.TempDir(), t.TempDir()
	first, err := TeamKey(one, creds, "crew")
	testkit.Must(t, err)
	second, err := TeamKey(two, creds, "crew")
	testkit.Must(t, err)
	other, err := TeamKey(two, creds, "other")
	testkit.Must(t, err)
	again, err := TeamKey(two, creds, "crew")
	testkit.Must(t, err)
	own, err := TeamKey(two, "", "crew")
	testkit.Must(t, err)
	_, raw, err := nkeys.DecodeSeed(seed)
	testkit.Must(t, err)
	if !first.Equal(second) || !again.Equal(first) || other.Equal(first) || own.Equal(first) || first.Equal(ed25519.NewKeyFromSeed(raw)) {
		t.Error("the keys are not those that they should be")
	}
	public := func(keys ...ed25519.PrivateKey) (list []ed25519.PublicKey) {
		for _, k := range keys {
			list = append(list, k.Public().(ed25519.PublicKey))
		}
		return list
	}
	for home, want := range map[string][]ed25519.PublicKey{one: public(first), two: public(own, first, other)} {
		if have, err := PublicKeys(home); err != nil || !reflect.DeepEqual(have, want) {
			t.Errorf("known are %v (%v), want %v", have, err, want)
		}
	}
	for _, bad := range []string{"", "text"} {
		testkit.Must(t, os.WriteFile(creds, []byte(bad), 0o600))
		if _, err := TeamKey(one, creds, "crew"); err == nil || !strings.Contains(err.Error(), creds) {
			t.Errorf("%q made a key: %v", bad, err)
		}
	}
}

func TestParseKeys(t *testing.T) {
	key := newKey(t).Public().(ed25519.PublicKey)
	text, err := FormatKey(key)
	testkit.Must(t, err)
	got, err := ParseKeys(append([]byte("# ana's\n"), append(text, text...)...))
	if err != nil || len(got) != 2 || !bytes.Equal(got[1], key) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "text", strings.ReplaceAll(string(text), "PUBLIC", "PRIVATE"), strings.ReplaceAll(string(text), "MCow", "MCox")} {
		if _, err := ParseKeys([]byte(bad)); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}

func encode(t *testing.T, e envelope) []byte {
	t.Helper()
	data, err := json.Marshal(e)
	testkit.Must(t, err)
	return data
}

func signPayload(t *testing.T, payload string, key ed25519.PrivateKey) []byte {
	t.Helper()
	data, err := Sign([]byte(payload), key)
	testkit.Must(t, err)
	return data
}
