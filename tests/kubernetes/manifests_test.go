// What config/kubernetes/ promises: kustomize builds each folder, each object has only fields that Kubernetes knows,
// what one object says of another is true, and the relay accepts the configurations.
package kubernetes

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	manifests = "../../config/kubernetes"
	user      = 10001
	mountedAt = "/etc/outbox-relay"
)

// A folder, built: the objects by their kinds. No folder has two of a kind.
type objects map[string]any

func decode(t *testing.T, kind string, text []byte) any {
	kinds := map[string]any{
		"ConfigMap":           &core.ConfigMap{},
		"Deployment":          &apps.Deployment{},
		"Job":                 &batch.Job{},
		"PodDisruptionBudget": &policy.PodDisruptionBudget{},
		"PodMonitor":          &monitoring.PodMonitor{},
	}
	object, known := kinds[kind]
	if !known {
		t.Fatalf("an object of the kind %s", kind)
	}
	if err := yaml.UnmarshalStrict(text, object); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return object
}

func build(t *testing.T, folder string) objects {
	found, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(),
		filepath.Join(manifests, folder))
	if err != nil {
		t.Fatal(err)
	}
	built := objects{}
	for _, resource := range found.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		kind := resource.GetKind()
		if built[kind] != nil {
			t.Fatalf("%s: two objects of the kind %s", folder, kind)
		}
		built[kind] = decode(t, kind, text)
	}
	return built
}

func (built objects) pod() core.PodTemplateSpec {
	if job, ok := built["Job"].(*batch.Job); ok {
		return job.Spec.Template
	}
	return built["Deployment"].(*apps.Deployment).Spec.Template
}

func allContainers(pod core.PodSpec) []core.Container {
	return slices.Concat(pod.InitContainers, pod.Containers)
}

// The containers that run the relay's image.
func relays(pod core.PodSpec) []core.Container {
	return slices.DeleteFunc(allContainers(pod), func(container core.Container) bool {
		return !strings.Contains(container.Image, "outbox-relay")
	})
}

// The configuration in effect, as the relay prints it.
func printed(t *testing.T, config string) string {
	path := filepath.Join(t.TempDir(), "relay.toml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command(os.Getenv("RELAY"), "config", "-c", path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return string(output)
}

func value(t *testing.T, config, key string) string {
	found := regexp.MustCompile(`(?m)^` + key + ` = "(.*)"$`).FindStringSubmatch(config)
	if found == nil {
		t.Fatalf("the configuration has no %s", key)
	}
	return found[1]
}

func selects(t *testing.T, selector *meta.LabelSelector, pod core.PodTemplateSpec) bool {
	chosen, err := meta.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return chosen.Matches(labels.Set(pod.Labels))
}

var (
	running = []string{"standalone", "example"}
	all     = append([]string{"init"}, running...)
)

func TestEveryFolderIsTested(t *testing.T) {
	folders, err := os.ReadDir(manifests)
	if err != nil {
		t.Fatal(err)
	}
	// The component "sidecar" is a part of "example".
	tested := append([]string{"base", "monitoring", "sidecar"}, all...)
	for _, folder := range folders {
		if !slices.Contains(tested, folder.Name()) {
			t.Errorf("no test builds %s", folder.Name())
		}
	}
}

func TestTheRelayAcceptsEachConfiguration(t *testing.T) {
	for _, folder := range append([]string{"base"}, all...) {
		printed(t, build(t, folder)["ConfigMap"].(*core.ConfigMap).Data["relay.toml"])
	}
}

func TestEachContainerMountsTheConfigMapAndTheSecretOfItsFiles(t *testing.T) {
	for _, folder := range all {
		built := build(t, folder)
		pod, config := built.pod().Spec, built["ConfigMap"].(*core.ConfigMap)
		text := printed(t, config.Data["relay.toml"])
		for _, container := range relays(pod) {
			mounted := map[string]core.VolumeSource{}
			for _, mount := range container.VolumeMounts {
				at := slices.IndexFunc(pod.Volumes, func(volume core.Volume) bool { return volume.Name == mount.Name })
				if at < 0 {
					t.Fatalf("%s: no volume %s", folder, mount.Name)
				}
				mounted[mount.MountPath] = pod.Volumes[at].VolumeSource
			}
			if source := mounted[mountedAt].ConfigMap; source == nil || source.Name != config.Name {
				t.Errorf("%s: %s does not mount %s", folder, container.Name, config.Name)
			}
			for _, file := range regexp.MustCompile(`/run/secrets/[\w./-]+`).FindAllString(text, -1) {
				if mounted[filepath.Dir(file)].Secret == nil {
					t.Errorf("%s: %s has no %s", folder, container.Name, file)
				}
			}
		}
	}
}

func TestEachContainerIsConfinedAndHasMeasuredLimits(t *testing.T) {
	for _, folder := range all {
		pod := build(t, folder).pod().Spec
		if len(relays(pod)) == 0 {
			t.Errorf("%s: no container of the relay", folder)
		}
		for _, container := range relays(pod) {
			rights := container.SecurityContext
			if rights == nil || !*rights.RunAsNonRoot || *rights.RunAsUser != user || *rights.RunAsGroup != user ||
				!*rights.ReadOnlyRootFilesystem || *rights.AllowPrivilegeEscalation || rights.Privileged != nil ||
				!slices.Equal(rights.Capabilities.Drop, []core.Capability{"ALL"}) || rights.Capabilities.Add != nil ||
				rights.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
				t.Errorf("%s: %s may do too much: %v", folder, container.Name, rights)
			}
			limit, request := container.Resources.Limits.Memory(), container.Resources.Requests.Memory()
			if limit.IsZero() || request.IsZero() || request.Cmp(*limit) > 0 {
				t.Errorf("%s: %s: memory %v to %v", folder, container.Name, request, limit)
			}
		}
	}
}

func TestProbesAskThePortOnWhichTheRelayListens(t *testing.T) {
	for _, folder := range running {
		built := build(t, folder)
		listen := value(t, printed(t, built["ConfigMap"].(*core.ConfigMap).Data["relay.toml"]), "listen")
		for _, container := range relays(built.pod().Spec) {
			if len(container.Ports) != 1 || ":"+strconv.Itoa(int(container.Ports[0].ContainerPort)) != listen {
				t.Fatalf("%s: the relay listens on %s, its ports are %v", folder, listen, container.Ports)
			}
			port := container.Ports[0].Name
			if container.LivenessProbe.HTTPGet.Path != "/healthz" || container.LivenessProbe.HTTPGet.Port.StrVal != port {
				t.Errorf("%s: liveness: %v", folder, container.LivenessProbe)
			}
			if ready := container.ReadinessProbe; ready != nil &&
				(ready.HTTPGet.Path != "/readyz" || ready.HTTPGet.Port.StrVal != port) {
				t.Errorf("%s: readiness: %v", folder, ready)
			}
		}
	}
}

func TestAStoppingRelayHasTimeToFinishItsBatches(t *testing.T) {
	application := map[string]time.Duration{"example": core.DefaultTerminationGracePeriodSeconds * time.Second}
	for _, folder := range running {
		built := build(t, folder)
		text := value(t, printed(t, built["ConfigMap"].(*core.ConfigMap).Data["relay.toml"]), "shutdown_timeout")
		timeout, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		grace := time.Duration(*built.pod().Spec.TerminationGracePeriodSeconds) * time.Second
		if grace <= timeout+application[folder] {
			t.Errorf("%s: %v are not longer than %v and %v", folder, grace, timeout, application[folder])
		}
	}
}

// An application must not be out of service because a broker is away.
func TestTheSidecarIsTheStandaloneContainerWithoutReadiness(t *testing.T) {
	alone := relays(build(t, "standalone").pod().Spec)[0]
	pod := build(t, "example").pod().Spec
	beside := pod.InitContainers[0]
	if len(pod.InitContainers) != 1 || len(pod.Containers) != 1 ||
		beside.RestartPolicy == nil || *beside.RestartPolicy != core.ContainerRestartPolicyAlways {
		t.Errorf("no native sidecar: %v", pod.InitContainers)
	}
	if alone.ReadinessProbe == nil || beside.ReadinessProbe != nil {
		t.Errorf("readiness: alone %v, sidecar %v", alone.ReadinessProbe, beside.ReadinessProbe)
	}
	beside.RestartPolicy, beside.Image, beside.ReadinessProbe = nil, alone.Image, alone.ReadinessProbe
	if !reflect.DeepEqual(alone, beside) {
		t.Errorf("the containers differ:\n%v\n%v", alone, beside)
	}
}

func TestAnOverlayChoosesImageAndConfiguration(t *testing.T) {
	built := build(t, "example")
	if image := relays(built.pod().Spec)[0].Image; !strings.HasPrefix(image, "registry.example.com/outbox-relay:") {
		t.Errorf("image %s", image)
	}
	own, err := os.ReadFile(manifests + "/example/relay.toml")
	if err != nil {
		t.Fatal(err)
	}
	if built["ConfigMap"].(*core.ConfigMap).Data["relay.toml"] != string(own) {
		t.Error("the configuration is another one")
	}
}

func TestSelectorsFindThePods(t *testing.T) {
	monitor := build(t, "monitoring")["PodMonitor"].(*monitoring.PodMonitor)
	for _, folder := range running {
		built := build(t, folder)
		pod := built.pod()
		if !selects(t, built["Deployment"].(*apps.Deployment).Spec.Selector, pod) {
			t.Errorf("%s: the deployment does not select its own pods", folder)
		}
		if budget, ok := built["PodDisruptionBudget"].(*policy.PodDisruptionBudget); ok &&
			!selects(t, budget.Spec.Selector, pod) {
			t.Errorf("%s: the budget does not select the pods", folder)
		}
		for _, spread := range pod.Spec.TopologySpreadConstraints {
			if !selects(t, spread.LabelSelector, pod) {
				t.Errorf("%s: the spread does not select the pods", folder)
			}
		}
		if !selects(t, &monitor.Spec.Selector, pod) {
			t.Errorf("%s: the monitor does not select the pods", folder)
		}
		if *monitor.Spec.PodMetricsEndpoints[0].Port != relays(pod.Spec)[0].Ports[0].Name {
			t.Errorf("%s: the monitor asks another port", folder)
		}
	}
	if build(t, "standalone")["PodDisruptionBudget"] == nil {
		t.Error("stand-alone relays have no budget")
	}
}

func relay(t *testing.T, arguments ...string) {
	command := exec.Command(os.Getenv("RELAY"), arguments...)
	command.Dir = manifests
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("outbox-relay %v: %v: %s", arguments, err, output)
	}
}

// Of a pod, by the names of the page: whether it has the container, the port and, for the relay, the command.
func askPod(t *testing.T, pod core.PodSpec, arguments []string) {
	for at, argument := range arguments {
		number, err := strconv.Atoi(argument)
		switch {
		case argument == "-c":
			if !slices.ContainsFunc(allContainers(pod), func(c core.Container) bool { return c.Name == arguments[at+1] }) {
				t.Errorf("no container %s", arguments[at+1])
			}
		case argument == "--":
			if arguments[at+1] != "outbox-relay" {
				t.Errorf("the image has no %s", arguments[at+1])
			}
			relay(t, arguments[at+2], "--help")
			return
		case err == nil:
			if relays(pod)[0].Ports[0].ContainerPort != int32(number) {
				t.Errorf("no port %d", number)
			}
		}
	}
}

// Whether the secret is mounted, and has each file that the configuration names.
func askSecret(t *testing.T, name string, arguments []string) {
	mounted := false
	for _, folder := range all {
		built := build(t, folder)
		for _, volume := range built.pod().Spec.Volumes {
			if volume.Secret == nil || volume.Secret.SecretName != name {
				continue
			}
			mounted = true
			text := printed(t, built["ConfigMap"].(*core.ConfigMap).Data["relay.toml"])
			for _, file := range regexp.MustCompile(`/run/secrets/[\w./-]+`).FindAllString(text, -1) {
				key := "--from-file=" + filepath.Base(file)
				if !slices.ContainsFunc(arguments, func(word string) bool { return strings.HasPrefix(word+"=", key+"=") }) {
					t.Errorf("%s: the secret %s has no %s", folder, name, filepath.Base(file))
				}
			}
		}
	}
	if !mounted {
		t.Errorf("nothing mounts the secret %s", name)
	}
}

func TestEachCommandOfThePageNamesWhatIsThere(t *testing.T) {
	lines, err := exec.Command("../docs/commands_for", "tests/kubernetes/manifests_test.go", "../../docs/kubernetes.md").Output()
	if err != nil || len(lines) == 0 {
		t.Fatalf("no commands: %v", err)
	}
	applied := map[string]core.PodSpec{}
	for _, line := range strings.Split(strings.TrimSpace(string(lines)), "\n") {
		words := strings.Fields(strings.Split(line, " | ")[0])
		switch words[0] + " " + words[1] {
		case "kubectl create":
			askSecret(t, words[4], words[5:])
		case "kubectl apply":
			built := build(t, words[3])
			if deployment, ok := built["Deployment"].(*apps.Deployment); ok {
				applied["deployment/"+deployment.Name] = built.pod().Spec
			} else if job, ok := built["Job"].(*batch.Job); ok {
				applied["job/"+job.Name] = built.pod().Spec
			}
		case "kubectl wait", "kubectl logs", "kubectl exec", "kubectl port-forward":
			at := slices.IndexFunc(words, func(word string) bool { return strings.Contains(word, "/") })
			pod, known := applied[words[at]]
			if !known {
				t.Errorf("%s is not applied before: %s", words[at], line)
				continue
			}
			askPod(t, pod, words[at+1:])
		default:
			if words[0] != "outbox-relay" {
				t.Errorf("a command that this test does not know: %s", line)
			}
			relay(t, words[1:]...)
		}
	}
}
