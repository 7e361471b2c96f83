//go:build e2e

package charts

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // the operator's stand-in warns without a logger
	os.Exit(m.Run())
}
