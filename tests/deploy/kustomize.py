"""As much of kustomize as deploy/kubernetes uses: what a folder comes to. It refuses all else."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml

Resource = dict[str, Any]
KNOWN = {"apiVersion", "kind", "namespace", "resources", "components", "patches", "labels", "images"}


def build(folder: Path) -> list[Resource]:
    """The resources of a folder with a kustomization.yaml, patched."""
    return _apply(folder, [])


def _apply(folder: Path, found: list[Resource]) -> list[Resource]:
    what = yaml.safe_load((folder / "kustomization.yaml").read_text())
    assert set(what) <= KNOWN, set(what) - KNOWN
    for name in what.get("resources", []):
        path = folder / name
        found = found + (build(path) if path.is_dir() else read(path))
    for name in what.get("components", []):
        found = _apply(folder / name, found)
    for patch in what.get("patches", []):
        found = _patched(found, yaml.safe_load((folder / patch["path"]).read_text()), patch.get("target"))
    for resource in found:
        if "namespace" in what:
            resource["metadata"]["namespace"] = what["namespace"]
        for label in what.get("labels", []):
            assert set(label) == {"pairs"}
            resource["metadata"].setdefault("labels", {}).update(label["pairs"])
        for image in what.get("images", []):
            _tag(resource, image["name"], image["newTag"])
    return found


def read(path: Path) -> list[Resource]:
    """The documents of a file. Copies, because anchors would share what patches change."""
    return [copy.deepcopy(_plain(each)) for each in yaml.safe_load_all(path.read_text())]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _patched(found: list[Resource], patch: Any, target: dict[str, str] | None) -> list[Resource]:
    if isinstance(patch, dict):
        assert set(patch) == {"apiVersion", "kind", "metadata", "$patch"} and patch["$patch"] == "delete"
        target = {"kind": patch["kind"], "name": patch["metadata"]["name"]}
    assert target is not None
    hit = [
        each for each in found if (each["kind"], each["metadata"]["name"]) == (target["kind"], target["name"])
    ]
    assert len(hit) == 1, f"{target} is {len(hit)} resources"
    if isinstance(patch, dict):
        return [each for each in found if each is not hit[0]]
    for operation in patch:
        _operate(hit[0], **operation)
    return found


def _operate(resource: Resource, op: str, path: str, value: Any) -> None:
    """RFC 6902's add and replace. What is replaced must be there, and so must the parent of what is added."""
    *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
    at: Any = resource
    for part in parents:
        at = at[int(part)] if isinstance(at, list) else at[part]
    if isinstance(at, list):
        assert op == "add" and last == "-", path
        at.append(value)
    else:
        assert (last in at) == (op == "replace"), path
        at[last] = value


def _tag(value: Any, name: str, tag: str) -> None:
    if isinstance(value, dict):
        for container in value.get("containers", []):
            if container.get("image") == name:
                container["image"] = f"{name}:{tag}"
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            _tag(each, name, tag)
