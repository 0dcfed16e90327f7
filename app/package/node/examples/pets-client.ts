// A client of the petstore, as an example of a client under test. Yours takes its place.

/** The attempts at a request that fails for a temporary reason. */
const ATTEMPTS = 4;

const TEMPORARY = [429, 500, 503];

export interface Pet {
  readonly id: number;
  readonly name: string;
}

export interface Category {
  readonly id: number;
  readonly name: string;
}

export interface Order {
  readonly id: number;
  readonly petId: number;
}

/** An answer that is an error, or no answer. */
export class ShopError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
  ) {
    super(`${status} ${code}`);
  }
}

interface Received<Body> {
  /** Null if the resource has not changed. */
  readonly body: Body | null;
  readonly headers: Headers;
}

const inTime = (ms: number): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, ms));

export interface ClientOptions {
  /** The pause before a request is repeated. */
  sleep?: (ms: number) => Promise<unknown>;
  /** Headers of each request, such as the name of a test. */
  headers?: Readonly<Record<string, string>>;
}

/** A client that waits as it is told, repeats orders safely, and asks again only for what has changed. */
export class PetsClient {
  readonly #known = new Map<string, { tag: string; body: Category }>();

  readonly #sleep: (ms: number) => Promise<unknown>;
  readonly #headers: Record<string, string>;

  constructor(
    private readonly url: string,
    key: string,
    { sleep = inTime, headers = {} }: ClientOptions = {},
  ) {
    this.#sleep = sleep;
    this.#headers = { 'X-API-Key': key, 'Content-Type': 'application/json', ...headers };
  }

  /** All pets, page by page. */
  async *pets({ page = 50 } = {}): AsyncGenerator<Pet> {
    let target: string | undefined = `${this.url}/pets?limit=${page}`;
    while (target) {
      const { body, headers }: Received<Pet[]> = await this.#send('GET', target);
      yield* body ?? [];
      target = /<([^>]*)>; *rel="?next"?/.exec(headers.get('Link') ?? '')?.[1];
    }
  }

  /** A category, from memory if it has not changed. */
  async category(id: number): Promise<Category> {
    const path = `/categories/${id}`;
    const known = this.#known.get(path);
    const { body, headers } = await this.#send<Category>('GET', this.url + path, { headers: known ? { 'If-None-Match': known.tag } : {} });
    if (body) this.#known.set(path, { tag: headers.get('ETag') ?? '', body });
    const category = body ?? known?.body;
    if (!category) throw new ShopError(304, 'nothing_known');
    return category;
  }

  /** Renames a category, unless it has changed since it was read. */
  async renameCategory(id: number, name: string): Promise<void> {
    const path = `/categories/${id}`;
    await this.category(id);
    await this.#send('PATCH', this.url + path, { body: { name }, headers: { 'If-Match': this.#known.get(path)?.tag ?? '' } });
  }

  /** Orders a pet, once, however often the request is sent. */
  async order(petId: number): Promise<Order> {
    const { body } = await this.#send<Order>('POST', `${this.url}/store/orders`, {
      body: { petId },
      headers: { 'Idempotency-Key': crypto.randomUUID() },
    });
    if (!body) throw new ShopError(201, 'no_body');
    return body;
  }

  /** Creates a webhook for orders. */
  async subscribe(receiver: string): Promise<void> {
    await this.#send('POST', `${this.url}/webhooks`, { body: { url: receiver, types: ['order.placed'] } });
  }

  async #send<Body>(method: string, url: string, { body, headers = {} }: { body?: object; headers?: Record<string, string> } = {}): Promise<Received<Body>> {
    const sent = { method, headers: { ...this.#headers, ...headers }, body: body ? JSON.stringify(body) : null };
    for (let attempt = 1; ; attempt++) {
      let failure = new ShopError(0, 'no_answer');
      let wait = 1000 * 2 ** attempt;
      const answer = await fetch(url, sent).catch(() => null);
      if (answer) {
        const text = await answer.text();
        if (answer.status === 304) return { body: null, headers: answer.headers };
        if (answer.ok) return { body: parse(text), headers: answer.headers };
        failure = new ShopError(answer.status, parse<{ code: string }>(text).code);
        if (!TEMPORARY.includes(answer.status)) throw failure;
        wait = Math.max(wait, 1000 * Number(answer.headers.get('Retry-After') ?? 0));
      }
      if (attempt === ATTEMPTS) throw failure;
      await this.#sleep(wait);
    }
  }
}

function parse<Body>(text: string): Body {
  try {
    return JSON.parse(text) as Body;
  } catch {
    throw new ShopError(200, 'not_json');
  }
}
