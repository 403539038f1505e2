// SPDX-License-Identifier: BSD-3-Clause

// import SRC DST: convert an image with a report, a limit and tries.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

const (
	tries = 5
	limit = time.Hour
)

type progress struct {
	Phase string
	Bytes int64
	Total int64 // 0 if it is not known
}

type result struct {
	Destination string
	DataBytes   int64 `json:"data_bytes"`
}

// show prints a line for each quarter that was read, and for each other phase.
func show(from *os.File) {
	last := ""
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		var p progress
		if json.Unmarshal(lines.Bytes(), &p) != nil {
			continue
		}
		now := p.Phase
		if now == "read" && p.Total > 0 {
			now = fmt.Sprintf("read %d %%", 4*p.Bytes/p.Total*25)
		}
		if now != last {
			fmt.Println(now)
		}
		last = now
	}
}

// convert returns the exit status, the result and the message of one run.
func convert(source, target string) (int, []byte, string) {
	var out, message bytes.Buffer
	read, write, err := os.Pipe()
	if err != nil {
		return 1, nil, err.Error()
	}
	defer read.Close()
	cmd := exec.Command("hone", "convert", "--json", "--progress-json",
		"--progress-fd", "3", "--", source, target)
	cmd.Stdout, cmd.Stderr = &out, &message
	cmd.ExtraFiles = []*os.File{write} // descriptor 3
	err = cmd.Start()
	write.Close()
	if err != nil {
		return 1, nil, err.Error()
	}
	timer := time.AfterFunc(limit, func() {
		cmd.Process.Signal(syscall.SIGTERM)
	})
	show(read)
	cmd.Wait()
	timer.Stop()
	return cmd.ProcessState.ExitCode(), out.Bytes(), message.String()
}

func main() {
	var out []byte
	var message string
	status := 2
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: import SRC DST")
		os.Exit(status)
	}
	for try := 0; try < tries; try++ {
		if try > 0 {
			fmt.Fprint(os.Stderr, "again: ", message)
			time.Sleep(time.Second << uint(try))
		}
		status, out, message = convert(os.Args[1], os.Args[2])
		if status != 4 {
			break
		}
	}
	var made result
	switch {
	case status == 0 && json.Unmarshal(out, &made) == nil:
		fmt.Println(made.Destination, "has", made.DataBytes, "bytes of data")
	case status == 3:
		fmt.Fprint(os.Stderr, "do not use this image: ", message)
	default:
		fmt.Fprint(os.Stderr, message)
	}
	if status < 0 { // a signal ended it
		status = 1
	}
	os.Exit(status)
}
