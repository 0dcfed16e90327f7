"""Reads the event stream with httpx, and connects again after the last id whenever a stream ends."""

import json
import os

import httpx

place = os.environ["AFTER"]
with httpx.Client(headers={"X-API-Key": os.environ["PETSTORE_KEY"]}, timeout=60) as client:
    while True:
        url = f"{os.environ['PETSTORE_URL']}/events/stream?limit=5"
        with client.stream("GET", url, headers={"Last-Event-ID": place}) as answer:
            answer.raise_for_status()
            for line in answer.iter_lines():
                if line.startswith("id: "):
                    place = line.removeprefix("id: ")
                elif line.startswith('data: {"id"'):
                    print(json.loads(line.removeprefix("data: "))["sequence"], flush=True)
