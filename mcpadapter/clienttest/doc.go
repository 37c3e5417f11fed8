// Package clienttest drives the MCP face with clients that reeve did not write:
// the official Go and TypeScript SDKs and the MCP Inspector, in both eras of the
// protocol. It has tests only.
//
// The TypeScript clients and the Inspector come from npm and want Node.js 22,
// which the lock file brings along:
//
//	npm ci --prefix mcpadapter/clienttest
//
// Without them their tests are skipped, except under CI=true.
package clienttest
