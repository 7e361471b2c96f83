// Package certs keeps the serving certificate of a server that the API server
// connects to (an aggregated API, webhooks) without cert-manager: a CA and a
// certificate in one Secret, which all replicas share.
//
// plan decides, purely, what has to be made anew; issue makes it; Keeper reads and
// writes the Secret, hands the certificate to the server while that runs, and has the
// CA announced to those that connect. A certificate is renewed when two thirds of its
// life have passed. A new CA is announced beside the old one, so that replicas which
// have not looked yet go on being trusted.
package certs
