// The server's binary, which is in a package of the same version for each platform. It is never searched for elsewhere.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { PetstoreNotAvailable } from './errors.js';

const require = createRequire(import.meta.url);

/** The version of this package, which is that of the server. */
export const version: string = require('../package.json').version;

const platform = `${process.platform}-${process.arch}`;

/** The platforms of this version: those of the optional dependencies. */
const platforms: readonly string[] = Object.keys(require('../package.json').optionalDependencies ?? {}).map((name) =>
  name.replace('petstore-server-', ''),
);

/** Returns the path of the binary. */
export function findBinary(): string {
  const name = `petstore-server-${platform}`;
  let found: string;
  try {
    found = require(`${name}/package.json`).version;
  } catch {
    throw platforms.includes(platform) ? notInstalled(name) : notAvailable('no package has it');
  }
  if (found !== version) throw notAvailable(`the package ${name} has version ${found}, and ${version} is needed`);
  return require.resolve(`${name}/bin/petstore`);
}

/** The error for a binary that the system does not start. */
export function cannotStart(binary: string, error: Error): PetstoreNotAvailable {
  const isOwn = binary.endsWith(join(`petstore-server-${platform}`, 'bin', 'petstore'));
  return isOwn ? notAvailable(error.message) : new PetstoreNotAvailable(`${binary} cannot be started: ${error.message}`);
}

/** The error for an installation that lacks the package with the binary. */
function notInstalled(name: string): PetstoreNotAvailable {
  return new PetstoreNotAvailable(
    `petstore-server ${version} needs the package ${name}, which is not installed. Install again, without ` +
      `\`--omit=optional\` and \`--no-optional\`; from files with both of them: npm install ` +
      `./petstore-server-${version}.tgz ./${name}-${version}.tgz`,
  );
}

/** The error for a platform on which the binary cannot run, with other ways to a server. */
export function notAvailable(why: string): PetstoreNotAvailable {
  return new PetstoreNotAvailable(
    `petstore-server ${version} has no server for ${platform} (${why}). It has one for ${platforms.join(' and ')}. ` +
      'Other ways: build a container image (app/package/Dockerfile in ' +
      'https://github.com/petstore-rs/petstore) and publish its port, or build the binary with Rust (cargo install ' +
      '--locked --path app/cli) and pass it as Petstore.start({ binary })',
  );
}
