# SPDX-License-Identifier: MIT
"""A YAML file that knows on which line each of its values stands."""
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Sequence

import jsonschema
import yaml  # type: ignore[import]

from .errors import Stop, nearest

Where = Sequence[Any]


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML 1.2 in one respect: `off`, `on`, `yes` and `no` are words, not booleans."""


_Loader.yaml_implicit_resolvers = {
    first: [r for r in resolvers if r[0] != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), list("tf"))


class YamlFile:
    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            text = path.read_text(encoding="utf-8")
            loader = _Loader(text)
            try:
                self.node = loader.get_single_node()
                self._refuse_twice(self.node, ())
                self.data: Any = None if self.node is None else loader.construct_document(self.node)
            finally:
                loader.dispose()
        except OSError as error:
            raise Stop(f"{path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise Stop(f"{path}: not UTF-8: {error.reason}") from error
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 1
            raise Stop(f"{path}:{line}: not YAML: {error.problem or error.context}") from error
        except RecursionError as error:
            raise Stop(f"{path}:1: nested too deeply") from error
        except yaml.YAMLError as error:
            raise Stop(f"{path}:1: not YAML: {str(error).splitlines()[0]}") from error

    def _refuse_twice(self, node: Any, above: tuple[Any, ...]) -> None:
        """A key that is given twice, and what contains itself."""
        if any(node is one for one in above):
            raise Stop(f"{self.path}:{node.start_mark.line + 1}: this contains itself, by its own anchor")
        above = (*above, node)
        seen: dict[str, int] = {}
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    raise Stop(f"{self.path}:{key.start_mark.line + 1}: a key must be a word")
                if key.value in seen:
                    raise Stop(f"{self.path}:{key.start_mark.line + 1}: '{key.value}' is given "
                               f"twice, first on line {seen[key.value]}")
                seen[key.value] = key.start_mark.line + 1
                self._refuse_twice(value, above)
        elif isinstance(node, yaml.SequenceNode):
            for value in node.value:
                self._refuse_twice(value, above)

    def line(self, where: Where) -> int:
        """The line of the value at this path of keys and indices, or of its nearest parent."""
        node, line = self.node, 1
        for step in where:
            if isinstance(node, yaml.MappingNode):
                found = [(k, v) for k, v in node.value if k.value == step]
                if not found:
                    break
                line, node = found[0][0].start_mark.line + 1, found[0][1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                if step >= len(node.value):
                    break
                node = node.value[step]
                line = node.start_mark.line + 1
            else:
                break
        return line

    def error(self, where: Where, reason: str) -> Stop:
        return Stop(f"{self.path}:{self.line(where)}: {reason}")

    def check(self, schema_path: Path) -> None:
        """Ends with file, line and reason at the first breach of the schema."""
        schema = json.loads(schema_path.read_text(encoding="utf-8"))
        errors = sorted(jsonschema.Draft7Validator(schema).iter_errors(self.data),
                        key=lambda e: self.line(list(e.absolute_path)))
        if errors:
            raise self._breach(errors[0])

    def _breach(self, error: Any) -> Stop:
        where = list(error.absolute_path)
        name = ".".join(str(w) for w in where) or "the file"
        if error.validator == "additionalProperties" and isinstance(error.instance, dict):
            valid = error.schema.get("properties", {})
            unknown = [k for k in error.instance if k not in valid]
            return self.error(where + unknown[:1], f"unknown key '{unknown[0]}' in {name} "
                              f"({nearest(str(unknown[0]), valid)})")
        if "pattern" in error.schema and error.validator == "pattern":
            return self.error(where + [error.instance], f"'{error.instance}' is not a good name: "
                              "small letters, digits, '-' and '_'")
        if error.validator == "anyOf":
            if not where:
                return self.error(where, "neither 'factors' nor 'include' is there")
            return self.error(where, f"{name} must be a word, a number, true, false, "
                              "or a list of these")
        if error.validator == "required":
            absent = [k for k in error.schema["required"] if k not in error.instance]
            return self.error(where, f"{name} lacks '{absent[0]}'")
        if error.validator == "enum":
            valid = [str(v) for v in error.schema["enum"]]
            return self.error(where, f"{name} cannot be '{error.instance}' "
                              f"({nearest(str(error.instance), valid)})")
        if error.validator == "type":
            kinds = error.schema["type"]
            kinds = kinds if isinstance(kinds, str) else " or ".join(kinds)
            return self.error(where, f"{name} must be of type {kinds}, not {error.instance!r}")
        return self.error(where, f"{name}: {error.message}")
