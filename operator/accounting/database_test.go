package accounting

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// TestTheDatabaseIsMovedOnlyWhenConfirmed: slurmdbd keeps its configuration until somebody says that the database was moved.
func TestTheDatabaseIsMovedOnlyWhenConfirmed(t *testing.T) {
	for _, tc := range []struct {
		name, place string
		change      func(*v1beta1.AccountingSpec)
	}{
		{"another host", "other:3306/slurm_acct_db", func(s *v1beta1.AccountingSpec) { s.StorageConfig.Host = "other" }},
		{"another port", "mariadb:3307/slurm_acct_db", func(s *v1beta1.AccountingSpec) { s.StorageConfig.Port = 3307 }},
		{"another database", "mariadb:3306/other", func(s *v1beta1.AccountingSpec) { s.StorageConfig.Database = "other" }},
		{"another database in the user's lines", "mariadb:3306/other",
			func(s *v1beta1.AccountingSpec) { s.ExtraConf = "storageloc=other" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newEnv(t)
			e.reconcile(v1beta1.ConditionReady)
			conf := func() string {
				config := &corev1.ConfigMap{}
				if err := e.get("acct-accounting-config", config); err != nil {
					t.Fatal(err)
				}
				return config.Data["slurmdbd.conf"]
			}
			before := conf()
			e.change(tc.change)
			if c := e.reconcile(v1beta1.ConditionReady); c.Reason != v1beta1.ReasonStateElsewhere ||
				!strings.Contains(c.Message, "state-moved="+tc.place) || conf() != before {
				t.Errorf("Ready is %+v, and slurmdbd.conf is\n%s", c, conf())
			}
			a := &v1beta1.Accounting{}
			if err := e.get("acct", a); err != nil {
				t.Fatal(err)
			}
			a.Annotations = map[string]string{v1beta1.AnnotationStateMoved: tc.place}
			if err := e.store.Update(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			if c := e.reconcile(v1beta1.ConditionReady); c.Reason == v1beta1.ReasonStateElsewhere || databaseIn(conf()) != tc.place {
				t.Errorf("confirmed, Ready is %+v, and slurmdbd.conf is\n%s", c, conf())
			}
		})
	}
}

// TestTheFirstDatabaseNeedsNoConfirmation where there was no host before.
func TestTheFirstDatabaseNeedsNoConfirmation(t *testing.T) {
	e := newEnv(t)
	e.change(func(s *v1beta1.AccountingSpec) { s.StorageConfig.Host = "" })
	e.reconcile(v1beta1.ConditionReady)
	e.change(func(s *v1beta1.AccountingSpec) { s.StorageConfig.Host = "mariadb" })
	if c := e.reconcile(v1beta1.ConditionReady); c.Reason == v1beta1.ReasonStateElsewhere {
		t.Errorf("Ready is %+v", c)
	}
}

// TestOtherChangesOfSlurmdbdNeedNoConfirmation: the user, the password and everything else is no other place.
func TestOtherChangesOfSlurmdbdNeedNoConfirmation(t *testing.T) {
	e := newEnv(t)
	e.reconcile(v1beta1.ConditionReady)
	e.change(func(s *v1beta1.AccountingSpec) {
		s.StorageConfig.Username, s.StorageConfig.Port, s.ExtraConf = "other", 3306, "DebugLevel=debug"
		s.StorageConfig.Database = "slurm_acct_db"
	})
	if c := e.reconcile(v1beta1.ConditionReady); c.Reason == v1beta1.ReasonStateElsewhere {
		t.Errorf("Ready is %+v", c)
	}
}
