//go:build !unix

package operatortest

import "errors"

func ownCluster() (string, error) {
	return "", errors.New("a cluster of its own is only started on Unix")
}
