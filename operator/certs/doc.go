// Package certs maintains the serving certificate of a server that the API server connects to (an
// aggregated API, webhooks) without cert-manager. A CA and a certificate are in one Secret, which all
// replicas share.
//
// planRenewal decides what to renew and is pure; issueCertificates creates it. A Rotator reads and
// writes the Secret, passes the certificate to the running server, and announces the CA to the
// clients. A certificate is renewed when two thirds of its lifetime have passed. A new CA is announced
// together with the old one, so that clients still trust replicas that serve the old certificate.
package certs
