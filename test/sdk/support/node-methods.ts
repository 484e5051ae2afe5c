import type { NodeSdk } from './node-client.ts';

/** Methods that work on the client alone, or that the other methods use. */
const INTERNAL = new Set([
  'constructor', 'attributes', 'initAttributes', 'isEqual', 'fromJSON', 'toJSON', 'toString', 'validate', 'pathPrefix',
  'saveEndpoint', 'saveRequestBody', 'deleteRequestQueryString', 'deleteRequestBody', 'deleteRequestOptions', 'path',
  'build', 'createModel', 'deleteItem', 'range', 'getItems', 'getModel', 'getModelCollection', 'buildDeltaParams',
  'buildAvailabilityPayload', 'queryIsValid', 'request', 'participants', 'fileIds', 'get', 'config', 'with', 'newAccount', 'clientCredentials', 'isSuccessful',
]); // oxfmt-ignore

/** Services of their own at fixed addresses, which Carillon does not replace. */
const ELSEWHERE = new Set(['scheduler']);

function methodsOf(value: object): string[] {
  const names: string[] = [];
  for (
    let level = value;
    level !== Object.prototype && level !== Function.prototype && level;
    level = Object.getPrototypeOf(level) as object
  )
    for (const [name, { value: member }] of Object.entries(Object.getOwnPropertyDescriptors(level)))
      if (typeof member === 'function' && !/^(_|[A-Z]|modelClass$)/.test(name)) names.push(name);
  return names.filter((name) => !INTERNAL.has(name));
}

/** Names of all methods of a version that send a request, of collections and of models. */
export function requestingMethods(sdk: NodeSdk): string[] {
  const client = sdk.with('token') as unknown as Record<string, unknown>;
  const parts: [string, unknown][] = [...Object.entries(client), ...Object.entries(sdk)];
  const names = new Set(methodsOf(sdk));
  for (const [name, part] of parts) {
    if (typeof part !== 'object' || part === null || ELSEWHERE.has(name)) continue;
    const { modelClass } = part as { modelClass?: { prototype: object } };
    for (const method of methodsOf(part)) names.add(method);
    for (const method of methodsOf(modelClass?.prototype ?? {})) names.add(method);
  }
  return [...names].toSorted();
}
