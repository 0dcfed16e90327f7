// The request of an operation as a program sends it: in curl, Python and JavaScript. The samples send required parameters and
// the first example of a body, and take the key from the environment.
'use strict';

/** A part of the contract, with references followed. */
function resolved(contract, part) {
  const path = part?.$ref?.replace(/^#\//, '').split('/');
  return path ? path.reduce((found, name) => found?.[name.replaceAll('~1', '/').replaceAll('~0', '~')], contract) : part;
}

/** The first example of a parameter or of a media type; none if there is none. */
function firstExample(holder) {
  const [named] = Object.values(holder.examples ?? {});
  return named?.value ?? holder.example ?? holder.schema?.example;
}

/** The request that the samples of an operation send. */
function sampleRequest(contract, path, method) {
  const item = contract.paths[path];
  const operation = item[method];
  const given = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((one) => resolved(contract, one));
  const required = given.filter((one) => one.required);
  const value = (parameter) => encodeURIComponent(firstExample(parameter) ?? 1);
  const filled = required.filter((one) => one.in === 'path')
    .reduce((text, one) => text.replaceAll(`{${one.name}}`, value(one)), path);
  const query = required.filter((one) => one.in === 'query').map((one) => `${one.name}=${value(one)}`).join('&');
  const headers = Object.fromEntries(required.filter((one) => one.in === 'header').map((one) => [one.name, `${firstExample(one)}`]));
  const [media] = Object.entries(resolved(contract, operation.requestBody)?.content ?? {});
  if (media) headers['Content-Type'] = media[0];
  const needsKey = (operation.security ?? contract.security ?? []).length > 0;
  const isStream = Object.values(operation.responses).some((answer) => resolved(contract, answer).content?.['text/event-stream']);
  return {
    method: method.toUpperCase(), url: addressOf(contract) + filled + (query && `?${query}`), headers, needsKey, isStream,
    body: media && firstExample(media[1]),
  };
}

/** A text for the shell, in which nothing is replaced. */
const quoted = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

function inCurl({ method, url, headers, needsKey, isStream, body }) {
  const fields = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  return [
    `curl${isStream ? ' -N' : ''}${method === 'GET' ? '' : ` -X ${method}`} ${quoted(url)}`,
    needsKey && '-H "Authorization: Bearer $PETSTORE_KEY"',
    ...fields,
    body !== undefined && `-d ${quoted(JSON.stringify(body))}`,
  ].filter(Boolean).join(' \\\n  ');
}

/** A value of JSON as a literal of Python. */
function pythonValue(value) {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(', ')}]`;
  if (typeof value === 'object') {
    return `{${Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${pythonValue(one)}`).join(', ')}}`;
  }
  return JSON.stringify(value);
}

function inPython({ method, url, headers, needsKey, isStream, body }) {
  const fields = Object.entries(headers).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  if (needsKey) fields.unshift('"Authorization": "Bearer " + os.environ["PETSTORE_KEY"]');
  return [
    body !== undefined && 'import json',
    needsKey && 'import os',
    'import urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${JSON.stringify(url)},`,
    method !== 'GET' && `    method="${method}",`,
    fields.length > 0 && `    headers={${fields.join(', ')}},`,
    body !== undefined && `    data=json.dumps(${pythonValue(body)}).encode(),`,
    ')',
    'with urllib.request.urlopen(request) as response:',
    isStream ? '    for line in response:\n        print(line.decode(), end="")' : '    print(response.status, response.read().decode())',
  ].filter((line) => line !== false).join('\n');
}

/** The name of a member as JavaScript writes it in an object. */
const memberName = (name) => (/^[a-z]\w*$/i.test(name) ? name : `'${name}'`);

/** A text in JavaScript. */
const scriptText = (text) => `'${JSON.stringify(text).slice(1, -1).replaceAll(String.raw`\"`, '"').replaceAll("'", String.raw`\'`)}'`;

function inJavaScript({ method, url, headers, needsKey, isStream, body }) {
  const fields = Object.entries(headers).map(([name, value]) => `${memberName(name)}: ${scriptText(value)}`);
  if (needsKey) fields.unshift('Authorization: `Bearer ${process.env.PETSTORE_KEY}`');
  const options = [
    method !== 'GET' && `  method: '${method}',`,
    fields.length > 0 && `  headers: { ${fields.join(', ')} },`,
    body !== undefined && `  body: JSON.stringify(${JSON.stringify(body)}),`,
  ].filter(Boolean);
  return [
    options.length > 0 ? `const response = await fetch(${scriptText(url)}, {` : `const response = await fetch(${scriptText(url)});`,
    ...options,
    options.length > 0 && '});',
    isStream
      ? 'for await (const chunk of response.body) process.stdout.write(chunk);'
      : 'console.log(response.status, await response.text());',
  ].filter(Boolean).join('\n');
}

/** The languages of the samples, by the name that the reader sees. */
const LANGUAGES = { curl: inCurl, Python: inPython, JavaScript: inJavaScript };

/** The language that the reader has chosen last, on this page. */
let chosenLanguage = 'curl';

/** The samples of an operation, in the language that the reader chooses. */
function samples(React, Snippet, contract, path, method) {
  const [language, setLanguage] = React.useState(chosenLanguage);
  const choose = (name) => () => {
    chosenLanguage = name;
    setLanguage(name);
  };
  const choices = Object.keys(LANGUAGES).map((name) => React.createElement('button', {
    key: name, type: 'button', className: 'sample-language', 'aria-pressed': name === language, onClick: choose(name),
  }, name));
  return React.createElement('section', { className: 'samples', 'aria-label': 'Sample' },
    React.createElement('div', { className: 'sample-languages', role: 'group', 'aria-label': 'Language of the sample' }, choices),
    React.createElement(Snippet, { key: language, text: LANGUAGES[language](sampleRequest(contract, path, method)) }));
}
