package nodes

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// Bundle is what a node runs: the spec of a team, and the files that it and its commands name.
type Bundle struct {
	Team   string `json:"team"`
	Remote string `json:"remote"` // the repository
	Ref    string `json:"ref"`    // what of it is checked out
	Spec   string `json:"spec"`   // below the top of the repository, like all paths
	Files  []File `json:"files"`
}

// File is a file of a Bundle.
type File struct {
	Path string      `json:"path"`
	Mode fs.FileMode `json:"mode"`
	Data []byte      `json:"data"`
}

// Signed is a Bundle that an operator has signed.
type Signed struct {
	Bundle    []byte `json:"bundle"`
	Signature []byte `json:"signature"`
}

// MethodSpec is the request for the Signed bundle, as soon as it has another digest than the one that the
// node has; empty: the node has none.
const MethodSpec = "spec"

// Digest identifies what is signed.
func (s Signed) Digest() string {
	return texts.Digest(s.Bundle)
}

// Below returns the name of a file below the top of a repository, with slashes; false: it is not below it, or
// is git's own. Both are real paths.
func Below(top, path string) (string, bool) {
	name, ok := texts.Below(top, path)
	if !ok || name == "." {
		return "", false
	}
	first, _, _ := strings.Cut(name, "/")
	return name, !strings.EqualFold(first, ".git")
}

// ErrUnsigned means that what a node is to run is not signed by an operator that its owner trusts.
var ErrUnsigned = errors.New("the spec is not signed by an operator whose key is in this node's credentials")

// bundleMark is what a signature begins with, so that no other signature of the key is one of a bundle.
const bundleMark = "covey bundle 1\n"

// Sign signs a bundle.
func (b Bundle) Sign(key ed25519.PrivateKey) (Signed, error) {
	data, err := json.Marshal(b)
	return Signed{data, ed25519.Sign(key, append([]byte(bundleMark), data...))}, err
}

// Open returns a bundle of a team that one of the keys has signed.
func (s Signed) Open(team string, keys []ed25519.PublicKey) (b Bundle, err error) {
	signed := append([]byte(bundleMark), s.Bundle...)
	if !slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool { return ed25519.Verify(k, signed, s.Signature) }) {
		return b, ErrUnsigned
	}
	if err := json.Unmarshal(s.Bundle, &b); err != nil {
		return b, fmt.Errorf("the bundle cannot be read: %w", err)
	}
	if b.Team != team {
		return b, fmt.Errorf("%w: it is of team %q", ErrUnsigned, b.Team)
	}
	return b, nil
}

// Write writes the files below a folder, and never outside of it.
func (b Bundle) Write(dir string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, f := range b.Files {
		if _, ok := Below(dir, filepath.Join(dir, filepath.FromSlash(f.Path))); !ok {
			return fmt.Errorf("the bundle has a file %q", f.Path)
		}
		if err := root.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
			return err
		}
		if err := root.RemoveAll(f.Path); err != nil { // it may be a link
			return err
		}
		if err := root.WriteFile(f.Path, f.Data, f.Mode.Perm()); err != nil {
			return err
		}
	}
	return nil
}
