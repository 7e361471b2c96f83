package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Token is a JSON Web Token of a Slurm user. The operator writes it to a Secret and renews it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=tokens,scope=Namespaced,shortName=tokens;jwt
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="USER",type=string,JSONPath=`.spec.username`,description="The Slurm user of the token"
// +kubebuilder:printcolumn:name="IAT",type=date,JSONPath=`.status.issuedAt`,description="When the token was issued"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type Token struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +optional
	Spec TokenSpec `json:"spec,omitzero"`

	// status is the last observed state. The operator writes it.
	// +optional
	Status TokenStatus `json:"status,omitzero"`
}

// TokenList is a list of Tokens.
//
// +kubebuilder:object:root=true
type TokenList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Token `json:"items"`
}

// TokenSpec is the desired state of a Token.
//
// +kubebuilder:validation:XValidation:rule="has(self.jwtKeyRef) || has(self.jwtHs256KeyRef)",message="jwtKeyRef or jwtHs256KeyRef must be given"
type TokenSpec struct {
	// username is the Slurm user of the token.
	// +required
	Username string `json:"username"`

	// jwtKeyRef is the key of a Secret that contains the key of auth/jwt.
	// +optional
	JWTKeyRef *corev1.SecretKeySelector `json:"jwtKeyRef,omitempty"`

	// jwtHs256KeyRef is the older name of jwtKeyRef. jwtKeyRef takes precedence.
	// +optional
	JWTHS256KeyRef *corev1.SecretKeySelector `json:"jwtHs256KeyRef,omitempty"`

	// lifetime is how long the token is valid, as a Go duration ("1h"). The token is renewed when four
	// fifths of it have passed. If unset, it is 15 minutes.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]*)?(ns|us|µs|ms|s|m|h))+$') && duration(self) > duration('0s')",message="lifetime must be a positive duration, such as 15m"
	Lifetime *metav1.Duration `json:"lifetime,omitempty"`

	// refresh renews the token before it expires. If false, the token is issued once and its Secret is
	// immutable.
	// +optional
	// +kubebuilder:default=true
	Refresh *bool `json:"refresh,omitempty"`

	// secretRef is the key of the Secret to which the token is written. If unset, it is the key SLURM_JWT of
	// the Secret "<name of the Token>-jwt-<username>".
	// +optional
	SecretRef *corev1.SecretKeySelector `json:"secretRef,omitempty"`
}

// TokenStatus is the last observed state of a Token.
type TokenStatus struct {
	// issuedAt is when the token in the Secret was issued. It is absent if none was.
	// +optional
	IssuedAt *metav1.Time `json:"issuedAt,omitempty"`

	// conditions contain Ready and, if fields are ignored, FieldsIgnored.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
