"""Reads the event stream with httpx-sse, and connects again after the last id whenever a stream ends."""

import os

import httpx
from httpx_sse import connect_sse

place = os.environ["AFTER"]
with httpx.Client(headers={"X-API-Key": os.environ["PETSTORE_KEY"]}, timeout=60) as client:
    while True:
        url = f"{os.environ['PETSTORE_URL']}/events/stream?limit=5"
        with connect_sse(client, "GET", url, headers={"Last-Event-ID": place}) as source:
            source.response.raise_for_status()
            for event in source.iter_sse():
                place = event.id or place
                data = event.json()
                if event.event == "message":
                    print(data["sequence"], flush=True)
