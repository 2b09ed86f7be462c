package web

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/state"
)

// former is what a page knows of one that was at its address before: the sums of its root and of the
// cookie of its operator's browsers. So a page that stays open goes on after a restart of covey. Who reads
// the sums cannot make the cookie of them; who writes others gets in only with a connection that the
// kernel shows to be the operator's, and such a process can use the commands as well.
type former struct {
	Root   string `json:"root"`
	Cookie string `json:"cookie"`
}

// Bounds of what is kept: addresses, and pages of each, because a browser may sleep over several restarts.
const (
	maxAddresses = 16
	maxFormer    = 8
)

// succeed reads what is known of the pages that were at the guard's address before, and leaves the next one
// what it has to know. A file that is not there or damaged means only that pages have to be opened anew.
func (g *guard) succeed(place state.Place, address string) {
	path := filepath.Join(place.Dir, "pages.json")
	known := map[string][]former{}
	if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &known) != nil || len(known) >= maxAddresses {
		known = map[string][]former{}
	}
	g.before = known[address]
	g.before = g.before[max(0, len(g.before)-maxFormer):]
	known[address] = append(slices.Clone(g.before), former{texts.Digest(g.root), texts.Digest(g.sign(ownCookie))})
	if data, err := json.Marshal(known); err == nil {
		_ = state.WriteAtomic(path, data) // then pages have to be opened anew
	}
}

// isFormer reports whether a request comes from a page that was open at this address before covey was
// started again. The caller checks who has made the connection.
func (g *guard) isFormer(r *http.Request) bool {
	root, _, ok := cutRoot(r.URL.Path)
	return ok && slices.ContainsFunc(g.before, func(one former) bool {
		return same(texts.Digest(root), one.Root) && slices.ContainsFunc(r.CookiesNamed(g.cookie), func(c *http.Cookie) bool {
			return same(texts.Digest(c.Value), one.Cookie)
		})
	})
}

// cutRoot cuts a path behind the root of a page.
func cutRoot(path string) (root, rest string, ok bool) {
	if !strings.HasPrefix(path, "/p-") {
		return "", path, false
	}
	end := strings.IndexByte(path[1:], '/')
	if end < 0 {
		return path, "/", true
	}
	return path[:end+1], path[end+1:], true
}
