# The manifests of config/kubernetes/: included by tests/tests.mk.

.PHONY: kubernetes-test

kubernetes-test: $(BINARY) ## config/kubernetes/, built by kustomize and compared with Kubernetes' types (Go 1.24 or later)
	@command -v go >/dev/null || { echo 'missing, by its Debian name: golang'; exit 1; }
	@cd tests/kubernetes && RELAY=$(abspath $(BINARY)) CGO_ENABLED=0 go test -count=1 -v ./...
