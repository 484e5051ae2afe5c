import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants';
import { RouteParamtypes } from '@nestjs/common/internal';
import type { ZodType } from 'zod';
import { type BodyShape, bodyShape, tolerate } from '../../wire/body-fields.ts';
import {
  isOauthRequest,
  queryFields,
  type Refused,
  refusedUnknown,
} from '../../wire/schema-fields.ts';
import { CLIENT_FIELDS } from './client-fields.ts';

type RouteParameters = Readonly<Record<string, { schema?: ZodType }>>;

/** The names that a handler knows. */
export interface KnownNames {
  /** Query parameters. */
  parameters: readonly string[];
  /** Absent if the handler accepts any body. A handler without a body knows no fields. */
  body: BodyShape | undefined;
  /** Further fields, which are neither reported nor refused, with their path without indexes. */
  tolerated: ReadonlySet<string>;
  /** Which unknown fields are refused even if the server is not strict. */
  refused: Refused | undefined;
}

/** The fields of `CLIENT_FIELDS` for a body. */
function clientFields(body: ZodType | undefined): ReadonlySet<string> {
  const id = body?.meta()?.id;
  if (id === undefined) return new Set();
  return new Set(
    CLIENT_FIELDS.filter(({ bodies }) => bodies.includes(id)).flatMap(({ fields }) => fields),
  );
}

function shapeOf(schema: ZodType, tolerated: ReadonlySet<string>): BodyShape | undefined {
  const shape = bodyShape(schema);
  for (const field of tolerated) tolerate(shape, field.split('.'));
  return shape;
}

/**
 * Reads the names that a handler knows from the schemas of its parameters.
 * @param handler name of a method of the controller
 * @returns `null` if the handler ignores other names on purpose
 */
export function knownNames(controller: object, handler: string): KnownNames | null {
  const parameters = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, handler) ??
    {}) as RouteParameters;
  const schemasOf = (type: RouteParamtypes): ZodType[] =>
    Object.entries(parameters)
      .filter(([key]) => key.startsWith(`${type}:`))
      .flatMap(([, { schema }]) => schema ?? []);
  const queries = schemasOf(RouteParamtypes.QUERY);
  const bodies = schemasOf(RouteParamtypes.BODY);
  if ([...queries, ...bodies].some(isOauthRequest)) return null;
  const [body] = bodies;
  const tolerated = clientFields(body);
  return {
    parameters: queries.flatMap((schema) => [...queryFields(schema).keys()]),
    body: body ? shapeOf(body, tolerated) : { fields: new Map() },
    tolerated,
    refused: body && refusedUnknown(body),
  };
}
