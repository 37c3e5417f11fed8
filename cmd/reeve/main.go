// Command reeve lets an autonomous agent work for people under enumerated
// powers. It serves the agent's tools over MCP and REST, shows a person what
// waits and takes their decision, and carries out what was approved.
//
// This package composes the others and holds no rules of its own: one file per
// subcommand, each of which reads its flags and calls the library.
package main

import (
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], console{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}
