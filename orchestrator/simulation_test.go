package orchestrator_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
)

// A seeded simulation: whole teams of scripted members in this process, with
// faults that are drawn from the seed. What a crash leaves is an image of the state
// folder, taken between two transactions of the store while all else goes on; the
// next life begins with the image, and knows nothing of what came after it.
//
// It is no synctest bubble: the time of one moves only when all in it wait for each other,
// and here they wait for files, for a control socket and for the server of the bus, which
// are the very things that are tried. What would take minutes has a short wait instead.
var (
	simSeed   = flag.Uint64("seed", 0, "simulate this seed alone")
	simRounds = flag.Int("rounds", 0, "how many seeds to simulate; 0: as many as are quick")
	simFloods = flag.Bool("floods", false, "have the disk of the store be full at times as well; for a process of its own")
)

// simSeeds is how many seeds every test run simulates.
const simSeeds = 20

// simFaults are the faults of one simulation.
type simFaults struct {
	random  *rand.Rand
	crashes int           // lives that end by a crash
	slow    time.Duration // most that a hook takes
	refuse  int           // of 100 gates
	full    int           // of 100 writes to the journal find the disk full
	jumps   time.Duration // most that the clocks of the store and the crew jump, to and fro
	lost    int           // of 100 wake-ups of the crew
	floods  int           // how often the whole disk is full for a moment
}

// drawFaults draws faults that leave a team able to come to its end.
func drawFaults(random *rand.Rand) *simFaults {
	f := &simFaults{random: random, crashes: random.IntN(5)}
	if random.IntN(2) == 0 {
		f.slow = time.Duration(random.IntN(3)) * time.Millisecond
	}
	if random.IntN(2) == 0 {
		f.refuse = random.IntN(50)
	}
	if random.IntN(8) == 0 {
		f.full = 1
	}
	if random.IntN(2) == 0 {
		f.jumps = time.Duration(random.IntN(72)) * time.Hour
	}
	if random.IntN(4) == 0 {
		f.lost = 10 + random.IntN(91)
	}
	if *simFloods {
		f.floods = 1 + random.IntN(3)
	}
	return f
}

// simulation is a team with its faults.
type simulation struct {
	t      *testing.T
	seed   uint64
	team   *configs.Team
	tasks  int // that the spec brings
	place  state.Place
	faults *simFaults
	harm   func(store string) error // done to each image; nil: nothing. A fault that must be found

	mu      sync.Mutex // guards random, which hooks and the store's clock share
	random  *rand.Rand
	refused map[string]int // by task
}

// draw is a number below n of the faults' sequence.
func (s *simulation) draw(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

// newSimulation makes the team of a seed.
func newSimulation(t *testing.T, seed uint64) *simulation {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 20261121))
	files, n := simTeam(random)
	r := teamtest.NewRig(t, files)
	if fast := "/dev/shm"; isDir(fast) { // what a crash leaves is drawn, so no disk has to be waited for
		dir, err := os.MkdirTemp(fast, "covey-sim")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		r.Home = dir
	}
	team, err := configs.Load(filepath.Join(r.Dir, "team.yaml"))
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	return &simulation{
		t: t, seed: seed, team: team, tasks: n, place: r.Place(), random: random, faults: drawFaults(random), refused: map[string]int{},
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// errSimCrash is why a life ends that is to leave its image.
var errSimCrash = errors.New("the simulation has taken its image")

// run takes the team through its lives, and says what is wrong with what they left.
func (s *simulation) run() error {
	for life := 0; ; life++ {
		crashAt := 0 // never
		if life < s.faults.crashes {
			crashAt = 1 + s.draw(60)
		}
		floods := s.faults.floods
		e, crashed, err := s.live(crashAt)
		switch {
		case s.faults.floods < floods && !crashed && (isFullDisk(err) || err == nil && e.Code != orchestrator.CodeDone):
			continue // it has ended for want of room, and there is room again
		case err != nil:
			return fmt.Errorf("life %d: %w", life+1, err)
		case crashed:
			continue
		case e.Code != orchestrator.CodeDone:
			return fmt.Errorf("life %d ended with %d: %s", life+1, e.Code, e.Reason)
		}
		return s.judge()
	}
}

// live is one life of the team. When the store begins its transaction number
// crashAt, an image is taken, and what the life does afterwards counts for nothing.
func (s *simulation) live(crashAt int) (e orchestrator.Ending, crashed bool, err error) {
	if err := s.place.Create(); err != nil {
		return e, false, err
	}
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	late, release := context.WithTimeout(ctx, testkit.Patience)
	defer release()
	image := filepath.Join(filepath.Dir(s.place.Dir), "image")
	begun := 0
	var imaged error
	store, err := tasks.Open(s.place.Store(), &tasks.Options{BlobDir: s.place.Blobs(), Now: func() time.Time {
		if begun++; begun == crashAt { // the committer waits here, before it writes anything
			fileLimit(s.t, 0) // the image is not on that disk
			imaged = takeImage(s.place.Dir, image)
			crashed = true
			stop(errSimCrash)
		}
		s.flood()
		return s.now()
	}})
	if err != nil {
		return e, false, err
	}
	faulty := orchestrator.Overrides{Clock: members.Clock{TimeNow: s.now},
		JournalFile: func(f state.JournalFile) state.JournalFile { return &scarceDisk{JournalFile: f, s: s} }}
	if s.faults.lost > 0 {
		faulty.LosesPoke, faulty.Clock.TimeAfter = func() bool { return s.draw(100) < s.faults.lost }, hurriedWatchdog
	}
	o, newErr := orchestrator.New(s.team, orchestrator.Options{StateHome: s.place.Home(), Hooks: s.gates(), Overrides: faulty})
	if newErr != nil {
		return e, false, errors.Join(newErr, store.Close())
	}
	e, runErr := o.RunWith(late, store)
	fileLimit(s.t, 0)
	if closeErr := store.Close(); closeErr != nil {
		return e, crashed, closeErr
	}
	if crashed {
		return e, true, errors.Join(imaged, s.restore(image))
	}
	if late.Err() != nil && e.Code != orchestrator.CodeDone {
		return e, false, errors.New("the team hangs: it has come to no end in 20 s")
	}
	return e, false, runErr
}

// takeImage copies the files of a state folder, in the order of their names: the
// journal, the store, the transcripts. Nobody changes the store meanwhile. The
// journal and the transcripts may grow, as they may between a commit and a crash:
// no line is lost that the store knows to be there.
func takeImage(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(from, path)
		if err := errors.Join(err, relErr); err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o700)
		case !d.Type().IsRegular(): // the socket
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o600)
	})
}

// restore puts an image in place of what the life has left.
func (s *simulation) restore(image string) error {
	err := errors.Join(os.RemoveAll(s.place.Dir), os.Rename(image, s.place.Dir))
	if err == nil && s.harm != nil {
		err = s.harm(s.place.Store())
	}
	return err
}

// now is the store's clock, which jumps.
func (s *simulation) now() time.Time {
	jump := time.Duration(0)
	if s.faults.jumps > 0 {
		jump = time.Duration(s.draw(int(2*s.faults.jumps/time.Second)))*time.Second - s.faults.jumps
	}
	return time.Now().Add(jump)
}

// gates are hooks on the end of tasks and turns, slow ones, which refuse now and
// then.
func (s *simulation) gates() *hooks.Registry {
	r := &hooks.Registry{}
	for _, event := range []hooks.Event{hooks.TaskCompleted, hooks.TeammateIdle, hooks.Stop} {
		if _, err := r.On(event, "", func(_ context.Context, in hooks.Input) (hooks.Answer, error) {
			if s.faults.slow > 0 {
				time.Sleep(time.Duration(s.draw(int(s.faults.slow))))
			}
			if p, ok := in.Payload.(hooks.TaskCompletedInput); ok && s.draw(100) < s.faults.refuse &&
				s.mayRefuse(p.TaskID) {
				return hooks.Answer{Decision: hooks.Block, Reason: "not yet"}, nil
			}
			return hooks.Answer{}, nil
		}); err != nil {
			s.t.Fatal(err)
		}
	}
	return r
}

// mayRefuse lets a task be refused twice: after three reminders in vain its owner
// would rightly need attention.
func (s *simulation) mayRefuse(task string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[task]++
	return s.refused[task] <= 2
}

// scarceDisk is a journal on a disk that is full at times.
type scarceDisk struct {
	state.JournalFile
	s *simulation
}

// WriteAt writes a part of p, or nothing, when the disk is full.
func (d *scarceDisk) WriteAt(p []byte, off int64) (int, error) {
	if d.s.faults.full == 0 || d.s.draw(100) >= d.s.faults.full {
		return d.JournalFile.WriteAt(p, off)
	}
	n, err := d.JournalFile.WriteAt(p[:d.s.draw(len(p))], off)
	return n, errors.Join(err, &os.PathError{Op: "write", Path: "journal.jsonl", Err: syscall.ENOSPC})
}

// hurriedWatchdog is time.After, save that the watchdog goes its rounds a hundred times
// a second: it is what makes up for wake-ups that are lost.
func hurriedWatchdog(d time.Duration) <-chan time.Time {
	if d == members.WatchInterval {
		d = 10 * time.Millisecond
	}
	return time.After(d)
}

// flood has the disk be full now and then, for the store and all other files: this
// process may write no further into any than a page, for some milliseconds. The store's
// next transaction is about to begin.
func (s *simulation) flood() {
	if s.faults.floods == 0 || s.draw(40) > 0 {
		return
	}
	s.faults.floods--
	fileLimit(s.t, 4096)
	time.AfterFunc(time.Duration(1+s.draw(30))*time.Millisecond, func() { fileLimit(s.t, 0) })
}

// TestSimulation simulates one seed after the other.
func TestSimulation(t *testing.T) {
	t.Parallel()
	first, rounds := uint64(1), simSeeds
	switch {
	case *simSeed > 0:
		first, rounds = *simSeed, 1
	case *simRounds > 0:
		rounds = *simRounds
	case *teamtest.AllRounds:
		rounds = 4 * simSeeds
	case testing.Short():
		rounds = simSeeds / 2
	}
	crashes := 0
	for seed := first; seed < first+uint64(rounds); seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s := newSimulation(t, seed)
			crashes += s.faults.crashes
			if err := s.run(); err != nil {
				t.Error(s.complaint(err))
			}
		})
		if t.Failed() && *simRounds == 0 {
			break // one is enough to look at
		}
	}
	t.Logf("%d crashes", crashes)
}

// complaint is a failure with the one command that repeats it.
func (s *simulation) complaint(err error) string {
	more := ""
	if *simFloods {
		more = " -floods"
	}
	return fmt.Sprintf("%v\nfaults: %+v\nrepeat with: go test ./orchestrator -run 'TestSimulation$' -seed=%d%s", err, *s.faults, s.seed, more)
}

// TestSimulationRepeats: the command that a failure prints draws the same team and the
// same faults, and names what is there.
func TestSimulationRepeats(t *testing.T) {
	t.Parallel()
	first, again := newSimulation(t, 7), newSimulation(t, 7)
	first.faults.random, again.faults.random = nil, nil
	if *first.faults != *again.faults || first.tasks != again.tasks || first.draw(1<<30) != again.draw(1<<30) {
		t.Errorf("seed 7 draws %+v and %+v", first.faults, again.faults)
	}
	said := first.complaint(errors.New("boom"))
	if !strings.HasPrefix(said, "boom\n") || !strings.HasSuffix(said, "-run 'TestSimulation$' -seed=7") ||
		flag.Lookup("seed") == nil {
		t.Errorf("a failure says %q", said)
	}
}

// TestSimulationOfAFullDisk has a process of its own simulate teams on a disk that is full
// now and then, for the store too: the limit that stands for it binds a whole process.
func TestSimulationOfAFullDisk(t *testing.T) {
	t.Parallel()
	rounds := "-rounds=6"
	if *simRounds > 0 {
		rounds = fmt.Sprintf("-rounds=%d", *simRounds)
	}
	out, err := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "TestSimulation$", "-floods",
		rounds).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestAllWakeUpsLost: when nothing ever wakes the crew, its members get their mail and
// their tasks by the watchdog's rounds alone.
func TestAllWakeUpsLost(t *testing.T) {
	t.Parallel()
	s := newSimulation(t, 3)
	*s.faults = simFaults{random: s.faults.random, lost: 100}
	begun := time.Now()
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d tasks in %v", s.tasks, time.Since(begun))
}

// A store that forgets its receipts makes calls happen twice after a crash. The
// simulation must find that, or it would find nothing.
func TestSimulationFindsLostReceipts(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= 60; seed++ {
		s := newSimulation(t, seed)
		s.faults.crashes, s.faults.refuse, s.faults.full = 4, 0, 0
		s.harm = func(path string) error {
			return emptied(path, "receipts", "calls")
		}
		if err := s.run(); err != nil {
			t.Logf("found with seed %d: %v", seed, err)
			return
		}
	}
	t.Error("60 simulations without receipts were taken for sound")
}

// emptied empties buckets of a store.
func emptied(path string, buckets ...string) error {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: testkit.Patience, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, name := range buckets {
			if err := tx.DeleteBucket([]byte(name)); err != nil {
				return err
			}
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, db.Close())
}
