//go:build !unix

package main

// noSuspend has nothing to do where a program cannot be stopped from the keyboard.
func noSuspend() (resume func()) { return func() {} }
