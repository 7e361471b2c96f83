package definitions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// retries are the pauses between attempts that fail. A missing right is not granted within seconds.
var retries = wait.Backoff{Duration: 10 * time.Second, Factor: 2, Steps: 7, Cap: 10 * time.Minute}

// Upgrader upgrades the installed definitions once, when the operator is the leader. It does not create missing
// ones.
type Upgrader struct {
	// Client reads and writes without a cache. Its scheme has apiextensions.k8s.io/v1.
	Client client.Client
	Log    logr.Logger
}

// SetupWithManager makes the manager upgrade the definitions.
func SetupWithManager(mgr ctrl.Manager) error {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("registering types: %w", err)
	}
	c, err := client.New(mgr.GetConfig(), client.Options{Scheme: scheme, HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return fmt.Errorf("making a client for definitions: %w", err)
	}
	return mgr.Add(&Upgrader{Client: c, Log: mgr.GetLogger().WithName("definitions")})
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: an older standby replica changes nothing.
func (*Upgrader) NeedLeaderElection() bool { return true }

// Start upgrades the definitions, again until it succeeds or ctx ends.
func (u *Upgrader) Start(ctx context.Context) error {
	pauses := retries
	for {
		err := u.UpgradeAll(ctx)
		if err == nil || ctx.Err() != nil {
			return nil //nolint:nilerr // the operator ends
		}
		pause := pauses.Step()
		u.Log.Error(err, "upgrading the custom resource definitions; --no-upgrade-definitions leaves them to others",
			"nextAttempt", pause.String())
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// UpgradeAll upgrades each installed definition that is ours and older.
func (u *Upgrader) UpgradeAll(ctx context.Context) error {
	all, err := ReadOwn()
	if err != nil {
		return err
	}
	return u.upgradeTo(ctx, all)
}

func (u *Upgrader) upgradeTo(ctx context.Context, all []*apiextensionsv1.CustomResourceDefinition) error {
	var problems []error
	for _, own := range all {
		problems = append(problems, u.upgradeDefinition(ctx, own))
	}
	return errors.Join(problems...)
}

func (u *Upgrader) upgradeDefinition(ctx context.Context, own *apiextensionsv1.CustomResourceDefinition) error {
	installed := &apiextensionsv1.CustomResourceDefinition{}
	if err := u.Client.Get(ctx, client.ObjectKeyFromObject(own), installed); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("reading %s: %w", own.Name, err)
	}
	upgraded, err := Upgrade(installed, own)
	if err != nil || upgraded == nil {
		return err
	}
	if err := u.Client.Update(ctx, upgraded); err != nil { // refused after a write by another program
		return fmt.Errorf("writing %s: %w", own.Name, err)
	}
	u.Log.Info("upgraded a custom resource definition", "name", own.Name,
		"from", installed.Annotations[RevisionAnnotation], "to", own.Annotations[RevisionAnnotation])
	return nil
}
