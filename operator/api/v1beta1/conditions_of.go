package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ConditionsOf returns the conditions of the Accounting, which may be changed.
func (a *Accounting) ConditionsOf() *[]metav1.Condition { return &a.Status.Conditions }

// ConditionsOf returns the conditions of the Cluster, which may be changed.
func (c *Cluster) ConditionsOf() *[]metav1.Condition { return &c.Status.Conditions }

// ConditionsOf returns the conditions of the Controller, which may be changed.
func (c *Controller) ConditionsOf() *[]metav1.Condition { return &c.Status.Conditions }

// ConditionsOf returns the conditions of the LoginSet, which may be changed.
func (l *LoginSet) ConditionsOf() *[]metav1.Condition { return &l.Status.Conditions }

// ConditionsOf returns the conditions of the NodeSet, which may be changed.
func (n *NodeSet) ConditionsOf() *[]metav1.Condition { return &n.Status.Conditions }

// ConditionsOf returns the conditions of the RestApi, which may be changed.
func (r *RestApi) ConditionsOf() *[]metav1.Condition { return &r.Status.Conditions }

// ConditionsOf returns the conditions of the Token, which may be changed.
func (t *Token) ConditionsOf() *[]metav1.Condition { return &t.Status.Conditions }
