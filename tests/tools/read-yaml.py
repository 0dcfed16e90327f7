"""Prints YAML files as two readers understand them, one line of JSON for each reader and file.

`read-yaml.py FILE...` reads with PyYAML, and with ruamel.yaml and its reader in C, which follows an older libyaml: in a map in
braces it takes no colon without a space behind it. A date without quotes is an error, because JSON has none.
"""

import json
import sys

import ruamel.yaml
import yaml


def by_pyyaml(text):
    return yaml.safe_load(text)


def by_ruamel(text):
    reader = ruamel.yaml.YAML(typ="safe")
    assert reader.Parser.__name__ == "CParser", "ruamel.yaml.clib is missing"
    return reader.load(text)


for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for read in (by_pyyaml, by_ruamel):
        try:
            print(json.dumps({"read": read(text)}))
        except (yaml.YAMLError, ruamel.yaml.error.YAMLError, TypeError) as error:
            print(json.dumps({"error": " ".join(str(error).split())}))
