package crew_test

import (
	"fmt"
	"net"
	"os"
)

// listenVariable makes the test binary a server that nobody calls.
const listenVariable = "COVEY_TEST_LISTEN"

// listen listens on a port until a signal ends the process.
func listen() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_, _ = l.Accept()
	return 0
}
