package process

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/testkit"
)

// hidingVariable makes the test binary a process that hides its memory. It holds a secret.
const hidingVariable = "COVEY_TEST_HIDING"

// TestHidingProcess is not a test: TestHiddenMemory runs it as a process of its own.
func TestHidingProcess(t *testing.T) {
	if os.Getenv(hidingVariable) == "" {
		t.Skip("run by other tests")
	}
	if err := HideMemory(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	// What covey reads of itself and of its children stays readable.
	me, err := Read(os.Getpid())
	_, err2 := childrenOf(os.Getpid())
	files := &fileSearch{link: "nothing", seen: map[int]bool{}, left: maxOpenFiles}
	files.In(os.Getpid())
	fmt.Println("itself:", me.PID == os.Getpid(), err, err2, files.hidden)
	sh := exec.Command("/bin/sh", "-c", "cat /proc/$PPID/environ | tr '\\0' '\\n'; stat -c shown /proc/$PPID/stat; read x")
	sh.Stdout, sh.Stderr = os.Stdout, os.Stdout
	sh.Env = append(os.Environ(), "COVEY_TEST_MARK=1")
	in, err := sh.StdinPipe()
	if err != nil || sh.Start() != nil {
		fmt.Println("no shell", err)
		os.Exit(1)
	}
	// The kernel shows the environment a moment after the program has begun.
	for deadline := time.Now().Add(testPatience); !proc.Carries(sh.Process.Pid, "COVEY_TEST_MARK=1") && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	fmt.Println("its child:", proc.Carries(sh.Process.Pid, "COVEY_TEST_MARK=1"))
	_ = in.Close()
	_ = sh.Wait() // read has met the end of its input
	os.Exit(0)
}

// Another process of the same user cannot read covey's environment, where API keys are.
func TestHiddenMemory(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything; TestWithoutRoot runs this as another user")
	}
	cmd := exec.Command(testkit.Binary(t), "-test.run=^TestHidingProcess$")
	cmd.Env = append(os.Environ(), hidingVariable+"=key-0815")
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	out := string(text)
	for _, want := range []string{"itself: true <nil> <nil> false\n", "Permission denied\n", "shown\n",
		"its child: true\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "key-0815") {
		t.Errorf("the secret was read:\n%s", out)
	}
}

// TestWithoutRoot runs the tests that root cannot fail as another user.
func TestWithoutRoot(t *testing.T) {
	testkit.WithoutRoot(t, "TestHiddenMemory", "TestIdentifyRealProcesses", "TestIdentifyOperator")
}
