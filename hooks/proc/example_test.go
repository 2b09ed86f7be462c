//go:build unix

package proc_test

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/coveyteam/covey/hooks/proc"
)

// A process is ended with everything that it started.
func ExampleProcess_Run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out, stdout := io.Pipe()
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		fmt.Print(line)
		cancel()
	}()
	exit, err := proc.Process{Args: []string{"/bin/sh", "-c", "echo waiting; sleep 600"}, Stdout: stdout}.Run(ctx)
	fmt.Println(exit.Code, exit.Signal, exit.Stopped, err)
	// Output:
	// waiting
	// -1 terminated true <nil>
}
