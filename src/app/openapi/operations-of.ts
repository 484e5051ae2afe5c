import type { OpenAPIObject } from '@nestjs/swagger';
import type { Operation } from './operations.ts';

const VERBS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** Every operation of a document, with its path and verb. */
export function operationsOf(
  document: OpenAPIObject,
): { path: string; verb: string; operation: Operation }[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    VERBS.flatMap((verb) => {
      const operation = item[verb] as unknown as Operation | undefined;
      return operation ? [{ path, verb, operation }] : [];
    }),
  );
}
