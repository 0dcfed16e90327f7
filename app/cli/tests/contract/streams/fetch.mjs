// Reads the event stream with the fetch of Node, and connects again after the last id whenever a stream ends.
const { PETSTORE_URL: base, PETSTORE_KEY: key } = process.env;
let place = process.env.AFTER;
for (;;) {
  const headers = { 'X-API-Key': key, 'Last-Event-ID': place };
  const answer = await fetch(`${base}/events/stream?limit=5`, { headers });
  if (answer.status !== 200) throw new Error(await answer.text());
  let rest = '';
  for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
    const frames = (rest + part).split('\n\n');
    rest = frames.pop();
    for (const frame of frames) {
      const fields = Object.fromEntries(frame.split('\n').map((line) => line.split(/: (.*)/s, 2)));
      place = fields.id ?? place;
      const data = JSON.parse(fields.data);
      if (!fields.event) console.log(data.sequence);
    }
  }
  if (rest) throw new Error(`the stream ended within a frame: ${rest}`);
}
