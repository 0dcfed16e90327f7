"""A shop of one's own as the baseline of a reset."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from petstore_server import BaselineCounts, Petstore, PetstoreStopped, SandboxError

SHOP: list[dict[str, Any]] = [
    {"category": {"name": "Newts", "id": 7}},
    {"pet": {"name": "Nina", "categoryId": 7, "status": "available", "id": 40}},
    {"inventoryItem": {"petId": 40, "quantity": 1, "status": "available"}},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.ndjson"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in SHOP))
    return path


def names(shop: Petstore) -> list[str]:
    with urllib.request.urlopen(urllib.request.Request(f"{shop.url}/pets", headers={"X-API-Key": shop.key})) as answer:
        return [pet["name"] for pet in json.load(answer)]


def create(shop: Petstore, name: str) -> int:
    body = json.dumps({"name": name, "categoryId": 7}).encode()
    headers = {"X-API-Key": shop.key, "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(f"{shop.url}/pets", body, headers)) as answer:
        return int(json.load(answer)["id"])


def test_a_petstore_begins_with_the_shop_of_a_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    with Petstore(shop="shop.ndjson") as shop:
        assert names(shop) == ["Nina"] and create(shop, "Nele") == 41
        shop.reset()
        assert names(shop) == ["Nina"]
        assert [list(record) for record in shop.baseline()] == [["category"], ["pet"], ["inventoryItem"]]
    with pytest.raises(PetstoreStopped, match="nowhere"):
        Petstore(shop="nowhere")


def test_a_baseline_is_put_saved_and_dropped(file: Path) -> None:
    with Petstore(demo=2) as shop:
        assert shop.put_baseline(SHOP) == BaselineCounts(categories=1, pets=1, orders=0)
        assert len(names(shop)) == 2
        shop.reset()
        assert names(shop) == ["Nina"]
        create(shop, "Nele")
        assert shop.save_baseline() == BaselineCounts(categories=1, pets=2, orders=0)
        create(shop, "Nora")
        shop.reset()
        assert names(shop) == ["Nina", "Nele"]
        with pytest.raises(SandboxError, match="(?s)400 .*baseline is unchanged.*line 2"):
            shop.put_baseline([SHOP[0], {"pet": {"name": ""}}])
        assert len(shop.baseline()) == 5
        assert shop.put_baseline(file).pets == 1
        shop.drop_baseline()
        shop.reset()
        assert len(names(shop)) == 2
