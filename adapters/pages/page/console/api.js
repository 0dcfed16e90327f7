// Calls of the sandbox's routes, and the addresses of the API.

/** The page is at `.../sandbox`. A proxy may add a prefix, which the calls must have too. */
export const prefix = location.pathname.replace(/\/sandbox\/?$/, '');

/** The address of a route, such as `clock`. */
export const at = (route) => `${prefix}/sandbox/${route}`;

/** The reason of a failed call, in one line, and the faults of its fields. */
async function reason(response) {
  const text = await response.text();
  try {
    const { message, details = [] } = JSON.parse(text);
    return [message, details];
  } catch {
    return [text || `The sandbox answered ${response.status}.`, []];
  }
}

/** The error of a call, with its status and the faults of its fields. */
export class Refused extends Error {
  constructor(status, message, details = []) {
    super(message);
    Object.assign(this, { status, details });
  }
}

async function call(route, options) {
  let response;
  try {
    response = await fetch(at(route), { cache: 'no-store', ...options });
  } catch {
    throw new Refused(0, 'The sandbox does not answer. Is it still running?');
  }
  if (!response.ok) throw new Refused(response.status, ...await reason(response));
  return response;
}

/** Reads JSON. */
export const read = async (route) => (await call(route)).json();

/** Reads JSON, and the time of the machine at the answer in milliseconds; none if a proxy removed it. */
export async function readWithTime(route) {
  const response = await call(route);
  const time = Date.parse(response.headers.get('date') ?? '');
  return [await response.json(), Number.isNaN(time) ? null : time];
}

/** Reads text. */
export const readText = async (route) => (await call(route)).text();

/** Reads JSON; null if this server does not have the route. */
export async function readIfServed(route) {
  try {
    return await read(route);
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

/** Reads the headers of an answer; null if this server does not have the route. */
export async function readHead(route) {
  try {
    return (await call(route, { method: 'HEAD' })).headers;
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

/** Sends a file with a line for each resource, and returns the JSON of the answer. */
export const sendLines = async (method, route, file) =>
  (await call(route, { method, headers: { 'content-type': 'application/x-ndjson' }, body: file })).json();

/** Sends a change, and returns the JSON of its answer, or null. */
export async function send(method, route, body) {
  const headers = body === undefined ? {} : { 'content-type': 'application/json' };
  const response = await call(route, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  return response.status === 204 ? null : response.json();
}

/** Facts about the server: where its API is, its operations, and what a reset restores. */
export const about = await read('console/about.json');

/** The origin of the API with its path, for commands. Unknown if the system chose the port of another listener. */
const isElsewhere = about.api !== null;
const knows = !isElsewhere || !about.api.includes('ADDRESS-OF');
export const origin = isElsewhere ? about.api : location.origin + prefix;
export const apiUrl = (knows ? origin : 'http://ADDRESS-OF-THE-API') + about.base;

/** The address of the reference page; none if it is unknown. */
export const docsUrl = knows ? `${origin}/docs` : null;

/** The place of an operation on the reference page; none for a request that names no operation. */
export function docsOf(method, route) {
  const asked = method === 'HEAD' ? 'GET' : method;
  const found = about.operations.find(([its, path]) => its === asked && path === route);
  return docsUrl && found ? `${docsUrl}#/${found[2]}/${found[3]}` : null;
}

/** The routes of the API. */
export const routes = [...new Set(about.operations.map(([, route]) => route))];

/** The last sunset date of a deprecated operation, such as `2030-12-05`; none without one. */
export const sunset = about.operations.map((operation) => operation[4]).filter(Boolean).sort().at(-1) ?? null;
