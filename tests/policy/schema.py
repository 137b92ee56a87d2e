"""schema/policy.schema.json against the loader: the same keys, the same good files, the same bad ones.

Arguments: the schema, the profiles' folder, the data folder, the program policy_keys.
"""

import json
import pathlib
import subprocess
import sys

import jsonschema
import yaml

# Faults that a JSON Schema can't see, because they lie between values or in what a reader has made of the text already.
# The list is exact: a file in it that the schema refuses is a failure too.
NOT_EXPRESSIBLE = {
    "user-anchor": None,  # None: YAML itself or the schema may refuse it
    "user-anchor-self": None,
    "user-cycle": True,
    "user-cycle-builtin": True,
    "user-deny": True,
    "user-duplicate-keys": True,
    "user-extends-long": True,
    "user-extends-unknown": True,
    "user-merge": True,
    "user-nul-escaped": True,
    "user-patterns": True,
    "user-tab-later": None,
    "user-trap-star-word": None,
}


class Check:
    def __init__(self):
        self.failed = 0
        self.done = 0

    def that(self, good, what):
        self.done += 1
        if not good:
            self.failed += 1
            print(f"FAILED: {what}")


def load(path):
    return yaml.safe_load(path.read_bytes())


def check_keys(check, schema, program):
    for entry in json.loads(subprocess.run([program], check=True, capture_output=True).stdout):
        path = entry["path"]
        if path[-1:] == ["*item"]:
            # Which keys an item may have depends on where it stands: together they are the table.
            maps = [option for name, item in schema["$defs"].items() if name.endswith("item") for option in item["anyOf"]]
            keys = {key for option in maps for key in option.get("properties", {})}
        else:
            place = schema
            for step in path:
                place = place[step]
            keys = set(place["properties"])
            check.that(place.get("additionalProperties") is False, f"{path} takes unknown keys")
        check.that(keys == set(entry["keys"]), f"keys of {path}: schema {sorted(keys)}, loader {sorted(entry['keys'])}")


def main():
    schema_path, profiles, data, program = map(pathlib.Path, sys.argv[1:])
    schema = json.loads(schema_path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    check = Check()
    check_keys(check, schema, program)

    good = sorted(profiles.glob("*.yaml")) + sorted((data / "good").glob("*.yaml"))
    check.that(len(good) > 10, "the good files are there")
    for path in good:
        for error in validator.iter_errors(load(path)):
            check.that(False, f"{path.name}: {error.json_path}: {error.message[:200]}")
        check.done += 1

    bad = sorted((data / "errors").glob("*.yaml"))
    check.that(len(bad) > 50, "the bad files are there")
    by_schema = 0
    for path in bad:
        expected = NOT_EXPRESSIBLE.get(path.stem, False)
        if path.stem.startswith("project-"):
            continue  # the schema doesn't tell layers apart
        try:
            document = load(path)
        except (yaml.YAMLError, ValueError, RecursionError):
            check.that(expected is not True, f"{path.name} is refused by YAML already")
            continue
        valid = validator.is_valid(document)
        by_schema += not valid
        if expected is not None:
            check.that(valid == expected, f"{path.name}: valid is {valid}, expected {expected}")
    check.that(by_schema > 20, "the schema refuses bad files")

    print(f"{check.done} checks, {check.failed} failed")
    sys.exit(1 if check.failed or check.done < 60 else 0)


main()
