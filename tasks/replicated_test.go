package tasks

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/coveyteam/covey/tasks/replica"
	"github.com/coveyteam/covey/tasks/store"
)

// replicatedVariable says that the tests of this package open stores that are copies of a log:
//
//	COVEY_REPLICATED=1 go test ./tasks -short
//
// Processes that tests start find the server's address in it.
const replicatedVariable = "COVEY_REPLICATED"

// ofTheFile are the tests of what happens to the file, which say nothing about a copy.
var ofTheFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^Test(Restore|Unfinished|MissingAndCutPayload|ReadersWhilePayloadsGo|NoBackupToRestore|LogGivesBackAll|TornLog|GapInTheLog|" +
		"OlderCopy|ReadBackups|DamageIsNotCopied|ForeignStore|OutlineTakesLittle|LyingDisk|CloseUnderLoad|LogProperty)")
})

// oneServer returns the address of the server of these tests, which ends with the first process.
var oneServer = sync.OnceValues(func() (string, error) {
	if url := os.Getenv(replicatedVariable); url != "1" {
		return url, nil
	}
	dir, err := os.MkdirTemp("", "covey-server-")
	if err != nil {
		return "", err
	}
	s, err := server.NewServer(&server.Options{ServerName: "one", Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: dir,
		JetStreamMaxStore: 1 << 50, // which streams reserve in vain
		NoSigs:            true, NoLog: true})
	if err != nil {
		return "", err
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		return "", errors.New("the server does not start")
	}
	return s.ClientURL(), os.Setenv(replicatedVariable, s.ClientURL())
})

// replicate makes the store at path a copy of a log, if the tests are to run so.
func replicate(t testing.TB, path string, opts *Options) {
	t.Helper()
	if opts.ReadOnly || opts.Replica != nil || ofTheFile().MatchString(t.Name()) {
		return
	}
	done, err := lead(path, opts)
	if err != nil {
		t.Fatal("replicate: ", err)
	}
	t.Cleanup(done)
}

// lead makes this process the coordinator of the store at path, if the tests are to run so. done
// forgets the log.
func lead(path string, opts *Options) (done func(), err error) {
	if os.Getenv(replicatedVariable) == "" {
		return func() {}, nil
	}
	url, err := oneServer()
	if err != nil {
		return nil, err
	}
	team := fmt.Sprintf("t%08x", crc32.ChecksumIEEE([]byte(path)))
	link, err := replica.Connect(replica.Config{Team: team, URL: []string{url}, Unsafe: true, OnError: func(error) {}})
	if err != nil {
		return nil, err
	}
	journal := filepath.Join(os.TempDir(), team+".jsonl") // not beside the store, where tests look for what is left
	d, err := link.Lead(context.Background(), replica.Candidate{
		Holder: path, Store: path, Journal: journal, Prepare: func(r store.Replica) error {
			s, err := Open(path, &Options{Replica: r, BlobDir: opts.BlobDir, LockTimeout: time.Minute, Backups: opts.Backups})
			if err != nil {
				return err
			}
			return s.Close()
		},
	}, false)
	if err != nil {
		return nil, err
	}
	opts.Replica = d.Log
	return func() {
		link.Close()
		_ = os.Remove(journal)
		nc, err := nats.Connect(url)
		if err != nil {
			return
		}
		defer nc.Close()
		for _, stream := range []string{"covey_" + team, "covey_" + team + "_journal", "OBJ_covey_" + team} {
			_, _ = nc.Request("$JS.API.STREAM.DELETE."+stream, nil, time.Minute)
		}
	}, nil
}
