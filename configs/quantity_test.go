package configs

import (
	"strings"
	"testing"
)

// TestQuantities holds the numbers that may have units.
func TestQuantities(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "200000": 200000, "200k": 200_000, "1.5M": 1_500_000, "3m": 3_000_000, "0.001k": 1,
		"9007199254740992": 1 << 53, "999999999M": 999_999_999e6,
	} {
		team, err := parse(t, head+"lead: {model: demo}\nbudget: {tokens: "+text+"}\n")
		if err != nil || team.Budget.Tokens != want {
			t.Errorf("%s gives %+v, %v; want %d", text, team, err, want)
		}
	}
	for text, want := range map[string]int64{
		"0": 0, "500MB": 5e8, "5GB": 5e9, "5 GiB": 5 << 30, "1.5kib": 1536, "7B": 7, "999999TB": 999_999e12,
	} {
		team, err := parse(t, head+"lead: {model: demo}\nworktree: {max_disk: "+text+"}\n")
		if err != nil || team.Worktree.MaxDisk != want {
			t.Errorf("%s gives %+v, %v; want %d", text, team, err, want)
		}
	}
	for key, texts := range map[string][]string{
		"budget: {tokens: ":     {"3 M", "3e6M", "k", "-1k", "1.2345k", "9007199254740993", "3MB"},
		"worktree: {max_disk: ": {"5", "5G", "5iB", "-5GB", "1000000TB", "GB", "5GB ok"},
	} {
		for _, text := range texts {
			if _, err := parse(t, head+"lead: {model: demo}\n"+key+text+"}\n"); err == nil || !strings.Contains(err.Error(), "must be") {
				t.Errorf("%s%s} gives %v", key, text, err)
			}
		}
	}
}
