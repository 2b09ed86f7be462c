package configs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/hooks/web"
)

// PolicyRef names a policy, or a policy's file of prices, and its content, as `extends` does: PATH@sha256:HEX or
// URL@sha256:HEX.
type PolicyRef struct {
	Where  string // an absolute path, or a URL
	SHA256 string // of the content, 64 hexadecimal digits
}

// String returns the reference as a spec writes it.
func (p PolicyRef) String() string { return p.Where + "@sha256:" + p.SHA256 }

// isURL reports whether the policy is on a server.
func (p PolicyRef) isURL() bool { return strings.Contains(p.Where, "://") }

// base returns the name of the policy's file.
func (p PolicyRef) base() string { return p.Where[strings.LastIndexAny(p.Where, `/\`)+1:] }

// digestMark stands between a policy's place and its digest.
const digestMark = "@sha256:"

// parsePolicyRef reads a reference. dir is where relative paths start; empty: there are none, as in
// a policy from a server.
func parsePolicyRef(text, dir string) (PolicyRef, error) {
	where, digest, pinned := strings.Cut(text, digestMark)
	ref := PolicyRef{Where: where, SHA256: digest}
	switch {
	case where == "":
		return ref, errors.New("it names no file; write PATH@sha256:DIGEST or URL@sha256:DIGEST")
	case strings.HasPrefix(where, "~"):
		return ref, errors.New("~ has no meaning here; write the path out")
	case ref.isURL():
	case filepath.IsAbs(where):
		ref.Where = filepath.Clean(where)
	case dir == "":
		return ref, errors.New("a policy from a server can name only URLs and absolute paths")
	default:
		ref.Where = filepath.Join(dir, where)
	}
	if raw, err := hex.DecodeString(digest); pinned && err == nil && len(raw) == sha256.Size {
		return ref, nil
	}
	data, err := ref.fetch()
	if err != nil {
		return ref, err
	}
	way := texts.Digest(data)
	if !pinned {
		return ref, fmt.Errorf("it does not name the file's content; write %s%s%s", where, digestMark, way)
	}
	return ref, fmt.Errorf("its digest must be 64 hexadecimal digits; write %s%s%s", where, digestMark, way)
}

// managedPolicy is the name of the file of an administrator that all teams of a machine keep to.
const managedPolicy = "policy.yaml"

// ManagedPolicies returns the policies that the administrator of this machine has put into folders
// (settings.ManagedFolders). Their files count as they are.
func ManagedPolicies(folders []string) (list []PolicyRef, err error) {
	for _, folder := range folders {
		path := filepath.Join(folder, managedPolicy)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		data, err := yaml.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("the policy of this machine %s cannot be read: %s; ask its administrator", path, texts.Cause(err))
		}
		list = append(list, PolicyRef{Where: path, SHA256: texts.Digest(data)})
	}
	return list, nil
}

// CheckManaged returns an error unless a team keeps to the policies in folders, for teams that were loaded
// without them (Options.Managed), or before they changed.
func CheckManaged(team *Team, folders []string) error {
	demanded, err := ManagedPolicies(folders)
	if err != nil {
		return err
	}
	for _, p := range demanded {
		if !slices.ContainsFunc(team.Policies, func(known Policy) bool { return known.SHA256 == p.SHA256 }) {
			return texts.Errorf(ErrSpec, "the team does not keep to the policy of this machine, %s; load its spec again", p.Where)
		}
	}
	return nil
}

// Read returns the content, which the digest proves. What came from a server is kept in the
// user's cache folder, so that the policy is there without the server. The copy is checked as often as
// it is read, so it does not matter who can write it.
func (p PolicyRef) Read() ([]byte, error) {
	kept := ""
	if cache, err := os.UserCacheDir(); err == nil && p.isURL() {
		kept = filepath.Join(cache, "covey", "policies", p.SHA256+".yaml")
		if data, err := texts.ReadStart(kept, yaml.MaxSize+1); err == nil && texts.Digest(data) == p.SHA256 {
			return data, nil
		}
	}
	data, err := p.fetch()
	if err != nil {
		return nil, err
	}
	if is := texts.Digest(data); is != p.SHA256 {
		return nil, fmt.Errorf("its content is not the one that is named; if the change is meant, write %s%s%s", p.Where, digestMark, is)
	}
	if kept != "" && os.MkdirAll(filepath.Dir(kept), 0o700) == nil {
		_ = os.WriteFile(kept, data, 0o600) // a torn copy is fetched again
	}
	return data, nil
}

// fetchTime bounds a request to a server for a policy.
const fetchTime = 15 * time.Second

// fetch gets the policy from where it is, whatever its content.
func (p PolicyRef) fetch() ([]byte, error) {
	if !p.isURL() {
		data, err := yaml.ReadFile(p.Where)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no file %s; create it, or correct the path", p.Where)
		}
		return data, err
	}
	to, err := web.ParseTarget(p.Where)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	page, err := web.Fetch(ctx, web.World{}, to, true)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w; no copy of it was kept on this machine", err)
	case page.Elsewhere != "":
		return nil, fmt.Errorf("it redirects to %s; name that, if it is meant", page.Elsewhere)
	}
	return page.Body, nil
}
