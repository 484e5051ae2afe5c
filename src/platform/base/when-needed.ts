import { createRequire } from 'node:module';

/**
 * Loads a package when it is first needed. For packages that take megabytes of memory and that most
 * processes never use.
 * @param from `import.meta.url` of the caller
 * @param load requires the package; runs once
 * @returns a function that returns what the package exports
 */
export function whenNeeded<T>(from: string, load: (require: NodeJS.Require) => T): () => T {
  let loaded: T | undefined;
  return () => (loaded ??= load(createRequire(from)));
}
