// Judges each case as JavaScript does, without and with the flag `u`, and in bytes: `node judge.mjs cases.json`.
import { readFileSync } from "node:fs";

let judged = 0;
for (const { pattern, value, valid } of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  // A text with a character for each byte.
  const bytes = Buffer.from(value).toString("latin1");
  const modes = { text: ["u", value], units: ["", value], bytes: ["", bytes] };
  for (const [mode, [flags, text]] of Object.entries(modes)) {
    judged += 1;
    if (new RegExp(pattern, flags).test(text) !== valid) console.log(mode, { pattern, value, valid });
  }
}
console.log(`${judged} judged`);
