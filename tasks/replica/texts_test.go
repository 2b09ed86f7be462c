//go:build unix

package replica_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"math/big"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/tasks/replica"
	"github.com/coveyteam/covey/tasks/store"
)

// said fails unless an error is one line with these words.
func said(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("there is no error; want %q", words)
	}
	for _, w := range append(words, "") {
		if !strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "deadline") {
			t.Errorf("%q, want one line with %q, in words of people", err, w)
		}
	}
}

// connect connects to servers as a team, and begins an epoch.
func connect(t *testing.T, c replica.Config, k replica.Candidate) error {
	t.Helper()
	c.OnError = func(err error) { t.Log("servers:", err) }
	link, err := replica.Connect(c)
	if err != nil {
		return err
	}
	defer link.Close()
	k.Holder = "texts"
	k.Prepare = func(store.Replica) error { return errors.New("it may lead") }
	_, err = link.Lead(t.Context(), k, false)
	return err
}

// TestTextsOfServers: what keeps a team from its servers is said in one line, with the way out.
func TestTextsOfServers(t *testing.T) {
	p := startProcesses(t)
	h := newHost(t, p.trial)
	p.until("a coordinator", func() error { return h.begin(replica.Candidate{Repository: "one"}) })
	crew := replica.Config{Team: "crew", URL: p.trial.URL, Creds: p.trial.Creds}

	said(t, connect(t, crew, replica.Candidate{Repository: "two"}), "the name crew belong to a team that works on another repository", "rename this team")

	other := crew
	other.Team = "other"
	said(t, connect(t, other, replica.Candidate{}), "do not let the key in "+crew.Creds+" work for team other", "covey nats config")

	stranger := crew
	stranger.Creds = filepath.Join(t.TempDir(), "stranger.nk")
	if _, err := bus.CoordinatorKey(stranger.Creds); err != nil {
		t.Fatal(err)
	}
	said(t, connect(t, stranger, replica.Candidate{}), "refuse the key in "+stranger.Creds, "covey nats config")

	// With one of three, a running team learns that there is no quorum, and none begins.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.kill("b")
	p.kill("c")
	err := h.lead.Keep(ctx, func(s replica.Status) {
		if !s.Quorum && !s.Acked.IsZero() {
			cancel() // events.Bus has the words
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("without a quorum: %v", err)
	}
	// Once a standby waits, the same silence ends the coordinator.
	err = h.lead.Keep(t.Context(), func(replica.Status) {
		if err := p.js.Conn().Publish("covey.crew.standby", []byte(`{"host": "two.test"}`)); err != nil {
			t.Error(err)
		}
	})
	said(t, err, replica.ErrUnknown.Error(), "two.test takes over")
	said(t, connect(t, crew, replica.Candidate{}), "have no leader for the team: at least two of three must run, reach each other and have room on their disks")
	p.kill("a")
	said(t, connect(t, crew, replica.Candidate{}), "do not answer: "+crew.URL[0], "start them, or correct bus.url")
}

// TestTextsOfUnsafeServers: servers that may lose what they acknowledge are refused, and with unsafe
// they are used, and the status says why they are not safe.
func TestTextsOfUnsafeServers(t *testing.T) {
	for want, edit := range map[string]*strings.Replacer{
		"does not sync each write; set sync_interval: always":                   strings.NewReplacer("sync_interval: always", "sync_interval: 2m"),
		"cannot be read; export $SYS.REQ.SERVER.PING.JSZ to the team's account": strings.NewReplacer("imports: [", "# imports: ["),
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel() // most of the time is spent on waiting
			p := startEdited(t, edit.Replace)
			crew := replica.Config{Team: "crew", URL: p.trial.URL, Creds: p.trial.Creds}
			var err error
			p.until("servers", func() error {
				if err = connect(t, crew, replica.Candidate{}); errors.Is(err, replica.ErrUnsafe) {
					return nil
				}
				return err
			})
			said(t, err, want, "bus.unsafe: true")
			crew.Unsafe = true
			link, err := replica.Connect(crew)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(link.Close)
			h := &host{t: t, dir: t.TempDir(), link: link}
			h.up(false)
			if s := h.lead.Status(); !strings.Contains(s.Unsafe, want) {
				t.Errorf("the status has %q, want %q", s.Unsafe, want)
			}
		})
	}
}

// TestTextOfFirstServer: one of three servers that have never met is no cluster, either.
func TestTextOfFirstServer(t *testing.T) {
	p := startProcesses(t)
	p.kill("b")
	p.kill("c")
	p.kill("a")
	p.start("a")
	crew := replica.Config{Team: "crew", URL: p.trial.URL[:1], Creds: p.trial.Creds}
	var err error
	p.until("a server", func() error {
		err = connect(t, crew, replica.Candidate{})
		if strings.Contains(err.Error(), "do not answer") {
			return err
		}
		return nil
	})
	said(t, err, "have no leader for the team")
}

// TestTextOfNewerStore: a covey that is too old for what another one has written says who that was.
func TestTextOfNewerStore(t *testing.T) {
	p := startProcesses(t)
	h := newHost(t, p.trial)
	p.until("a coordinator", func() error { return h.takeOver(false) })
	newer, err := json.Marshal(replica.Epoch{Number: 9, Host: "next.test", Version: "9.0", Format: store.Format + 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.js.Publish(t.Context(), "covey.crew.epoch", newer); err != nil {
		t.Fatal(err)
	}
	err = connect(t, replica.Config{Team: "crew", URL: p.trial.URL, Creds: p.trial.Creds}, replica.Candidate{})
	said(t, err, "host next.test runs the team with covey 9.0", "use a newer covey")
	if !errors.Is(err, store.ErrFormat) {
		t.Errorf("%v is no error of a format", err)
	}
}

// TestTextOfCertificates: a certificate that is out of date, and one of an authority that nobody knows.
func TestTextOfCertificates(t *testing.T) {
	for want, until := range map[string]time.Duration{
		"is out of date; renew it on the servers":                         -time.Hour,
		"this host does not trust the certificate of %; add their ca.pem": time.Hour,
	} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		one := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(until), DNSNames: []string{"localhost"}}
		der, err := x509.CreateCertificate(rand.Reader, one, one, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		s, err := server.NewServer(&server.Options{
			Host: "localhost", Port: -1, NoLog: true, NoSigs: true,
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS13},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(s.Shutdown)
		if !s.ReadyForConnections(time.Minute) {
			t.Fatal("the server does not listen")
		}
		url := strings.Replace(s.ClientURL(), "nats://", "tls://", 1)
		said(t, connect(t, replica.Config{Team: "crew", URL: []string{url}}, replica.Candidate{}), strings.ReplaceAll(want, "%", url))
	}
}
