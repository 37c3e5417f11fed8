package operatortest

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"os/user"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/lib/pq"
)

// postgresDatabase lends the test an empty database on the server of postgresServer.
func postgresDatabase(t testing.TB) string {
	t.Helper()
	server := postgresServer(t)
	name, err := databases.take(server)
	if err != nil {
		t.Fatalf("make a test database: %v", err)
	}
	t.Cleanup(func() {
		if err := databases.giveBack(server, name); err != nil {
			t.Logf("test database %s is not used again: %v", name, err)
		}
	})
	return named(server, name)
}

// named is a server's URL with another database.
func named(server, database string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server // it answered, so this does not happen
	}
	u.Path = "/" + database
	return u.String()
}

var cluster struct {
	once   sync.Once
	server string
	reason string
}

// postgresServer finds a PostgreSQL: $REEVE_TEST_POSTGRES, else one that listens
// on 127.0.0.1:5432, else a throw-away cluster of the local binaries. With none
// of these the test is skipped, and under CI=true it fails.
func postgresServer(t testing.TB) string {
	t.Helper()
	cluster.once.Do(func() { cluster.server, cluster.reason = findPostgres() })
	if cluster.server != "" {
		return cluster.server
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("no PostgreSQL to test on: %s", cluster.reason)
	}
	t.Skipf("no PostgreSQL to test on: %s", cluster.reason)
	return ""
}

func findPostgres() (server, reason string) {
	if given := os.Getenv("REEVE_TEST_POSTGRES"); given != "" {
		if err := answers(given); err != nil {
			return "", "REEVE_TEST_POSTGRES is set, but: " + err.Error()
		}
		return given, ""
	}
	tried := []string{}
	for _, who := range []string{"postgres", currentUser()} {
		standard := "postgres://" + who + "@127.0.0.1:5432/postgres?sslmode=disable"
		err := answers(standard)
		if err == nil {
			return standard, ""
		}
		tried = append(tried, err.Error())
	}
	server, err := ownCluster()
	if err != nil {
		return "", strings.Join(append(tried, err.Error()), "; ")
	}
	return server, ""
}

func currentUser() string {
	u, err := user.Current()
	if err != nil {
		return "postgres"
	}
	return u.Username
}

func answers(server string) error {
	db, err := sql.Open("postgres", server)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return db.PingContext(ctx)
}
