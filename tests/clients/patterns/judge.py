"""Judges each case as Python's `re` does, in texts and in bytes: `python judge.py cases.json`."""

import json
import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    cases = json.load(file)
judged = 0
for case in cases:
    pattern, value = case["pattern"], case["value"]
    for mode, found in (
        ("text", re.search(pattern, value)),
        ("bytes", re.search(pattern.encode(), value.encode())),
    ):
        judged += 1
        if (found is not None) != case["valid"]:
            print(mode, case)
print(judged, "judged")
