import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import {
  ConflictError,
  DomainError,
  InvalidInputError,
} from '../../platform/base/errors/domain-error.ts';

/** What the caller has seen of a message; an edit under a guard applies to that version only. */
export interface VersionGuard {
  /** Entity tags of `If-Match`, without the quotes; `*` any version at all; absent: no such header. */
  ifMatch?: '*' | readonly string[];
  version?: number;
}

const LIST = /^(W\/)?"[\x21\x23-\x7e\x80-\xff]*"([ \t]*,[ \t]*(W\/)?"[\x21\x23-\x7e\x80-\xff]*")*$/;

/**
 * Reads `If-Match` (RFC 9110 13.1.1). Weak tags are read and match nothing.
 * @throws {InvalidInputError} for anything that is neither `*` nor a list of entity tags
 */
export function parseIfMatch(header: string | undefined): VersionGuard['ifMatch'] {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (text === '*') return '*';
  if (!LIST.test(text))
    throw new InvalidInputError('If-Match: must be * or entity tags such as "3"');
  return [...text.matchAll(/(W\/)?"([^"]*)"/g)].flatMap(([, weak, tag = '']) =>
    weak ? [] : [tag],
  );
}

export const IfMatch = createParamDecorator((_: unknown, context: ExecutionContext) =>
  parseIfMatch(context.switchToHttp().getRequest<Request>().headers['if-match']),
);

/** The entity tag of a version, as `ETag` carries it. */
export const entityTag = (version: number): string => `"${version}"`;

/**
 * Call it under the lock of the row, before anything is written.
 * @throws {DomainError} 412 or 409: the message is not the one the caller has seen
 */
export function assertVersion({ ifMatch, version: given }: VersionGuard, version: number): void {
  if (ifMatch !== undefined && ifMatch !== '*' && !ifMatch.includes(String(version)))
    throw new DomainError(
      'outbox.changed-since',
      'precondition',
      `If-Match: the message has changed, it is ${entityTag(version)} now`,
    );
  if (given !== undefined && given !== version)
    throw new ConflictError(
      'outbox.version-conflict',
      `version: the message is at version ${version}, not ${given}`,
    );
}
