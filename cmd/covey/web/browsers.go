package web

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"

	"github.com/coveyteam/covey/orchestrator/state"
)

// keptBrowsers is of how many servers the cookies are known again.
const keptBrowsers = 8

// knownBrowsers returns the hashes of the cookies that earlier servers of a team have given to
// browsers, and adds that of a new server to the file. By them, a page that stays open while its
// team is stopped and continued at the same address goes on: its browser has no other proof. The
// file has hashes only, because members can read it, and nobody can make a cookie from its hash.
func knownBrowsers(path, cookie string) ([]string, error) {
	var before []string
	data, err := os.ReadFile(path)
	if err == nil && json.Unmarshal(data, &before) != nil {
		before = nil // a damaged file: browsers need the address with the token again
	}
	before = before[max(0, len(before)-keptBrowsers):]
	data, err = json.Marshal(append(slices.Clone(before), hashOf(cookie)))
	if err == nil {
		err = state.WriteAtomic(path, data)
	}
	if err != nil {
		return before, fmt.Errorf("remember the browsers of this page: %w", err)
	}
	return before, nil
}

// hashOf returns the hash of a cookie, as text.
func hashOf(cookie string) string {
	sum := sha256.Sum256([]byte(cookie))
	return hex.EncodeToString(sum[:])
}

// knowsBrowser reports whether a request has the cookie of an earlier server of this team.
func (g *guard) knowsBrowser(r *http.Request) bool {
	c, err := r.Cookie(g.cookie)
	return err == nil && slices.Contains(g.before, hashOf(c.Value))
}
