package doctor

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// The secrets that a report must not have, wherever they stand.
const (
	envKey    = "key-of-the-environment-0815"
	quotedKey = `quote"d-and-br\oken-0815`
	inSpec    = "written-into-the-spec-4711"
	inFile    = "kept-in-a-key-file-2342"
	shaped    = "ghp_0123456789abcdefABCD"
	dotEnv    = "from-the-dot-env-file-99"
	inURL     = "services/T0815/B4711"
	inHeader  = "team-9-of-ours"
)

// brokenTeam is a team whose files hold secrets. The returned function runs covey bug-report
// in its folder.
func brokenTeam(t *testing.T) (
	place state.Place, spec string, report func(args ...string) (out, errOut string, err error),
) {
	t.Helper()
	teamtest.StateHome(t)
	t.Setenv("SOME_API_KEY", envKey)
	t.Setenv("OTHER_TOKEN", quotedKey)
	place = teamtest.Place(t, "crew")
	dir := place.Workspace
	spec = filepath.Join(dir, "team.yaml")
	for path, text := range map[string]string{
		spec: "covey: 1\nname: crew\nlead: {agent: own}\nagents:\n  own: {use: command, command: [cat], env: {A_SECRET: " +
			inSpec + ", B: {file: key.txt}}}\nmcp_servers: {docs: {url: https://docs.example.com/mcp, headers: {X-Who: " + inHeader +
			"}}}\nnotify:\n  - {to: {webhook: https://hooks.example.com/" + inURL + ", secret_file: key.txt}}\n",
		filepath.Join(dir, "key.txt"):         inFile + "\n",
		filepath.Join(dir, ".env"):            "PASSWORD=" + dotEnv + "\n",
		place.Log():                           `{"level":"ERROR","msg":"cannot","err":"` + envKey + `"}` + "\nnot json " + shaped + "\n",
		place.Transcript("lead", "s1"):        `{"type":"user","message":{"content":"said ` + inFile + ` in private"}}` + "\n",
		filepath.Join(place.Dir, "up.log"):    "up " + inSpec + " " + inURL + "\n",
		place.Home() + "/crashes/crash-1.txt": "covey devel\npanic: " + envKey + "\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	teamtest.WriteJournal(t, place,
		teamtest.Line(1, "", "team_started", `{"goal":"g","members":["lead"]}`),
		teamtest.Line(2, "lead", "warning", `{"text":"the token `+shaped+` and quote\"d-and-br\\oken-0815 leaked"}`),
		teamtest.Line(3, "lead", "tool_result", `{"id":"c1","name":"Read","content":"PASSWORD=`+dotEnv+`"}`))
	teamtest.WriteRun(t, place, func(r *state.RunFile) { r.Spec, r.PID = spec, teamtest.DeadProcess(t) })
	return place, spec, func(args ...string) (string, string, error) {
		var out, errOut bytes.Buffer
		env := cli.New(strings.NewReader(""), &out, &errOut, "devel")
		env.Dir, env.Managed = dir, nil
		cmd := BugReport(env, "covey devel")
		cmd.SetArgs(args)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.ExecuteContext(context.Background())
		return out.String(), errOut.String(), err
	}
}

// unpacked returns the files of a report by name.
func unpacked(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(zipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		data, readErr := io.ReadAll(r)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(h.Name, "covey-bug-report/")] = string(data)
	}
}

// wantNoSecret fails for each secret in a text.
func wantNoSecret(t *testing.T, what, text string) {
	t.Helper()
	for _, secret := range []string{envKey, quotedKey, `quote\"d`, inSpec, inFile, shaped, dotEnv, inURL, inHeader} {
		if strings.Contains(text, secret) {
			t.Errorf("%s holds %q:\n%s", what, secret, text)
		}
	}
}

// TestBugReport: it lists what it would write, writes only what was agreed to, and no secret
// is in it.
func TestBugReport(t *testing.T) {
	place, _, report := brokenTeam(t)
	out, errOut, err := report()
	if cli.ExitCode(err) != cli.ExitUsage || !strings.Contains(err.Error(), "--yes") || out != "" {
		t.Errorf("without a terminal: %q, %v", out, err)
	}
	for _, want := range []string{"version.txt", "doctor.txt", "spec/team.yaml", "journal.jsonl", "bytes  crashes/crash-1.txt"} {
		if !strings.Contains(errOut, want) {
			t.Errorf("the list lacks %s:\n%s", want, errOut)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(place.Workspace, "covey-bug-report*")); len(left) != 0 {
		t.Errorf("it wrote %v", left)
	}
	if out, _, err = report("--yes"); err != nil {
		t.Fatal(err)
	}
	path := strings.TrimSuffix(out, "\n")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 ||
		!strings.HasPrefix(filepath.Base(path), "covey-bug-report-crew-") {
		t.Errorf("it wrote %s, %v", path, err)
	}
	files := unpacked(t, path)
	for name, want := range map[string]string{
		"version.txt": "covey devel\n", "doctor.txt": "ok    spec ", "spec/team.yaml": "A_SECRET: ***",
		"journal.jsonl": "the token *** and *** leaked", "covey.log": `"err":"***"`, "up.log": "up *** ***\n",
		"crashes/crash-1.txt": "panic: ***", "run.json": `"team": "crew"`, "store.txt": "inspect it:",
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s lacks %q:\n%s", name, want, files[name])
		}
		wantNoSecret(t, name, files[name])
		delete(files, name)
	}
	if len(files) != 0 {
		t.Errorf("there is more: %v", files)
	}
}

// TestBugReportWithTranscripts: what was said is there only then, and masked.
func TestBugReportWithTranscripts(t *testing.T) {
	place, _, report := brokenTeam(t)
	to := filepath.Join(place.Workspace, "r.tar.gz")
	if _, _, err := report("--yes", "--out", "r.tar.gz"); err != nil {
		t.Fatal(err)
	}
	if text := unpacked(t, to)["journal.jsonl"]; !strings.Contains(text, `"content":"(33 bytes)","id":"c1","name":"Read"`) {
		t.Errorf("the journal has\n%s", text)
	}
	if _, _, err := report("--yes", "--with-transcripts", "--out", "r.tar.gz"); err == nil ||
		!strings.Contains(err.Error(), "file exists") {
		t.Errorf("it overwrites: %v", err)
	}
	if _, _, err := report("--yes", "--with-transcripts", "--out", "t.tar.gz"); err != nil {
		t.Fatal(err)
	}
	files := unpacked(t, filepath.Join(place.Workspace, "t.tar.gz"))
	if text := files["transcripts/lead/s1.jsonl"]; !strings.Contains(text, "said *** in private") {
		t.Errorf("the transcript has\n%s", text)
	}
	if text := files["journal.jsonl"]; !strings.Contains(text, "PASSWORD=") {
		t.Errorf("the journal has\n%s", text)
	}
}

// TestBugReportOfAnUnreadableSpec leaves the spec out, because its secrets are not known.
func TestBugReportOfAnUnreadableSpec(t *testing.T) {
	place, spec, report := brokenTeam(t)
	if err := os.WriteFile(spec, []byte("covey: 1\nnews: "+inSpec+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := report("--yes", "--out", "r.tar.gz", "crew"); err != nil {
		t.Fatal(err)
	}
	files := unpacked(t, filepath.Join(place.Workspace, "r.tar.gz"))
	if !strings.Contains(files["spec/left-out.txt"], "doctor.txt") || files["spec/team.yaml"] != "" ||
		!strings.Contains(files["doctor.txt"], `unknown key "news"`) {
		t.Errorf("it has %v", files)
	}
	wantNoSecret(t, "doctor.txt", files["doctor.txt"])
}

// TestBugReportWithoutATeam is about the machine alone; a team that is named must be there.
func TestBugReportWithoutATeam(t *testing.T) {
	teamtest.StateHome(t)
	var out, errOut bytes.Buffer
	env := cli.New(strings.NewReader(""), &out, &errOut, "devel")
	env.Dir = t.TempDir()
	b, err := collect(t.Context(), env, "covey devel", false)
	if err != nil || len(b.pieces) != 2 {
		t.Errorf("%+v, %v", b, err)
	}
	env.Team = "nobody"
	if _, err := collect(t.Context(), env, "covey devel", false); !errors.Is(err, state.ErrNoTeam) {
		t.Errorf("a team that is not there: %v", err)
	}
}

// TestEndOfFiles: of a long file, the last whole lines; of what is no file, an error in its
// place.
func TestEndOfFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "long")
	line := strings.Repeat("x", 99) + "\n"
	if err := os.WriteFile(path, []byte("first\n"+strings.Repeat(line, maxPiece/len(line)+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := endOf(path)
	if err != nil || len(text) > maxPiece || len(text)%len(line) != 0 || !strings.HasPrefix(text, "xxx") {
		t.Errorf("%d bytes, %.10q, %v", len(text), text, err)
	}
	b := &bundle{}
	b.addEnd("a folder", dir, asText)
	b.addEnd("nothing", filepath.Join(dir, "nothing"), asText)
	if len(b.pieces) != 1 || !strings.Contains(b.pieces[0].text, "is not a regular file") {
		t.Errorf("%+v", b.pieces)
	}
	if got := asLine(b, `{"seq":18446744073709551615,"type":"x"`); !strings.HasPrefix(got, `{"seq":1844`) {
		t.Errorf("no JSON became %s", got)
	}
}
