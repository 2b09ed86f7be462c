package bus

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// writePEM writes one block.
func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// certificates writes an authority and a certificate of it for this machine, and returns the authority.
func certificates(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	one := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "covey test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, one, one, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, filepath.Join(dir, "ca.pem"), "CERTIFICATE", der)
	writePEM(t, filepath.Join(dir, "server.pem"), "CERTIFICATE", der)
	writePEM(t, filepath.Join(dir, "server.key"), "PRIVATE KEY", private)
	pool := x509.NewCertPool()
	ca, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(ca)
	return pool
}

// TestConfig: servers start with the printed configuration, take TLS 1.3 alone, and let the key of
// one team write neither the log nor the epochs of another, nor make a stream of them.
func TestConfig(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	pool := certificates(t, dir)
	accounts, keys := []Account{}, map[string]string{}
	for _, team := range []string{"crew", "other"} {
		keys[team] = filepath.Join(dir, team+".nk")
		key, err := CoordinatorKey(keys[team])
		if err != nil {
			t.Fatal(err)
		}
		accounts = append(accounts, Account{Team: team, Key: key})
	}
	addresses, err := freeAddresses(6)
	if err != nil {
		t.Fatal(err)
	}
	trial := &Trial{}
	defer trial.Close()
	for i, name := range trialServers {
		c := ServerConfig{Name: name, Listen: addresses[i], Peers: addresses[3+i], Routes: addresses[3:], Dir: filepath.Join(dir, name),
			Most: "1GB", Accounts: accounts, Certs: dir}
		path := filepath.Join(dir, name+".conf")
		if err := os.WriteFile(path, []byte(c.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := startServer(path)
		if err != nil {
			t.Fatalf("%v in\n%s", err, c)
		}
		trial.nodes = append(trial.nodes, s)
	}
	if err := trial.ready(ctx); err != nil {
		t.Fatal(err)
	}
	connect := func(team string, most uint16) (*nats.Conn, error) {
		key, err := nats.NkeyOptionFromSeed(keys[team])
		if err != nil {
			t.Fatal(err)
		}
		return nats.Connect("tls://"+addresses[0], key, nats.Secure(&tls.Config{RootCAs: pool, MaxVersion: most, MinVersion: tls.VersionTLS12}))
	}
	if nc, err := connect("crew", tls.VersionTLS12); err == nil {
		nc.Close()
		t.Error("a server took TLS 1.2")
	}
	crew, err := connect("crew", tls.VersionTLS13)
	if err != nil {
		t.Fatal(err)
	}
	defer crew.Close()
	other, err := connect("other", tls.VersionTLS13)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	create := func(nc *nats.Conn, wait time.Duration) error { // what is denied is not answered
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(5*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: "covey_crew", Subjects: []string{"covey.crew.log", "covey.crew.epoch"}, Replicas: 3})
		return err
	}
	if err := create(crew, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := create(other, time.Second); err == nil {
		t.Error("another team's key made a stream of this team")
	}
	for _, subject := range []string{"covey.crew.log", "covey.crew.epoch"} {
		if m, err := other.Request(subject, nil, time.Second); err == nil {
			t.Errorf("another team's key has published to %s: %s", subject, m.Data)
		}
		if _, err := crew.Request(subject, nil, time.Minute); err != nil {
			t.Errorf("the team's key cannot publish to %s: %v", subject, err)
		}
	}
}
