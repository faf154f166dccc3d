"""deploy/kubernetes: every resource by its schema, every reference to something there, nothing left open."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import typer.main
import yaml

from cluster.cli import app_of
from tests.cluster.prometheus import DEPLOY, need
from tests.deploy.kustomize import Resource, build
from tests.deploy.operator_kinds import KINDS
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.slow

FOLDER = DEPLOY / "kubernetes"
TARGETS = [FOLDER / "overlays" / "small", FOLDER / "overlays" / "large", FOLDER / "job"]
BUILT = {folder.name: build(folder) for folder in TARGETS}
RESOURCES = [
    pytest.param(each, id=f"{folder}-{each['kind']}-{each['metadata']['name']}")
    for folder, found in BUILT.items()
    for each in found
]
KUBERNETES = kubernetes_validate.latest_version()
MADE_BY_HAND = {"banyan-token"}
"""Secrets that deploy/README.md has somebody make. KubeRay makes the one of a cluster's own name."""


def pod_templates(resource: Resource) -> Iterator[tuple[str, dict[str, Any]]]:
    """The pods of a Ray kind, by what they are for."""
    spec = resource["spec"]
    if resource["kind"] == "RayJob":
        yield "submitter", spec["submitterPodTemplate"]
        spec = spec["rayClusterSpec"]
    if "headGroupSpec" in spec:
        yield "head", spec["headGroupSpec"]["template"]
        for group in spec["workerGroupSpecs"]:
            yield group["groupName"], group["template"]


PODS = [
    pytest.param(template, id=f"{folder}-{role}")
    for folder, found in BUILT.items()
    for each in found
    for role, template in pod_templates(each)
]


def test_kustomize_makes_the_same_of_it() -> None:
    """The few lines of tests/deploy/kustomize.py stand in for kustomize where there is none."""
    kubectl = need("kubectl")
    for folder in TARGETS:
        out = subprocess.run(
            [kubectl, "kustomize", folder], capture_output=True, text=True, timeout=PATIENCE_S
        )
        assert out.returncode == 0, out.stderr

        def name(each: Resource) -> tuple[str, str]:
            return each["kind"], each["metadata"]["name"]

        assert sorted(yaml.safe_load_all(out.stdout), key=name) == sorted(BUILT[folder.name], key=name)


def test_every_file_is_used() -> None:
    used = {folder / "kustomization.yaml" for folder in FOLDER.rglob("*") if folder.is_dir()}
    for path in FOLDER.rglob("kustomization.yaml"):
        what = yaml.safe_load(path.read_text())
        named = [*what.get("resources", []), *(patch["path"] for patch in what.get("patches", []))]
        used |= {path.parent / name for name in named}
    assert {path for path in FOLDER.rglob("*") if path.is_file()} <= used


@pytest.mark.parametrize("resource", RESOURCES)
def test_resources_are_valid(resource: Resource) -> None:
    if resource["kind"] in KINDS:
        jsonschema.Draft202012Validator(KINDS[resource["kind"]]).validate(resource)
    else:
        kubernetes_validate.validate(resource, KUBERNETES, strict=True)


def test_the_schemas_refuse_what_is_misspelt() -> None:
    (cluster,) = [each for each in build(TARGETS[0]) if each["kind"] == "RayCluster"]
    cluster["spec"]["headGroupSpec"]["rayStartParam"] = {}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(KINDS["RayCluster"]).validate(cluster)


@pytest.mark.parametrize("template", PODS)
def test_pods_are_valid_and_have_no_rights(template: dict[str, Any]) -> None:
    spec = template["spec"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x"} | template.get("metadata", {}),
        "spec": spec,
    }
    kubernetes_validate.validate(pod, KUBERNETES, strict=True)
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 10001
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    volumes = {volume["name"] for volume in spec.get("volumes", [])}
    for container in spec["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["image"].partition(":")[2], "an image without a tag"
        assert container["resources"]["limits"]["memory"]
        assert {mount["name"] for mount in container.get("volumeMounts", [])} <= volumes
        ports = {port["name"] for port in container.get("ports", [])}
        for probe in ("readinessProbe", "livenessProbe"):
            for how in container.get(probe, {}).values():
                assert not isinstance(how, dict) or how["port"] in ports


@pytest.mark.parametrize("name", BUILT)
def test_references_lead_somewhere(name: str) -> None:
    found = BUILT[name]
    (ray,) = [each for each in found if each["kind"] in ("RayCluster", "RayJob")]
    secrets = MADE_BY_HAND | {ray["metadata"]["name"]}
    claims = {each["metadata"]["name"] for each in found if each["kind"] == "PersistentVolumeClaim"}
    for _, template in pod_templates(ray):
        for volume in template["spec"].get("volumes", []):
            if "secret" in volume:
                assert volume["secret"]["secretName"] in secrets
            if "persistentVolumeClaim" in volume:
                assert volume["persistentVolumeClaim"]["claimName"] in claims
    for each in found:
        assert each["metadata"]["namespace"] == "banyan"
        if each["kind"] == "PodMonitor":
            for endpoint in each["spec"]["podMetricsEndpoints"]:
                credentials = endpoint.get("authorization", {}).get("credentials", {"name": "banyan-token"})
                assert credentials["name"] in secrets


@pytest.mark.parametrize("name", ["small", "large"])
def test_selectors_find_the_pods(name: str) -> None:
    """KubeRay labels pods with the cluster's name and their kind."""
    labels = [{"ray.io/cluster": "banyan", "ray.io/node-type": kind} for kind in ("head", "worker")]
    for each in BUILT[name]:
        spec = each["spec"]
        selector = {
            "Service": spec.get("selector"),
            "NetworkPolicy": spec.get("podSelector", {}).get("matchLabels"),
        }.get(each["kind"], spec.get("selector", {}).get("matchLabels"))
        if each["kind"] in ("Service", "NetworkPolicy", "PodDisruptionBudget", "PodMonitor"):
            assert selector and any(selector.items() <= pod.items() for pod in labels), each["metadata"][
                "name"
            ]


@pytest.mark.parametrize("name", BUILT)
def test_ray_asks_for_a_token_and_only_its_own_pods_reach_it(name: str) -> None:
    (ray,) = [each for each in BUILT[name] if each["kind"] in ("RayCluster", "RayJob")]
    spec = ray["spec"].get("rayClusterSpec", ray["spec"])
    assert spec["authOptions"] == {"mode": "token"}
    assert spec["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    constraints = (DEPLOY.parent / "constraints.txt").read_text()
    assert f"\nray=={spec['rayVersion']}\n" in constraints
    policies = [each["spec"] for each in BUILT[name] if each["kind"] == "NetworkPolicy"]
    assert all(peers for policy in policies for peers in [each["from"] for each in policy.get("ingress", [])])
    everything = [policy for policy in policies if set(policy["policyTypes"]) == {"Ingress", "Egress"}]
    assert len(everything) == 1
    for peers in everything[0]["ingress"]:
        if "ports" not in peers:
            assert all("podSelector" in peer for peer in peers["from"])


def test_disruption_budgets_leave_room() -> None:
    for name in ("small", "large"):
        (ray,) = [each for each in BUILT[name] if each["kind"] == "RayCluster"]
        (group,) = ray["spec"]["workerGroupSpecs"]
        budgets = {each["metadata"]["name"]: each["spec"] for each in BUILT[name] if "Budget" in each["kind"]}
        assert budgets["banyan-head"]["minAvailable"] == 1
        if "banyan-workers" in budgets:
            assert budgets["banyan-workers"]["minAvailable"] < group["minReplicas"]


def test_workers_have_room_for_the_searches_that_run_at_a_time() -> None:
    for name in ("small", "large"):
        (ray,) = [each for each in BUILT[name] if each["kind"] == "RayCluster"]
        head, worker = (template["spec"]["containers"][0] for _, template in pod_templates(ray))
        options = dict(each.split("=") for each in head["args"] if "=" in each)
        running, memory_mb = int(options.get("--max-running", 4)), int(options["--max-memory"])
        limits = worker["resources"]["limits"]
        room_mb = int(limits["memory"].removesuffix("Gi")) * 1024
        # Beside the trees: 300 MB for each process, and Ray's object store.
        assert int(limits["cpu"]) * (running * memory_mb + 300) + 1024 <= room_mb, name


def test_the_job_asks_for_a_search_that_there_is() -> None:
    (job,) = [each for each in BUILT["job"] if each["kind"] == "RayJob"]
    program, command, *arguments = shlex.split(job["spec"]["entrypoint"])
    assert program == "banyan"
    known = typer.main.get_command(app_of()).commands[command]  # type: ignore[attr-defined]
    options = known.make_context(command, arguments).params
    assert options["address"] == "auto"
    spec = job["spec"]["rayClusterSpec"]
    (group,) = spec["workerGroupSpecs"]
    cpus = int(group["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"])
    assert int(options["workers"]) == group["replicas"] * cpus


def test_the_operators_rules_are_those_of_prometheus() -> None:
    rules = [yaml.safe_load((DEPLOY / "prometheus" / "rules" / f"{name}.yml").read_text()) for name in RULES]
    copied = yaml.safe_load((FOLDER / "components" / "monitoring" / "rules.yaml").read_text())
    assert copied["spec"]["groups"] == [group for each in rules for group in each["groups"]]


RULES = ("recording", "alerts")


def test_games_of_a_volume_reach_all_pods(tmp_path: Path) -> None:
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    what = {"resources": [str(FOLDER / "base")], "components": [str(FOLDER / "components" / "games")]}
    (overlay / "kustomization.yaml").write_text(yaml.safe_dump(what))
    (ray,) = [each for each in build(overlay) if each["kind"] == "RayCluster"]
    for _, template in pod_templates(ray):
        (container,) = template["spec"]["containers"]
        assert {"name": "games", "mountPath": "/games", "readOnly": True} in container["volumeMounts"]
        assert "games" in {volume["name"] for volume in template["spec"]["volumes"]}
