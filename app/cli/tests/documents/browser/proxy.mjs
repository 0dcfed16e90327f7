// A proxy that strips a prefix, and records the requests.

import http from 'node:http';

/** Starts one in front of an origin. */
export async function proxy(origin, prefix = '') {
  const upstream = new URL(origin);
  const seen = [];
  const server = http.createServer((request, response) => {
    if (!request.url.startsWith(`${prefix}/`)) return response.writeHead(404).end();
    seen.push(`${request.method} ${request.url}`);
    const onwards = http.request({
      host: upstream.hostname, port: upstream.port, method: request.method,
      path: request.url.slice(prefix.length), headers: request.headers,
    }, (answer) => answer.pipe(response.writeHead(answer.statusCode, answer.headers)));
    onwards.on('error', () => response.destroy());
    return request.pipe(onwards);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { origin: `http://127.0.0.1:${server.address().port}`, seen, close: () => server.close() };
}
