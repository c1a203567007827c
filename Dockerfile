# The image is the static binary, the public CA certificates and nothing else:
# no shell, no package manager, no user database. The zone data is compiled in.

ARG BUILD_IMAGE=golang:1.26-bookworm

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
ENV CGO_ENABLED=0

# The modules are a layer of their own, so that an edit does not fetch them again.
COPY go.mod go.sum ./
RUN go mod download

COPY . .
RUN go build -trimpath -ldflags "-s -w" -o /out/app ./cmd/app

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/app /app

# By number: there is no /etc/passwd to look a name up in, and Kubernetes can
# check runAsNonRoot only against a number.
USER 65532:65532
ENTRYPOINT ["/app"]
CMD ["serve"]
