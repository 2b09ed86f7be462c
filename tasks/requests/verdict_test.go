package requests

import "testing"

// TestVerdictKeysAreApart: parts of a key that run into each other are still two keys.
func TestVerdictKeysAreApart(t *testing.T) {
	seen := map[string]VerdictKey{}
	parts := []string{"a", "ab", "b", "bb", "1", "11"}
	for _, tree := range parts {
		for _, gate := range parts {
			for _, subject := range parts {
				k := VerdictKey{Tree: tree, Gate: gate, Subject: subject}
				if other, there := seen[string(k.key())]; there {
					t.Fatalf("%+v and %+v have one key", k, other)
				}
				seen[string(k.key())] = k
			}
		}
	}
}
