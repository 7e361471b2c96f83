# One image per program, with only a static binary and the certificates of public CAs.
# `make images` builds the same images without Docker, for the node of `make kube-up`.
#
#   docker build --target slurm-operator --tag slurm-operator:dev .
#
# The targets are slurm-agent, slurm-exporter, slurm-metrics-adapter and slurm-operator.

FROM golang:1.26.8-trixie AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
ARG COMMIT=unknown
ENV CGO_ENABLED=0
RUN make build VERSION="${VERSION}" COMMIT="${COMMIT}"

# The base of every image. Most machines do not use user 65532. It is a number because
# Kubernetes verifies runAsNonRoot only for numeric users.
FROM scratch AS base
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
USER 65532:65532
ARG VERSION=unknown
ARG COMMIT=unknown
LABEL org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.source="https://github.com/slurmtide/slurmtide" \
      org.opencontainers.image.url="https://github.com/slurmtide/slurmtide" \
      org.opencontainers.image.licenses="Apache-2.0"

FROM base AS slurm-agent
COPY --from=build /src/bin/slurm-agent /slurm-agent
LABEL org.opencontainers.image.title="slurm-agent" \
      org.opencontainers.image.description="Checks and applies the configuration of slurmctld"
EXPOSE 6826
ENTRYPOINT ["/slurm-agent"]

FROM base AS slurm-exporter
COPY --from=build /src/bin/slurm-exporter /slurm-exporter
LABEL org.opencontainers.image.title="slurm-exporter" \
      org.opencontainers.image.description="Metrics of a Slurm cluster for Prometheus"
EXPOSE 9341
ENTRYPOINT ["/slurm-exporter"]

FROM base AS slurm-metrics-adapter
COPY --from=build /src/bin/slurm-metrics-adapter /slurm-metrics-adapter
LABEL org.opencontainers.image.title="slurm-metrics-adapter" \
      org.opencontainers.image.description="Metrics of Slurm clusters for HorizontalPodAutoscalers and for Prometheus"
EXPOSE 6443 9341
ENTRYPOINT ["/slurm-metrics-adapter"]

FROM base AS slurm-operator
COPY --from=build /src/bin/slurm-operator /slurm-operator
LABEL org.opencontainers.image.title="slurm-operator" \
      org.opencontainers.image.description="Runs Slurm on Kubernetes"
EXPOSE 8081 8443 9443
ENTRYPOINT ["/slurm-operator"]
