import type { components, paths } from './schema.ts';

/** The objects of the API by name, such as `Schemas['Message']`. */
export type Schemas = components['schemas'];

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The paths that have a method, such as `/messages/{id}`. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends { [K in M]: object } ? P : never;
}[keyof paths];

export type Operation<P extends keyof paths, M extends Method> = NonNullable<paths[P][M]>;

type Parameters<O, In extends string> = O extends { parameters: { [K in In]?: infer T } }
  ? NonNullable<T>
  : never;

/** Parameters that change the shape of the response. Methods of their own take their place. */
type Shaping = 'view' | 'dry_run';

type Query<O> =
  Parameters<O, 'query'> extends infer Q
    ? [Q] extends [never]
      ? never
      : // Booleans may be given as such.
        {
          [K in keyof Q as K extends Shaping ? never : K]: 'true' extends Q[K]
            ? Q[K] | boolean
            : Q[K];
        } & ('expanded' extends NonNullable<Q[keyof Q & 'view']> ? { view?: 'expanded' } : {})
    : never;

type Body<O> = O extends { requestBody?: { content: infer C } }
  ? 'multipart/form-data' extends keyof C
    ? FormData
    : C[keyof C]
  : never;

type Given<Name extends string, T> = [T] extends [never]
  ? { [K in Name]?: never }
  : {} extends T
    ? { [K in Name]?: T }
    : { [K in Name]: T };

/** The client knows the `client_id` already. */
type InPath<P> = [P] extends [never]
  ? never
  : Omit<P, 'client_id'> & ('client_id' extends keyof P ? { client_id?: string } : {});

/** What a request needs: parameters of the path, of the query, and a body. */
export type Input<O> = Given<'path', InPath<Parameters<O, 'path'>>> &
  Given<'query', Query<O>> &
  Given<'body', Body<O>> & {
    /** Further headers, such as `If-Match`. */
    headers?: Record<string, string>;
    /** `Idempotency-Key`: repeating a request with the same key does not repeat its effect. */
    idempotencyKey?: string;
    signal?: AbortSignal;
  };

/** The arguments after the path: none may be left out that the operation needs. */
export type Arguments<O> = {} extends Input<O> ? [input?: Input<O>] : [input: Input<O>];

type Json<R> = R extends { content: { 'application/json': infer T } } ? T : never;
type Successful<O> = O extends { responses: infer R } ? R[keyof R & (200 | 201 | 202)] : never;

/** The usual response of an operation. */
export type Answer<O> = Exclude<Json<Successful<O>>, Schemas['OutboxPlan']>;

/** Lists that can be read page by page. */
export type ListPath = {
  [P in PathOf<'get'>]: Answer<Operation<P, 'get'>> extends readonly unknown[]
    ? 'offset' extends keyof Parameters<Operation<P, 'get'>, 'query'>
      ? P
      : never
    : never;
}[PathOf<'get'>];

/** Lists that can return ids, or the number of objects. */
export type ViewPath<V extends 'ids' | 'count'> = {
  [P in PathOf<'get'>]: Parameters<Operation<P, 'get'>, 'query'> extends { view?: infer W }
    ? V extends W
      ? P
      : never
    : never;
}[PathOf<'get'>];

/** One object of a list. */
export type ItemOf<P extends ListPath> =
  Answer<Operation<P, 'get'>> extends readonly (infer T)[] ? T : never;
