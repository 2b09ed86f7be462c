package receipts

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/nats-io/nkeys"

	"github.com/coveyteam/covey/hooks/texts"
)

// KeyPath returns the path of the operator's key in the folder that holds the state of all teams.
func KeyPath(home string) string { return filepath.Join(home, "operator.key") }

// KeyID returns the id of a key: the SHA-256 of its public half, as in X.509.
func KeyID(key ed25519.PublicKey) string {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "" // of a key with a wrong length, which ParseKeys refuses
	}
	return texts.Digest(der)
}

// OperatorKey returns the key with which the operator's merges are signed. It is made when it is needed
// first, and stays: the keys of sockets are new in each run.
func OperatorKey(home string) (ed25519.PrivateKey, error) {
	key, err := readKey(home)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	_, key, err = ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key for receipts: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make the key for receipts: %w", err)
	}
	f, err := os.CreateTemp(home, ".operator.key.")
	if err != nil {
		return nil, fmt.Errorf("make the key for receipts: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, fmt.Errorf("make the key for receipts: %w", err)
	}
	// A link is never torn and never replaces the key of another team that makes one at this moment.
	if err := os.Link(f.Name(), KeyPath(home)); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the key for receipts: %w", err)
	}
	return readKey(home)
}

// readKey reads the operator's key.
func readKey(home string) (ed25519.PrivateKey, error) {
	data, err := os.ReadFile(KeyPath(home))
	if err != nil {
		return nil, fmt.Errorf("the key for receipts: %w", err)
	}
	if block, _ := pem.Decode(data); block != nil {
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if key, ok := key.(ed25519.PrivateKey); ok {
				return key, nil
			}
		}
	}
	return nil, fmt.Errorf("%s is no ed25519 key; restore it, or remove it, and covey makes another", KeyPath(home))
}

// sharedFile is the file of the public keys of teams that other hosts may run, too.
const sharedFile = "team-keys.pem"

// TeamKey returns the key with which the merges of a team are signed. A team whose data is on servers has
// one that all its hosts make from the key in creds, which they share: not that key itself, because servers
// let its owner sign what they choose. Its public half is kept as one of the operator's.
func TeamKey(home, creds, team string) (ed25519.PrivateKey, error) {
	if creds == "" {
		return OperatorKey(home)
	}
	data, err := os.ReadFile(creds)
	if err != nil {
		return nil, fmt.Errorf("the key for receipts: %w", err)
	}
	pair, err := nkeys.ParseDecoratedNKey(data)
	if err != nil {
		return nil, fmt.Errorf("the key for receipts: %s holds no nkey: %w", creds, err)
	}
	seed, err := pair.Seed()
	if err != nil {
		return nil, fmt.Errorf("the key for receipts: %w", err)
	}
	seed, err = hkdf.Key(sha256.New, seed, nil, "covey receipts of team "+team, ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("the key for receipts: %w", err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	if err := remember(home, key.Public().(ed25519.PublicKey)); err != nil {
		return nil, fmt.Errorf("the key for receipts: %w", err)
	}
	return key, nil
}

// remember adds a key to those of teams that other hosts may run, too.
func remember(home string, key ed25519.PublicKey) error {
	known, err := sharedKeys(home)
	if err != nil || slices.ContainsFunc(known, func(k ed25519.PublicKey) bool { return k.Equal(key) }) {
		return err
	}
	text, err := FormatKey(key)
	if err != nil {
		return err
	}
	// Two teams may add theirs at the same time; one write is not mixed with another.
	f, err := os.OpenFile(filepath.Join(home, sharedFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// sharedKeys returns the keys of teams that other hosts may run, too.
func sharedKeys(home string) ([]ed25519.PublicKey, error) {
	path := filepath.Join(home, sharedFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	keys, err := ParseKeys(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; remove it, and the next covey up makes it", path, err)
	}
	return keys, nil
}

// PublicKeys returns the public halves of the keys that sign the operator's merges here: the operator's, if
// it was needed, and those of teams that other hosts may run, too.
func PublicKeys(home string) ([]ed25519.PublicKey, error) {
	keys, err := sharedKeys(home)
	if err != nil {
		return nil, err
	}
	key, err := readKey(home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return keys, nil
	case err != nil:
		return nil, err
	}
	return append([]ed25519.PublicKey{key.Public().(ed25519.PublicKey)}, keys...), nil
}

// FormatKey returns a public key as a file has it.
func FormatKey(key ed25519.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// ParseKeys reads the public keys of a file; text between them is ignored. It refuses a file without any,
// and one with a private key.
func ParseKeys(data []byte) (keys []ed25519.PublicKey, err error) {
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "PUBLIC KEY" {
			return nil, fmt.Errorf("it holds a %s; only PUBLIC KEY belongs there, as covey verify --show-key prints it", block.Type)
		}
		any, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("a key in it cannot be read: %w", err)
		}
		key, ok := any.(ed25519.PublicKey)
		if !ok {
			return nil, fmt.Errorf("a key in it is no ed25519 key, which receipts are signed with")
		}
		keys = append(keys, key)
	}
	if keys == nil {
		return nil, errors.New("it holds no public key; covey verify --show-key prints one")
	}
	return keys, nil
}
