package main

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// defaultListen is where a server listens when nothing else is said: on loopback,
// out of everybody else's reach.
const defaultListen = "127.0.0.1:3401"

// baseURL is where a client on this machine reaches a server that listens there.
func baseURL(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", usagef("--listen is an address and a port, such as %s", defaultListen)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port), nil
}

// onLoopback says whether only this machine reaches an address.
func onLoopback(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// occupy takes the address, so that a second server is refused before it makes
// or changes anything. flag is what named it.
func occupy(flag, listen string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(listen); err != nil {
		return nil, usagef("%s is an address and a port, such as %s", flag, defaultListen)
	}
	l, err := net.Listen("tcp", listen)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("another program listens on %s already: stop it, or choose another address with %s", listen, flag)
	case err != nil:
		return nil, fmt.Errorf("reeve cannot listen on %s (%w): choose another address with %s", listen, cause(err), flag)
	}
	return l, nil
}
