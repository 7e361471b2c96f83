//go:build e2e

package charts

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slurmtide/slurmtide/operator/accounting"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/controller"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
	"github.com/slurmtide/slurmtide/operator/loginset"
	"github.com/slurmtide/slurmtide/operator/restapi"
)

// newReconciler returns the operator's reconciler of an object, and nil for kinds that no reconciler here has.
func newReconciler(o client.Object, store *kubetest.Store) reconcile.Reconciler {
	readAgent := func(context.Context, string) (configagent.Status, error) {
		return configagent.Status{}, errors.New("there are no pods")
	}
	recorder := events.NewFakeRecorder(100)
	switch o.(type) {
	case *v1beta1.Controller:
		return controller.New(store, store, readAgent, recorder, time.Now, controller.Config{Image: "slurmctld:1", AgentImage: "agent:1"})
	case *v1beta1.Accounting:
		return accounting.New(store, store, readAgent, recorder, time.Now, accounting.Config{Image: "slurmdbd:1", AgentImage: "agent:1"})
	case *v1beta1.RestApi:
		return restapi.New(store, store, recorder, time.Now, restapi.Config{Image: "slurmrestd:1", AgentImage: "agent:1"})
	case *v1beta1.LoginSet:
		return loginset.New(store, store, readAgent, recorder, time.Now, loginset.Config{Image: "login:1", AgentImage: "agent:1"})
	}
	return nil
}

// askReconcilers has the operator's own reconcilers observe and render what a chart has rendered, and returns what they say against it.
func askReconcilers(t *testing.T, text string) map[string]string {
	t.Helper()
	out := map[string]string{}
	count := len(readObjects(t, text))
	for at := range count {
		all := readObjects(t, text) // a store changes its objects
		owner := all[at]
		others := append(append([]client.Object{}, all[:at]...), all[at+1:]...)
		others = append(others, missingReferences(all)...)
		others = append(others, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", UID: "uid-team"}})
		store := kubetest.NewStore(t, owner, others...)
		reconciler := newReconciler(owner, store)
		if reconciler == nil {
			continue
		}
		name := owner.GetObjectKind().GroupVersionKind().Kind + " " + owner.GetName()
		for range 2 { // the first may only mark the object
			if _, err := reconciler.Reconcile(t.Context(), kubetest.Request(owner.GetName())); err != nil {
				out[name] = err.Error()
			}
		}
		if err := store.Get(t.Context(), client.ObjectKeyFromObject(owner), owner); err != nil {
			t.Fatal(err)
		}
		ready := meta.FindStatusCondition(*conditionsOf(owner), v1beta1.ConditionReady)
		switch {
		case ready == nil:
			out[name] = "there is no condition Ready"
		case ready.Reason != v1beta1.ReasonProgressing && ready.Reason != v1beta1.ReasonExternal && ready.Reason != v1beta1.ReasonAvailable:
			out[name] = ready.Reason + ": " + ready.Message
		}
	}
	return out
}

// conditionsOf returns the conditions of an object of the operator.
func conditionsOf(o client.Object) *[]metav1.Condition {
	switch o := o.(type) {
	case *v1beta1.Controller:
		return &o.Status.Conditions
	case *v1beta1.Accounting:
		return &o.Status.Conditions
	case *v1beta1.RestApi:
		return &o.Status.Conditions
	case *v1beta1.LoginSet:
		return &o.Status.Conditions
	}
	return &[]metav1.Condition{}
}

// readObjects returns the objects of the operator and those that they refer to, each with a UID.
func readObjects(t *testing.T, text string) []client.Object {
	t.Helper()
	var out []client.Object
	for i, o := range decodeObjects(t, text) {
		switch o := o.(type) {
		case *v1beta1.Controller, *v1beta1.Accounting, *v1beta1.RestApi, *v1beta1.LoginSet, *v1beta1.NodeSet, *corev1.ConfigMap:
			object, _ := o.(client.Object)
			object.SetUID(types.UID("uid-" + strconv.Itoa(i)))
			object.SetGeneration(1)
			out = append(out, object)
		case *corev1.Secret:
			o.Data = map[string][]byte{}
			for key, value := range o.StringData {
				o.Data[key] = []byte(value)
			}
			o.StringData = nil
			out = append(out, o)
		}
	}
	return out
}

// missingReferences returns the Secrets and ConfigMaps that users bring: keys, passwords, key sets and scripts.
func missingReferences(all []client.Object) []client.Object {
	has := map[string]bool{}
	for _, o := range all {
		has[o.GetObjectKind().GroupVersionKind().Kind+" "+o.GetName()] = true
	}
	secrets, configMaps := map[string]map[string][]byte{}, map[string]map[string]string{}
	needSecret := func(ref *corev1.SecretKeySelector) {
		if ref != nil && ref.Name != "" && !has["Secret "+ref.Name] {
			if secrets[ref.Name] == nil {
				secrets[ref.Name] = map[string][]byte{}
			}
			secrets[ref.Name][ref.Key] = []byte("secret")
		}
	}
	for _, o := range all {
		switch o := o.(type) {
		case *v1beta1.Controller:
			needSecret(o.Spec.SlurmKeyRef)
			needSecret(o.Spec.JWTKeyRef)
			needSecret(o.Spec.SSSDConfRef)
			if ref := o.Spec.JWKSKeyRef; ref != nil {
				configMaps[ref.Name] = map[string]string{ref.Key: `{"keys":[{"kty":"oct","kid":"a","k":"c2VjcmV0","alg":"HS256"}]}`}
			}
			for _, refs := range [][]corev1.LocalObjectReference{o.Spec.ConfigFileRefs, o.Spec.PrologScriptRefs, o.Spec.EpilogScriptRefs,
				o.Spec.PrologSlurmctldScriptRefs, o.Spec.EpilogSlurmctldScriptRefs} {
				for _, ref := range refs {
					if !has["ConfigMap "+ref.Name] {
						configMaps[ref.Name] = map[string]string{ref.Name: "#!/bin/sh\ntrue\n"}
					}
				}
			}
		case *v1beta1.Accounting:
			needSecret(o.Spec.SlurmKeyRef)
			needSecret(o.Spec.JWTKeyRef)
			if o.Spec.StorageConfig != nil {
				needSecret(&o.Spec.StorageConfig.PasswordKeyRef)
			}
		case *v1beta1.LoginSet:
			needSecret(o.Spec.SSSDConfRef)
		}
	}
	var out []client.Object
	for name, data := range maps.All(secrets) {
		out = append(out, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data})
	}
	for name, data := range maps.All(configMaps) {
		out = append(out, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data})
	}
	return out
}

// TestTheOperatorAcceptsWhatChartsRender: the golden files, and what the values of Slinky's chart make.
func TestTheOperatorAcceptsWhatChartsRender(t *testing.T) {
	goldens, err := filepath.Glob(filepath.Join("testdata", "*", "*.golden.yaml"))
	if err != nil || len(goldens) == 0 {
		t.Fatalf("%d goldens, %v", len(goldens), err)
	}
	judgedObjects := 0
	for _, file := range goldens {
		text := string(readFile(t, file))
		judgedObjects += strings.Count(text, "\napiVersion: slinky.slurm.net/")
		for object, verdict := range askReconcilers(t, text) {
			t.Errorf("%s: %s: %s", file, object, verdict)
		}
	}
	if judgedObjects == 0 {
		t.Error("the goldens have no objects of the operator")
	}
}
