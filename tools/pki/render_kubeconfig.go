package main

import "encoding/json"

// renderKubeconfig returns a self-contained kubeconfig in JSON, which is also YAML.
func renderKubeconfig(server string, ca, user identity) ([]byte, error) {
	key, err := keyPEM(user.key)
	if err != nil {
		return nil, err
	}
	// Bytes become base64, as kubeconfigs want it.
	type object = map[string]any
	const name = "slurmtide"
	return json.MarshalIndent(object{
		"apiVersion":      "v1",
		"kind":            "Config",
		"current-context": name,
		"clusters": []object{{"name": name, "cluster": object{
			"server": server, "certificate-authority-data": certificatePEM(ca.certificate),
		}}},
		"users": []object{{"name": user.certificate.Subject.CommonName, "user": object{
			"client-certificate-data": certificatePEM(user.certificate), "client-key-data": key,
		}}},
		"contexts": []object{{"name": name, "context": object{
			"cluster": name, "user": user.certificate.Subject.CommonName,
		}}},
	}, "", "  ")
}
