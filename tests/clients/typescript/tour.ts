// The petstore through openapi-fetch, with the types that openapi-typescript makes of openapi.yaml.
//
//     npx openapi-typescript openapi.yaml --default-non-nullable false -o petstore.ts && npx tsc
//     PETSTORE_URL=… PETSTORE_KEY=… PETSTORE_FREE_KEY=… node out/tour.js
//
// The shop is empty at the start. The second key is one of the Free plan; it is used up.

import createClient, { type Middleware } from "openapi-fetch";
import type { components, paths } from "./petstore.js";

declare const process: { env: Record<string, string | undefined> };

type Pet = components["schemas"]["Pet"];
type ErrorCode = components["schemas"]["ErrorCode"];

function setting(name: string): string {
  return process.env[name] ?? fail(`${name} is not set`);
}

function fail(message: string): never {
  throw new Error(message);
}

function client(key: string) {
  const authorise: Middleware = {
    onRequest({ request }) {
      request.headers.set("Authorization", `Bearer ${key}`);
    },
  };
  const client = createClient<paths>({ baseUrl: setting("PETSTORE_URL") });
  client.use(authorise);
  return client;
}

type Answer<T> = { data?: T; error?: components["schemas"]["Error"]; response: Response };

/** The result of a call that succeeded. */
function done<T>({ data, error, response }: Answer<T>): T {
  return data ?? fail(`${response.status} ${error?.code}`);
}

/** Holds a call to have been refused so. */
function refused({ error, response }: Answer<unknown>, status: number, ...codes: ErrorCode[]): void {
  if (response.status === status && error && codes.includes(error.code)) return;
  fail(`${status} ${codes} and not ${response.status} ${error?.code}`);
}

function equal(found: unknown, expected: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(expected)) fail(`${JSON.stringify(expected)} and not ${JSON.stringify(found)}`);
}

/** The cursor in the address that Link calls the next page. */
function nextCursor(response: Response): string | undefined {
  const address = /<([^>]+)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1];
  return address ? (new URL(address).searchParams.get("cursor") ?? undefined) : undefined;
}

const api = client(setting("PETSTORE_KEY"));

// A category, once: its name is unique, whatever its case. Texts may go beyond ASCII.
const description = "Groß, flauschig – und hungrig.\nNur für Kenner.";
const rabbits = done(await api.POST("/categories", { body: { name: "Rabbits", description } }));
equal(rabbits.description, description);
refused(await api.POST("/categories", { body: { name: "RABBITS" } }), 409, "category_exists");

// Three pets, read two at a time.
const pets: Pet[] = [];
for (const name of ["Bär 🐻", "Fiver", "Bigwig"]) {
  pets.push(done(await api.POST("/pets", { body: { name, categoryId: rabbits.id } })));
}
const [bear, fiver] = pets;
if (!bear || !fiver) fail("no pets");
const pages: string[][] = [];
for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
  const query = { limit: 2, status: ["available" as const], ...(cursor !== undefined && { cursor }) };
  const page = await api.GET("/pets", { params: { query } });
  pages.push(done(page).map((pet) => pet.name));
  cursor = nextCursor(page.response);
}
equal(pages, [["Bär 🐻", "Fiver"], ["Bigwig"]]);

// An order that may be sent twice, and has one effect.
const shipDate = "2030-01-01T12:00:00.000Z";
const order = { params: { header: { "Idempotency-Key": "tour-1" } }, body: { petId: bear.id, shipDate } };
const first = await api.POST("/store/orders", order);
const again = await api.POST("/store/orders", order);
equal(done(again), done(first));
equal(done(first).shipDate, shipDate);
equal(again.response.headers.get("Idempotent-Replayed"), "true");
const item = done(await api.GET("/inventory/{petId}", { params: { path: { petId: bear.id } } }));
equal(item.quantity, 0);

// The only unit is taken.
refused(await api.POST("/store/orders", { body: { petId: bear.id } }), 409, "pet_not_available");
const orderId = done(first).id ?? fail("an order without an id");
const completed = done(
  await api.PATCH("/store/orders/{orderId}", { params: { path: { orderId } }, body: { complete: true } }),
);
equal(completed.complete, true);

// Two more orders; all three are read two at a time.
done(await api.PATCH("/inventory/{petId}", { params: { path: { petId: bear.id } }, body: { quantity: 2 } }));
for (let placed = 0; placed < 2; placed += 1) done(await api.POST("/store/orders", { body: { petId: bear.id } }));
equal(done(await api.GET("/store/orders")).length, 3);
const start = await api.GET("/store/orders", { params: { query: { limit: 2 } } });
const cursor = nextCursor(start.response) ?? fail("no second page");
const rest = await api.GET("/store/orders", { params: { query: { limit: 2, cursor } } });
equal([done(start).length, done(rest).length, nextCursor(rest.response)], [2, 1, undefined]);

// A change of what somebody else has changed meanwhile.
const path = { petId: fiver.id };
const read = await api.GET("/pets/{petId}", { params: { path } });
const header = { "If-Match": read.response.headers.get("ETag") ?? fail("no ETag") };
done(await api.PATCH("/pets/{petId}", { params: { path, header }, body: { status: "pending" } }));
refused(
  await api.PATCH("/pets/{petId}", { params: { path, header }, body: { name: "Fiver II" } }),
  412,
  "precondition_failed",
);

// The Free plan, until it says how long to wait: a minute has 60 requests and a day 1,000, so this comes to an end.
const free = client(setting("PETSTORE_FREE_KEY"));
let last = await free.GET("/pets");
for (let asked = 1; asked < 1001 && last.response.ok; asked += 1) last = await free.GET("/pets");
refused(last, 429, "rate_limit_exceeded", "quota_exceeded");
if (!(Number(last.response.headers.get("Retry-After")) >= 1)) fail("no Retry-After");
equal(done(await free.GET("/rate-limit")).minute.limit, 60);
console.log("the tour is over");
