package cli

import "testing"

// TestPage: a release names the pages of its tag. Other builds have none, so they name those of main.
func TestPage(t *testing.T) {
	t.Parallel()
	for version, tag := range map[string]string{
		"v0.1.0": "v0.1.0", "v0.2.0-rc.1": "v0.2.0-rc.1", "v0.1.0+dirty": "main", "devel": "main", "": "main",
		"v0.1.1-0.20261126030000-0123456789ab": "main",
	} {
		want := "https://github.com/coveyteam/covey/blob/" + tag + "/docs/errors.md#git"
		if got := (&Env{Version: version}).Page("errors.md#git"); got != want {
			t.Errorf("%q: %s, want %s", version, got, want)
		}
	}
}
