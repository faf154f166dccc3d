"""JSON Schemas of the kinds of operators in deploy/kubernetes: the fields that it uses, and no others.

Written by hand after the definitions of KubeRay (ray.io/v1) and of the Prometheus operator
(monitoring.coreos.com/v1), which are too large to be kept here. Pods inside them are left to the schema of
Kubernetes.
"""

from __future__ import annotations

from typing import Any

TEXT: dict[str, Any] = {"type": "string"}
COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
FLAG: dict[str, Any] = {"type": "boolean"}
ANY: dict[str, Any] = {"type": "object"}
TEXTS: dict[str, Any] = {"type": "object", "additionalProperties": TEXT}


def fields(needed: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    """An object with these fields and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(needed),
        "additionalProperties": False,
    }


def several(of: dict[str, Any]) -> dict[str, Any]:
    """A list that is not empty."""
    return {"type": "array", "items": of, "minItems": 1}


def kind(version: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """A resource."""
    metadata = fields(("name",), name=TEXT, namespace=TEXT, labels=TEXTS, annotations=TEXTS)
    what = {"apiVersion": {"const": version}, "kind": {"const": name}}
    return fields(("apiVersion", "kind", "metadata", "spec"), **what, metadata=metadata, spec=spec)


POD_TEMPLATE = fields(("spec",), metadata=fields(labels=TEXTS, annotations=TEXTS), spec=ANY)
HEAD_GROUP = fields(("template",), rayStartParams=TEXTS, template=POD_TEMPLATE, serviceType=TEXT)
WORKER_GROUP = fields(
    ("groupName", "minReplicas", "maxReplicas", "template"),
    groupName=TEXT,
    replicas=COUNT,
    minReplicas=COUNT,
    maxReplicas=COUNT,
    rayStartParams=TEXTS,
    template=POD_TEMPLATE,
)
AUTOSCALER = fields(
    version={"enum": ["v1", "v2"]}, idleTimeoutSeconds=COUNT, resources=ANY, securityContext=ANY
)
CLUSTER = fields(
    ("headGroupSpec", "workerGroupSpecs"),
    rayVersion=TEXT,
    authOptions=fields(("mode",), mode={"enum": ["disabled", "token"]}),
    enableInTreeAutoscaling=FLAG,
    autoscalerOptions=AUTOSCALER,
    headGroupSpec=HEAD_GROUP,
    workerGroupSpecs=several(WORKER_GROUP),
)
JOB = fields(
    ("entrypoint", "rayClusterSpec"),
    entrypoint=TEXT,
    submissionMode={"enum": ["K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode"]},
    backoffLimit=COUNT,
    activeDeadlineSeconds=COUNT,
    shutdownAfterJobFinishes=FLAG,
    ttlSecondsAfterFinished=COUNT,
    submitterPodTemplate=POD_TEMPLATE,
    rayClusterSpec=CLUSTER,
)
RELABEL = fields(sourceLabels=several(TEXT), targetLabel=TEXT, replacement=TEXT)
CREDENTIALS = fields(("credentials",), credentials=fields(("name", "key"), name=TEXT, key=TEXT))
ENDPOINT = fields(
    ("port",), port=TEXT, path=TEXT, interval=TEXT, authorization=CREDENTIALS, relabelings=several(RELABEL)
)
POD_MONITOR = fields(
    ("selector", "podMetricsEndpoints"),
    selector=fields(matchLabels=TEXTS, matchExpressions=several(ANY)),
    podMetricsEndpoints=several(ENDPOINT),
)
RULES = fields(("groups",), groups=several(fields(("name", "rules"), name=TEXT, rules=several(ANY))))

KINDS = {
    "RayCluster": kind("ray.io/v1", "RayCluster", CLUSTER),
    "RayJob": kind("ray.io/v1", "RayJob", JOB),
    "PodMonitor": kind("monitoring.coreos.com/v1", "PodMonitor", POD_MONITOR),
    "PrometheusRule": kind("monitoring.coreos.com/v1", "PrometheusRule", RULES),
}
