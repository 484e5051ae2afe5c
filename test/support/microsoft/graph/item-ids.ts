import { randomBytes } from 'node:crypto';
import { graphErrors } from '../http/types.ts';

/**
 * Both ids of a message, event or contact. With `Prefer: IdType="ImmutableId"` requests get the
 * immutable one. Without it they get the other, which changes when the item moves.
 */
export interface ItemIds {
  immutableId: string;
  restId: string;
}

/** Form of an id that Exchange can have given out. */
const FORM = /^AA[\w-]{20,}=*$/;

/** A new id that ends with `=` like most ids of Exchange. */
export const newRestId = (): string => `AAMkAG${randomBytes(62).toString('base64url')}=`;

export const newImmutableId = (): string => `AAkALg${randomBytes(45).toString('base64url')}`;

/** A new id of a folder, calendar or contact folder. It never changes. */
export const newContainerId = (): string => `AAMkAD${randomBytes(37).toString('base64url')}AAA=`;

export const newItemIds = (): ItemIds => ({
  immutableId: newImmutableId(),
  restId: newRestId(),
});

/**
 * Checks the form of an id in a request.
 * @throws {GraphError} 400 ErrorInvalidIdMalformed
 */
export function assertId(id: string): void {
  if (!FORM.test(id)) throw graphErrors.malformedId();
}
