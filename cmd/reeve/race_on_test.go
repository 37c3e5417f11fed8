//go:build race

package main

// raced says that the tests run under the race detector, which the program that they
// start does not.
const raced = true
