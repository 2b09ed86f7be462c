package main_test

import (
	"encoding/json"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/coveyteam/covey/hooks/testkit"
)

// TestDocumentedServices: the units of docs/cluster.md are units, whose covey has the flags that they give.
func TestDocumentedServices(t *testing.T) {
	t.Parallel()
	page := readDoc(t, "docs/cluster.md")
	line := regexp.MustCompile(`^(\[(Unit|Service|Install)\]|[A-Z][A-Za-z]+=\S.*)$`)
	var starts []string
	for _, m := range regexp.MustCompile("(?ms)^```ini\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		for _, l := range strings.Split(strings.TrimSpace(m[1]), "\n") {
			if !line.MatchString(l) {
				t.Errorf("%q is no line of a unit", l)
			}
			if start, ok := strings.CutPrefix(l, "ExecStart="); ok {
				starts = append(starts, start)
			}
		}
	}
	if len(starts) != 2 {
		t.Fatalf("the units start %q", starts)
	}
	help := runHelp(t, "up")
	for _, flag := range regexp.MustCompile(`--[a-z]+`).FindAllString(starts[1], -1) {
		if !strings.Contains(help, flag+" ") {
			t.Errorf("covey up has no %s", flag)
		}
	}
}

// clusterServer is where a server of TestDocumentedServers is.
type clusterServer struct{ name, client, peer, dir string }

// TestDocumentedServers: servers run with the configuration that covey prints, and with the values for
// Kubernetes as the chart of NATS writes them, by certificates of the page's own commands; and covey up takes
// them for safe.
func TestDocumentedServers(t *testing.T) {
	t.Parallel()
	page, dir := readDoc(t, "docs/cluster.md"), t.TempDir()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("the commands for certificates need openssl")
	}
	made := regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```$").FindStringSubmatch(page)
	if made == nil || !strings.Contains(made[1], "subjectAltName=DNS:$h") {
		t.Fatal("there are no commands for certificates")
	}
	testkit.Shell(t, dir, strings.Replace(made[1], "subjectAltName=DNS:$h", "subjectAltName=DNS:$h,DNS:localhost", 1))
	key := filepath.Join(dir, "crew.nk")
	printed := example{env: os.Environ()}.covey(t, dir, "nats", "config", "--team", "crew", "--host", "a,b,c", "--key", key, "--node", "big")
	for name, configure := range map[string]func(*testing.T, string, string, int, []clusterServer) string{
		"hosts": hostConfig, "Kubernetes": chartConfig,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var list []clusterServer
			for _, name := range []string{"a", "b", "c"} {
				list = append(list, clusterServer{name, freeAddress(t), freeAddress(t), dir})
			}
			var urls []string
			for i, s := range list {
				path := filepath.Join(t.TempDir(), "nats.conf")
				testkit.Must(t, os.WriteFile(path, []byte(configure(t, page, printed, i, list)), 0o600))
				opts, err := server.ProcessConfigFile(path)
				testkit.Must(t, err)
				opts.NoSigs, opts.NoLog = true, true
				running, err := server.NewServer(opts)
				testkit.Must(t, err)
				running.Start()
				t.Cleanup(running.WaitForShutdown)
				t.Cleanup(running.Shutdown)
				urls = append(urls, `"tls://`+strings.Replace(s.client, "127.0.0.1", "localhost", 1)+`"`)
			}
			runsOn(t, strings.Join(urls, ", "), key, filepath.Join(dir, "ca.pem"))
		})
	}
}

// freeAddress returns an address on loopback that nothing uses.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// runsOn fails unless a team can be run to its end on servers.
func runsOn(t *testing.T, urls, key, authority string) {
	dir := testkit.Files(t, map[string]string{"lead.yaml": "steps: [{say: done, times: -1}]", "team.yaml": `covey: 1
name: crew
goal: Work.
lead: {model: {provider: script, script: lead.yaml}}
bus: {url: [` + urls + `], creds: "` + key + `"}
`})
	origin := t.TempDir()
	testkit.Shell(t, dir, "git init -q -b main && git init -q --bare "+origin+" && git remote add origin "+origin+
		" && git add . && git -c user.name=a -c user.email=a@example.com commit -qm team && git push -q origin main")
	home := t.TempDir()
	for end := time.Now().Add(2 * time.Minute); ; {
		up := exec.Command("covey", "-C", dir, "up", "--trust")
		up.Env = append(os.Environ(), "COVEY_STATE_HOME="+home, "SSL_CERT_FILE="+authority)
		said, err := up.CombinedOutput()
		if err == nil && strings.Contains(string(said), "bus: coordinator ") {
			return
		}
		if time.Now().After(end) || !strings.Contains(string(said), "leader") {
			t.Fatalf("covey up: %v\n%s", err, said)
		}
	}
}

// hostConfig returns the configuration that covey prints for a server, with the places of this test.
func hostConfig(t *testing.T, _, printed string, i int, list []clusterServer) string {
	_, text, ok := strings.Cut(printed, "# "+list[i].name+": /etc/covey-nats.conf\n")
	if !ok {
		t.Fatalf("nothing is printed for %s:\n%s", list[i].name, printed)
	}
	text, _, _ = strings.Cut(text, "\n# ")
	s := list[i]
	replace := []string{
		"0.0.0.0:4222", s.client, "0.0.0.0:6222", s.peer, "/var/lib/nats", t.TempDir(),
		"/etc/covey-nats/server", filepath.Join(s.dir, s.name), "/etc/covey-nats/ca", filepath.Join(s.dir, "ca"),
	}
	for _, s := range list {
		replace = append(replace, "nats-route://"+s.name+":6222", "nats-route://"+strings.Replace(s.peer, "127.0.0.1", "localhost", 1))
	}
	return strings.NewReplacer(replace...).Replace(text)
}

// chartTLS is a section tls of the chart's values.
type chartTLS struct {
	Enabled    bool
	SecretName string `yaml:"secretName"`
	Merge      map[string]any
}

// chartConfig returns the configuration that the chart of NATS makes of the page's values.
func chartConfig(t *testing.T, page, printed string, i int, list []clusterServer) string {
	text := regexp.MustCompile("(?ms)^```yaml\n(container:.*?)^```$").FindStringSubmatch(page)
	accounts := regexp.MustCompile(`(?ms)^system_account.*?^}$`).FindString(printed)
	if text == nil || accounts == "" {
		t.Fatalf("there are no values for Kubernetes, or no accounts for them in\n%s", printed)
	}
	type tls struct {
		Enabled bool
		TLS     chartTLS `yaml:"tls"`
	}
	var values struct {
		Container struct{ Image struct{ Tag string } }
		CA        chartTLS `yaml:"tlsCA"`
		Config    struct {
			Cluster, Nats tls
			Jetstream     struct {
				Enabled   bool
				FileStore struct {
					PVC struct{ Size string } `yaml:"pvc"`
				} `yaml:"fileStore"`
				Merge map[string]any
			}
			Merge map[string]any
		}
		PodTemplate map[string]any `yaml:"podTemplate"`
	}
	c := &values.Config
	testkit.Must(t, yaml.UnmarshalWithOptions([]byte(text[1]), &values, yaml.Strict()))
	testkit.Must(t, yaml.Unmarshal([]byte(accounts), &c.Merge))
	if !values.CA.Enabled || !c.Cluster.Enabled || !c.Cluster.TLS.Enabled || !c.Nats.TLS.Enabled || !c.Jetstream.Enabled || len(c.Merge) != 2 {
		t.Errorf("the values are %+v", values)
	}
	s := list[i]
	section := func(values chartTLS) map[string]any {
		m := map[string]any{"ca_file": filepath.Join(s.dir, "ca.pem"), "cert_file": filepath.Join(s.dir, s.name+".pem"),
			"key_file": filepath.Join(s.dir, s.name+".key")}
		maps.Copy(m, values.Merge)
		return m
	}
	var routes []string
	for _, s := range list {
		routes = append(routes, "tls://"+strings.Replace(s.peer, "127.0.0.1", "localhost", 1))
	}
	jetstream := map[string]any{"max_memory_store": 0, "store_dir": t.TempDir(), "max_file_store": "<<" + c.Jetstream.FileStore.PVC.Size + ">>"}
	maps.Copy(jetstream, c.Jetstream.Merge)
	conf := map[string]any{
		"server_name": s.name, "listen": s.client, "tls": section(c.Nats.TLS), "jetstream": jetstream,
		"cluster": map[string]any{"name": "covey-nats", "listen": s.peer, "no_advertise": true, "routes": routes, "tls": section(c.Cluster.TLS)},
	}
	maps.Copy(conf, c.Merge)
	var b strings.Builder
	encode := json.NewEncoder(&b)
	encode.SetEscapeHTML(false)
	testkit.Must(t, encode.Encode(conf))
	return regexp.MustCompile(`"<<(.*?)>>"`).ReplaceAllString(b.String(), "$1") // as the chart does
}
