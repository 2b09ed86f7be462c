package nodes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/coveyteam/covey/tasks/replica"
)

// Creds is what a node's owner gets from the team's operator, in one file.
type Creds struct {
	Team     string   `json:"team"`
	Node     string   `json:"node"`
	URL      []string `json:"url"`      // of the servers
	Operator string   `json:"operator"` // the public keys of those who may say what the node runs, as PEM
	Seed     string   `json:"seed"`     // of the node's nkey
}

// ErrCreds means that a file holds no usable credentials of a node.
var ErrCreds = errors.New("it holds no credentials of a node, which covey nats config --node makes")

// ReadCreds reads credentials. It refuses a file that other users can read.
func ReadCreds(path string) (c Creds, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("the credentials of the node, which covey nats config --node makes: %w", err)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		return c, fmt.Errorf("%s can be read by other users; chmod 600 %[1]s", path)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("%s: %w: %w", path, ErrCreds, err)
	}
	if _, err := c.Key(); err != nil || c.Team == "" || c.Node == "" || len(c.URL) == 0 {
		return c, fmt.Errorf("%s: %w", path, ErrCreds)
	}
	return c, nil
}

// MakeCreds returns the credentials of a file, or with a new key if there is none; they must be of the
// same node.
func MakeCreds(path, team, node string) (Creds, error) {
	c, err := ReadCreds(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		pair, err := nkeys.CreateUser()
		if err != nil {
			return c, err
		}
		seed, err := pair.Seed()
		return Creds{Team: team, Node: node, Seed: string(seed)}, err
	case err != nil:
		return c, err
	case c.Team != team || c.Node != node:
		return c, fmt.Errorf("%s has the key of node %s of team %s; name another file, or remove it", path, c.Node, c.Team)
	}
	return c, nil
}

// Write writes the credentials, for their owner's eyes only.
func (c Creds) Write(path string) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".creds.")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Key returns the public key by which the servers know the node.
func (c Creds) Key() (string, error) {
	pair, err := nkeys.FromSeed([]byte(c.Seed))
	if err != nil {
		return "", err
	}
	return pair.PublicKey()
}

// Dial connects the node to the servers.
func (c Creds) Dial(onError func(error)) (NATS, error) {
	key, err := c.Key()
	if err != nil {
		return NATS{}, err
	}
	conn, err := replica.Dial(c.Team, c.URL, onError, nats.Nkey(key, func(nonce []byte) ([]byte, error) {
		pair, err := nkeys.FromSeed([]byte(c.Seed))
		if err != nil {
			return nil, err
		}
		defer pair.Wipe()
		return pair.Sign(nonce)
	}))
	if err != nil {
		return NATS{}, fmt.Errorf("the servers of team %s, %v: %w", c.Team, c.URL, err)
	}
	return NATS{conn}, nil
}
