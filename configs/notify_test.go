package configs

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/testkit"
)

// TestNotify: the three kinds of targets, what a rule leaves out, and a warning about notices
// that go over the network unencrypted.
func TestNotify(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"s.yaml": "steps: []", "secret": "0123456789abcdef"})
	team, err := Parse(filepath.Join(dir, "team.yaml"), []byte(`covey: 1
lead: {model: {provider: script, script: s.yaml}}
notify:
  - to: desktop
  - {to: {command: [./tell.sh, ""]}, about: [done, ended], of: [lead], digest: 30m}
  - {to: {webhook: "http://example.com/a?b=c", secret_file: secret}, after: 2m, hours: "22:00-6:30", zone: UTC}
web: {public_url: "https://covey.example.com/"}
`))
	if err != nil {
		t.Fatal(err)
	}
	open := []Notable{NotableQuestion, NotableApproval, NotableAttention, NotableMergeHeld}
	want := []Notify{
		{Desktop: true, About: open},
		{
			Command: []string{"./tell.sh", ""}, About: []Notable{NotableDone, NotableEnded}, Of: []string{"lead"},
			Digest: 30 * time.Minute,
		},
		{
			Webhook: "http://example.com/a?b=c", SecretFile: filepath.Join(dir, "secret"), About: open,
			After: 2 * time.Minute,
			Hours: yaml.Hours{From: 22 * time.Hour, To: 6*time.Hour + 30*time.Minute, Zone: "UTC"},
		},
	}
	if !reflect.DeepEqual(team.Notify, want) {
		t.Errorf("got  %+v\nwant %+v", team.Notify, want)
	}
	if team.Web.PublicURL != "https://covey.example.com" {
		t.Errorf("public_url is %q", team.Web.PublicURL)
	}
	if len(team.Warnings) != 1 || team.Warnings[0].Line != 6 {
		t.Errorf("warnings: %v", team.Warnings)
	}
}
