import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import {
  ConflictError,
  DomainError,
  InvalidInputError,
} from '../../../platform/base/errors/domain-error.ts';

/** The version that the caller has seen. A guarded edit applies to that version only. */
export interface VersionGuard {
  /**
   * Entity tags of `If-Match` without the quotes, or `*` for any version; absent if there was no
   * header.
   */
  ifMatch?: '*' | readonly string[];
  version?: number;
}

const LIST = /^(W\/)?"[\x21\x23-\x7e\x80-\xff]*"([ \t]*,[ \t]*(W\/)?"[\x21\x23-\x7e\x80-\xff]*")*$/;

/**
 * Parses `If-Match` (RFC 9110 13.1.1). Weak tags are accepted and match no version.
 * @returns `undefined` if there is no header
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

/** The entity tag of a version, as in `ETag`. */
export const entityTag = (version: number): string => `"${version}"`;

/**
 * Compares a version with its guard. Call it under the row lock, before anything is written.
 * @throws {DomainError} 412 (`If-Match`) or 409 (`version`) if the caller has seen another
 *   version
 */
export function assertVersion({ ifMatch, version: given }: VersionGuard, version: number): void {
  if (ifMatch !== undefined && ifMatch !== '*' && !ifMatch.includes(String(version)))
    throw new DomainError(
      'outbox.changed-since',
      'precondition',
      `If-Match: the message has changed; its version is now ${entityTag(version)}`,
    );
  if (given !== undefined && given !== version)
    throw new ConflictError(
      'outbox.version-conflict',
      `version: the message is at version ${version}, not ${given}`,
    );
}
