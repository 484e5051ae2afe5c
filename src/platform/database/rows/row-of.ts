import type { Opt } from '@mikro-orm/core';

/**
 * The values of some columns of an entity's table as statements return them, by property name; of
 * all columns if none is named. Row types of statements are made of it: `RowOf<Message, 'id' |
 * 'threadId'>`. So they can name only what the table has, with the type that the entity gives it.
 *
 * - A relation is the key of its row: `accountId` for `account`.
 * - A nullable column is `null`, never `undefined`.
 * - A `bigint` is a number, and a `bytea` is a Buffer (`../connections.ts`).
 * - A `date` is text here, so a statement has to select it as text.
 *
 * The text of a statement has to give its columns these names: `thread_id as "threadId"`.
 */
export type RowOf<E, P extends keyof Columns<E> = keyof Columns<E>> = Pick<Columns<E>, P>;

/** Columns that the statement's condition keeps from being `null`. */
export type NotNull<R> = { [P in keyof R]: NonNullable<R[P]> };

/** Columns of a table that the statement joins with `left join`. */
export type OrNull<R> = { [P in keyof R]: R[P] | null };

type Columns<E> = {
  [P in keyof E & string as E[P] extends Related | null | undefined ? `${P}Id` : P]:
    Value<NonNullable<E[P]>> | (undefined extends E[P] ? null : never);
};

/** A row that another one refers to. */
interface Related {
  id: string;
}

type Value<V> = V extends Related
  ? string
  : V extends Uint8Array
    ? Buffer
    : V extends bigint
      ? number
      : IsNumeric<V> extends true
        ? number
        : Unmarked<V>;

/** The ORM gives a column of fractions the type `string | number`. */
type IsNumeric<V> = [V, string | number] extends [string | number, V] ? true : false;

/** The ORM marks the types of properties that have a default, for `em.create`. */
type Unmarked<V> = V extends Opt<infer T> ? T : V;
