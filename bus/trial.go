package bus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// Trial is three servers in this process, on loopback. They share its fate and its disk, so a team
// on them outlives its coordinator, and nothing else.
type Trial struct {
	URL   []string
	Creds string // path of the key of the team's coordinators
	nodes []*server.Server
}

// trialServers are the names of the servers of a trial.
var trialServers = []string{"a", "b", "c"}

// StartTrial starts three servers for a team whose data is in a folder, and waits until they have a
// leader. Their configurations are files of that folder, so that the next trial there goes on, with
// the same addresses.
func StartTrial(ctx context.Context, dir, team string, nodes []NodeUser) (*Trial, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder of the servers cannot be made: %w; name another one", err)
	}
	// It holds keys, and may lie in a repository.
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600); err != nil {
		return nil, err
	}
	t := &Trial{Creds: filepath.Join(dir, team+".nk")}
	if err := configureTrial(dir, team, t.Creds, nodes); err != nil {
		return nil, err
	}
	for _, name := range trialServers {
		s, err := startServer(filepath.Join(dir, name+".conf"))
		if err != nil {
			t.Close()
			return nil, fmt.Errorf("server %s: %w", name, err)
		}
		t.nodes = append(t.nodes, s)
		t.URL = append(t.URL, s.ClientURL())
	}
	if err := t.ready(ctx); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// configureTrial writes the configurations of the servers.
func configureTrial(dir, team, creds string, nodes []NodeUser) error {
	key, err := CoordinatorKey(creds)
	if err != nil {
		return err
	}
	addresses, err := trialAddresses(dir)
	if err != nil {
		return err
	}
	peers := addresses[len(trialServers):]
	for i, name := range trialServers {
		c := ServerConfig{Name: name, Listen: addresses[i], Peers: peers[i], Routes: peers, Dir: filepath.Join(dir, name),
			Accounts: []Account{{Team: team, Key: key, Nodes: nodes}}}
		if err := os.WriteFile(filepath.Join(dir, name+".conf"), []byte(c.String()), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// trialAddresses returns the addresses of the servers for clients, and then those for each other: those of
// the last trial in the folder, or free ones.
func trialAddresses(dir string) (clients []string, err error) {
	var peers []string
	for _, name := range trialServers {
		opts, err := server.ProcessConfigFile(filepath.Join(dir, name+".conf"))
		if errors.Is(err, fs.ErrNotExist) {
			return freeAddresses(2 * len(trialServers))
		}
		if err != nil {
			return nil, err
		}
		clients = append(clients, net.JoinHostPort(opts.Host, strconv.Itoa(opts.Port)))
		peers = append(peers, net.JoinHostPort(opts.Cluster.Host, strconv.Itoa(opts.Cluster.Port)))
	}
	return append(clients, peers...), nil
}

// freeAddresses returns addresses on loopback that nothing uses.
func freeAddresses(n int) (list []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // all at the end, so that they differ
		list = append(list, l.Addr().String())
	}
	return list, nil
}

// startServer starts a server with a configuration file.
func startServer(path string) (*server.Server, error) {
	opts, err := server.ProcessConfigFile(path)
	if err != nil {
		return nil, err
	}
	opts.NoSigs, opts.NoLog = true, true
	s, err := server.NewServer(opts)
	if err != nil {
		return nil, err
	}
	s.Start()
	return s, nil
}

// ready waits until the servers have a leader and each of them is up to date.
func (t *Trial) ready(ctx context.Context) error {
	const every = 50 * time.Millisecond
	for ; ; time.Sleep(every) {
		leaders, current := 0, 0
		for _, s := range t.nodes {
			if s.JetStreamIsLeader() {
				leaders++
			}
			if s.JetStreamIsCurrent() {
				current++
			}
		}
		if leaders == 1 && current == len(t.nodes) {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the servers have no leader yet: %w", context.Cause(ctx))
		}
	}
}

// Close ends the servers.
func (t *Trial) Close() {
	for _, s := range t.nodes {
		s.Shutdown()
	}
	for _, s := range t.nodes {
		s.WaitForShutdown()
	}
}

// CoordinatorKey returns the public key of the nkey whose seed a file holds. It makes the file, readable for its
// owner only, if there is none.
func CoordinatorKey(path string) (string, error) {
	seed, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		pair, err := nkeys.CreateUser()
		if err != nil {
			return "", err
		}
		if seed, err = pair.Seed(); err != nil {
			return "", err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return "", err
		}
		_, err = fmt.Fprintf(f, "%s\n", seed)
		if err := errors.Join(err, f.Close()); err != nil {
			return "", err
		}
	} else if err != nil {
		return "", err
	}
	pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(seed))))
	if err != nil {
		return "", fmt.Errorf("%s holds no nkey: %w", path, err)
	}
	return pair.PublicKey()
}
