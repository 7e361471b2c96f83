package access

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// ReadFiles reads the files of the ConfigMaps that a field names. The error is *problem.Error if a ConfigMap is missing or
// has binary data, or if two have different files of one name.
func ReadFiles(ctx context.Context, reader client.Reader, namespace, field string,
	configMaps []corev1.LocalObjectReference) (map[string]string, error) {
	out := map[string]string{}
	for _, ref := range configMaps {
		config := &corev1.ConfigMap{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, config)
		switch {
		case apierrors.IsNotFound(err):
			return nil, problem.New(v1beta1.ReasonReferenceNotFound, "%s: there is no ConfigMap %s", field, ref.Name)
		case err != nil:
			return nil, fmt.Errorf("reading ConfigMap %s: %w", ref.Name, err)
		case len(config.BinaryData) > 0:
			return nil, problem.New(v1beta1.ReasonInvalidSpec, "%s: ConfigMap %s has binary data; Slurm's files are text",
				field, ref.Name)
		}
		for _, file := range slices.Sorted(maps.Keys(config.Data)) {
			if other, has := out[file]; has && other != config.Data[file] {
				return nil, problem.New(v1beta1.ReasonInvalidSpec, "%s: two ConfigMaps have different files %s", field, file)
			}
			out[file] = config.Data[file]
		}
	}
	return out, nil
}

// ReadIncludes reads the files that spec.extraConf of a Controller may include. Without an Include it reads nothing. It
// returns the errors of ReadFiles.
func ReadIncludes(ctx context.Context, reader client.Reader, c *v1beta1.Controller) (map[string]string, error) {
	if !slices.ContainsFunc(slurmconf.ParseSettings(c.Spec.ExtraConf), slurmconf.Setting.IsInclude) {
		return map[string]string{}, nil
	}
	return ReadFiles(ctx, reader, c.Namespace, "spec.configFileRefs of Controller "+c.Name, c.Spec.ConfigFileRefs)
}
