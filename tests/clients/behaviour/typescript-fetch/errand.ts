// The TypeScript client (fetch) that openapi-generator makes. It has no retries; the caller repeats failed calls at once.

import { AnimalsApi, CategoriesApi, Configuration, InventoryApi, OrdersApi } from "./client/index.js";
import { FetchError, ResponseError } from "./client/index.js";

declare const process: { env: Record<string, string | undefined> };

const basePath = process.env["PETSTORE_URL"] ?? "";
const configuration = new Configuration({ basePath, accessToken: process.env["PETSTORE_KEY"] ?? "" });
const animals = new AnimalsApi(configuration);
const categories = new CategoriesApi(configuration);

/** Repeats a call at most three times. */
async function repeated<T>(call: () => Promise<T>): Promise<T> {
  for (let left = 3; ; left -= 1) {
    try {
      return await call();
    } catch (failure) {
      const isTemporary = failure instanceof FetchError || failure instanceof ResponseError;
      if (!isTemporary || left === 0) throw failure;
    }
  }
}

// All pets, by the cursors of the server.
for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
  const page = await repeated(() => animals.listPetsRaw({ limit: 50, ...(cursor !== undefined && { cursor }) }));
  const link = /<([^>]+)>; rel="next"/.exec(page.raw.headers.get("Link") ?? "")?.[1];
  cursor = link === undefined ? undefined : (new URL(link).searchParams.get("cursor") ?? undefined);
}

// A category is read twice and changed.
for (let times = 0; times < 2; times += 1) await repeated(() => categories.getCategory({ categoryId: 1 }));
await repeated(() => categories.updateCategory({ categoryId: 1, categoryUpdate: { description: "Small" } }));

// An order whose first answer is lost.
const orders = new OrdersApi(configuration);
await repeated(() => orders.placeOrder({ newOrder: { petId: 7 }, idempotencyKey: "order-1" }));

// A list that is refused twice.
await repeated(() => new InventoryApi(configuration).listInventory());

// A list that always fails.
const failure: unknown = await repeated(() => orders.listOrders()).catch((error: unknown) => error);
if (!(failure instanceof ResponseError) || failure.response.status !== 503) throw failure;
